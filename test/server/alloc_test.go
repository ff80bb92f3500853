package server_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerAllocatesNothing checks that the server allocates nothing between the bytes of a request and the bytes of
// its response, once the connection has seen a request.
func TestServerAllocatesNothing(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	const four = "Host: example.com\r\nUser-Agent: test/1.0\r\nAccept: application/json\r\nX-Request-Id: 0f1e2d3c\r\n"
	twenty := four + "Accept-Language: en\r\nCookie: a=b; c=d\r\nsec-fetch-mode: navigate\r\nX-Custom: 1\r\n" +
		strings.Repeat("X-Filler-Name: a value of some length\r\n", 12)
	get := func(fields string) string { return "GET /items/1842?page=2 HTTP/1.1\r\n" + fields + "\r\n" }
	post := func(fields string) string {
		return "POST /items HTTP/1.1\r\nContent-Length: 5\r\n" + fields[strings.Index(fields, "\n")+1:] + "Host: example.com\r\n\r\nhello"
	}
	answer := []byte("Hello, world!")
	hello := func(ctx *gallop.RequestCtx) {
		if !ctx.IsGet() || len(ctx.Path()) == 0 {
			t.Errorf("handler sees %s %s", ctx.Method(), ctx.Path())
		}
		ctx.Success("text/plain", answer)
	}
	echo := func(ctx *gallop.RequestCtx) {
		if !ctx.IsPost() || len(ctx.PostBody()) != 5 {
			t.Errorf("handler sees %s with a body of %d", ctx.Method(), len(ctx.PostBody()))
		}
		ctx.Success("text/plain", ctx.PostBody())
	}
	for _, tt := range []struct {
		name    string
		request string
		handler gallop.RequestHandler
	}{
		{"GET with 4 fields", get(four), hello},
		{"GET with 20 fields", get(twenty), hello},
		{"GET whose handler looks around", get(twenty), func(ctx *gallop.RequestCtx) {
			if len(ctx.Host()) == 0 || len(ctx.UserAgent()) == 0 || len(ctx.QueryArgs().Peek("page")) != 1 ||
				len(ctx.Request.Header.Peek("X-Custom")) != 1 || len(ctx.Request.Header.Cookie("c")) != 1 {
				t.Error("something is missing")
			}
			ctx.Response.Header.Set("X-Answer", "yes")
			ctx.SetStatusCode(gallop.StatusAccepted)
			ctx.SetBodyString("looked")
		}},
		{"POST with 4 fields", post(four), echo},
		{"POST with 20 fields", post(twenty), echo},
		{"POST in chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + four + "\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", echo},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newTurns(tt.request)
			s := &gallop.Server{Handler: tt.handler}
			ended := make(chan error)
			go func() { ended <- s.ServeConn(c) }()
			if n := testing.AllocsPerRun(200, c.turn); n != 0 {
				t.Errorf("%v allocations a request", n)
			}
			c.end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if c.answers != 201 {
				t.Errorf("%d answers to 201 requests", c.answers)
			}
		})
	}
}

// TestConnectionsAllocateNothing is the same for a connection from its first byte
// to its last.
func TestConnectionsAllocateNothing(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	answer, served := []byte("Hello, world!"), 0
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		served++
		ctx.Success("text/plain", answer)
	}}
	c := newTurns("GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	n := testing.AllocsPerRun(200, func() {
		c.rest = c.request
		if err := s.ServeConn(c); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a connection", n)
	}
	if served != 201 || c.answers != 201 {
		t.Errorf("%d requests served and %d answered on 201 connections", served, c.answers)
	}
}

// turns is a connection on which client and server take turns: a call of turn
// sends the request and returns when the server, having answered, reads again.
type turns struct {
	request string
	rest    string
	next    chan bool // true: read the request; false: the end
	idle    chan struct{}
	answers int
	begun   bool
}

func newTurns(request string) *turns {
	return &turns{request: request, next: make(chan bool), idle: make(chan struct{})}
}

func (c *turns) turn() {
	if !c.begun {
		c.begun = true
		<-c.idle
	}
	c.next <- true
	<-c.idle
}

func (c *turns) Read(p []byte) (int, error) {
	if c.rest == "" {
		c.idle <- struct{}{}
		if !<-c.next {
			return 0, io.EOF
		}
		c.rest = c.request
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *turns) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p[:min(len(p), 11)]), "HTTP/1.1 20") {
		c.answers++
	}
	return len(p), nil
}

// end has the server read the end of the connection.
func (c *turns) end() { c.next <- false }

func (c *turns) Close() error                     { return nil }
func (c *turns) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
func (c *turns) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 4711} }
func (c *turns) SetDeadline(time.Time) error      { return nil }
func (c *turns) SetReadDeadline(time.Time) error  { return nil }
func (c *turns) SetWriteDeadline(time.Time) error { return nil }
