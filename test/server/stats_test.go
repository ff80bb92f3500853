package server_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// meteredConn is a client's connection that counts what goes over it.
type meteredConn struct {
	net.Conn
	sent, received uint64
}

func (c *meteredConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent += uint64(n)
	return n, err
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received += uint64(n)
	return n, err
}

// exchange sends something, and reads n responses.
func (c *meteredConn) exchange(t *testing.T, r *bufio.Reader, n int, parts ...string) {
	t.Helper()
	go io.WriteString(c, strings.Join(parts, ""))
	for range n {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
}

// The server counts exactly the bytes that its client sends and receives.
func TestStatsCountsRequestsAndBytes(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100_000)
	post := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
	expecting := "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi"
	for _, tt := range []struct {
		name              string
		parts             []string
		requests, refused uint64
		responses         int
	}{
		{"one", []string{wiretest.Get("/")}, 1, 0, 1},
		{"one behind another", []string{wiretest.Get("/"), wiretest.Get("/"), wiretest.Get("/")}, 3, 0, 3},
		{"large response", []string{wiretest.Get("/big")}, 1, 0, 1},
		{"stream", []string{wiretest.Get("/stream")}, 1, 0, 1},
		{"written by the handler", []string{wiretest.Get("/written")}, 1, 0, 1},
		{"with a watched context", []string{wiretest.Get("/watched"), wiretest.Get("/")}, 2, 0, 2},
		{"large body", []string{post, big}, 1, 0, 1},
		{"expecting", []string{expecting}, 1, 0, 1},
		{"refused head", []string{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"}, 0, 1, 1},
		{"refused method", []string{"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"}, 1, 1, 1},
		{"refused expectation", []string{"GET / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 2\r\n\r\nhi"}, 1, 1, 1},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
					synctest.Test(t, func(t *testing.T) {
						s := &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: streamed, Handler: func(ctx *gallop.RequestCtx) {
							ctx.Request.Body()
							switch string(ctx.Path()) {
							case "/big":
								ctx.SetBodyString(big)
							case "/stream":
								ctx.SetBodyStream(strings.NewReader(big), -1)
							case "/written":
								w, err := ctx.StreamResponse()
								if err != nil {
									t.Error(err)
									return
								}
								for range 10 {
									_, _ = w.WriteString(big)
								}
							case "/watched":
								_ = ctx.Done()
							}
						}}
						ln := on.Listen(s)
						served := make(chan error, 1)
						go func() { served <- s.Serve(ln) }()
						conn, err := ln.Dial()
						if err != nil {
							t.Fatal(err)
						}
						c := &meteredConn{Conn: conn}
						r := bufio.NewReader(c)
						for range 3 {
							c.exchange(t, r, tt.responses, tt.parts...)
							synctest.Wait()
							if tt.refused > 0 {
								break
							}
						}
						times := uint64(3)
						if tt.refused > 0 {
							times = 1
						}
						_ = c.Close()
						time.Sleep(time.Minute)
						got := s.Stats()
						got.Loop, got.Moved = gallop.LoopStats{}, 0
						want := gallop.ServerStats{Accepted: 1, Requests: times * tt.requests, Refused: tt.refused,
							BytesRead: c.sent, BytesWritten: c.received}
						if got != want {
							t.Errorf("got %+v, want %+v", got, want)
						}
						if err := s.Close(); err != nil {
							t.Error(err)
						}
						if err := <-served; err != nil {
							t.Error(err)
						}
					})
				})
			})
		}
	}
}

// A file that the kernel sends is counted, too.
func TestStatsCountsFiles(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) { ctx.SendFile(path) }}
		c := &meteredConn{Conn: dialTCP(t, listen(t, s, s.Serve))}
		c.exchange(t, bufio.NewReader(c), 1, wiretest.Get("/"))
		wiretest.Eventually(t, func() bool { return s.Stats().BytesWritten == c.received })
	})
}

// The counts of a connection grow while it works, not only when it ends.
func TestStatsCountsConnections(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		dir := t.TempDir()
		cert, key, pool := certificate(t, dir)
		finish := make(chan struct{})
		s := &gallop.Server{Engine: over, Concurrency: 8, Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-finish
			}
		}}
		if got := s.Stats(); got != (gallop.ServerStats{}) {
			t.Errorf("%+v before the server serves", got)
		}
		plain := listen(t, s, s.Serve)
		secure := listen(t, s, func(ln net.Listener) error { return s.ServeTLS(ln, cert, key) })
		want := func(want gallop.ServerStats) {
			t.Helper()
			var got gallop.ServerStats
			for end := time.Now().Add(10 * time.Second); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
				got = s.Stats()
				got.Loop, got.Moved, got.BytesRead, got.BytesWritten = gallop.LoopStats{}, 0, 0, 0
				if got.Active > 0 {
					got.Requests = 0 // which may lack those in flight
				}
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		var conns []net.Conn
		for range 2 { // new
			conns = append(conns, dialTCP(t, plain))
		}
		want(gallop.ServerStats{Connections: 2, Idle: 2, Accepted: 2})
		for range 2 { // in a handler
			c := dialTCP(t, plain)
			_, _ = io.WriteString(c, wiretest.Get("/wait"))
			conns = append(conns, c)
		}
		want(gallop.ServerStats{Connections: 4, Idle: 2, Active: 2, Running: 2, Accepted: 4})
		conns = append(conns, dialTCP(t, secure)) // in a handshake
		want(gallop.ServerStats{Connections: 5, Idle: 2, Active: 2, Running: 2, Handshaking: 1, Accepted: 5})
		for range 2 { // answered
			c := tls.Client(dialTCP(t, secure), &tls.Config{RootCAs: pool, ServerName: "localhost"})
			if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
				t.Error(got)
			}
			conns = append(conns, c)
		}
		want(gallop.ServerStats{Connections: 7, Idle: 4, Active: 2, Running: 2, Handshaking: 1, Accepted: 7})
		half := dialTCP(t, plain) // with half a head
		_, _ = io.WriteString(half, "GET / HTTP/1.1\r\n")
		conns = append(conns, half)
		want(gallop.ServerStats{Connections: 8, Idle: 4, Active: 3, Running: 2, Handshaking: 1, Accepted: 8})
		conns = append(conns, dialTCP(t, plain)) // one too many
		want(gallop.ServerStats{Connections: 8, Idle: 4, Active: 3, Running: 2, Handshaking: 1, Accepted: 8, Rejected: 1, RejectedConcurrency: 1})
		if n := s.GetRejectedConnectionsCount(); n != 1 {
			t.Errorf("%d rejected", n)
		}
		close(finish)
		for _, c := range conns {
			c.Close()
		}
		want(gallop.ServerStats{Accepted: 8, Requests: 4, Refused: 1, Rejected: 1, RejectedConcurrency: 1})
	})
}

// A request counts as running from its last byte until its response has been written.
func TestStatsCountsRunning(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			finish := make(chan struct{})
			s := &gallop.Server{Logger: servertest.Quiet, MaxRequestBodySize: 1 << 20, Handler: func(ctx *gallop.RequestCtx) {
				switch string(ctx.Path()) {
				case "/wait":
					<-finish
				case "/stream":
					ctx.SetBodyStream(&waitingReader{finish}, -1)
				case "/hijack":
					ctx.Hijack(func(net.Conn) { <-finish })
				case "/late":
					ctx.TimeoutError("late")
				}
			}}
			ln := on.Listen(s)
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			const post = "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
			var conns []net.Conn
			for _, step := range []struct {
				what            string
				sent            []string
				active, running uint64
			}{
				{"a handler", []string{wiretest.Get("/wait")}, 1, 1},
				{"a handler on a connection that has had requests", []string{wiretest.Get("/"), wiretest.Get("/"), wiretest.Get("/wait")}, 2, 2},
				{"half a head", []string{"GET /wait HTTP/1.1\r\nHo", "st:"}, 3, 2},
				{"half a body", []string{post, strings.Repeat("a", 50000)}, 4, 2},
				{"a whole body", []string{post, strings.Repeat("a", 50000), strings.Repeat("a", 50000)}, 5, 3},
				{"a response that is being written", []string{wiretest.Get("/stream")}, 6, 4},
				{"an idle connection", []string{wiretest.Get("/")}, 6, 4},
				{"a late handler", []string{wiretest.Get("/late")}, 6, 4},
				{"a hijacked connection", []string{wiretest.Get("/hijack")}, 6, 4},
			} {
				c, err := ln.Dial()
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
				for _, part := range step.sent {
					if _, err := io.WriteString(c, part); err != nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Millisecond)
				}
				got := s.Stats()
				if got.Active != step.active || got.Running != step.running {
					t.Errorf("%s: %d active and %d running, want %d and %d", step.what, got.Active, got.Running, step.active, step.running)
				}
			}
			close(finish)
			time.Sleep(time.Second)
			if got := s.Stats(); got.Running != 0 {
				t.Errorf("%d running after the handlers have returned, want none", got.Running)
			}
			for _, c := range conns {
				c.Close()
			}
			time.Sleep(time.Minute)
			if got := s.Stats(); got.Running != 0 || got.Connections != 0 {
				t.Errorf("%d running on %d connections, want none", got.Running, got.Connections)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	})
}

// waitingReader has a body that ends when finish is closed.
type waitingReader struct{ finish chan struct{} }

func (r *waitingReader) Read([]byte) (int, error) {
	<-r.finish
	return 0, io.EOF
}

// Stats counts handlers that an event loop has not waited for.
func TestStatsCountsMoved(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		finish := make(chan struct{})
		s := &gallop.Server{Engine: over, Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				<-finish
			}
		}}
		addr := listen(t, s, s.Serve)
		release := sync.OnceFunc(func() { close(finish) })
		defer release()
		moved := uint64(0)
		if over == gallop.EngineLoop {
			moved = 1 // the loop may pass on connections whose requests arrive late
		}
		for range 3 {
			_, _ = io.WriteString(dialTCP(t, addr), wiretest.Get("/wait"))
		}
		var got gallop.ServerStats
		wiretest.Eventually(t, func() bool {
			got = s.Stats()
			return got.Running == 3 && got.Moved >= moved
		})
		if over != gallop.EngineLoop && got.Moved != 0 || got.Moved != got.Loop.Overtaken {
			t.Errorf("moved: %d, overtaken: %d", got.Moved, got.Loop.Overtaken)
		}
		release()
		wiretest.Eventually(t, func() bool { return s.Stats().Running == 0 })
	})
}

func TestStatsCountsRejectionsPerIP(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := &gallop.Server{Engine: over, MaxConnsPerIP: 1, Handler: servertest.Say, Logger: servertest.Quiet}
		addr := listen(t, s, s.Serve)
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		for range 2 {
			if got := firstLine(t, dialTCP(t, addr), ""); got != "HTTP/1.1 429 Too Many Requests" {
				t.Error(got)
			}
		}
		if got := s.Stats(); got.Accepted != 1 || got.Rejected != 2 || got.RejectedPerIP != 2 || got.RejectedConcurrency != 0 {
			t.Errorf("%+v", got)
		}
		if n := s.GetRejectedConnectionsCount(); n != 2 {
			t.Errorf("%d rejected", n)
		}
	})
}

// Stats may be called while connections come and go, by many goroutines, and lets go of the lock now and then.
func TestStatsOfManyConnections(t *testing.T) {
	s := &gallop.Server{Handler: servertest.Say, Logger: servertest.Quiet}
	ln := servertest.Goroutines.Listen(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	const n = 1000
	var conns []net.Conn
	for range n {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	wiretest.Eventually(t, func() bool { return s.Stats().Idle == n })
	stop, ended := make(chan struct{}), make(chan struct{})
	for range 2 {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
					if got := s.Stats(); got.Connections > n || got.Connections != got.Idle+got.Active {
						t.Errorf("%+v", got)
						<-stop
					}
				}
			}
		}()
	}
	for _, c := range conns[:n/2] {
		c.Close()
	}
	wiretest.Eventually(t, func() bool { return s.Stats().Connections == n/2 })
	close(stop)
	<-ended
	<-ended
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Connections != 0 || got.Accepted != n {
		t.Errorf("%+v", got)
	}
}
