package client_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// pipelineServer answers requests as its function says, on connections that it counts.
type pipelineServer struct {
	conns atomic.Int64
	mu    sync.Mutex
	seen  []string // method and target of all requests, with the number of the connection
	live  atomic.Int64

	// answer returns what is sent for request n of a connection, both counted from 0,
	// and whether the connection goes on.
	answer func(conn, n int, req *gallop.Request) (string, bool)
}

func (s *pipelineServer) dial(string) (net.Conn, error) {
	conn := int(s.conns.Add(1)) - 1
	client, server := wiretest.Pipe()
	s.live.Add(1)
	go func() {
		defer s.live.Add(-1)
		defer server.Close()
		r := bufio.NewReader(server)
		for n := 0; ; n++ {
			req := new(gallop.Request)
			if req.Read(r) != nil {
				return
			}
			s.mu.Lock()
			s.seen = append(s.seen, fmt.Sprintf("%d:%s%s", conn, req.Header.Method(), req.Header.RequestURI()))
			s.mu.Unlock()
			answer, goOn := s.answer(conn, n, req)
			if _, err := io.WriteString(server, answer); err != nil || !goOn {
				return
			}
		}
	}()
	return client, nil
}

func (s *pipelineServer) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, " ")
}

// named is a response that says which request it is for.
func named(req *gallop.Request) string {
	body := string(req.Header.Method()) + string(req.Header.RequestURI())
	if string(req.Header.Method()) == gallop.MethodHead {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body))
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func namedAll(_, _ int, req *gallop.Request) (string, bool) { return named(req), true }

// pipelined is a call that runs: what became of it is in err and body when done is closed.
type pipelined struct {
	done chan struct{}
	err  error
	body string
	took time.Duration
}

func callPipeline(c *gallop.PipelineClient, method, path string, timeout time.Duration) *pipelined {
	p := &pipelined{done: make(chan struct{})}
	req, resp := new(gallop.Request), new(gallop.Response)
	req.Header.SetMethod(method)
	req.SetRequestURI(map[bool]string{false: "http", true: "https"}[c.IsTLS] + "://a.test" + path)
	if method == gallop.MethodPost {
		req.SetBodyString("body")
	}
	begun := time.Now()
	go func() {
		defer close(p.done)
		if timeout > 0 {
			p.err = c.DoTimeout(req, resp, timeout)
		} else {
			p.err = c.Do(req, resp)
		}
		p.body, p.took = string(resp.Body()), time.Since(begun)
	}()
	synctest.Wait() // so that calls are in order
	return p
}

func (p *pipelined) want(t *testing.T, body string, err error) {
	t.Helper()
	<-p.done
	if !errors.Is(p.err, err) || err == nil && p.body != body {
		t.Errorf("got %q, error %v; want %q, error %v", p.body, p.err, body, err)
	}
}

// testPipeline runs a test in virtual time, and sees that nothing is left of it: the
// connections end by themselves, and a bubble with a goroutine that does not end fails.
func testPipeline(t *testing.T, s *pipelineServer, c *gallop.PipelineClient, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		c.Addr, c.Dial = "a.test:80", s.dial
		test(t)
		time.Sleep(time.Hour)
		if left := servertest.PipelineState(c); left.Conns > 0 || left.Slots > 0 || s.live.Load() > 0 || c.PendingRequests() > 0 {
			t.Errorf("left are %d connections, %d slots, %d of the server, %d calls", left.Conns, left.Slots, s.live.Load(), c.PendingRequests())
		}
	})
}

func TestPipelineInOrder(t *testing.T) {
	s := &pipelineServer{answer: func(conn, n int, req *gallop.Request) (string, bool) {
		if n == 2 {
			time.Sleep(time.Second) // all three are sent before the last is answered
		}
		return named(req), true
	}}
	var c gallop.PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		a, b, h, d := callPipeline(&c, "GET", "/1", 0), callPipeline(&c, "PUT", "/2", 0), callPipeline(&c, "HEAD", "/3", 0), callPipeline(&c, "GET", "/4", 0)
		a.want(t, "GET/1", nil)
		b.want(t, "PUT/2", nil)
		h.want(t, "", nil)
		d.want(t, "GET/4", nil)
		if s.conns.Load() != 1 {
			t.Errorf("%d connections", s.conns.Load())
		}
	})
}

func TestPipelineWritesAhead(t *testing.T) {
	s := &pipelineServer{answer: func(_, n int, req *gallop.Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), true
	}}
	for _, tc := range []struct {
		name    string
		c       *gallop.PipelineClient
		methods string
		ahead   int // how many requests are sent before the first answer
	}{
		{"idempotent", &gallop.PipelineClient{}, "GET PUT HEAD DELETE OPTIONS", 5},
		{"nothing behind a POST", &gallop.PipelineClient{}, "GET POST GET GET", 2},
		{"unless it is wanted", &gallop.PipelineClient{PipelineNonIdempotent: true}, "GET POST GET GET", 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.c
			testPipeline(t, s, c, func(t *testing.T) {
				var all []*pipelined
				for i, method := range strings.Fields(tc.methods) {
					all = append(all, callPipeline(c, method, fmt.Sprint("/", i), 0))
				}
				if got := servertest.PipelineState(c).Ahead; got != tc.ahead {
					t.Errorf("%d are sent, want %d", got, tc.ahead)
				}
				for i, p := range all {
					method := strings.Fields(tc.methods)[i]
					body := fmt.Sprint(method, "/", i)
					if method == gallop.MethodHead {
						body = ""
					}
					p.want(t, body, nil)
				}
			})
		})
	}
}

func TestPipelineConns(t *testing.T) {
	s := &pipelineServer{answer: func(_, n int, req *gallop.Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), true
	}}
	c := gallop.PipelineClient{MaxConns: 2, MaxPendingRequests: 2}
	testPipeline(t, s, &c, func(t *testing.T) {
		var all []*pipelined
		for i := range 4 {
			all = append(all, callPipeline(&c, "GET", fmt.Sprint("/", i), 0))
		}
		callPipeline(&c, "GET", "/", 0).want(t, "", gallop.ErrPipelineOverflow)
		callPipeline(&c, "GET", "/", time.Millisecond).want(t, "", gallop.ErrTimeout)
		last := callPipeline(&c, "GET", "/last", time.Hour)
		for i, p := range all {
			p.want(t, fmt.Sprint("GET/", i), nil)
		}
		last.want(t, "GET/last", nil)
		if last.took < time.Second || last.took > 3*time.Second {
			t.Errorf("the one that waited took %v", last.took)
		}
		if s.conns.Load() != 2 {
			t.Errorf("%d connections", s.conns.Load())
		}
	})
}

func TestPipelineBatches(t *testing.T) {
	for _, delay := range []time.Duration{0, 10 * time.Millisecond} {
		s := &pipelineServer{answer: namedAll}
		c := gallop.PipelineClient{MaxBatchDelay: delay}
		testPipeline(t, s, &c, func(t *testing.T) {
			a := callPipeline(&c, "GET", "/1", 0)
			time.Sleep(delay / 2)
			b := callPipeline(&c, "GET", "/2", 0)
			a.want(t, "GET/1", nil)
			b.want(t, "GET/2", nil)
			if a.took != delay || b.took > delay {
				t.Errorf("with a delay of %v they took %v and %v", delay, a.took, b.took)
			}
		})
	}
}

// The table says how three calls end when the connection ends.
func TestPipelineBreaks(t *testing.T) {
	const closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast"
	closed, ok := gallop.ErrConnectionClosed, error(nil)
	for _, tc := range []struct {
		name   string
		first  func(n int, req *gallop.Request) (string, bool) // on the first connection
		method string                                          // of the third
		want   [3]error
		log    string
	}{
		{"before any answer", func(n int, _ *gallop.Request) (string, bool) { return "", n < 2 },
			"GET", [3]error{io.EOF, closed, closed}, "0:GET/1 0:GET/2 0:GET/3"},
		{"behind an answer", func(n int, req *gallop.Request) (string, bool) {
			return map[bool]string{true: named(req)}[n == 0], n < 2
		},
			"GET", [3]error{ok, ok, ok}, "0:GET/1 0:GET/2 0:GET/3 1:GET/2 1:GET/3"},
		{"behind an answer, not idempotent", func(n int, req *gallop.Request) (string, bool) {
			return map[bool]string{true: named(req)}[n == 0], n < 2
		},
			"POST", [3]error{ok, ok, closed}, "0:GET/1 0:GET/2 0:POST/3 1:GET/2"},
		{"behind one that says so, not idempotent", func(n int, req *gallop.Request) (string, bool) { return closing, false },
			"POST", [3]error{ok, ok, ok}, "0:GET/1 1:GET/2 1:POST/3"},
		{"in the middle of an answer", func(n int, req *gallop.Request) (string, bool) {
			return map[int]string{0: named(req), 1: named(req)[:30]}[n], n < 2
		}, "GET", [3]error{ok, io.ErrUnexpectedEOF, ok}, "0:GET/1 0:GET/2 0:GET/3 1:GET/3"},
		{"garbage", func(n int, req *gallop.Request) (string, bool) {
			return map[int]string{0: named(req) + "junk\r\n\r\n"}[n], true
		},
			"GET", [3]error{ok, errAnyParse, ok}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &pipelineServer{}
			var c gallop.PipelineClient
			testPipeline(t, s, &c, func(t *testing.T) {
				open := make(chan struct{})
				s.answer = func(conn, n int, req *gallop.Request) (string, bool) {
					<-open // until all are sent
					if conn > 0 {
						return named(req), true
					}
					return tc.first(n, req)
				}
				calls := [3]*pipelined{callPipeline(&c, "GET", "/1", 0), callPipeline(&c, "GET", "/2", 0), callPipeline(&c, tc.method, "/3", 0)}
				close(open)
				for i, p := range calls {
					<-p.done
					if want := tc.want[i]; want == errAnyParse {
						var parse *gallop.ParseError
						if !errors.As(p.err, &parse) {
							t.Errorf("call %d: error %v", i+1, p.err)
						}
					} else if !errors.Is(p.err, want) {
						t.Errorf("call %d: error %v, want %v", i+1, p.err, want)
					}
				}
				if tc.log != "" && s.log() != tc.log {
					t.Errorf("the server saw %s, want %s", s.log(), tc.log)
				}
			})
		})
	}
}

var errAnyParse = errors.New("some parse error")

// A server that answers one request for each connection gets no more than it answers.
func TestPipelineLearnsTheWindow(t *testing.T) {
	s := &pipelineServer{answer: func(_, n int, req *gallop.Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", false
	}}
	var c gallop.PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				req, resp := new(gallop.Request), new(gallop.Response)
				req.SetRequestURI(fmt.Sprint("http://a.test/", i))
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != "x" {
					t.Errorf("%q, error %v", resp.Body(), err)
				}
			})
		}
		wg.Wait()
		if n := s.conns.Load(); n != 100 || servertest.PipelineState(&c).Window != 1 {
			t.Errorf("%d connections for 100 requests, window %d", n, servertest.PipelineState(&c).Window)
		}
	})
}

func TestPipelineRefuses(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *gallop.Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", true
	}}
	c := gallop.PipelineClient{MaxResponseBodySize: 10}
	testPipeline(t, s, &c, func(t *testing.T) {
		callPipeline(&c, "GET", "/", 0).want(t, "", gallop.ErrBodyTooLarge)
		connect := callPipeline(&c, "CONNECT", "/", 0)
		if <-connect.done; connect.err == nil || !strings.Contains(connect.err.Error(), "CONNECT and upgrades cannot be pipelined") {
			t.Errorf("CONNECT: %v", connect.err)
		}
		req := new(gallop.Request)
		req.SetRequestURI("https://a.test/")
		if err := c.Do(req, nil); err != gallop.ErrHostClientRedirectToDifferentScheme {
			t.Errorf("https: %v", err)
		}
	})
}

func TestPipelineStreamsAreReadFirst(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *gallop.Request) (string, bool) {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(req.Body()), req.Body()), true
	}}
	var c gallop.PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		req, resp := new(gallop.Request), new(gallop.Response)
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod(gallop.MethodPost)
		req.SetBodyStream(strings.NewReader("streamed"), -1)
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "streamed" {
			t.Errorf("%q, error %v", resp.Body(), err)
		}
	})
}

// A response that should be a stream is one, over the bytes that were read.
func TestPipelineAnswersAsStreams(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *gallop.Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + string(req.RequestURI()), true
	}}
	var c gallop.PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		targets := []string{"/one", "/two"}
		resp := make([]gallop.Response, len(targets))
		for i, to := range targets {
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test" + to)
			resp[i].StreamBody = true
			wiretest.Must(t, c.Do(req, &resp[i]))
		}
		for i, want := range targets {
			stream := resp[i].BodyStream()
			if stream == nil {
				t.Fatal("no stream")
			}
			if body, err := io.ReadAll(stream); string(body) != want || err != nil {
				t.Errorf("%q, %v, want %q", body, err, want)
			}
			wiretest.Must(t, resp[i].CloseBodyStream())
		}
	})
}

func BenchmarkPipelineClient(b *testing.B) {
	ln := memnet.NewListener()
	srv := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	go srv.Serve(ln)
	defer ln.Close()
	c := gallop.PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
		req.SetRequestURI("http://a.test/")
		for pb.Next() {
			if err := c.Do(req, resp); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A request that cannot be sent is refused before it spoils the connection for other requests.
func TestPipelineRefusesWhatIsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pipelineServer{answer: func(int, int, *gallop.Request) (string, bool) { return named(new(gallop.Request)), true }}
		c := &gallop.PipelineClient{Addr: "a", Dial: s.dial}
		defer c.CloseIdleConnections()
		for _, spoil := range []func(req *gallop.Request){
			func(req *gallop.Request) { req.UseHostHeader = true; req.Header.SetHost("a b") },
			func(req *gallop.Request) { req.UseHostHeader = true; req.Header.SetHost("a/b") },
			func(req *gallop.Request) { req.Header.SetHost("a"); req.Header.SetRequestURI("/\u00fc") },
			func(req *gallop.Request) { req.Header.SetHost("a"); req.Header.SetRequestURI("/a#b") },
		} {
			var req gallop.Request
			req.Header.SetRequestURI("http://a/")
			spoil(&req)
			if err := c.Do(&req, nil); err == nil || s.conns.Load() > 0 {
				t.Errorf("%q: %v, sent %q", req.Header.String(), err, s.log())
			}
		}
	})
}

func TestPipelineTellsOfTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := servertest.NewTLSPeer(t, "host.test")
		dial := wiretest.Dialer(servePanicking(host.Config))
		c := &gallop.PipelineClient{Addr: "host.test", IsTLS: true, TLSConfig: &tls.Config{RootCAs: host.Pool},
			Dial: func(string) (net.Conn, error) { return dial() }}
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("https://host.test/")
		err := c.Do(&req, &resp)
		if s := resp.TLSConnectionState(); err != nil || s == nil || s.ServerName != "host.test" {
			t.Errorf("%v, %+v", err, s)
		}
		c.CloseIdleConnections()
	})
}
