//go:build unix && !aix

package dial

import (
	"net"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
)

// socketProbe notices input on a socket without reading the input and without waiting.
type socketProbe struct {
	conn  syscall.RawConn
	look  func(fd uintptr) // peek as a function, made once to save an allocation per call
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

// isQuiet reports whether nothing has arrived: no byte, no end of the stream and no error.
func (p *socketProbe) isQuiet() bool {
	if p.look == nil {
		p.look = p.peek
	}
	p.quiet = false
	// Control is used because Read fails if the deadline of the last call has passed.
	return p.conn.Control(p.look) == nil && p.quiet
}

func (p *socketProbe) peek(fd uintptr) { p.quiet = poll.Quiet(int(fd)) }
