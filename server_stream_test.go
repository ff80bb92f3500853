package gallop

import (
	"bufio"
	"io"
	"log"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// An error in a response's stream becomes an error response while nothing was sent. After that it closes the
// connection, and it never ends the process.
func TestResponseStreamOnServer(t *testing.T) {
	const get10, get = "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	const text = "Content-Type: text/plain; charset=utf-8\r\n"
	const failed = "HTTP/1.1 500 Internal Server Error\r\n" + text + "Content-Length: 21\r\nConnection: close\r\n\r\nInternal Server Error"
	for _, tt := range []struct {
		name, in string
		fill     func(*Response)
		want     string // but for Server and Date
	}{
		{"Read panics", get, func(r *Response) {
			r.SetBodyStream(readerFunc(func([]byte) (int, error) { panic(errTest) }), -1)
		}, failed},
		{"WriteTo panics", get, func(r *Response) { r.SetBodyStream(selfWriter{nil}, -1) }, failed},
		{"stream writer panics", get, func(r *Response) { r.SetBodyStreamWriter(func(*bufio.Writer) { panic(errTest) }) }, failed},
		{"stream writer panics after a flush", get, func(r *Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc"); w.Flush(); panic(errTest) })
		}, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"},
		{"body could not be read", get, func(r *Response) { r.SetBodyStream(failing("abc"), 3); r.Body() }, failed},
		{"short", get, func(r *Response) { r.SetBodyStream(strings.NewReader("ab"), 3) },
			"HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nab"},
		{"stream to HTTP/1.0", get10, func(r *Response) { r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\n" + text + "Connection: close\r\n\r\nabc"},
		{"announced by hand", get10, func(r *Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
			r.Header.SetContentLength(3)
		}, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\nConnection: close\r\n\r\nabc"},
	} {
		for name, serve := range servers {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				s := &Server{
					Handler:               func(ctx *RequestCtx) { tt.fill(&ctx.Response) },
					Logger:                log.New(io.Discard, "", 0),
					NoDefaultDate:         true,
					NoDefaultServerHeader: true,
				}
				if got := converse(t, serve, s, tt.in); got != tt.want {
					t.Errorf("\n got %q\nwant %q", got, tt.want)
				}
			})
		}
	}
}

// converse sends in to s and returns all that comes back until s closes.
func converse(t *testing.T, serve func(*Server, net.Conn) error, s *Server, in string) string {
	t.Helper()
	conn, server := wiretest.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(s, server) }()
	defer conn.Close()
	if _, err := io.WriteString(conn, in); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn)
	conn.Close()
	<-done
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	return string(got)
}

// The time for a body grows with it, whatever its size.
func TestBodyBudget(t *testing.T) {
	for _, tt := range []struct {
		got, rate int64
		want      time.Duration
	}{
		{0, 240, bodyRateGrace},
		{120, 240, bodyRateGrace + time.Second/2},
		{240 * 60, 240, bodyRateGrace + time.Minute},
		{10 << 30, 1 << 20, bodyRateGrace + 10<<10*time.Second},
		{240 << 40, 240, bodyRateGrace + math.MaxInt64/time.Second/2*time.Second},
	} {
		if got := bodyBudget(tt.got, tt.rate); got != tt.want {
			t.Errorf("%d bytes at %d: %v, want %v", tt.got, tt.rate, got, tt.want)
		}
	}
	for _, rate := range []int64{1, 240, 1 << 40, math.MaxInt64} {
		if got := bodyBudget(math.MaxInt64, rate); got < bodyRateGrace {
			t.Errorf("at %d: %v", rate, got)
		}
	}
}

// The head goes out before a stream has yielded anything if that was asked for.
func TestImmediateHeaderFlushOnServer(t *testing.T) {
	bodies := map[string]func(resp *Response, wait func()){
		"written": func(resp *Response, wait func()) {
			resp.SetBodyStreamWriter(func(w *bufio.Writer) { wait(); w.WriteString("body") })
		},
		"read": func(resp *Response, wait func()) {
			body := strings.NewReader("body")
			resp.SetBodyStream(readerFunc(func(p []byte) (int, error) { wait(); return body.Read(p) }), 4)
		},
	}
	for name, serve := range servers {
		for kind, set := range bodies {
			t.Run(name+"/"+kind, func(t *testing.T) {
				arrived := make(chan struct{})
				arrive := sync.OnceFunc(func() { close(arrived) })
				s := &Server{Handler: func(ctx *RequestCtx) {
					ctx.Response.ImmediateHeaderFlush = true
					set(&ctx.Response, func() { <-arrived })
				}}
				conn, server := wiretest.Pipe()
				done := make(chan error, 1)
				go func() { done <- serve(s, server) }()
				defer func() {
					arrive()
					conn.Close()
					<-done
				}()
				io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				r := bufio.NewReader(conn)
				for line := ""; line != "\r\n"; {
					var err error
					if line, err = r.ReadString('\n'); err != nil {
						t.Fatalf("no head before the body: %v", err)
					}
				}
				arrive()
				if body, err := io.ReadAll(r); !strings.Contains(string(body), "body") {
					t.Errorf("%q, %v", body, err)
				}
			})
		}
	}
}
