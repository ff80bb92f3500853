package memnet

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// ErrListenerClosed is what Accept and Dial return once the listener is closed.
// It wraps net.ErrClosed.
var ErrListenerClosed = fmt.Errorf("memnet: the listener is closed: %w", net.ErrClosed)

// Listener is a net.Listener that is dialed by its own methods. Make one with
// [NewListener]; its methods may be called concurrently.
//
// There is no backlog: a dial waits until Accept takes the connection, so a
// connection that was dialed is always one that the server has.
type Listener struct {
	dialed chan *Conn    // server ends; without a buffer, so nothing is left in it when closed is
	closed chan struct{} // closed by Close
	close  sync.Once

	mu   sync.Mutex
	addr net.Addr
}

// NewListener returns a listener whose address is [Addr].
func NewListener() *Listener {
	return &Listener{dialed: make(chan *Conn), closed: make(chan struct{}), addr: Addr{}}
}

// Accept waits for a dial and returns the server's end of the connection.
func (ln *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.dialed:
		return c, nil
	case <-ln.closed:
		return nil, ErrListenerClosed
	}
}

// Dial waits for Accept and returns the client's end of the connection.
func (ln *Listener) Dial() (net.Conn, error) {
	return ln.dial(context.Background(), Addr{})
}

// DialContext is Dial that gives up with the error of ctx if ctx is done first. The connection
// does not depend on ctx. Network and addr are ignored, so that the method fits the DialContext field of
// gallop.Client, http.Transport and others.
func (ln *Listener) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return ln.dial(ctx, Addr{})
}

// DialWithLocalAddr is Dial with the client at the address local, which is what
// the server sees as the remote one. A nil local is [Addr].
func (ln *Listener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	if local == nil {
		local = Addr{}
	}
	return ln.dial(context.Background(), local)
}

func (ln *Listener) dial(ctx context.Context, local net.Addr) (net.Conn, error) {
	if err := ctx.Err(); err != nil { // select picks at random among what is ready
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

// Close ends every Accept and Dial, begun or to come, with [ErrListenerClosed].
// Connections stay as they are. Closing again does nothing and returns nil.
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

// SetLocalAddr makes addr the listener's address, and the address of the server
// in connections dialed from now on. A nil addr is [Addr].
func (ln *Listener) SetLocalAddr(addr net.Addr) {
	if addr == nil {
		addr = Addr{}
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.addr = addr
}
