package client_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// serveEach answers each request on c by answer, until that returns "".
func serveEach(c *wiretest.Conn, answer func(n int, req *gallop.Request) string) {
	r := bufio.NewReader(c)
	for n := 1; ; n++ {
		var req gallop.Request
		if req.Read(r) != nil {
			return
		}
		says := answer(n, &req)
		if says == "" {
			return
		}
		io.WriteString(c, says)
	}
}

// RetryIf decides, whatever it was that failed.
func TestClientRetriesAfterAnyError(t *testing.T) {
	for _, tt := range []struct {
		path     string
		attempts int
		dials    int32
		fails    bool
	}{
		{"/again", 0, 4, false},
		{"/again", 3, 3, true},
		{"/once", 0, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{serve: func(n int, c *wiretest.Conn) {
				takeRequest(t, bufio.NewReader(c))
				io.WriteString(c, []string{"", "no answer\r\n\r\n", "", "H", ok5}[n])
			}}
			c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxIdemponentCallAttempts: tt.attempts,
				RetryIf: func(req *gallop.Request) bool { return string(req.URI().Path()) == "/again" }}
			defer c.CloseIdleConnections()
			req := getRequest(tt.path)
			req.Header.SetMethod("POST")
			if err := c.Do(req, nil); err != nil != tt.fails || u.dials.Load() != tt.dials {
				t.Errorf("%+v: %v after %d connections", tt, err, u.dials.Load())
			}
		})
	}
}

func TestClientRetries(t *testing.T) {
	// Every connection answers one request, reads the second, and ends.
	dies := func(_ int, c *wiretest.Conn) {
		serveEach(c, func(n int, _ *gallop.Request) string { return []string{"", ok5, ""}[n] })
	}
	for _, tt := range []struct {
		name  string
		setup func(c *gallop.HostClient, req *gallop.Request)
		dials int32
		err   error
	}{
		{"GET", nil, 2, nil},
		{"DELETE", func(c *gallop.HostClient, req *gallop.Request) { req.Header.SetMethod("DELETE") }, 2, nil},
		{"POST", func(c *gallop.HostClient, req *gallop.Request) { req.Header.SetMethod("POST") }, 1, gallop.ErrConnectionClosed},
		{"POST with a key", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("POST")
			req.Header.Set("Idempotency-Key", "k")
		}, 2, nil},
		{"a stream", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("PUT")
			req.SetBodyStream(strings.NewReader("x"), 1)
		}, 1, gallop.ErrConnectionClosed},
		{"one attempt", func(c *gallop.HostClient, req *gallop.Request) { c.MaxIdemponentCallAttempts = 1 }, 1, gallop.ErrConnectionClosed},
		{"POST with RetryIf", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("POST")
			c.RetryIf = func(*gallop.Request) bool { return true }
		}, 2, nil},
		{"GET with RetryIf", func(c *gallop.HostClient, req *gallop.Request) {
			c.RetryIf = func(*gallop.Request) bool { return false }
		}, 1, gallop.ErrConnectionClosed},
		{"POST with RetryIfErr", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("POST")
			c.RetryIf = func(*gallop.Request) bool { t.Error("RetryIf is asked"); return false }
			c.RetryIfErr = func(_ *gallop.Request, n int, err error) (bool, bool) {
				return false, n == 1 && errors.Is(err, io.EOF)
			}
		}, 2, nil},
		{"POST with RetryIfErrUpstream", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("POST")
			c.RetryIfErrUpstream = func(_ *gallop.Request, n int, err error, upstream string) (bool, bool) {
				return false, upstream == "server"
			}
		}, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{serve: dies}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial, DetailedErrors: true}
				defer c.CloseIdleConnections()
				req := getRequest("/")
				if tt.setup != nil {
					tt.setup(c, req)
				}
				if err := c.Do(getRequest("/"), nil); err != nil {
					t.Fatal(err)
				}
				var resp gallop.Response
				err := c.Do(req, &resp)
				if !errors.Is(err, tt.err) || err == nil && string(resp.Body()) != "hello" {
					t.Errorf("%v, %q", err, resp.Body())
				}
				if n := u.dials.Load(); n != tt.dials {
					t.Errorf("%d connections, want %d", n, tt.dials)
				}
				var closed *gallop.ClosedError
				if tt.err != nil && (!errors.As(err, &closed) || !closed.Reused || closed.Written == 0) {
					t.Errorf("error %#v", closed)
				}
			})
		})
	}
}

// A request that certainly failed for another reason is not sent twice.
func TestClientDoesNotRetry(t *testing.T) {
	for _, tt := range []struct{ name, answer string }{
		{"a new connection", ""},
		{"half an answer", "HTTP/1.1 200 OK\r\nContent-Le"},
		{"garbage", "garbage\r\n\r\n"},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{serve: answering(t, tt.answer)}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial}
				if err := c.Do(getRequest("/"), nil); err == nil || u.dials.Load() != 1 {
					t.Errorf("%v after %d connections", err, u.dials.Load())
				}
			})
		})
	}
}

// A connection on which something has come is not used, whatever the method.
func TestClientStaleConnections(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(c *wiretest.Conn)
	}{
		{"closed", func(c *wiretest.Conn) {}},
		{"reset", func(c *wiretest.Conn) { c.Reset() }},
		{"an answer nobody asked for", func(c *wiretest.Conn) {
			io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 6\r\n\r\nPOISON")
			time.Sleep(time.Hour)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(2 * time.Hour)
				u := &upstream{serve: func(n int, c *wiretest.Conn) {
					takeRequest(t, bufio.NewReader(c))
					io.WriteString(c, ok5)
					time.Sleep(time.Second)
					tt.then(c)
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxIdemponentCallAttempts: 1}
				for range 2 {
					req := getRequest("/")
					req.Header.SetMethod("POST")
					var resp gallop.Response
					if err := c.Do(req, &resp); err != nil || string(resp.Body()) != "hello" {
						t.Errorf("%v, %q", err, resp.Body())
					}
					time.Sleep(2 * time.Second)
				}
				if n := u.dials.Load(); n != 2 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// slowly answers each request after 1.1 seconds.
func slowly(_ int, c *wiretest.Conn) {
	serveEach(c, func(int, *gallop.Request) string { time.Sleep(1100 * time.Millisecond); return ok5 })
}

func TestClientWaitsForConnections(t *testing.T) {
	for _, tt := range []struct {
		name    string
		wait    time.Duration
		timeout time.Duration
		want    []string // of five calls, one after the other
	}{
		{"without an end", -1, 0, []string{"1.1s ok", "2.2s ok", "3.3s ok", "4.4s ok", "5.5s ok"}},
		{"as long as the call may take", -1, 4500 * time.Millisecond, []string{"1.1s ok", "2.2s ok", "3.3s ok", "4.4s ok", "4.5s timeout"}},
		{"so long", 1500 * time.Millisecond, 0, []string{"1.1s ok", "2.2s ok", "1.5s no", "1.5s no", "1.5s no"}},
		{"not at all", 0, 0, []string{"1.1s ok", "0s no", "0s no", "0s no", "0s no"}},
		{"not at all, with time", 0, 4500 * time.Millisecond, []string{"1.1s ok", "0s no", "0s no", "0s no", "0s no"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(time.Minute)
				u := &upstream{serve: slowly}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxConns: 1, MaxConnWaitTimeout: tt.wait}
				begun := time.Now()
				got := make([]string, 5)
				var wg sync.WaitGroup
				for i := range got {
					wg.Go(func() {
						req := getRequest("/")
						req.SetTimeout(tt.timeout)
						err := c.Do(req, nil)
						took := time.Since(begun)
						switch {
						case err == nil:
							got[i] = fmt.Sprint(took.Round(time.Millisecond), " ok")
						case err == gallop.ErrNoFreeConns:
							got[i] = fmt.Sprint(took.Round(time.Millisecond), " no")
						case err == gallop.ErrTimeout:
							got[i] = fmt.Sprint(took.Round(time.Millisecond), " timeout")
						}
					})
					synctest.Wait() // in order
				}
				wg.Wait()
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				if n := u.dials.Load(); n != 1 {
					t.Errorf("%d connections", n)
				}
				c.CloseIdleConnections()
				if n := c.ConnsCount(); n != 0 {
					t.Errorf("%d connections are left", n)
				}
			})
		})
	}
}

// Each wait has a time of its own, though one timer does for all; and the client may be
// used in another bubble later.
func TestClientWaitsEndInAnyOrder(t *testing.T) {
	u := &upstream{serve: func(_ int, c *wiretest.Conn) { time.Sleep(time.Minute) }}
	c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxConns: 1, MaxConnWaitTimeout: -1, ReadTimeout: time.Second}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(2 * time.Minute)
			var wg sync.WaitGroup
			wg.Go(func() { _ = c.Do(getRequest("/"), nil) })
			synctest.Wait()
			for _, ms := range []int{500, 100, 300, 900, 200, 100, 450, 50} {
				limit := time.Duration(ms) * time.Millisecond
				wg.Go(func() {
					begun := time.Now()
					err := c.DoTimeout(getRequest("/"), nil, limit)
					if took := time.Since(begun); err != gallop.ErrTimeout || took < limit || took > limit+time.Millisecond {
						t.Errorf("%v after %v, want a timeout after %v", err, took, limit)
					}
				})
			}
			wg.Wait()
		})
	}
}

// A call without a time limit waits forever, and does not stop other calls from ending.
func TestClientWaitsForEver(t *testing.T) {
	release := make(chan struct{})
	u := &upstream{serve: func(_ int, c *wiretest.Conn) {
		serveEach(c, func(int, *gallop.Request) string { <-release; return ok5 })
	}}
	c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxConns: 1, MaxConnWaitTimeout: -1}
	defer c.CloseIdleConnections()
	patient := make(chan error, 2)
	for range cap(patient) {
		go func() { patient <- c.DoTimeout(getRequest("/"), nil, math.MaxInt64) }()
	}
	for c.PendingRequests() < cap(patient) {
		runtime.Gosched()
	}
	hasty := make(chan error, 1)
	go func() { hasty <- c.DoTimeout(getRequest("/"), nil, 50*time.Millisecond) }()
	select {
	case err := <-hasty:
		if err != gallop.ErrTimeout {
			t.Error(err)
		}
	case err := <-patient:
		t.Error("for ever is over:", err)
		patient <- nil
	case <-time.After(10 * time.Second):
		t.Error("the hasty call waits as well")
	}
	close(release)
	for range cap(patient) {
		if err := <-patient; err != nil {
			t.Error(err)
		}
	}
}

// A call that gives up leaves no trace: the next one in line gets the connection.
func TestClientCanceledWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: slowly}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxConns: 1, MaxConnWaitTimeout: -1}
		defer c.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if i%2 == 1 {
					if err := c.DoContext(ctx, getRequest("/"), nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				} else if err := c.Do(getRequest("/"), nil); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 1 || idle != 1 || c.PendingRequests() != 0 {
			t.Errorf("%d connections, %d idle, %d pending", open, idle, c.PendingRequests())
		}
	})
}

func TestClientIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: slowly}
		c := &gallop.Client{Dial: u.dial, MaxIdleConnsPerHost: 3}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				req := getRequest("/")
				req.SetHost([]string{"a", "b"}[i%2])
				if err := c.Do(req, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 6 || idle != 6 {
			t.Errorf("%d connections, %d idle", open, idle)
		}
		time.Sleep(gallop.DefaultMaxIdleConnDuration - time.Second)
		if n := c.ConnsCount(); n != 6 {
			t.Errorf("%d connections soon after", n)
		}
		if err := c.Do(getRequest("/"), nil); err != nil { // a third host keeps one for longer
			t.Error(err)
		}
		time.Sleep(time.Second)
		if n := c.ConnsCount(); n != 1 {
			t.Errorf("%d connections later", n)
		}
		time.Sleep(time.Minute)
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%d connections much later", n)
		}
	})
}

func TestClientReadBufferSizeLimitsHeads(t *testing.T) {
	for _, tt := range []struct {
		buffer, head, n int
		fails           bool
	}{
		{1000, 0, 900, false},
		{1000, 0, 1000, true},
		{1000, 2000, 1000, false},
		{400 << 10, 0, 390 << 10, false},
		{400 << 10, 1000, 1000, true},
		{0, 0, 4 << 10, true},
		{0, 0, 4096 - len("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n"), false},
		{0, 256 << 10, 250 << 10, false},
		{0, 256 << 10, 256 << 10, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{serve: answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: "+strings.Repeat("y", tt.n)+"\r\n\r\n")}
			c := &gallop.HostClient{Addr: "a", Dial: u.dial, ReadBufferSize: tt.buffer, MaxResponseHeaderBytes: tt.head}
			defer c.CloseIdleConnections()
			if err := c.Do(getRequest("/"), nil); errors.Is(err, gallop.ErrSmallReadBuffer) != tt.fails || err != nil != tt.fails {
				t.Errorf("%+v: %v", tt, err)
			}
		})
	}
}

func TestClientMaxConnDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closes []bool // of the requests
		u := &upstream{serve: func(_ int, c *wiretest.Conn) {
			serveEach(c, func(_ int, req *gallop.Request) string {
				closes = append(closes, req.ConnectionClose())
				time.Sleep(1100 * time.Millisecond)
				return ok5
			})
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxConnDuration: 5 * time.Second}
		defer c.CloseIdleConnections()
		for range 10 {
			if err := c.Do(getRequest("/"), nil); err != nil {
				t.Error(err)
			}
		}
		if n := u.dials.Load(); n != 2 {
			t.Errorf("%d connections", n)
		}
		if last := slices.Index(closes, true); last != 5 || slices.Contains(closes[last+1:], true) {
			t.Errorf("requests close the connection: %v", closes)
		}
	})
}

func TestClientEarlyAnswers(t *testing.T) {
	const tooLarge = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge"
	body := bytes.Repeat([]byte("x"), 1<<20)
	endless := func() io.Reader { return strings.NewReader(strings.Repeat("y", 10<<20)) }
	for _, tt := range []struct {
		name  string
		setup func(req *gallop.Request)
	}{
		{"large", func(req *gallop.Request) { req.SetBody(body) }},
		{"small", func(req *gallop.Request) { req.SetBody(body[:60<<10]) }},
		{"stream in chunks", func(req *gallop.Request) { req.SetBodyStream(endless(), -1) }},
		{"stream of known size", func(req *gallop.Request) { req.SetBodyStream(endless(), 10<<20) }},
		{"stream that stops", func(req *gallop.Request) {
			r, w := io.Pipe()
			req.SetBodyStream(r, -1)
			go func() { time.Sleep(time.Hour); w.Close() }()
		}},
		{"writer", func(req *gallop.Request) {
			req.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 10000 {
					if _, err := w.Write(body[:1000]); err != nil {
						return
					}
				}
				t.Error("a writer is not told")
			})
		}},
	} {
		for _, closes := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, ", server closes: ", closes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					defer time.Sleep(2 * time.Hour)
					u := &upstream{window: 64 << 10, serve: func(_ int, c *wiretest.Conn) {
						var h gallop.RequestHeader
						h.Read(bufio.NewReader(c))
						io.WriteString(c, tooLarge)
						if !closes {
							time.Sleep(time.Minute) // and reads nothing
						}
					}}
					c := &gallop.HostClient{Addr: "a", Dial: u.dial}
					defer c.CloseIdleConnections()
					req := getRequest("/")
					req.Header.SetMethod("POST")
					tt.setup(req)
					var resp gallop.Response
					err := c.Do(req, &resp)
					if err != nil || resp.StatusCode() != 413 || string(resp.Body()) != "large" {
						t.Errorf("%v, %d %q", err, resp.StatusCode(), resp.Body())
					}
					if n := c.IdleConnsCount(); n != 0 && tt.name != "small" {
						t.Errorf("%d connections are reused", n)
					}
				})
			})
		}
	}
}

func TestClientExpect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		serve  func(c net.Conn, r *bufio.Reader)
		status int
		body   string // as the server gets it
		after  time.Duration
		reuse  int
	}{
		{"100", func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}, 200, "body", 0, 1},
		{"103 and 100", func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
		}, 200, "body", 0, 1},
		{"silence", func(c net.Conn, r *bufio.Reader) {}, 200, "body", time.Second, 1},
		{"half a head and silence", func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, "HTTP/1.1 10")
			time.AfterFunc(1500*time.Millisecond, func() { io.WriteString(c, "0 Continue\r\n\r\n") })
			time.Sleep(1600 * time.Millisecond)
		}, 200, "body", 1600 * time.Millisecond, 1},
		{"refused behind as many as there may be", func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 16))
			io.WriteString(c, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 5\r\n\r\nhello")
		}, 417, "", 0, 0},
		{"refused", func(c net.Conn, r *bufio.Reader) {
			io.WriteString(c, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 5\r\n\r\nhello")
		}, 417, "", 0, 0},
	} {
		for _, how := range []string{"bytes", "stream", "large"} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got := make(chan string, 1)
					u := &upstream{serve: func(_ int, c *wiretest.Conn) {
						r := bufio.NewReader(c)
						var req gallop.Request
						req.Read(r)
						tt.serve(c, r)
						if tt.status == 200 {
							req.ContinueReadBody(r, 0)
							io.WriteString(c, ok5)
						}
						got <- strings.Trim(string(req.Body()), " ")
						io.Copy(io.Discard, r)
					}}
					c := &gallop.HostClient{Addr: "a", Dial: u.dial}
					defer c.CloseIdleConnections()
					req := getRequest("/")
					req.Header.SetMethod("POST")
					req.Header.Set("Expect", "100-continue")
					switch how {
					case "bytes":
						req.SetBodyString("body")
					case "stream":
						req.SetBodyStream(strings.NewReader("body"), -1)
					case "large":
						req.SetBodyString("body" + strings.Repeat(" ", 100<<10))
					}
					begun := time.Now()
					var resp gallop.Response
					err := c.Do(req, &resp)
					if err != nil || resp.StatusCode() != tt.status || string(resp.Body()) != "hello" {
						t.Errorf("%v, %d %q", err, resp.StatusCode(), resp.Body())
					}
					if body := <-got; body != tt.body {
						t.Errorf("server got %q", body)
					}
					if took := time.Since(begun); took != tt.after {
						t.Errorf("after %v", took)
					}
					if n := c.IdleConnsCount(); n != tt.reuse {
						t.Errorf("%d idle connections", n)
					}
				})
			})
		}
	}
}

// failingConn is a connection that fails to write from the nth time on.
type failingConn struct {
	net.Conn
	n int
}

func (c *failingConn) Write(p []byte) (int, error) {
	if c.n--; c.n <= 0 {
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(p)
}

// A connection on which a request was not fully written takes no other request, even if a response has arrived, and
// the trace reports that.
func TestClientRequestsHalfWritten(t *testing.T) {
	for _, tt := range []struct {
		name     string
		expect   bool
		failsAt  int
		answered bool
	}{
		{"the body, at leave", true, 2, true},
		{"the head", true, 1, false},
		{"head and body", false, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{serve: func(_ int, c *wiretest.Conn) {
					var req gallop.Request
					r := bufio.NewReader(c)
					if req.Header.Read(r) == nil {
						io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"+ok5)
					}
					io.Copy(io.Discard, r)
				}}
				var wrote []error
				c := &gallop.HostClient{Addr: "a"}
				ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{WroteRequest: func(err error) { wrote = append(wrote, err) }})
				c.Dial = func(addr string) (net.Conn, error) {
					nc, err := u.dial(addr)
					return &failingConn{nc, tt.failsAt}, err
				}
				req := getRequest("/")
				req.Header.SetMethod("POST")
				req.SetBodyString("body")
				if tt.expect {
					req.Header.Set("Expect", "100-continue")
				}
				req.SetTimeout(time.Second)
				if err := c.DoContext(ctx, req, nil); (err == nil) != tt.answered {
					t.Error(err)
				}
				if n := c.ConnsCount(); n != 0 {
					t.Errorf("%d connections are left", n)
				}
				if len(wrote) != 1 || wrote[0] != io.ErrClosedPipe {
					t.Errorf("told %v", wrote)
				}
			})
		})
	}
}

var errStream = errors.New("the stream is broken")

// A body that cannot be read is the error of the call, and the server is not left waiting.
func TestClientBrokenBodies(t *testing.T) {
	broken := func() io.Reader { return io.MultiReader(strings.NewReader("part"), errReader{}) }
	for _, tt := range []struct {
		name string
		r    io.Reader
		size int
		want string
	}{
		{"in chunks", broken(), -1, errStream.Error()},
		{"of known size", broken(), 10, errStream.Error()},
		{"too short", strings.NewReader("abc"), 10, "before the announced size"},
		{"too long", strings.NewReader("abcdef"), 3, "more than the announced size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan string, 1)
				u := &upstream{serve: func(_ int, c *wiretest.Conn) {
					var req gallop.Request
					err := req.Read(bufio.NewReader(c))
					ended <- fmt.Sprint(err)
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial}
				req := getRequest("/")
				req.Header.SetMethod("POST")
				req.SetBodyStream(tt.r, tt.size)
				err := c.Do(req, nil)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v", err)
				}
				if c.ConnsCount() != 0 {
					t.Error("the connection is left")
				}
				<-ended
			})
		})
	}
}

// Neither is it where the connection takes a file by itself.
func TestClientBrokenFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for mode, open := range map[string]func() (*os.File, error){
		"closed": func() (*os.File, error) {
			f, err := os.Create(name)
			return f, errors.Join(err, f.Close())
		},
		"write only":  func() (*os.File, error) { return os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600) },
		"a directory": func() (*os.File, error) { return os.Open(filepath.Dir(name)) },
		"too short":   func() (*os.File, error) { return os.Create(name) },
	} {
		t.Run(mode, func(t *testing.T) {
			c, _ := socketServer(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
			f, err := open()
			if err != nil {
				t.Fatal(err)
			}
			req := getRequest("/")
			req.Header.SetMethod("POST")
			req.SetBodyStream(f, 100<<10)
			if err := c.Do(req, nil); err == nil || errors.Is(err, gallop.ErrTimeout) || errors.Is(err, gallop.ErrConnectionClosed) {
				t.Error(err)
			}
			if n := c.ConnsCount(); n != 0 {
				t.Errorf("%d connections are left", n)
			}
		})
	}
}

// If the response is read while the body is sent, the error of reading is returned.
func TestClientBrokenBodyBehindTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: func(_ int, c *wiretest.Conn) {
			r := bufio.NewReader(c)
			var req gallop.Request
			req.Header.Read(r)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			io.Copy(io.Discard, r)
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, ReadTimeout: time.Hour}
		body, fail := io.Pipe()
		req := getRequest("/")
		req.Header.SetMethod("POST")
		req.SetBodyStream(body, -1)
		req.FullDuplex = true
		resp := gallop.Response{StreamBody: true}
		if err := c.Do(req, &resp); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { fail.CloseWithError(errStream) })
		if b, err := io.ReadAll(resp.BodyStream()); string(b) != "hello" || !errors.Is(err, errStream) {
			t.Errorf("%q, %v", b, err)
		}
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errStream }

// ReadTimeout covers the response: a body that takes long to send does not use it up.
func TestClientTimeouts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(c *gallop.HostClient, req *gallop.Request)
		after time.Duration
		err   error
	}{
		{"a slow answer", func(c *gallop.HostClient, req *gallop.Request) { c.ReadTimeout = 2 * time.Second }, 2 * time.Second, gallop.ErrTimeout},
		{"an answer in time", func(c *gallop.HostClient, req *gallop.Request) { c.ReadTimeout = 4 * time.Second }, 3 * time.Second, nil},
		{"a slow body", func(c *gallop.HostClient, req *gallop.Request) {
			c.ReadTimeout = 4 * time.Second
			req.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 10 {
					w.WriteString("x")
					w.Flush()
					time.Sleep(time.Second)
				}
			})
		}, 13 * time.Second, nil},
		{"a slow answer to a slow body", func(c *gallop.HostClient, req *gallop.Request) {
			c.ReadTimeout = 2 * time.Second
			req.SetBodyStreamWriter(func(w *bufio.Writer) { time.Sleep(10 * time.Second) })
		}, 12 * time.Second, gallop.ErrTimeout},
		{"a body that is not read", func(c *gallop.HostClient, req *gallop.Request) {
			c.WriteTimeout = 2 * time.Second
			req.SetBody(make([]byte, 1<<20))
		}, 2 * time.Second, gallop.ErrTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(time.Hour)
				u := &upstream{window: 1000, serve: func(_ int, c *wiretest.Conn) {
					r := bufio.NewReader(c)
					if tt.name == "a body that is not read" {
						time.Sleep(time.Minute)
						return
					}
					takeRequest(t, r)
					time.Sleep(3 * time.Second)
					io.WriteString(c, ok5)
					takeRequest(t, r)
					time.Sleep(3 * time.Second)
					io.WriteString(c, ok5)
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial}
				req := getRequest("/")
				req.Header.SetMethod("POST")
				tt.setup(c, req)
				begun := time.Now()
				err := c.Do(req, nil)
				took := time.Since(begun)
				if !errors.Is(err, tt.err) || took < tt.after || took > tt.after+tt.after/16 {
					t.Errorf("%v after %v", err, took)
				}
				if err != nil {
					return
				}
				time.Sleep(5 * time.Second)
				if err := c.Do(getRequest("/"), nil); err != nil || u.dials.Load() != 1 {
					t.Errorf("then %v, %d connections", err, u.dials.Load())
				}
			})
		})
	}
}

func TestWhatDialGets(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name, addr, want string
		context          bool
	}{
		{"with a port", "a.test:8080", "a.test:8080", false},
		{"without one", "a.test", "a.test", false},
		{"a relative path", "./a.sock", "./a.sock", false},
		{"a path", "/run/a.sock", "/run/a.sock", false},
		{"none", "", "", false},
		{"DialContext", "a.test", "a.test:80", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			c := &gallop.HostClient{Addr: tt.addr}
			if tt.context {
				c.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
					got = append(got, addr)
					return nil, refused
				}
			} else {
				c.Dial = func(addr string) (net.Conn, error) {
					got = append(got, addr)
					return nil, refused
				}
			}
			if _, _, err := c.Get(nil, "http://a.test/"); !errors.Is(err, refused) || !slices.Equal(got, []string{tt.want}) {
				t.Errorf("dialed %q: %v", got, err)
			}
		})
	}
}

// The host in a URI is one host, and nothing else that the Addr of a HostClient may be.
func TestClientDialsTheHostOnly(t *testing.T) {
	refused := errors.New("refused")
	for host, want := range map[string]string{
		"a.test":          "a.test:80",
		"unix":            "unix:80",
		"unix:8080":       "unix:8080",
		"[fe80::1%25lo]":  "[fe80::1%lo]:80",
		"a.test,b.test":   "",
		"a.test,":         "",
		"unix:/run/a":     "",
		"unix:@a":         "",
		"unix:./80":       "",
		"a.test:80,unix:": "",
	} {
		var got []string
		c := &gallop.Client{DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			got = append(got, addr)
			return nil, refused
		}}
		req := getRequest("/")
		req.UseHostHeader = true // one that nobody objects to
		req.Header.SetHost("a.test")
		req.URI().SetHost(host)
		err := c.Do(req, nil)
		if want != "" && (!errors.Is(err, refused) || !slices.Equal(got, []string{want})) || want == "" && (err == nil || len(got) > 0) {
			t.Errorf("%s: %v, dialed %q", host, err, got)
		}
	}
}

// A call whose first address refuses gets to the others, also if calls beside it take their turns in between.
func TestClientTriesEachAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: answering(t, ok5)}
		refused := errors.New("refused")
		c := &gallop.HostClient{Addr: "bad.test:80,good.test:80"}
		var dialed []string
		c.Dial = func(addr string) (net.Conn, error) {
			dialed = append(dialed, addr)
			if addr == "good.test:80" {
				return u.dial(addr)
			}
			if len(dialed) == 1 {
				if err := c.Do(getRequest("/beside"), nil); err != nil {
					t.Error("beside:", err)
				}
			}
			return nil, refused
		}
		if err := c.Do(getRequest("/"), nil); err != nil {
			t.Errorf("%v, dialed %q", err, dialed)
		}
	})
}

// With a retry the timeout begins anew if RetryIfErr says so, regardless of the function that set it, and a deadline
// does not.
func TestClientRetriesResetTimeout(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(c *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error
		took time.Duration
		err  error
	}{
		{"SetTimeout", func(_ *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			req.SetTimeout(time.Second)
			return h.Do(req, resp)
		}, 2 * time.Second, nil},
		{"HostClient.DoTimeout", func(_ *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			return h.DoTimeout(req, resp, time.Second)
		}, 2 * time.Second, nil},
		{"Client.DoTimeout", func(c *gallop.Client, _ *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			return c.DoTimeout(req, resp, time.Second)
		}, 2 * time.Second, nil},
		{"the shorter of two", func(c *gallop.Client, _ *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			req.SetTimeout(time.Second)
			return c.DoTimeout(req, resp, time.Minute)
		}, 2 * time.Second, nil},
		{"SetTimeout within a deadline", func(_ *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			req.SetTimeout(time.Second)
			return h.DoDeadline(req, resp, time.Now().Add(1500*time.Millisecond))
		}, 1500 * time.Millisecond, gallop.ErrTimeout},
		{"a deadline", func(_ *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			return h.DoDeadline(req, resp, time.Now().Add(time.Second))
		}, time.Second, gallop.ErrTimeout},
		{"no time", func(_ *gallop.Client, h *gallop.HostClient, req *gallop.Request, resp *gallop.Response) error {
			return h.DoTimeout(req, resp, 0)
		}, 0, gallop.ErrTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{serve: func(n int, c *wiretest.Conn) {
					r := bufio.NewReader(c)
					takeRequest(t, r)
					if n == 3 {
						io.WriteString(c, ok5)
					}
					takeRequest(t, r)
				}}
				retry := func(*gallop.Request, int, error) (resetTimeout, retry bool) { return true, true }
				c := &gallop.Client{Dial: u.dial, RetryIfErr: retry}
				h := &gallop.HostClient{Addr: "a", Dial: u.dial, RetryIfErr: retry}
				defer c.CloseIdleConnections()
				defer h.CloseIdleConnections()
				req := getRequest("/")
				var resp gallop.Response
				begun := time.Now()
				err := tt.call(c, h, req, &resp)
				if took := time.Since(begun); !errors.Is(err, tt.err) || took != tt.took {
					t.Errorf("%v after %v", err, took)
				}
				if own := req.GetTimeOut(); own != 0 && own != time.Second {
					t.Errorf("the request has a timeout of %v", own)
				}
			})
		})
	}
}

// A proxy gets the target that the header names, even if other code looks at the URI.
func TestProxyIsAskedForWholeURIs(t *testing.T) {
	for name, setup := range map[string]func(c *gallop.HostClient, req *gallop.Request){
		"plain":             func(*gallop.HostClient, *gallop.Request) {},
		"paths as they are": func(c *gallop.HostClient, _ *gallop.Request) { c.DisablePathNormalizing = true },
		"URI was looked at": func(_ *gallop.HostClient, req *gallop.Request) { req.URI() },
		"RetryIf looks at it": func(c *gallop.HostClient, req *gallop.Request) {
			c.RetryIf = func(req *gallop.Request) bool { return string(req.URI().Path()) == "/b" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				u := &upstream{serve: func(n int, c *wiretest.Conn) {
					serveEach(c, func(_ int, req *gallop.Request) string {
						got = append(got, string(req.Header.RequestURI())+" "+string(req.Header.Host()))
						if name == "RetryIf looks at it" && n == 1 {
							return ""
						}
						return ok5
					})
				}}
				c := &gallop.HostClient{Addr: "proxy.test:80", IsProxy: true, Dial: u.dial}
				defer c.CloseIdleConnections()
				var req gallop.Request
				req.Header.SetRequestURI("http://a.test/a/../b")
				req.Header.SetHost("a.test")
				setup(c, &req)
				err := c.Do(&req, nil)
				for _, asked := range got {
					if asked != "http://a.test/a/../b a.test" {
						t.Errorf("asked for %q", asked)
					}
				}
				if err != nil || len(got) == 0 {
					t.Errorf("%v, asked %q", err, got)
				}
			})
		})
	}
}

// A request that cannot be sent is not tried again, and RetryIf not asked.
func TestClientDoesNotRetryWhatCannotBeSent(t *testing.T) {
	for _, transport := range []gallop.RoundTripper{nil, gallop.DefaultTransport} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{serve: answering(t, ok5)}
			c := &gallop.HostClient{Addr: "a", Dial: u.dial, Transport: transport, RetryIf: func(*gallop.Request) bool {
				t.Error("RetryIf is asked")
				return true
			}}
			defer c.CloseIdleConnections()
			req := getRequest("/")
			req.UseHostHeader = true
			req.Header.SetHost("not a host")
			if err := c.Do(req, nil); err == nil || u.dials.Load() != 1 {
				t.Errorf("%v after %d connections", err, u.dials.Load())
			}
		})
	}
}
