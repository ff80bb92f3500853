package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// simRequest is a request that has been made.
type simRequest struct {
	id   int
	kind string
	n    int  // bytes of the body, of the response at least
	last bool // the server ends the connection behind it
}

func (q *simRequest) String() string { return fmt.Sprintf("%s?id=%d&n=%d", q.kind, q.id, q.n) }

// simKinds are what is asked for: quick and slow handlers, streams, and those that go wrong.
var simKinds = []string{
	"/fast", "/fast", "/fast", "/fast", "/fast", "/slow", "/big", "/writer", "/wait", "/echo", "/echo", "/stream", "/unread",
	"/hijack", "/panic", "/goexit", "/close",
}

// simBody is a body that tells which request it belongs to.
func simBody(id, n int) string {
	unit := "<" + strconv.Itoa(id) + ">"
	return strings.Repeat(unit, n/len(unit)+1)[:n]
}

// handle is the server's handler.
func (m *simulation) handle(ctx *gallop.RequestCtx) {
	if ctx.IsConnect() {
		m.tunnel(ctx)
		return
	}
	id, n := ctx.QueryArgs().GetUintOrZero("id"), ctx.QueryArgs().GetUintOrZero("n")
	m.mu.Lock()
	m.calls[id]++
	m.mu.Unlock()
	ctx.Response.Header.Set("X-Id", strconv.Itoa(id))
	switch string(ctx.Path()) {
	case "/slow":
		time.Sleep(time.Duration(id%40) * time.Millisecond / 4)
	case "/writer":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for body := simBody(id, n); body != ""; {
				k := min(len(body), 100+id%300)
				_, _ = w.WriteString(body[:k])
				_ = w.Flush()
				body = body[k:]
			}
		})
		return
	case "/wait":
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(id%20) * time.Millisecond):
		}
	case "/echo":
		ctx.SetBody(ctx.PostBody())
		return
	case "/stream":
		if ctx.Request.IsBodyStream() {
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
			return
		}
		ctx.SetBody(ctx.PostBody())
		return
	case "/hijack":
		ctx.Hijack(func(c net.Conn) {
			p := make([]byte, n)
			if _, err := io.ReadFull(c, p); err == nil {
				_, _ = c.Write(p)
			}
		})
		return
	case "/panic":
		panic("simulated")
	case "/goexit":
		runtime.Goexit()
	case "/abort":
		panic(gallop.ErrAbortHandler)
	case "/close":
		ctx.SetConnectionClose()
	}
	ctx.SetBodyString(simBody(id, n))
}

// simClient is a connection of a client.
type simClient struct {
	m      *simulation
	h2     *simH2  // nil over HTTP/1
	tls    *simTLS // nil without TLS
	id     int
	conn   *wiretest.Conn
	out    []byte        // what was not sent yet
	in     []byte        // what was not understood yet
	due    []*simRequest // what was not answered yet, in this order
	last   bool          // nothing more is asked for
	half   bool          // the client sends no more
	gone   bool          // nor does it read
	over   bool          // the server has ended the connection
	tunnel *simRequest   // what comes is no HTTP any more
	ending bool          // the server may end the connection: it said so, or waits for a body that nobody reads
}

// act has a client do something.
func (m *simulation) act() {
	m.clients = slices.DeleteFunc(m.clients, func(c *simClient) bool { return c.over || c.gone })
	if len(m.clients) == 0 || len(m.clients) < 12 && m.draw(20) == 0 {
		m.connect()
		return
	}
	c := m.clients[m.draw(len(m.clients))]
	what := m.draw(100)
	m.note("client", c.id<<8+what)
	switch {
	case what < 15:
		for range 1 + m.draw(6) {
			c.ask()
		}
	case what < 18 && c.h2 != nil:
		c.h2.cancel()
	case what < 25:
		c.send(len(c.out))
	case what < 60:
		c.send(1 + m.draw(1+len(c.out)))
	case what < 97:
		c.receive(1 + m.draw(2000))
	case what < 98 && len(c.out) == 0 && !c.tls.isShaking() && (c.h2 == nil || len(c.due) == 0):
		c.last, c.half = true, true
		_ = c.conn.CloseWrite()
	case what == 98:
		c.giveUp()
		c.conn.Reset()
	case what == 99:
		c.giveUp()
		_ = c.conn.Close()
	}
}

// connect begins another connection, if the server listens still.
func (m *simulation) connect() {
	client, server := wiretest.Pipe()
	m.lastID++
	c := &simClient{m: m, id: m.lastID, conn: client}
	if m.tls {
		c.tls = newSimTLS()
	}
	if m.h2 {
		c.h2 = newSimH2(c)
	}
	m.note("connect", c.id)
	if m.draw(2) == 0 {
		client.SetWindow(1 + m.draw(500))
	}
	if m.draw(4) == 0 {
		server.SetWindow(1 + m.draw(200))
	}
	if m.ln.Connect(&simSocket{Conn: server, m: m, id: c.id}) == nil {
		c.tls.end()
		return
	}
	m.clients = append(m.clients, c)
}

// ask makes a request, which is to be sent by and by.
func (c *simClient) ask() {
	if c.h2 != nil {
		c.h2.ask()
		return
	}
	if c.last || len(c.due) >= 12 {
		return
	}
	m := c.m
	m.lastID++
	q := &simRequest{id: m.lastID, kind: simKinds[m.draw(len(simKinds))], n: m.draw(60)}
	method, lines, body := "GET", []string(nil), ""
	switch q.kind {
	case "/big", "/writer":
		q.n = m.draw(6000)
	case "/echo", "/stream", "/unread":
		q.n = m.draw(3000)
		method, body = "POST", simBody(q.id, q.n)
		lines = append(lines, "Content-Length: "+strconv.Itoa(q.n))
		if m.draw(2) == 0 {
			lines[0] = "Transfer-Encoding: chunked"
			body = simChunks(body, 1+m.draw(1000))
		}
		if m.draw(8) == 0 {
			lines = append(lines, "Expect: 100-continue")
		}
	case "/hijack":
		body, q.last = simBody(q.id, q.n), true
	case "/panic", "/goexit":
		q.last = true
	case "/close":
		q.last, lines = true, []string{"Connection: close"}
	}
	c.last = q.last
	c.due = append(c.due, q)
	c.write([]byte(wiretest.Request(method, q.String(), lines...) + body))
}

// write adds p to what is to be sent.
func (c *simClient) write(p []byte) {
	if c.tls == nil {
		c.out = append(c.out, p...)
	} else {
		c.tls.write(p)
	}
}

func simChunks(body string, size int) string {
	var b strings.Builder
	for body != "" {
		k := min(len(body), size)
		fmt.Fprintf(&b, "%x\r\n%s\r\n", k, body[:k])
		body = body[k:]
	}
	return b.String() + "0\r\n\r\n"
}

// send sends some of what is to be sent, and reports whether any was.
func (c *simClient) send(most int) bool {
	if c.h2 != nil && !c.over {
		c.h2.gather()
	}
	c.out = append(c.out, c.tls.takeOutput()...)
	if c.half || c.gone || len(c.out) == 0 {
		return false
	}
	n, err := c.conn.TryWrite(c.out[:min(most, len(c.out))])
	if err != nil && err != syscall.EAGAIN { // the server has closed
		c.out = nil
	}
	c.out = c.out[min(n, len(c.out)):]
	return n > 0
}

// receive reads some of what has come, and reports whether there was any.
func (c *simClient) receive(most int) bool {
	if c.gone || c.over {
		return false
	}
	p := make([]byte, most)
	n, err := c.conn.TryRead(p)
	if err == syscall.EAGAIN {
		return false
	}
	c.over = n == 0
	if c.tls == nil {
		c.in = append(c.in, p[:n]...)
	} else {
		data, wrong := c.tls.read(p[:n], c.over)
		if c.in = append(c.in, data...); wrong != nil && !c.over {
			c.m.fail("connection %d: %v", c.id, wrong)
		}
	}
	c.understand(err)
	return true
}

// move does all that can be done without a new request.
func (c *simClient) move() bool {
	sent := c.send(len(c.out))
	return c.receive(16<<10) || sent
}

// understand takes the responses out of the received bytes.
func (c *simClient) understand(err error) {
	if c.h2 != nil {
		c.h2.understand(err)
		return
	}
	m := c.m
	for c.tunnel == nil && len(c.in) > 0 && len(c.due) > 0 {
		q := c.due[0]
		r, n, err := wiretest.Parse(c.in, "GET", c.over)
		if err != nil && c.over && strings.HasPrefix(err.Error(), "truncated") {
			break
		}
		if err != nil {
			m.fail("connection %d, %v: %v", c.id, q, err)
			return
		}
		if n == 0 {
			break
		}
		c.in = c.in[n:]
		if r.Interim() {
			continue
		}
		if m.timed && r.Status == 408 && m.called(q) == 0 { // its head came too slowly
			c.ending, c.last, c.in = true, true, nil
			break
		}
		c.due = c.due[1:]
		c.answered(q, r)
	}
	switch q := c.tunnel; {
	case q != nil:
		if !strings.HasPrefix(simBody(q.id, q.n), string(c.in)) || c.over && err == nil && len(c.in) < q.n && !c.half && len(c.out) == 0 {
			m.fail("connection %d, %v: %.200q came back of %d octets", c.id, q, c.in, q.n)
		}
	case len(c.due) == 0 && len(c.in) > 0:
		m.fail("connection %d: %.200q comes behind the last answer", c.id, c.in)
	}
	if c.over && len(c.due) > 0 {
		c.left(err)
	}
}

// called returns how often the handler was called for a request.
func (m *simulation) called(q *simRequest) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[q.id]
}

// answered judges a response.
func (c *simClient) answered(q *simRequest, r *wiretest.Response) {
	m := c.m
	m.answered++
	calls := m.called(q)
	c.ending = c.ending || r.Get("Connection") == "close"
	want, body := 200, simBody(q.id, q.n)
	if q.kind == "/panic" {
		want, body = 500, "Internal Server Error"
	} else if got := r.Get("X-Id"); got != strconv.Itoa(q.id) {
		m.fail("connection %d, %v: the answer to %s", c.id, q, got)
	}
	switch q.kind {
	case "/hijack":
		c.tunnel, body = q, ""
	case "/unread":
		c.ending = true
	}
	if r.Status != want || string(r.Body) != body || calls != 1 {
		m.fail("connection %d, %v: %d, %.200q, and the handler was called %d times", c.id, q, r.Status, r.Body, calls)
	}
}

// left judges the end of a connection that has left requests without a response. A handler that
// ends its goroutine takes with it what was not sent yet.
func (c *simClient) left(err error) {
	m, q, end := c.m, c.due[0], c.due[len(c.due)-1]
	calls := m.called(q)
	died := end.kind == "/goexit" && m.called(end) == 1
	if !died && (!(m.ending || m.timed || c.ending) || calls > 0) {
		m.fail("connection %d ends, %v, without an answer to %v, of which the handler was called %d times; half %v, %d to be sent, %.300q came", c.id, err, c.due, calls, c.half, len(c.out), c.in)
	}
}
