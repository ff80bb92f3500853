//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests cover properties of connections on event loops. All else is proven by the tests that
// servers have in common: they run on loops wherever they use sockets.

// loopServer serves handler on event loops and returns its address.
func loopServer(t *testing.T, s *gallop.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOnLoop(t, s, ln)
	return ln.Addr().String()
}

// serveOnLoop serves what ln accepts until the test ends.
func serveOnLoop(t *testing.T, s *gallop.Server, ln net.Listener) {
	t.Helper()
	if s.Logger == nil {
		s.Logger = log.New(io.Discard, "", 0)
	}
	s.Engine = gallop.EngineLoop
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// rawClient is a connection on which requests are written and answers read.
type rawClient struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dialRaw(t *testing.T, addr string) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &rawClient{t, c, bufio.NewReader(c)}
}

// get asks for path, and returns the body of the response.
func (c *rawClient) get(path string) (string, error) {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return "", err
	}
	return c.answer()
}

func (c *rawClient) answer() (string, error) {
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func (c *rawClient) want(path, body string) {
	c.t.Helper()
	if got, err := c.get(path); err != nil || got != body {
		c.t.Fatalf("%s: %q, %v; want %q", path, got, err, body)
	}
}

// proveFast has the handler for path called often enough to be called on the loop.
func proveFast(t *testing.T, s *gallop.Server, c *rawClient, path, body string) {
	t.Helper()
	before := s.Stats().Loop.Inline
	for range 2000 {
		c.want(path, body)
		if s.Stats().Loop.Inline > before+2 {
			return
		}
	}
	t.Fatal("a fast handler is never called on the loop")
}

func TestLoopCallsFastHandlersItself(t *testing.T) {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("fast") }}
	c := dialRaw(t, loopServer(t, s))
	proveFast(t, s, c, "/", "fast")
	if st := s.Stats().Loop; st.Pooled == 0 || st.UsedPlaces == 0 || st.FastPlaces == 0 {
		t.Errorf("%+v: it was not proven before", st)
	}
}

// A request that waits for a worker off the loop waits long where many come at once. That says
// nothing about its handler.
func TestWaitingForAWorkerIsNoSlowness(t *testing.T) {
	for range 20 { // the machine may be slow itself
		s := &gallop.Server{
			Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("fast") },
			ConnState: func(_ net.Conn, state gallop.ConnState) { // between the first bytes and the handler
				for start := time.Now(); state == gallop.StateActive && time.Since(start) < 100*time.Microsecond; {
				}
			},
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var clients []*rawClient
		for range 64 {
			c := dialRaw(t, ln.Addr().String())
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			clients = append(clients, c)
		}
		serveOnLoop(t, s, ln)
		for _, c := range clients {
			if body, err := c.answer(); err != nil || body != "fast" {
				t.Fatalf("%q, %v", body, err)
			}
		}
		if s.Stats().Loop.FastPlaces > 0 {
			return
		}
	}
	t.Error("the handler is taken for a slow one")
}

func TestDispatch(t *testing.T) {
	for _, tt := range []struct {
		dispatch       gallop.DispatchType
		inline, pooled bool
	}{
		{gallop.DispatchInline, true, false},
		{gallop.DispatchGoroutine, false, true},
	} {
		st := statsOf(t, tt.dispatch)
		for try := 0; try < 5 && (st.Inline > 0 != tt.inline || st.Pooled > 0 != tt.pooled); try++ { // a machine that is busy may be too slow for a loop
			st = statsOf(t, tt.dispatch)
		}
		if st.Inline > 0 != tt.inline || st.Pooled > 0 != tt.pooled {
			t.Errorf("%v: %+v", tt.dispatch, st)
		}
	}
}

// statsOf returns what a server does with fifty requests. The first request on the connection does not count: it is
// served where the connection was accepted, which may be off the loop.
func statsOf(t *testing.T, dispatch gallop.DispatchType) gallop.LoopStats {
	t.Helper()
	s := &gallop.Server{Dispatch: dispatch, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") }}
	c := dialRaw(t, loopServer(t, s))
	c.want("/", "x")
	first := s.Stats().Loop
	for range 50 {
		c.want("/", "x")
	}
	st := s.Stats().Loop
	st.Inline, st.Pooled = st.Inline-first.Inline, st.Pooled-first.Pooled
	return st
}

// Whatever a handler does on the loop costs its own connection only.
func TestLoopGoesOnWithoutHandlersThatStop(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one loop for all
	release := make(chan struct{})
	var self string
	s := &gallop.Server{Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/never":
			<-release
		case "/sleep":
			time.Sleep(50 * time.Millisecond)
		case "/panic":
			panic("on the loop")
		case "/goexit":
			runtime.Goexit()
		case "/spin":
			for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
			}
		case "/self":
			_, body, err := gallop.Get(nil, "http://"+self+"/ok")
			if err != nil {
				ctx.SetBodyString(err.Error())
				return
			}
			ctx.SetBody(body)
			return
		}
		ctx.SetBodyString("done")
	}}
	self = loopServer(t, s)
	t.Cleanup(func() { close(release) })
	for _, tt := range []struct{ path, body string }{
		{"/never", ""}, {"/sleep", "done"}, {"/panic", "Internal Server Error"}, {"/goexit", ""}, {"/spin", "done"}, {"/self", "done"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			others := []*rawClient{dialRaw(t, self), dialRaw(t, self), dialRaw(t, self)}
			for _, c := range others {
				c.want("/ok", "done")
			}
			var group sync.WaitGroup
			for range 3 {
				c := dialRaw(t, self)
				if tt.path == "/never" {
					_, _ = fmt.Fprintf(c, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
					continue
				}
				group.Go(func() {
					if body, err := c.get(tt.path); body != tt.body || (err != nil) != (tt.body == "") {
						t.Errorf("%q, %v", body, err)
					}
				})
			}
			for range 20 {
				for _, c := range others {
					c.want("/ok", "done")
				}
			}
			group.Wait()
		})
	}
	if st := s.Stats().Loop; st.Overtaken == 0 {
		t.Errorf("%+v: nobody was overtaken", st)
	}
}

func TestLoopSeesThatAHandlerBlocks(t *testing.T) {
	var slow atomic.Bool
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if slow.Load() {
			time.Sleep(20 * time.Millisecond)
		}
		ctx.SetBodyString("x")
	}}
	c := dialRaw(t, loopServer(t, s))
	proveFast(t, s, c, "/", "x")
	before := s.Stats().Loop.Overtaken // while the machine was slow
	slow.Store(true)
	for range 5 {
		c.want("/", "x")
	}
	if st := s.Stats().Loop; st.FastPlaces != 0 || st.Overtaken > before+2 {
		t.Errorf("%+v: it was not noticed", st)
	}
}

// One that blocks for long counts when that is known, and not when it returns: until then others would be called on
// the loop.
func TestLoopSeesThatAHandlerStillBlocks(t *testing.T) {
	var slow atomic.Bool
	release := make(chan bool)
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if slow.Load() {
			<-release
		}
		ctx.SetBodyString("x")
	}}
	c := dialRaw(t, loopServer(t, s))
	proveFast(t, s, c, "/", "x")
	slow.Store(true)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); s.Stats().Loop.FastPlaces != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%+v: it is not noticed", s.Stats().Loop)
			break
		}
	}
	close(release)
	if got, err := c.answer(); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// The time of some runs on the loop is taken, also if each is that of another connection.
func TestLoopSamplesShortConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") }}
		ln := servertest.ListenOnLoop(s)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		for range 1000 {
			c, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			if answer, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(answer), "\r\n\r\nx") {
				t.Fatalf("%q, %v", answer, err)
			}
			_ = c.Close()
		}
		if n, inline := servertest.ShortRuns(s), s.Stats().Loop.Inline; n < 40 || inline < 900 {
			t.Errorf("of %d runs on the loop it is known that %d were short", inline, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// Connections that waited for somebody to serve them have the options of all others.
func TestLoopTunesConnections(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var clients []*rawClient
	for range 3 {
		clients = append(clients, dialRaw(t, ln.Addr().String()))
	}
	serveOnLoop(t, &gallop.Server{
		TCPKeepalive: true, TCPKeepalivePeriod: 6500 * time.Millisecond,
		Handler: func(ctx *gallop.RequestCtx) {
			raw, err := ctx.Conn().(syscall.Conn).SyscallConn()
			if err != nil {
				t.Error(err)
				return
			}
			option := func(fd uintptr, level, name int) int {
				v, err := syscall.GetsockoptInt(int(fd), level, name)
				if err != nil {
					t.Error(err)
				}
				return v
			}
			_ = raw.Control(func(fd uintptr) {
				fmt.Fprint(ctx, option(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY), option(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE),
					option(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), option(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL))
			})
		},
	}, ln)
	for _, c := range append(clients, dialRaw(t, ln.Addr().String())) {
		c.want("/", "1 1 7 7")
	}
}

// Idle connections do not all have goroutines at the same time, just to end.
func TestLoopEndsIdleConnectionsWithFewGoroutines(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	const conns = 1500
	var most atomic.Int64
	s := &gallop.Server{
		Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") },
		ConnState: func(_ net.Conn, state gallop.ConnState) {
			if n := int64(runtime.NumGoroutine()); state == gallop.StateClosed && n > most.Load() {
				most.Store(n)
			}
		},
	}
	addr := loopServer(t, s)
	var clients []*rawClient
	for range conns {
		c := dialRaw(t, addr)
		c.want("/", "x")
		clients = append(clients, c)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	for _, c := range clients {
		if n, err := c.r.ReadByte(); err != io.EOF {
			t.Fatalf("%d, %v; want the end", n, err)
		}
	}
	if n := most.Load(); n > conns*2/3 {
		t.Errorf("%d goroutines for %d connections", n, conns)
	}
}

// A handler's bodies, both ways, on the loop and off it.
func TestLoopStreams(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for _, dispatch := range []gallop.DispatchType{gallop.DispatchInline, gallop.DispatchGoroutine} {
		s := &gallop.Server{Dispatch: dispatch, StreamRequestBody: true, MaxRequestBodySize: 8 << 20, Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/echo":
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
			case "/big":
				ctx.SetBody(big)
			case "/writer":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					for range 16 {
						_, _ = w.Write(big[:1<<16])
						_ = w.Flush()
					}
				})
			}
		}}
		addr := loopServer(t, s)
		var group sync.WaitGroup
		for range 3 {
			c := dialRaw(t, addr)
			group.Go(func() {
				for range 2 {
					if body, err := c.get("/big"); err != nil || body != string(big) {
						t.Errorf("/big: %d bytes, %v", len(body), err)
					}
					if body, err := c.get("/writer"); err != nil || body != string(big) {
						t.Errorf("/writer: %d bytes, %v", len(body), err)
					}
					go func() {
						_, _ = fmt.Fprintf(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(big))
						_, _ = c.Write(big)
					}()
					if body, err := c.answer(); err != nil || body != string(big) {
						t.Errorf("/echo: %d bytes, %v", len(body), err)
					}
				}
			})
		}
		group.Wait()
	}
}

func TestLoopSendsFiles(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "big")
	big := strings.Repeat("file", 1<<20)
	if err := os.WriteFile(name, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { gallop.ServeFileUncompressed(ctx, name) }}
	c := dialRaw(t, loopServer(t, s))
	for range 3 {
		if body, err := c.get("/"); err != nil || body != big {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
	}
}

func TestLoopHijack(t *testing.T) {
	s := &gallop.Server{Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(101)
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Hijack(func(c net.Conn) { _, _ = io.Copy(c, c) })
	}}
	c := dialRaw(t, loopServer(t, s))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst")
	if resp, err := http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	_, _ = io.WriteString(c, " second")
	got := make([]byte, len("first second"))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "first second" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestServeEndsWhenItsListenerIsClosed(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, transport := range []gallop.EngineType{gallop.EngineLoop, gallop.EngineGoroutine, gallop.EngineAuto} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Engine: transport, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") }}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		c := dialRaw(t, ln.Addr().String())
		c.want("/", "x")
		_ = ln.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		c.want("/", "x") // connections stay
		_ = c.Close()
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		if n := runtime.NumGoroutine(); n <= before+8 {
			return // idle workers end by and by
		} else if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, and %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// Goroutines that serve connections end when they have been idle for MaxIdleWorkerDuration, while the server goes on.
func TestMaxIdleWorkerDuration(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		const requests = 30
		running, goOn := make(chan bool, requests), make(chan bool)
		s := &gallop.Server{Engine: over, MaxIdleWorkerDuration: time.Millisecond, Handler: func(ctx *gallop.RequestCtx) {
			running <- true
			<-goOn
		}}
		addr := listen(t, s, s.Serve)
		before := runtime.NumGoroutine()
		var conns []*rawClient
		for range requests {
			c := dialRaw(t, addr)
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			conns = append(conns, c)
		}
		for range requests {
			<-running
		}
		close(goOn)
		for _, c := range conns {
			_ = c.Close()
		}
		for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+requests/2; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines, %d before the requests", runtime.NumGoroutine(), before)
			}
		}
	})
}

// Connections that arrive one by one are served by loops, whichever loop has accepted them.
func TestLoopsServeWhatTheWatchAccepts(t *testing.T) {
	t.Parallel()
	s := &gallop.Server{Engine: gallop.EngineLoop, MaxConnsPerIP: 100, Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetBodyString(ctx.RemoteAddr().String() + ctx.Conn().LocalAddr().String())
	}}
	addr := loopServer(t, s)
	for range 50 {
		time.Sleep(time.Millisecond)
		c := dialRaw(t, addr)
		for range 20 {
			c.want("/", c.LocalAddr().String()+c.RemoteAddr().String())
		}
	}
	if stats := s.Stats().Loop; stats.Inline+stats.Pooled != 50*20 { // which goroutines without loops do not count
		t.Errorf("%+v", stats)
	}
}

// A listener that Close has closed is not watched any more while handlers still run, though its socket lives on in
// another process: connections to that one would wake up the loops instead.
func TestLoopsLeaveListenersThatOthersHave(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	before := watchedListeners(t)
	begun, finish := make(chan bool), make(chan bool)
	s := &gallop.Server{Engine: gallop.EngineLoop, Logger: log.New(io.Discard, "", 0),
		Handler: func(*gallop.RequestCtx) { begun <- true; <-finish }}
	served, closed := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	_, _ = io.WriteString(dialRaw(t, ln.Addr().String()), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	if watchedListeners(t) == before {
		t.Log("the system does not tell what loops watch")
	}
	go func() { closed <- s.Close() }()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := watchedListeners(t); n > before {
		t.Errorf("it is watched still by %d loops", n-before)
	}
	close(finish)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// watchedListeners returns how many times the epolls of this process, as the system tells, have the first listener of
// a server.
func watchedListeners(t *testing.T) (n int) {
	t.Helper()
	const dir = "/proc/self/fdinfo/"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Skipf("this system does not say what an epoll watches: %v", err)
	}
	for _, f := range files {
		text, _ := os.ReadFile(dir + f.Name())
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); strings.HasPrefix(line, "tfd:") && slices.Contains(fields, "ffffffff") {
				n++
			}
		}
	}
	return n
}

// Out of descriptors, the loops neither spin nor give up.
func TestLoopOutOfDescriptors(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	var logged atomic.Int32
	s := &gallop.Server{
		Logger: log.New(writerFunc(func(p []byte) (int, error) {
			if logged.Add(1); !strings.Contains(string(p), "set Server.Concurrency below it") {
				t.Errorf("logged %q", p)
			}
			return len(p), nil
		}), "", 0),
		Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") },
	}
	addr := loopServer(t, s)
	first := dialRaw(t, addr)
	first.want("/", "x")
	files, _ := os.ReadDir("/proc/self/fd")
	few := was
	few.Cur = uint64(len(files) + 10)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	// Dials go on until the server has met the limit: earlier tests may still be closing descriptors, and the last
	// free one may go to the server, so that a client has to give one back.
	var clients []net.Conn
	for end := time.Now().Add(10 * time.Second); logged.Load() == 0 && time.Now().Before(end); {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			clients = append(clients, c)
		} else if last := len(clients) - 1; last >= 0 {
			_ = clients[last].Close()
			clients = clients[:last]
		}
		time.Sleep(time.Millisecond)
	}
	if logged.Load() == 0 {
		t.Error("nothing was logged")
	}
	time.Sleep(50 * time.Millisecond)
	first.want("/", "x") // the others are served
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)
	c := dialRaw(t, addr)
	c.want("/", "x")
	for _, c := range clients {
		_ = c.Close()
	}
}

// If no descriptor is left to send a rejected client its response, the rejection is still counted and logged.
func TestLoopRejectsWithoutDescriptors(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	var logged servertest.Log
	s := &gallop.Server{Logger: &logged, Concurrency: 1, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") }}
	addr := loopServer(t, s)
	first := dialRaw(t, addr)
	first.want("/", "x")
	to := &syscall.SockaddrInet4{Port: int(netip.MustParseAddrPort(addr).Port()), Addr: [4]byte{127, 0, 0, 1}}
	client, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(client)
	few := was
	few.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	var taken []int
	for fd, err := syscall.Dup(client); err == nil; fd, err = syscall.Dup(client) {
		taken = append(taken, fd)
	}
	free := func() {
		for _, fd := range taken {
			_ = syscall.Close(fd)
		}
		taken = nil
	}
	defer free()
	if len(taken) == 0 {
		t.Skip("too many descriptors are open already")
	}
	last := len(taken) - 1
	_ = syscall.Close(taken[last]) // for the server, which needs another one to reject the client
	taken = taken[:last]
	if err := syscall.Connect(client, to); err != nil {
		t.Fatal(err)
	}
	wiretest.Eventually(t, func() bool { return s.Stats().Rejected == 1 })
	free()
	if text := logged.String(); !strings.Contains(text, "too many connections") {
		t.Errorf("logged %q", text)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Idle connections are closed when their time has come, and heads that do not end
// answered.
func TestLoopTimes(t *testing.T) {
	t.Parallel()
	var wrong string
	for range 10 { // clients may be late because the machine is slow
		if wrong = loopTimes(t); wrong == "" {
			return
		}
	}
	t.Error(wrong)
}

// loopTimes returns what is wrong with the time limits of connections that are idle, silent or slow.
func loopTimes(t *testing.T) (wrong string) {
	s := &gallop.Server{
		IdleTimeout: 300 * time.Millisecond, ReadHeaderTimeout: 300 * time.Millisecond,
		Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("x") },
	}
	addr := loopServer(t, s)
	idle, silent, slow := dialRaw(t, addr), dialRaw(t, addr), dialRaw(t, addr)
	if body, err := idle.get("/"); body != "x" || err != nil {
		return fmt.Sprintf("%q, %v", body, err)
	}
	_, _ = io.WriteString(slow, "GET / HTTP/1.1\r\nHos")
	begun := time.Now()
	for name, c := range map[string]*rawClient{"idle": idle, "silent": silent} {
		if b, err := io.ReadAll(c.r); len(b) > 0 || err != nil {
			return fmt.Sprintf("%s: %q, %v; want the end", name, b, err)
		}
	}
	if b, err := io.ReadAll(slow.r); !strings.HasPrefix(string(b), "HTTP/1.1 408 ") || err != nil {
		return fmt.Sprintf("%q, %v; want 408", b, err)
	}
	if took := time.Since(begun); took < 200*time.Millisecond {
		return fmt.Sprintf("after %v", took)
	}
	wantNoConns(t, s)
	return ""
}

func wantNoConns(t *testing.T, s *gallop.Server) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); s.GetOpenConnectionsCount() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are left", s.GetOpenConnectionsCount())
		}
	}
}

// TestLoopAllocatesNothing holds both ways of a request to the promise that servers make:
// that of who leads the loop, and that by another worker, which sends buffers back and forth.
func TestLoopAllocatesNothing(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	for _, dispatch := range []gallop.DispatchType{gallop.DispatchInline, gallop.DispatchGoroutine} {
		t.Run(fmt.Sprint(dispatch), func(t *testing.T) {
			s := &gallop.Server{
				Dispatch: dispatch,
				Handler:  func(ctx *gallop.RequestCtx) { ctx.SetBodyString("yes") },
			}
			c := dialRaw(t, loopServer(t, s))
			request, answer := []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), make([]byte, 1024)
			turn := func() {
				_, _ = c.Write(request)
				if n, err := c.Read(answer); err != nil || !bytes.HasSuffix(answer[:n], []byte("\r\n\r\nyes")) {
					t.Errorf("%q, %v", answer[:n], err)
				}
			}
			for range 20 {
				turn()
			}
			if n := testing.AllocsPerRun(500, turn); n != 0 {
				t.Errorf("%v allocations a request", n)
			}
		})
	}
}

// Many clients come, ask in every way, and go in every way; each gets its own answers.
func TestLoopChurn(t *testing.T) {
	t.Parallel()
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if ctx.QueryArgs().Has("slow") {
			time.Sleep(time.Millisecond)
		}
		ctx.SetBody(ctx.QueryArgs().Peek("id"))
		_, _ = ctx.Write(ctx.PostBody())
	}}
	addr := loopServer(t, s)
	conns := 20 // of each client, one after the other; 12 have all numbers of calls
	if wiretest.Full() {
		conns = 100
	}
	var group sync.WaitGroup
	var calls atomic.Int64
	for g := range 40 {
		group.Go(func() {
			for n := range conns {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				c := &rawClient{t, conn, bufio.NewReader(conn)}
				for k := range 1 + (g+n)%12 {
					id := fmt.Sprintf("%d-%d-%d", g, n, k)
					var sent string
					switch (g + n + k) % 5 {
					case 0:
						sent = "GET /?id=" + id + " HTTP/1.1\r\nHost: a\r\n\r\n"
					case 1:
						sent = "GET /?slow&id=" + id + " HTTP/1.1\r\nHost: a\r\n\r\n"
					case 2:
						sent = "POST /?id=" + id + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
						id += "body"
					case 3:
						sent = "POST /?id=" + id + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
						id += "body"
					case 4: // in two pieces
						_, _ = io.WriteString(c, "GET /?id="+id+" HTTP/1.1\r\nHo")
						time.Sleep(time.Millisecond)
						sent = "st: a\r\n\r\n"
					}
					_, _ = io.WriteString(c, sent)
					if got, err := c.answer(); err != nil || got != id {
						t.Errorf("%q, %v; want %q", got, err, id)
						_ = conn.Close()
						return
					}
					calls.Add(1)
				}
				if n%3 == 0 {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				_ = conn.Close()
			}
		})
	}
	group.Wait()
	t.Logf("%d calls, %+v", calls.Load(), s.Stats().Loop)
	wantNoConns(t, s)
}
