//go:build unix && !aix

package dial

import (
	"net"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
)

// socketProbe looks at what has come on a socket without reading it or waiting.
type socketProbe struct {
	conn  syscall.RawConn
	look  func(fd uintptr) // made once: a closure per look would be garbage
	quiet bool
}

// init reports whether nc is a socket.
func (p *socketProbe) init(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	var err error
	p.conn, err = sc.SyscallConn()
	return err == nil
}

// isQuiet reports whether nothing has come: no byte, no end, no error.
func (p *socketProbe) isQuiet() bool {
	if p.look == nil {
		p.look = p.peek
	}
	p.quiet = false
	// Not Read, which fails if the deadline of the last call has passed meanwhile.
	return p.conn.Control(p.look) == nil && p.quiet
}

func (p *socketProbe) peek(fd uintptr) { p.quiet = poll.Quiet(int(fd)) }
