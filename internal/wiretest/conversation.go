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

// Conversation is the client's side of one connection to a server under test. Its Want methods fail the test if
// something else arrived, and report what arrived. A Conversation must only be used by the goroutine that runs the
// test.
type Conversation struct {
	// Patience limits how long a Want method waits; the default is 5 s. In a synctest bubble this time is virtual, so
	// testing a longer timeout costs nothing.
	Patience time.Duration

	t       testing.TB
	conn    *Conn
	buf     []byte // bytes that arrived and were not consumed yet
	eof     bool
	rst     bool
	last    *Response
	started time.Time
	served  chan error
}

// Start calls serve with one end of a new connection, on its own goroutine, and returns a Conversation over the other
// end. When the test ends, Start closes the connection, and serve must return within Patience.
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

// Conn returns the client's end, for actions that Conversation has no method for.
func (c *Conversation) Conn() *Conn { return c.conn }

// Send writes all parts in a single write. Pipelined requests are therefore complete when the server reads, and a
// server that closes after the first one cannot make a later write fail. Send ignores write errors; the next Want
// reports that the server closed.
func (c *Conversation) Send(parts ...string) *Conversation {
	_, _ = c.conn.Write([]byte(strings.Join(parts, "")))
	return c
}

// SendSlowly sends s byte by byte, with a pause before each byte.
func (c *Conversation) SendSlowly(s string, pause time.Duration) *Conversation {
	for i := range len(s) {
		time.Sleep(pause)
		c.Send(s[i : i+1])
	}
	return c
}

// Pause sleeps for d.
func (c *Conversation) Pause(d time.Duration) *Conversation {
	time.Sleep(d)
	return c
}

// CloseWrite half-closes the connection.
func (c *Conversation) CloseWrite() *Conversation {
	_ = c.conn.CloseWrite()
	return c
}

// Await waits until the server has read everything that was sent and blocks for more.
func (c *Conversation) Await() *Conversation {
	c.t.Helper()
	if !c.conn.AwaitPeer(c.Patience) {
		c.t.Fatalf("server does not read: %d bytes are unread", c.conn.out.pending())
	}
	return c
}

// Elapsed returns the time since Start.
func (c *Conversation) Elapsed() time.Duration { return time.Since(c.started) }

// Want reads the next response, which must be final and have this status. It parses the response as one to a GET; for
// other methods see [Conversation.WantTo].
func (c *Conversation) Want(status int) *Response {
	c.t.Helper()
	return c.WantTo("GET", status)
}

// WantTo is like Want for another request method. Responses to HEAD and CONNECT are framed differently.
func (c *Conversation) WantTo(method string, status int) *Response {
	c.t.Helper()
	r := c.Next(method)
	if r.Status != status {
		c.t.Fatalf("status %d, want %d; body %.80q", r.Status, status, r.Body)
	}
	return r
}

// WantBody compares the body of the last response with want.
func (c *Conversation) WantBody(want string) *Conversation {
	c.t.Helper()
	if got := string(c.last.Body); got != want {
		c.t.Fatalf("body %.80q, want %.80q", got, want)
	}
	return c
}

// WantField checks that the last response has exactly these values for the field.
func (c *Conversation) WantField(name string, want ...string) *Conversation {
	c.t.Helper()
	if got := c.last.Values(name); !slices.Equal(got, want) {
		c.t.Fatalf("%s: %q, want %q", name, got, want)
	}
	return c
}

// WantEOF waits for the server to close the connection. The server must not send anything before, nor reset it.
func (c *Conversation) WantEOF() *Conversation {
	c.t.Helper()
	for c.fill() {
	}
	switch {
	case len(c.buf) > 0:
		c.t.Fatalf("%.80q, want the connection closed", c.buf)
	case c.rst:
		c.t.Fatalf("connection was reset, want it closed without a reset")
	case !c.eof:
		c.t.Fatalf("connection still open after %v, want it closed", c.Patience)
	}
	return c
}

// WantEnd is like WantEOF but also accepts a reset.
func (c *Conversation) WantEnd() *Conversation {
	c.t.Helper()
	for c.fill() {
	}
	if len(c.buf) > 0 || !c.eof {
		c.t.Fatalf("%.80q and the connection %s, want it closed", c.buf, c.state())
	}
	return c
}

// WantSilence checks that for d the connection stays open and nothing arrives.
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

// WantAfter checks that the time since Start is between d and d+slack.
func (c *Conversation) WantAfter(d, slack time.Duration) *Conversation {
	c.t.Helper()
	if e := c.Elapsed(); e < d || e > d+slack {
		c.t.Fatalf("after %v, want it between %v and %v", e, d, d+slack)
	}
	return c
}

// Next reads the next response, interim or final, to a request with this method.
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

// fill reads once and reports whether buf or eof may have changed.
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

// Get returns the shortest request for path, plus the given field lines.
func Get(path string, lines ...string) string { return Request("GET", path, lines...) }

// Post returns a POST request for / with these field lines, which are separated by CRLF, and this body.
func Post(lines, body string) string {
	return "POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n\r\n" + body
}

// Request returns a request without a body. Its field lines are Host and then lines.
func Request(method, target string, lines ...string) string {
	lines = append([]string{method + " " + target + " HTTP/1.1", "Host: test"}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}
