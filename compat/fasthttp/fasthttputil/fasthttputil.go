// Package fasthttputil has the names of github.com/valyala/fasthttp/fasthttputil: connections in memory, those of gallop's package
// memnet, with the errors that they have there.
package fasthttputil

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"github.com/gallop-http/gallop/memnet"
)

var (
	// ErrInmemoryListenerClosed is what Accept and Dial return once the listener is closed. It is net.ErrClosed, and io.EOF too, so
	// that it ends a server as Shutdown does.
	ErrInmemoryListenerClosed error = closedError{}

	// ErrConnectionClosed is what Write returns once one of the two ends is closed.
	ErrConnectionClosed = errors.New("fasthttputil: connection closed")

	// ErrTimeout is what Read and Write return when the deadline has passed. It is os.ErrDeadlineExceeded.
	ErrTimeout = &timeoutError{}
)

type closedError struct{}

func (closedError) Error() string {
	return "fasthttputil: inmemorylistener is already closed: " + net.ErrClosed.Error()
}
func (closedError) Is(target error) bool { return target == net.ErrClosed || target == io.EOF }

type timeoutError struct{}

func (*timeoutError) Error() string        { return "fasthttputil: timeout" }
func (*timeoutError) Timeout() bool        { return true }
func (*timeoutError) Temporary() bool      { return true }
func (*timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// InmemoryListener is a listener in memory. Its connections are those of PipeConns.
type InmemoryListener struct {
	dialed chan net.Conn // the server's ends
	closed chan struct{}
	close  sync.Once

	mu   sync.Mutex
	addr net.Addr
}

// NewInmemoryListener returns a listener that is ready to be dialed.
func NewInmemoryListener() *InmemoryListener {
	return &InmemoryListener{dialed: make(chan net.Conn), closed: make(chan struct{}), addr: memnet.Addr{}}
}

// Accept waits for a dial.
func (ln *InmemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.dialed:
		return c, nil
	case <-ln.closed:
		return nil, ErrInmemoryListenerClosed
	}
}

// Dial waits for Accept.
func (ln *InmemoryListener) Dial() (net.Conn, error) { return ln.DialWithLocalAddr(nil) }

// DialWithLocalAddr is Dial with an address for the client; nil is that of memnet.
func (ln *InmemoryListener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	p := NewPipeConns()
	p.SetAddresses(local, ln.Addr(), ln.Addr(), local)
	select {
	case ln.dialed <- p.Conn2():
		return p.Conn1(), nil
	case <-ln.closed:
		return nil, ErrInmemoryListenerClosed
	}
}

// Close ends Accept and Dial. Connections stay as they are. Closing again returns nil.
func (ln *InmemoryListener) Close() error {
	ln.close.Do(func() { close(ln.closed) })
	return nil
}

// Addr returns what SetLocalAddr said, or the address of everything in memnet.
func (ln *InmemoryListener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.addr
}

// SetLocalAddr says what the address of the listener is, and of the server in connections from now on.
func (ln *InmemoryListener) SetLocalAddr(addr net.Addr) {
	if addr == nil {
		addr = memnet.Addr{}
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.addr = addr
}
