package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// listenedServer is a server of whatever kind.
type listenedServer interface{ Serve(ln net.Listener) error }

// pathServers answer with the path that they are asked for.
func pathServers() map[string]listenedServer {
	return map[string]listenedServer{
		"gallop": &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.Write(ctx.Path()) }},
		"net/http": &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.URL.Path)
		})},
	}
}

// listenTCP returns a listener on loopback, warmed up for leak checks.
func listenTCP(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// Pipelined requests of many callers over few sockets get their own answers, and the
// trace is told of each of them.
func TestPipelineServers(t *testing.T) {
	listenTCP(t).Close() // has the runtime open what it polls with
	for name, s := range pathServers() {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			ln := listenTCP(t)
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = s.Serve(ln)
			}()
			var connects, conns, firsts, writes atomic.Int64
			c := &gallop.PipelineClient{Addr: ln.Addr().String(), MaxConns: 2, Trace: &gallop.ClientTrace{
				ConnectDone: func(_, _ string, err error) {
					if err == nil {
						connects.Add(1)
					}
				},
				GotConn: func(info gallop.GotConnInfo) {
					if conns.Add(1); info.Reused || info.Addr != ln.Addr().String() || info.Conn == nil {
						t.Errorf("got %+v", info)
					}
				},
				WroteRequest: func(err error) {
					if writes.Add(1); err != nil {
						t.Error(err)
					}
				},
				GotFirstByte: func() { firsts.Add(1) },
			}}
			const callers, each = 20, 50
			callMany(t, c, callers, each)
			if connects.Load() != conns.Load() || conns.Load() == 0 || conns.Load() > 2 {
				t.Errorf("%d sockets, %d connections", connects.Load(), conns.Load())
			}
			if firsts.Load() != callers*each || writes.Load() == 0 || writes.Load() > callers*each {
				t.Errorf("%d answers, %d writes", firsts.Load(), writes.Load())
			}
			c.CloseIdleConnections()
			switch s := s.(type) {
			case *gallop.Server:
				_ = s.Shutdown()
			case *http.Server:
				_ = s.Close()
			}
			<-served
		})
	}
}

// callMany makes calls that all have to succeed.
func callMany(t *testing.T, c *gallop.PipelineClient, callers, each int) {
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			var req gallop.Request
			var resp gallop.Response
			for n := range each {
				path := fmt.Sprintf("/%d/%d", caller, n)
				req.SetRequestURI("http://" + c.Addr + path)
				if err := c.Do(&req, &resp); err != nil || string(resp.Body()) != path {
					t.Errorf("%s: %q, %v", path, resp.Body(), err)
				}
			}
		})
	}
	group.Wait()
}

// dyingServer is a server on a socket that ends each of its first connections in the
// middle of a pipeline: it answers some requests of many, and half of the next one.
type dyingServer struct {
	ln      net.Listener
	running sync.WaitGroup
	lives   int // how many requests the present connections answer
	resets  bool
	deaths  atomic.Int32 // how many of them die

	mu  sync.Mutex
	got map[string]int // how often each request came
}

func (s *dyingServer) run() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.serve(c) })
	}
}

func (s *dyingServer) serve(c net.Conn) {
	defer c.Close()
	mortal := s.deaths.Add(-1) >= 0
	r := bufio.NewReader(c)
	for n := 0; ; n++ {
		var req gallop.Request
		if req.Read(r) != nil {
			return
		}
		s.mu.Lock()
		s.got[string(req.Header.Method())+string(req.Header.RequestURI())]++
		s.mu.Unlock()
		answer := named(&req)
		if mortal && n == s.lives {
			// what has come and was not read would make a reset of the end
			time.Sleep(10 * time.Millisecond)
			_, _ = io.WriteString(c, answer[:len(answer)-2])
			if s.resets {
				wiretest.Reset(c)
				return
			}
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, r)
			return
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

// When the peer dies in the middle of a pipeline, the call whose answer breaks off fails
// with that, those behind it are sent again if that is harmless, and fail with a
// ClosedError otherwise; nobody gets another one's answer.
func TestPipelinePeerDies(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	listenTCP(t).Close()
	for _, resets := range []bool{false, true} {
		for _, lives := range []int{0, 1, 5} {
			t.Run(fmt.Sprintf("resets %v, after %d answers", resets, lives), func(t *testing.T) {
				wiretest.CheckLeaks(t)
				s := &dyingServer{ln: listenTCP(t), lives: lives, resets: resets, got: map[string]int{}}
				s.deaths.Store(2)
				s.running.Go(s.run)
				c := &gallop.PipelineClient{Addr: s.ln.Addr().String(), PipelineNonIdempotent: true, MaxBatchDelay: 20 * time.Millisecond, DetailedErrors: true}
				var brokenOff, closed, good atomic.Int64
				var group sync.WaitGroup
				for i := range 40 {
					group.Go(func() {
						var req gallop.Request
						var resp gallop.Response
						req.SetRequestURI(fmt.Sprintf("http://%s/%d", c.Addr, i))
						if i%2 == 0 {
							req.Header.SetMethod(gallop.MethodPost)
						}
						want := fmt.Sprintf("%s/%d", req.Header.Method(), i)
						err := c.DoTimeout(&req, &resp, 10*time.Second)
						var ended *gallop.ClosedError
						switch {
						case err == nil && string(resp.Body()) == want:
							good.Add(1)
						case errors.As(err, &ended) && ended.Written > 0:
							closed.Add(1)
						case errors.Is(err, io.ErrUnexpectedEOF) || resets && strings.Contains(fmt.Sprint(err), "reset"):
							brokenOff.Add(1)
						default:
							t.Errorf("call %d: %q, %v", i, resp.Body(), err)
						}
					})
				}
				group.Wait()
				for what, n := range s.got {
					if n > 2 || n > 1 && strings.HasPrefix(what, gallop.MethodPost) {
						t.Errorf("%s was sent %d times", what, n)
					}
				}
				if !resets && brokenOff.Load() == 0 || good.Load()+closed.Load()+brokenOff.Load() != 40 || lives > 0 && good.Load() == 0 {
					t.Errorf("%d answers, %d broken off, %d closed", good.Load(), brokenOff.Load(), closed.Load())
				}
				if n := c.PendingRequests(); n != 0 {
					t.Errorf("%d calls", n)
				}
				c.CloseIdleConnections()
				s.ln.Close()
				s.running.Wait()
			})
		}
	}
}
