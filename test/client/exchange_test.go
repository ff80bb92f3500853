package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// These tests run a client against servers that follow a script, in virtual time.

// upstream is a server in memory: what it does on its nth connection is serve.
type upstream struct {
	dials  atomic.Int32
	window int // how many bytes may be on their way to it
	serve  func(n int, c *wiretest.Conn)
}

func (u *upstream) dial(string) (net.Conn, error) {
	client, server := wiretest.Pipe()
	server.SetWindow(u.window)
	n := int(u.dials.Add(1))
	go func() {
		defer server.Close()
		u.serve(n, server)
	}()
	return client, nil
}

// takeRequest reads a request with its body, and returns what it says.
func takeRequest(t *testing.T, r *bufio.Reader) string {
	var req gallop.Request
	if err := req.Read(r); err != nil {
		return err.Error()
	}
	return req.String()
}

// answering sends the next of the responses for each request on a connection, and closes it after the last one.
func answering(t *testing.T, answers ...string) func(int, *wiretest.Conn) {
	return func(_ int, c *wiretest.Conn) {
		r := bufio.NewReader(c)
		for _, answer := range answers {
			var req gallop.Request
			if req.Read(r) != nil {
				return
			}
			io.WriteString(c, answer)
		}
	}
}

func getRequest(path string) *gallop.Request {
	req := &gallop.Request{}
	req.SetRequestURI("http://example.com" + path)
	return req
}

const ok5 = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func TestClientRequestOnTheWire(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(c *gallop.HostClient, req *gallop.Request)
		want  string
	}{
		{"GET", func(c *gallop.HostClient, req *gallop.Request) {},
			"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\n\r\n"},
		{"another name", func(c *gallop.HostClient, req *gallop.Request) { c.Name = "me" },
			"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: me\r\n\r\n"},
		{"no name", func(c *gallop.HostClient, req *gallop.Request) { c.NoDefaultUserAgentHeader = true },
			"GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		{"a name of its own", func(c *gallop.HostClient, req *gallop.Request) { req.Header.SetUserAgent("x") },
			"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\n\r\n"},
		{"POST", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
		}, "POST /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\nContent-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nbody"},
		{"POST without a body", func(c *gallop.HostClient, req *gallop.Request) { req.Header.SetMethod("POST") },
			"POST /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\nContent-Length: 0\r\n\r\n"},
		{"a stream", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("PUT")
			req.Header.SetContentType("text/plain")
			req.SetBodyStream(strings.NewReader("stream"), -1)
		}, "PUT /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nstream\r\n0\r\n\r\n"},
		{"a stream of known size", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetMethod("PUT")
			req.Header.SetContentType("text/plain")
			req.SetBodyStream(strings.NewReader("stream"), 6)
		}, "PUT /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nstream"},
		{"the last on its connection", func(c *gallop.HostClient, req *gallop.Request) { req.SetConnectionClose() },
			"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\nConnection: close\r\n\r\n"},
		{"dot segments", func(c *gallop.HostClient, req *gallop.Request) { req.SetRequestURI("http://example.com/b/../a") },
			"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\n\r\n"},
		{"empty segments", func(c *gallop.HostClient, req *gallop.Request) { req.SetRequestURI("http://example.com//a//b/") },
			"GET //a//b/ HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\n\r\n"},
		{"dot segments as given", func(c *gallop.HostClient, req *gallop.Request) {
			c.DisablePathNormalizing = true
			req.SetRequestURI("http://example.com/b/../a//%2F")
		}, "GET /b/../a//%2F HTTP/1.1\r\nHost: example.com\r\nUser-Agent: gallop\r\n\r\n"},
		{"another Host", func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.SetHost("other")
			req.UseHostHeader = true
		}, "GET /a HTTP/1.1\r\nHost: other\r\nUser-Agent: gallop\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan string, 1)
				u := &upstream{serve: func(_ int, c *wiretest.Conn) {
					b := make([]byte, 4096)
					n := 0
					for {
						c.SetReadDeadline(time.Now().Add(time.Second))
						k, err := c.Read(b[n:])
						if n += k; err != nil {
							break
						}
					}
					got <- string(b[:n])
					io.WriteString(c, ok5)
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial}
				req := getRequest("/a")
				tt.setup(c, req)
				var resp gallop.Response
				if err := c.Do(req, &resp); err != nil || string(resp.Body()) != "hello" {
					t.Fatalf("%v, %q", err, resp.Body())
				}
				if got := <-got; got != tt.want {
					t.Errorf("sent\n%q, want\n%q", got, tt.want)
				}
			})
		})
	}
}

func TestClientAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string
		body   string
		err    string
		reuse  bool
	}{
		{"fixed", ok5, "hello", "", true},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello", "", true},
		{"until close", "HTTP/1.1 200 OK\r\n\r\nhello", "hello", "", false},
		{"close", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", "hello", "", false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", "", false},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", "", "", true},
		{"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", "", true},
		{"interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok5, "hello", "", true},
		{"surplus", ok5 + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON", "hello", "", false},
		{"101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "", "did not ask", false},
		{"nothing", "", "", gallop.ErrConnectionClosed.Error(), false},
		{"half a head", "HTTP/1.1 200 OK\r\nCon", "", "head breaks off", false},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "", "unexpected EOF", false},
		{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "", "unexpected EOF", false},
		{"garbage", "garbage\r\n\r\n", "", "status line", false},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "", "Content-Length", false},
		{"a huge body", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "", "size limit", false},
		{"a huge chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n", "", "size limit", false},
		{"too many interim answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20) + ok5, "", "interim", false},
		{"an endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("0123456789", 100)+"\r\n", 300), "", "too large", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(time.Minute) // for the server to end
				u := &upstream{}
				u.serve = func(n int, c *wiretest.Conn) {
					r := bufio.NewReader(c)
					takeRequest(t, r)
					io.WriteString(c, tt.answer)
					if tt.reuse {
						takeRequest(t, r)
						io.WriteString(c, ok5)
					} else if tt.name == "surplus" {
						time.Sleep(time.Second)
					}
				}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial, MaxIdleConnDuration: time.Hour}
				defer c.CloseIdleConnections()
				var resp gallop.Response
				err := c.Do(getRequest("/"), &resp)
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("error %v, want %s", err, tt.err)
					}
				} else if err != nil || string(resp.Body()) != tt.body {
					t.Errorf("%v, body %q", err, resp.Body())
				}
				want := 0
				if tt.reuse {
					want = 1
				}
				if n := c.IdleConnsCount(); n != want {
					t.Errorf("%d idle connections, want %d", n, want)
				}
				if tt.reuse {
					if err := c.Do(getRequest("/"), &resp); err != nil || string(resp.Body()) != "hello" || u.dials.Load() != 1 {
						t.Errorf("%v, %q, %d connections", err, resp.Body(), u.dials.Load())
					}
				}
			})
		})
	}
}

// A response reads the same however it is cut.
func TestClientCutAnswers(t *testing.T) {
	for _, answer := range []string{ok5,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 5\r\n\r\nhello",
	} {
		synctest.Test(t, func(t *testing.T) {
			cut := 0
			u := &upstream{serve: func(_ int, c *wiretest.Conn) {
				for r := bufio.NewReader(c); ; {
					var req gallop.Request
					if req.Read(r) != nil {
						return
					}
					io.WriteString(c, answer[:cut])
					time.Sleep(time.Second)
					io.WriteString(c, answer[cut:])
				}
			}}
			c := &gallop.HostClient{Addr: "a", Dial: u.dial}
			defer c.CloseIdleConnections()
			for cut = range len(answer) {
				var resp gallop.Response
				if err := c.Do(getRequest("/"), &resp); err != nil || string(resp.Body()) != "hello" {
					t.Fatalf("cut at %d: %v, %q", cut, err, resp.Body())
				}
			}
			if n := u.dials.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

func TestClientContext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve func(c *wiretest.Conn)
		setup func(c *gallop.HostClient, req *gallop.Request)
	}{
		{"dialing", nil, func(c *gallop.HostClient, req *gallop.Request) {
			c.Dial = func(string) (net.Conn, error) { time.Sleep(time.Hour); return nil, errors.New("late") }
		}},
		{"no answer", func(c *wiretest.Conn) { io.Copy(io.Discard, c) }, nil},
		{"half a head", func(c *wiretest.Conn) { io.WriteString(c, "HTTP/1.1 200"); io.Copy(io.Discard, c) }, nil},
		{"half a body", func(c *wiretest.Conn) { io.WriteString(c, ok5[:len(ok5)-1]); io.Copy(io.Discard, c) }, nil},
		{"a large body that nobody reads", func(c *wiretest.Conn) { time.Sleep(time.Hour) },
			func(c *gallop.HostClient, req *gallop.Request) { req.SetBody(make([]byte, 1<<20)) }},
		{"a small body that nobody reads", func(c *wiretest.Conn) { time.Sleep(time.Hour) },
			func(c *gallop.HostClient, req *gallop.Request) { req.SetBody(make([]byte, 40<<10)) }},
		{"a stream that yields nothing", func(c *wiretest.Conn) { io.Copy(io.Discard, c) },
			func(c *gallop.HostClient, req *gallop.Request) {
				r, w := io.Pipe()
				req.SetBodyStream(r, -1)
				go func() { time.Sleep(time.Hour); w.Close() }()
			}},
		{"100 does not come", func(c *wiretest.Conn) { io.Copy(io.Discard, c) }, func(c *gallop.HostClient, req *gallop.Request) {
			req.Header.Set("Expect", "100-continue")
			req.SetBodyString("x")
		}},
	} {
		for _, how := range []string{"cancel", "deadline", "timeout"} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					defer time.Sleep(2 * time.Hour) // for all that sleeps
					u := &upstream{window: 1000, serve: func(_ int, c *wiretest.Conn) { tt.serve(c) }}
					c := &gallop.HostClient{Addr: "a", Dial: u.dial}
					req := getRequest("/")
					req.Header.SetMethod("POST")
					if tt.setup != nil {
						tt.setup(c, req)
					}
					begun := time.Now()
					var err error
					var want error = gallop.ErrTimeout
					switch how {
					case "cancel":
						ctx, cancel := context.WithCancel(t.Context())
						time.AfterFunc(3*time.Second, cancel)
						err, want = c.DoContext(ctx, req, nil), context.Canceled
					case "deadline":
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						defer cancel()
						err = c.DoContext(ctx, req, nil)
					default:
						err = c.DoTimeout(req, nil, 3*time.Second)
					}
					if !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
					if took := time.Since(begun); took < 3*time.Second || took > 3100*time.Millisecond {
						t.Errorf("after %v", took)
					}
					if n := c.ConnsCount(); n != 0 {
						t.Errorf("%d connections are left", n)
					}
				})
			})
		}
	}
}
