package server_test

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// An error in a response's stream becomes an error response while nothing was sent. After that it closes the
// connection, and it never ends the process.
func TestResponseStreamOnServer(t *testing.T) {
	const get10, get = "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	const text = "Content-Type: text/plain; charset=utf-8\r\n"
	const failed = "HTTP/1.1 500 Internal Server Error\r\n" + text + "Content-Length: 21\r\nConnection: close\r\n\r\nInternal Server Error"
	for _, tt := range []struct {
		name, in string
		fill     func(*gallop.Response)
		want     string // but for Server and Date
	}{
		{"Read panics", get, func(r *gallop.Response) {
			r.SetBodyStream(wiretest.ReaderFunc(func([]byte) (int, error) { panic(wiretest.ErrTest) }), -1)
		}, failed},
		{"WriteTo panics", get, func(r *gallop.Response) { r.SetBodyStream(selfWriter{nil}, -1) }, failed},
		{"stream writer panics", get, func(r *gallop.Response) { r.SetBodyStreamWriter(func(*bufio.Writer) { panic(wiretest.ErrTest) }) }, failed},
		{"stream writer panics after a flush", get, func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc"); w.Flush(); panic(wiretest.ErrTest) })
		}, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"},
		{"body could not be read", get, func(r *gallop.Response) { r.SetBodyStream(wiretest.Failing("abc"), 3); r.Body() }, failed},
		{"short", get, func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("ab"), 3) },
			"HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nab"},
		{"stream to HTTP/1.0", get10, func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\n" + text + "Connection: close\r\n\r\nabc"},
		{"announced by hand", get10, func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
			r.Header.SetContentLength(3)
		}, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\nConnection: close\r\n\r\nabc"},
	} {
		servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
			t.Run(tt.name, func(t *testing.T) {
				s := &gallop.Server{
					Handler:               func(ctx *gallop.RequestCtx) { tt.fill(&ctx.Response) },
					Logger:                servertest.Quiet,
					NoDefaultDate:         true,
					NoDefaultServerHeader: true,
				}
				if got := askAll(t, on, s, tt.in); got != tt.want {
					t.Errorf("\n got %q\nwant %q", got, tt.want)
				}
			})
		})
	}
}

// askAll sends in to s, returns everything that arrives until s closes the connection, and shuts s down.
func askAll(t *testing.T, on servertest.Transport, s *gallop.Server, in string) string {
	t.Helper()
	conn, server := wiretest.Pipe()
	done := make(chan error, 1)
	go func() { done <- on.Serve(s)(server) }()
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

// The head goes out before a stream has yielded anything if that was asked for.
func TestImmediateHeaderFlushOnServer(t *testing.T) {
	bodies := map[string]func(resp *gallop.Response, wait func()){
		"written": func(resp *gallop.Response, wait func()) {
			resp.SetBodyStreamWriter(func(w *bufio.Writer) { wait(); w.WriteString("body") })
		},
		"read": func(resp *gallop.Response, wait func()) {
			body := strings.NewReader("body")
			resp.SetBodyStream(wiretest.ReaderFunc(func(p []byte) (int, error) { wait(); return body.Read(p) }), 4)
		},
	}
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for kind, set := range bodies {
			t.Run(kind, func(t *testing.T) {
				arrived := make(chan struct{})
				arrive := sync.OnceFunc(func() { close(arrived) })
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					ctx.Response.ImmediateHeaderFlush = true
					set(&ctx.Response, func() { <-arrived })
				}}
				conn, server := wiretest.Pipe()
				done := make(chan error, 1)
				go func() { done <- on.Serve(s)(server) }()
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
	})
}

// selfWriter is not to be read.
type selfWriter struct{ io.WriterTo }

func (selfWriter) Read([]byte) (int, error)  { panic("read") }
func (selfWriter) SupportsBodyWriteTo() bool { return true }
