// Package fasthttputil provides the names of github.com/valyala/fasthttp/fasthttputil: connections in memory. It is
// built on gallop's package memnet, but returns fasthttp's errors.
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
	// ErrInmemoryListenerClosed is returned by Accept and Dial after the listener was closed. It matches
	// net.ErrClosed, and also io.EOF, so that it ends a server like Shutdown.
	ErrInmemoryListenerClosed error = closedError{}

	// ErrConnectionClosed is returned by Write after either end was closed.
	ErrConnectionClosed = errors.New("fasthttputil: connection closed")

	// ErrTimeout is returned by Read and Write after the deadline. It matches os.ErrDeadlineExceeded.
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

// InmemoryListener is a listener in memory. Its connections behave like those of PipeConns.
type InmemoryListener struct {
	dialed chan net.Conn // the server's ends
	closed chan struct{}
	close  sync.Once

	mu   sync.Mutex
	addr net.Addr
}

// NewInmemoryListener returns a listener that can be dialed.
func NewInmemoryListener() *InmemoryListener {
	return &InmemoryListener{dialed: make(chan net.Conn), closed: make(chan struct{}), addr: memnet.Addr{}}
}

// Accept waits for a call of Dial and returns the server's end.
func (ln *InmemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.dialed:
		return c, nil
	case <-ln.closed:
		return nil, ErrInmemoryListenerClosed
	}
}

// Dial waits for a call of Accept and returns the client's end.
func (ln *InmemoryListener) Dial() (net.Conn, error) { return ln.DialWithLocalAddr(nil) }

// DialWithLocalAddr is like [InmemoryListener.Dial] with an address for the client; nil means memnet's address.
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

// Close makes Accept and Dial return errors. Existing connections stay open. Further calls return nil.
func (ln *InmemoryListener) Close() error {
	ln.close.Do(func() { close(ln.closed) })
	return nil
}

// Addr returns the address that was set with SetLocalAddr, or memnet's address.
func (ln *InmemoryListener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.addr
}

// SetLocalAddr sets the address of the listener, and of the server's end of later connections.
func (ln *InmemoryListener) SetLocalAddr(addr net.Addr) {
	if addr == nil {
		addr = memnet.Addr{}
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.addr = addr
}
