package conn_test

import (
	"bytes"
	"fmt"
	"net"
	"sync"
)

// echoClient is a client of the echo protocol, on one connection. It checks every frame.
type echoClient struct {
	conn   net.Conn
	split  func(p []byte) int // how much of p is written at once; nil: all of it
	mu     lock
	change sync.Cond
	calls  map[uint16]*echoCall
	lastID uint16
	open   int    // calls that have not ended
	away   bool   // the server serves no further ones
	over   error  // why nothing more comes
	wrong  string // what is wrong, the first time
}

// echoCall is an exchange as the client sees it.
type echoCall struct {
	id    uint16
	name  string
	body  []byte // that was sent, so far
	begun bool
	got   []byte
	kind  byte   // of the last frame, 0 before; frameAway: the server has refused the exchange
	text  string // in the last frame
}

func newEchoClient(nc net.Conn) *echoClient {
	c := &echoClient{conn: nc, mu: make(lock, 1), calls: map[uint16]*echoCall{}}
	c.change.L = c.mu
	return c
}

// read reads until the server ends the connection. before is called before each read, unless it is nil.
func (c *echoClient) read(size int, before func()) {
	var in []byte
	buf := make([]byte, size)
	for {
		if before != nil {
			before()
		}
		n, err := c.conn.Read(buf)
		in = append(in, buf[:n]...)
		for {
			f, rest, ok := cutFrame(in)
			if !ok {
				break
			}
			in = rest
			c.take(f)
		}
		if err != nil {
			c.ended(err)
			return
		}
	}
}

func (c *echoClient) take(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.change.Broadcast()
	if f.kind == frameAway {
		c.away = true
		for _, x := range c.calls {
			if x.id > f.id && x.kind == 0 {
				c.end(x, frameAway, "")
			}
		}
		return
	}
	x := c.calls[f.id]
	switch {
	case x == nil:
		c.failed("frame %c for exchange %d, which there is not", f.kind, f.id)
	case x.kind != 0:
		c.failed("%s: frame %c %q after %c %q", x.name, f.kind, f.payload, x.kind, x.text)
	case f.kind == frameOpen && (x.begun || f.payload != x.name):
		c.failed("%s: begins as %q", x.name, f.payload)
	case f.kind == frameOpen:
		x.begun = true
	case f.kind == frameData && x.begun:
		x.got = append(x.got, f.payload...)
	case f.kind == frameReset:
		c.end(x, f.kind, f.payload)
	case f.kind == frameEnd && x.begun:
		c.end(x, f.kind, f.payload)
		c.check(x)
	default:
		c.failed("%s: frame %c %q", x.name, f.kind, f.payload)
	}
}

// check checks an exchange that has ended well.
func (c *echoClient) check(x *echoCall) {
	word, arg := command(x.name)
	sent, back := x.body, []byte(nil)
	switch afterDeadline(word) {
	case "echo":
		back = sent
	case "sum":
	case "big":
		n := 0
		_, _ = fmt.Sscan(arg, &n)
		sent, back = nil, bodyOf(x.name, n)
	case "now", "maybe":
		sent = nil
	default:
		c.failed("%s: has ended with %q", x.name, x.text)
		return
	}
	if !bytes.Equal(x.got, back) || x.text != summary(x.name, sent) {
		c.failed("%s: got %d bytes for %d, %q", x.name, len(x.got), len(back), x.text)
	}
}

func (c *echoClient) end(x *echoCall, kind byte, text string) {
	x.kind, x.text = kind, text
	c.open--
}

func (c *echoClient) failed(format string, args ...any) {
	if c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}

// ended is called when the server has ended the connection. It may do so to exchanges that it has never begun.
func (c *echoClient) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	c.change.Broadcast()
}

// until waits until cond holds or the connection is over, and returns what is wrong.
func (c *echoClient) until(cond func() bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !cond() && c.over == nil && c.wrong == "" {
		c.change.Wait()
	}
	if c.wrong == "" && !cond() {
		return fmt.Sprintf("the connection ended: %v", c.over)
	}
	return c.wrong
}

// begin begins an exchange, and returns the frame that does so.
func (c *echoClient) begin(name string) (x *echoCall, out []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	x = &echoCall{id: c.lastID, name: name}
	c.calls[x.id] = x
	c.open++
	if c.away {
		c.end(x, frameAway, "")
	}
	return x, appendFrame(nil, x.id, frameOpen, name)
}

// more returns a frame with n more bytes of the body.
func (c *echoClient) more(x *echoCall, n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := len(x.body)
	x.body = bodyOf(x.name, was+n)
	return appendFrame(nil, x.id, frameData, string(x.body[was:]))
}

func (c *echoClient) write(p []byte) error {
	for len(p) > 0 {
		n := len(p)
		if c.split != nil {
			n = c.split(p)
		}
		if _, err := c.conn.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
