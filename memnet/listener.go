package memnet

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// ErrListenerClosed is the error that Accept and Dial return after the listener was closed. ErrListenerClosed wraps
// net.ErrClosed.
var ErrListenerClosed = fmt.Errorf("memnet: the listener is closed: %w", net.ErrClosed)

// Listener is a net.Listener in memory. To connect to a Listener, call one of its Dial methods. Create a Listener with
// [NewListener]; the zero value is not usable. A Listener's methods may be called concurrently.
//
// There is no backlog. A dial waits until Accept takes the connection, so a successful dial means that the server has
// accepted the connection.
type Listener struct {
	dialed chan *Conn    // server ends; unbuffered, so no connection is left in it after Close
	closed chan struct{} // closed by Close
	close  sync.Once

	mu   sync.Mutex
	addr net.Addr
}

// NewListener returns a listener whose address is [Addr].
func NewListener() *Listener {
	return &Listener{dialed: make(chan *Conn), closed: make(chan struct{}), addr: Addr{}}
}

// Accept waits for a dial and returns the server's end of the connection, a *Conn.
func (ln *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.dialed:
		return c, nil
	case <-ln.closed:
		return nil, ErrListenerClosed
	}
}

// Dial waits for Accept and returns the client's end of the connection, a *Conn.
func (ln *Listener) Dial() (net.Conn, error) {
	return ln.dial(context.Background(), Addr{})
}

// DialContext waits for Accept and returns the client's end of the connection. If ctx is done first, DialContext returns the
// error of ctx. After DialContext has returned, ctx has no effect on the connection. DialContext ignores the arguments
// network and addr. You can assign the method to the field DialContext of a gallop.Client or an http.Transport.
func (ln *Listener) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return ln.dial(ctx, Addr{})
}

// DialWithLocalAddr dials like [Listener.Dial]. The argument local is the client's address, which the server sees as the
// remote address. If the argument is nil, the client's address is [Addr].
func (ln *Listener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	if local == nil {
		local = Addr{}
	}
	return ln.dial(context.Background(), local)
}

func (ln *Listener) dial(ctx context.Context, local net.Addr) (net.Conn, error) {
	if err := ctx.Err(); err != nil { // otherwise select might pick Accept even though ctx is done
		return nil, err
	}
	p := newPipe(local, ln.Addr())
	select {
	case ln.dialed <- &p.server:
		return &p.client, nil
	case <-ln.closed:
		return nil, ErrListenerClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close makes all current and future calls of Accept and Dial return [ErrListenerClosed]. Existing connections stay
// open. A second Close does nothing and returns nil.
func (ln *Listener) Close() error {
	ln.close.Do(func() { close(ln.closed) })
	return nil
}

// Addr returns the listener's address.
func (ln *Listener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.addr
}

// SetLocalAddr sets the listener's address. For connections that are dialed after this call, addr is also the server's
// address. A nil addr means [Addr].
func (ln *Listener) SetLocalAddr(addr net.Addr) {
	if addr == nil {
		addr = Addr{}
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.addr = addr
}
