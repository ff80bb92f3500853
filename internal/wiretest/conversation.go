package wiretest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Conversation is the client's side of one connection to a server under test. Its
// Want methods end the test when they do not get what they want, naming what came.
// It is for one goroutine: the one that runs the test.
type Conversation struct {
	// Patience is how long a Want method waits: 5 s unless set. In a synctest bubble
	// it is virtual, so a test of a longer timeout can be patient at no cost.
	Patience time.Duration

	t       testing.TB
	conn    *Conn
	buf     []byte // what arrived and was not yet wanted
	eof     bool
	rst     bool
	last    *Response
	started time.Time
	served  chan error
}

// Start serves one end of a new connection with serve, on its own goroutine, and
// talks to it over the other. When the test ends the connection is closed, and serve
// must return within Patience.
func Start(t testing.TB, serve func(net.Conn) error) *Conversation {
	t.Helper()
	client, server := Pipe()
	c := &Conversation{Patience: 5 * time.Second, t: t, conn: client, started: time.Now(), served: make(chan error, 1)}
	go func() { c.served <- serve(server) }()
	t.Cleanup(c.end)
	return c
}

func (c *Conversation) end() {
	_ = c.conn.Close()
	timer := time.NewTimer(c.Patience)
	defer timer.Stop()
	select {
	case <-c.served:
	case <-timer.C:
		c.t.Errorf("server still runs %v after the connection closed", c.Patience)
	}
}

// Conn is the client's end, for what a Conversation has no word for.
func (c *Conversation) Conn() *Conn { return c.conn }

// Send writes the parts in one piece: what is pipelined is there when the server reads, and none of it finds the
// connection closed by a server that needs no more than the first. A server that has closed before does not make it
// fail; the Want that follows will tell.
func (c *Conversation) Send(parts ...string) *Conversation {
	_, _ = c.conn.Write([]byte(strings.Join(parts, "")))
	return c
}

// SendSlowly writes s octet by octet, with a pause before each.
func (c *Conversation) SendSlowly(s string, pause time.Duration) *Conversation {
	for i := range len(s) {
		time.Sleep(pause)
		c.Send(s[i : i+1])
	}
	return c
}

// Pause lets time pass.
func (c *Conversation) Pause(d time.Duration) *Conversation {
	time.Sleep(d)
	return c
}

// CloseWrite half-closes the connection.
func (c *Conversation) CloseWrite() *Conversation {
	_ = c.conn.CloseWrite()
	return c
}

// Await waits until the server has read everything that was sent and waits for more.
func (c *Conversation) Await() *Conversation {
	c.t.Helper()
	if !c.conn.AwaitPeer(c.Patience) {
		c.t.Fatalf("server does not read: %d octets wait", c.conn.out.pending())
	}
	return c
}

// Elapsed is the time since Start.
func (c *Conversation) Elapsed() time.Duration { return time.Since(c.started) }

// Want reads the next response, which must be final and have that status. It is
// read as the answer to a GET; see [Conversation.WantTo].
func (c *Conversation) Want(status int) *Response {
	c.t.Helper()
	return c.WantTo("GET", status)
}

// WantTo is Want for the answer to a request with another method: those to HEAD
// and CONNECT are framed differently.
func (c *Conversation) WantTo(method string, status int) *Response {
	c.t.Helper()
	r := c.Next(method)
	if r.Status != status {
		c.t.Fatalf("status %d, want %d; body %.80q", r.Status, status, r.Body)
	}
	return r
}

// WantBody compares the body of the response that was read last.
func (c *Conversation) WantBody(want string) *Conversation {
	c.t.Helper()
	if got := string(c.last.Body); got != want {
		c.t.Fatalf("body %.80q, want %.80q", got, want)
	}
	return c
}

// WantField wants the last response to have the field, with just these values.
func (c *Conversation) WantField(name string, want ...string) *Conversation {
	c.t.Helper()
	if got := c.last.Values(name); !slices.Equal(got, want) {
		c.t.Fatalf("%s: %q, want %q", name, got, want)
	}
	return c
}

// WantEOF wants the server to close, with nothing sent before that and without a reset.
func (c *Conversation) WantEOF() *Conversation {
	c.t.Helper()
	for c.fill() {
	}
	switch {
	case len(c.buf) > 0:
		c.t.Fatalf("%.80q, want the end of the connection", c.buf)
	case c.rst:
		c.t.Fatalf("connection was reset, want an orderly end")
	case !c.eof:
		c.t.Fatalf("connection still open after %v, want its end", c.Patience)
	}
	return c
}

// WantEnd is WantEOF that takes a reset as well.
func (c *Conversation) WantEnd() *Conversation {
	c.t.Helper()
	for c.fill() {
	}
	if len(c.buf) > 0 || !c.eof {
		c.t.Fatalf("%.80q and the connection %s, want its end", c.buf, c.state())
	}
	return c
}

// WantSilence wants the connection to stay open, and nothing to arrive on it, for d.
func (c *Conversation) WantSilence(d time.Duration) *Conversation {
	c.t.Helper()
	patience := c.Patience
	c.Patience = d
	c.fill()
	c.Patience = patience
	if len(c.buf) > 0 || c.eof {
		c.t.Fatalf("%.80q and the connection %s, want silence", c.buf, c.state())
	}
	return c
}

// WantAfter checks that the time since Start is d, or at most slack more.
func (c *Conversation) WantAfter(d, slack time.Duration) *Conversation {
	c.t.Helper()
	if e := c.Elapsed(); e < d || e > d+slack {
		c.t.Fatalf("after %v, want it between %v and %v", e, d, d+slack)
	}
	return c
}

// Next reads the next response, interim or final, as the answer to that method.
func (c *Conversation) Next(method string) *Response {
	c.t.Helper()
	for {
		r, n, err := Parse(c.buf, method, c.eof)
		if err != nil {
			c.t.Fatal(err)
		}
		if n > 0 {
			c.buf, c.last = c.buf[n:], r
			return r
		}
		if !c.fill() {
			c.t.Fatalf("no response but %.80q and the connection %s", c.buf, c.state())
		}
	}
}

// fill reads once and reports whether it is worth while to look at buf and eof again.
func (c *Conversation) fill() bool {
	if c.eof {
		return false
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(c.Patience))
	p := make([]byte, 64<<10)
	n, err := c.conn.Read(p)
	c.buf = append(c.buf, p[:n]...)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.eof, c.rst = true, err != io.EOF
	}
	return err == nil || c.eof
}

func (c *Conversation) state() string {
	switch {
	case c.rst:
		return "was reset"
	case c.eof:
		return "closed"
	}
	return fmt.Sprintf("open after %v", c.Patience)
}

func (s *stream) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buf)
}

// Get is the shortest request for a path, with more field lines if given.
func Get(path string, lines ...string) string { return Request("GET", path, lines...) }

// Request is a request without a body: further field lines follow a Host.
func Request(method, target string, lines ...string) string {
	lines = append([]string{method + " " + target + " HTTP/1.1", "Host: test"}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}
