package gallop

import (
	"bufio"
	"context"
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

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// pipelineServer answers requests as its function says, on connections that it counts.
type pipelineServer struct {
	conns atomic.Int64
	mu    sync.Mutex
	seen  []string // method and target of all requests, with the number of the connection
	live  atomic.Int64

	// answer returns what is sent for request n of a connection, both counted from 0,
	// and whether the connection goes on.
	answer func(conn, n int, req *Request) (string, bool)
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
			req := new(Request)
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
func named(req *Request) string {
	body := string(req.Header.Method()) + string(req.Header.RequestURI())
	if string(req.Header.Method()) == MethodHead {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body))
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func namedAll(_, _ int, req *Request) (string, bool) { return named(req), true }

// pipelined is a call that runs: what became of it is in err and body when done is closed.
type pipelined struct {
	done chan struct{}
	err  error
	body string
	took time.Duration
}

func callPipeline(c *PipelineClient, method, path string, timeout time.Duration) *pipelined {
	p := &pipelined{done: make(chan struct{})}
	req, resp := new(Request), new(Response)
	req.Header.SetMethod(method)
	req.SetRequestURI(map[bool]string{false: "http", true: "https"}[c.IsTLS] + "://a.test" + path)
	if method == MethodPost {
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
func testPipeline(t *testing.T, s *pipelineServer, c *PipelineClient, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		c.Addr, c.Dial = "a.test:80", s.dial
		test(t)
		time.Sleep(time.Hour)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.conns) > 0 || len(c.slots) > 0 || s.live.Load() > 0 || c.PendingRequests() > 0 {
			t.Errorf("left are %d connections, %d slots, %d of the server, %d calls", len(c.conns), len(c.slots), s.live.Load(), c.PendingRequests())
		}
	})
}

func TestPipelineInOrder(t *testing.T) {
	s := &pipelineServer{answer: func(conn, n int, req *Request) (string, bool) {
		if n == 2 {
			time.Sleep(time.Second) // all three are sent before the last is answered
		}
		return named(req), true
	}}
	var c PipelineClient
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
	s := &pipelineServer{answer: func(_, n int, req *Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), true
	}}
	for _, tc := range []struct {
		name    string
		c       *PipelineClient
		methods string
		ahead   int // how many requests are sent before the first answer
	}{
		{"idempotent", &PipelineClient{}, "GET PUT HEAD DELETE OPTIONS", 5},
		{"nothing behind a POST", &PipelineClient{}, "GET POST GET GET", 2},
		{"unless it is wanted", &PipelineClient{PipelineNonIdempotent: true}, "GET POST GET GET", 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.c
			testPipeline(t, s, c, func(t *testing.T) {
				var all []*pipelined
				for i, method := range strings.Fields(tc.methods) {
					all = append(all, callPipeline(c, method, fmt.Sprint("/", i), 0))
				}
				c.mu.Lock()
				if got := c.conns[0].sent.len(); got != tc.ahead {
					t.Errorf("%d are sent, want %d", got, tc.ahead)
				}
				c.mu.Unlock()
				for i, p := range all {
					method := strings.Fields(tc.methods)[i]
					body := fmt.Sprint(method, "/", i)
					if method == MethodHead {
						body = ""
					}
					p.want(t, body, nil)
				}
			})
		})
	}
}

func TestPipelineConns(t *testing.T) {
	s := &pipelineServer{answer: func(_, n int, req *Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), true
	}}
	c := PipelineClient{MaxConns: 2, MaxPendingRequests: 2}
	testPipeline(t, s, &c, func(t *testing.T) {
		var all []*pipelined
		for i := range 4 {
			all = append(all, callPipeline(&c, "GET", fmt.Sprint("/", i), 0))
		}
		callPipeline(&c, "GET", "/", 0).want(t, "", ErrPipelineOverflow)
		callPipeline(&c, "GET", "/", time.Millisecond).want(t, "", ErrTimeout)
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
		c := PipelineClient{MaxBatchDelay: delay}
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
	closed, ok := ErrConnectionClosed, error(nil)
	for _, tc := range []struct {
		name   string
		first  func(n int, req *Request) (string, bool) // on the first connection
		method string                                   // of the third
		want   [3]error
		log    string
	}{
		{"before any answer", func(n int, _ *Request) (string, bool) { return "", n < 2 },
			"GET", [3]error{io.EOF, closed, closed}, "0:GET/1 0:GET/2 0:GET/3"},
		{"behind an answer", func(n int, req *Request) (string, bool) { return map[bool]string{true: named(req)}[n == 0], n < 2 },
			"GET", [3]error{ok, ok, ok}, "0:GET/1 0:GET/2 0:GET/3 1:GET/2 1:GET/3"},
		{"behind an answer, not idempotent", func(n int, req *Request) (string, bool) { return map[bool]string{true: named(req)}[n == 0], n < 2 },
			"POST", [3]error{ok, ok, closed}, "0:GET/1 0:GET/2 0:POST/3 1:GET/2"},
		{"behind one that says so, not idempotent", func(n int, req *Request) (string, bool) { return closing, false },
			"POST", [3]error{ok, ok, ok}, "0:GET/1 1:GET/2 1:POST/3"},
		{"in the middle of an answer", func(n int, req *Request) (string, bool) {
			return map[int]string{0: named(req), 1: named(req)[:30]}[n], n < 2
		}, "GET", [3]error{ok, io.ErrUnexpectedEOF, ok}, "0:GET/1 0:GET/2 0:GET/3 1:GET/3"},
		{"garbage", func(n int, req *Request) (string, bool) {
			return map[int]string{0: named(req) + "junk\r\n\r\n"}[n], true
		},
			"GET", [3]error{ok, errAnyParse, ok}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &pipelineServer{}
			var c PipelineClient
			testPipeline(t, s, &c, func(t *testing.T) {
				open := make(chan struct{})
				s.answer = func(conn, n int, req *Request) (string, bool) {
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
						var parse *ParseError
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
	s := &pipelineServer{answer: func(_, n int, req *Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", false
	}}
	var c PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				req, resp := new(Request), new(Response)
				req.SetRequestURI(fmt.Sprint("http://a.test/", i))
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != "x" {
					t.Errorf("%q, error %v", resp.Body(), err)
				}
			})
		}
		wg.Wait()
		if n := s.conns.Load(); n != 100 || c.window != 1 {
			t.Errorf("%d connections for 100 requests, window %d", n, c.window)
		}
	})
}

func TestPipelineTimeouts(t *testing.T) {
	slow := func(takes ...time.Duration) *pipelineServer {
		return &pipelineServer{answer: func(conn, n int, req *Request) (string, bool) {
			if conn == 0 && n < len(takes) {
				time.Sleep(takes[n])
			}
			return named(req), true
		}}
	}
	t.Run("a late answer reaches nobody", func(t *testing.T) {
		s, c := slow(1500*time.Millisecond), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "GET", "/1", time.Second)
			b := callPipeline(c, "GET", "/2", 0)
			a.want(t, "", ErrTimeout)
			b.want(t, "GET/2", nil)
			if s.conns.Load() != 1 || a.took != time.Second {
				t.Errorf("%d connections, timeout after %v", s.conns.Load(), a.took)
			}
		})
	})
	t.Run("nobody waits long for it", func(t *testing.T) {
		s, c := slow(0, time.Hour), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			callPipeline(c, "GET", "/0", 0).want(t, "GET/0", nil)
			a := callPipeline(c, "GET", "/1", time.Second)
			b := callPipeline(c, "GET", "/2", 0)
			p := callPipeline(c, "POST", "/3", 0)
			a.want(t, "", ErrTimeout)
			b.want(t, "GET/2", nil) // again, on another connection
			p.want(t, "", ErrConnectionClosed)
			if s.conns.Load() != 2 || b.took != 2*time.Second {
				t.Errorf("%d connections, the next took %v", s.conns.Load(), b.took)
			}
		})
	})
	t.Run("one behind another", func(t *testing.T) {
		s, c := slow(3*time.Second), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "GET", "/1", 0)
			b := callPipeline(c, "GET", "/2", time.Second)
			d := callPipeline(c, "GET", "/3", 0)
			b.want(t, "", ErrTimeout)
			a.want(t, "GET/1", nil)
			d.want(t, "GET/3", nil)
			if s.conns.Load() != 1 {
				t.Errorf("%d connections", s.conns.Load())
			}
		})
	})
	t.Run("not sent at all", func(t *testing.T) {
		s, c := slow(3*time.Second), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "POST", "/1", 0)
			callPipeline(c, "GET", "/2", time.Second).want(t, "", ErrTimeout)
			a.want(t, "POST/1", nil)
			callPipeline(c, "GET", "/3", 0).want(t, "GET/3", nil)
			if got := s.log(); got != "0:POST/1 0:GET/3" {
				t.Errorf("the server saw %s", got)
			}
		})
	})
	t.Run("ReadTimeout", func(t *testing.T) {
		s, c := slow(0, time.Hour), &PipelineClient{ReadTimeout: time.Second}
		testPipeline(t, s, c, func(t *testing.T) {
			a, b, d := callPipeline(c, "GET", "/1", 0), callPipeline(c, "GET", "/2", 0), callPipeline(c, "GET", "/3", 0)
			a.want(t, "GET/1", nil)
			b.want(t, "", ErrTimeout)
			d.want(t, "GET/3", nil)
			if b.took != time.Second {
				t.Errorf("took %v", b.took)
			}
		})
	})
	t.Run("over before it begins", func(t *testing.T) {
		s, c := slow(), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			callPipeline(c, "GET", "/1", 0).want(t, "GET/1", nil)
			req := new(Request)
			req.SetRequestURI("http://a.test/2")
			for range 1000 {
				if err := c.DoTimeout(req, nil, 0); err != ErrTimeout {
					t.Errorf("error %v", err)
				}
				if err := c.DoDeadline(req, nil, time.Now()); err != ErrTimeout {
					t.Errorf("error %v", err)
				}
			}
			if got := s.log(); got != "0:GET/1" {
				t.Errorf("the server saw %s", got)
			}
		})
	})
	t.Run("the answer of before", func(t *testing.T) {
		s, c := slow(0, time.Hour), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			req, resp := new(Request), new(Response)
			req.SetRequestURI("http://a.test/")
			if err := c.Do(req, resp); err != nil || len(resp.Body()) == 0 {
				t.Errorf("%q, %v", resp.Body(), err)
			}
			if err := c.DoTimeout(req, resp, time.Second); err != ErrTimeout || len(resp.Body()) > 0 || resp.Header.ContentLength() > 0 {
				t.Errorf("%q, %v", resp, err)
			}
		})
	})
	t.Run("of the request", func(t *testing.T) {
		s, c := slow(time.Hour), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			req := new(Request)
			req.SetRequestURI("http://a.test/")
			req.SetTimeout(time.Second)
			if err := c.Do(req, nil); err != ErrTimeout {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		s, c := slow(time.Hour), &PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			req := new(Request)
			req.SetRequestURI("http://a.test/")
			if err := c.DoContext(ctx, req, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if err := c.DoContext(ctx, req, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	})
}

func TestPipelineUnaskedAnswer(t *testing.T) {
	s := &pipelineServer{answer: func(conn, n int, req *Request) (string, bool) {
		if conn == 0 {
			return named(req) + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", true
		}
		return named(req), true
	}}
	var c PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		callPipeline(&c, "GET", "/1", 0).want(t, "GET/1", nil)
		callPipeline(&c, "GET", "/2", 0).want(t, "GET/2", nil)
		if s.conns.Load() != 2 {
			t.Errorf("%d connections", s.conns.Load())
		}
	})
}

func TestPipelineIdle(t *testing.T) {
	s := &pipelineServer{answer: namedAll}
	c := PipelineClient{MaxIdleConnDuration: time.Minute}
	testPipeline(t, s, &c, func(t *testing.T) {
		for i, pause := range []time.Duration{59 * time.Second, 59 * time.Second, 61 * time.Second, 0} {
			callPipeline(&c, "GET", "/", 0).want(t, "GET/", nil)
			want := int64(1)
			if i == 3 {
				want = 2
			}
			if s.conns.Load() != want {
				t.Errorf("%d connections at call %d", s.conns.Load(), i)
			}
			time.Sleep(pause)
		}
		c.CloseIdleConnections()
		if synctest.Wait(); s.live.Load() != 0 {
			t.Errorf("%d connections are left", s.live.Load())
		}
	})
}

func TestPipelineRefuses(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", true
	}}
	c := PipelineClient{MaxResponseBodySize: 10}
	testPipeline(t, s, &c, func(t *testing.T) {
		callPipeline(&c, "GET", "/", 0).want(t, "", ErrBodyTooLarge)
		callPipeline(&c, "CONNECT", "/", 0).want(t, "", errPipelineUpgrade)
		req := new(Request)
		req.SetRequestURI("https://a.test/")
		if err := c.Do(req, nil); err != ErrHostClientRedirectToDifferentScheme {
			t.Errorf("https: %v", err)
		}
	})
}

func TestPipelineDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		c := PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) {
			time.Sleep(time.Second)
			return nil, refused
		}}
		a, b := callPipeline(&c, "GET", "/", 0), callPipeline(&c, "POST", "/", 0)
		a.want(t, "", refused)
		b.want(t, "", refused)
		time.Sleep(pipelineRetry)
		callPipeline(&c, "GET", "/", 500*time.Millisecond).want(t, "", ErrTimeout)
		time.Sleep(time.Second) // in which Dial returns
	})
}

// A server that is down is not dialed for each call: ten times a second at most, and in between calls fail at once
// with the error of the last dial. When it is back calls reach it within pipelineRetry.
func TestPipelineDialsRarely(t *testing.T) {
	for _, conns := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			refused := errors.New("refused")
			dials, down := 0, true
			s := &pipelineServer{answer: namedAll}
			c := PipelineClient{Addr: "a.test:80", MaxConns: conns, Dial: func(addr string) (net.Conn, error) {
				if dials++; down {
					return nil, refused
				}
				return s.dial(addr)
			}}
			req := new(Request)
			req.SetRequestURI("http://a.test/")
			begun := time.Now()
			for range 1000 {
				at := time.Now()
				if err := c.Do(req, nil); !errors.Is(err, refused) || time.Since(at) != 0 {
					t.Fatalf("%v after %v", err, time.Since(at))
				}
				time.Sleep(time.Millisecond)
			}
			if most := int(time.Since(begun)/pipelineRetry) + 1; dials > most || dials < most-1 {
				t.Errorf("%d dials in %v", dials, time.Since(begun))
			}
			down = false
			for end := time.Now().Add(pipelineRetry); c.Do(req, nil) != nil; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("calls still fail")
				}
			}
			c.CloseIdleConnections()
		})
	}
}

// A server that closes connections as soon as they are there counts as down, though they can be dialed.
func TestPipelineDialsServersThatHangUpRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) {
			dials++
			client, server := memnet.Pipe()
			_ = server.Close()
			return client, nil
		}}
		req := new(Request)
		req.SetRequestURI("http://a.test/")
		for range 1000 {
			if err := c.DoTimeout(req, nil, 10*time.Second); err == nil || err == ErrTimeout {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if dials > 12 {
			t.Errorf("%d dials", dials)
		}
	})
}

func TestPipelineStreamsAreReadFirst(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *Request) (string, bool) {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(req.Body()), req.Body()), true
	}}
	var c PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		req, resp := new(Request), new(Response)
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod(MethodPost)
		req.SetBodyStream(strings.NewReader("streamed"), -1)
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "streamed" {
			t.Errorf("%q, error %v", resp.Body(), err)
		}
	})
}

// A response that should be a stream is one, over the bytes that were read.
func TestPipelineAnswersAsStreams(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *Request) (string, bool) {
		return "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + string(req.RequestURI()), true
	}}
	var c PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		targets := []string{"/one", "/two"}
		resp := make([]Response, len(targets))
		for i, to := range targets {
			req := new(Request)
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

// Each read and write of the first connection fails once, in every way. Whatever happens,
// calls end, with their own answer or an error, and no POST is sent twice.
func TestPipelineTorture(t *testing.T) {
	for _, kind := range wiretest.Faults {
		for at := 1; at <= 16; at++ {
			s := &pipelineServer{answer: namedAll}
			c := PipelineClient{MaxConns: 2, WriteBufferSize: 1, PipelineNonIdempotent: at%2 == 0}
			synctest.Test(t, func(t *testing.T) {
				var first sync.Once
				c.Addr = "a.test:80"
				c.Dial = func(addr string) (nc net.Conn, err error) {
					nc, err = s.dial(addr)
					first.Do(func() { nc = wiretest.NewFault(nc, at, kind) })
					return nc, err
				}
				var calls []*pipelined
				for i, method := range []string{"GET", "GET", "POST", "PUT", "GET", "POST", "DELETE"} {
					calls = append(calls, callPipeline(&c, method, fmt.Sprint("/", i), time.Minute))
				}
				for i, p := range calls {
					if <-p.done; p.err != nil {
						if kind == wiretest.FaultOctet {
							t.Errorf("%v at %d: call %d: %v", kind, at, i, p.err)
						}
					} else if !strings.HasSuffix(p.body, fmt.Sprint("/", i)) {
						t.Errorf("%v at %d: call %d has %q", kind, at, i, p.body)
					}
				}
				for _, post := range []string{"POST/2", "POST/5"} {
					if n := strings.Count(s.log(), post); n > 1 {
						t.Errorf("%v at %d: %s was sent %d times: %s", kind, at, post, n, s.log())
					}
				}
				time.Sleep(time.Hour)
				c.mu.Lock()
				defer c.mu.Unlock()
				if len(c.conns) > 0 || len(c.slots) > 0 || s.live.Load() > 0 {
					t.Errorf("%v at %d: left are %d connections, %d slots", kind, at, len(c.conns), len(c.slots))
				}
			})
		}
	}
}

// There are a thousand callers, some of which give up, and a server that closes connections. Each response belongs to
// its request, and nothing is left.
func TestPipelineManyCallers(t *testing.T) {
	wiretest.CheckLeaks(t)
	ln := memnet.NewListener()
	srv := &Server{MaxRequestsPerConn: 500, Handler: func(ctx *RequestCtx) {
		if ctx.QueryArgs().Has("slow") {
			time.Sleep(5 * time.Millisecond)
		}
		ctx.WriteString(string(ctx.Path()))
	}}
	go srv.Serve(ln)
	defer srv.Shutdown()
	c := PipelineClient{Addr: "a.test:80", MaxConns: 4, MaxIdleConnDuration: 10 * time.Millisecond, DetailedErrors: true,
		Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	var wg sync.WaitGroup
	var good, late, broken atomic.Int64
	for g := range 1000 {
		wg.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			for i := range 10 {
				path := fmt.Sprintf("/%d/%d", g, i)
				timeout := 10 * time.Second
				req.SetRequestURI("http://a.test" + path)
				if g%100 == 0 {
					req.SetRequestURI("http://a.test" + path + "?slow")
					timeout = 2 * time.Millisecond
				}
				switch err := c.DoTimeout(req, resp, timeout); {
				case err == nil && string(resp.Body()) == path:
					good.Add(1)
				case err == nil:
					t.Errorf("%s was answered with %q", path, resp.Body())
				case errors.Is(err, ErrTimeout) && g%100 == 0:
					late.Add(1)
				case errors.Is(err, ErrConnectionClosed):
					broken.Add(1)
				default:
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	wg.Wait()
	if good.Load() < 9800 || good.Load()+late.Load()+broken.Load() != 10000 {
		t.Errorf("%d answers, %d timeouts, %d broken", good.Load(), late.Load(), broken.Load())
	}
	if c.PendingRequests() != 0 {
		t.Errorf("%d calls are pending", c.PendingRequests())
	}
}

func BenchmarkPipelineClient(b *testing.B) {
	ln := memnet.NewListener()
	srv := &Server{Handler: func(ctx *RequestCtx) { ctx.WriteString("hello") }}
	go srv.Serve(ln)
	defer ln.Close()
	c := PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		req, resp := AcquireRequest(), AcquireResponse()
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
		s := &pipelineServer{answer: func(int, int, *Request) (string, bool) { return named(new(Request)), true }}
		c := &PipelineClient{Addr: "a", Dial: s.dial}
		defer c.CloseIdleConnections()
		for _, spoil := range []func(req *Request){
			func(req *Request) { req.UseHostHeader = true; req.Header.SetHost("a b") },
			func(req *Request) { req.UseHostHeader = true; req.Header.SetHost("a/b") },
			func(req *Request) { req.Header.SetHost("a"); req.Header.SetRequestURI("/\u00fc") },
			func(req *Request) { req.Header.SetHost("a"); req.Header.SetRequestURI("/a#b") },
		} {
			var req Request
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
		host := newTLSPeer(t, "host.test")
		dial := wiretest.Dialer(servePanicking(host.cfg))
		c := &PipelineClient{Addr: "host.test", IsTLS: true, TLSConfig: &tls.Config{RootCAs: host.pool},
			Dial: func(string) (net.Conn, error) { return dial() }}
		var req Request
		var resp Response
		req.SetRequestURI("https://host.test/")
		err := c.Do(&req, &resp)
		if s := resp.TLSConnectionState(); err != nil || s == nil || s.ServerName != "host.test" {
			t.Errorf("%v, %+v", err, s)
		}
		c.CloseIdleConnections()
	})
}
