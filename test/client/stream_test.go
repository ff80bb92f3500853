package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n"

// streaming makes a call whose answer is a stream.
func streaming(t *testing.T, c *gallop.HostClient, resp *gallop.Response) io.Reader {
	t.Helper()
	resp.StreamBody = true
	if err := c.Do(getRequest("/"), resp); err != nil {
		t.Fatal(err)
	}
	r := resp.BodyStream()
	if r == nil || !resp.IsBodyStream() {
		t.Fatal("no stream")
	}
	return r
}

func TestClientStreams(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string
		want   string
		err    string
		reuse  int
	}{
		{"fixed", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "hello world", "", 1},
		{"chunked", chunked, "hello world", "", 1},
		{"until close", "HTTP/1.1 200 OK\r\n\r\nhello world", "hello world", "", 0},
		{"surplus", chunked + "HTTP/1.1 200 OK\r\n\r\n", "hello world", "", 0},
		{"half", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello", "hello", "unexpected EOF", 0},
		{"half a chunk", chunked[:len(chunked)-20], "hello wo", "unexpected EOF", 0},
	} {
		for _, size := range []int{1, 4, 1000} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					defer time.Sleep(time.Hour)
					u := &upstream{serve: func(_ int, c *wiretest.Conn) {
						r := bufio.NewReader(c)
						takeRequest(t, r)
						io.WriteString(c, tt.answer)
						if tt.reuse > 0 {
							takeRequest(t, r)
						}
					}}
					c := &gallop.HostClient{Addr: "a", Dial: u.dial}
					var resp gallop.Response
					r := streaming(t, c, &resp)
					var got []byte
					var err error
					for p := make([]byte, size); err == nil; {
						var n int
						n, err = r.Read(p)
						got = append(got, p[:n]...)
					}
					if string(got) != tt.want || tt.err == "" && err != io.EOF || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("%q, %v", got, err)
					}
					if _, again := r.Read(make([]byte, 1)); again.Error() != err.Error() {
						t.Errorf("then %v", again)
					}
					if n := c.IdleConnsCount(); n != tt.reuse || c.ConnsCount() != n {
						t.Errorf("%d idle connections of %d", n, c.ConnsCount())
					}
					if tt.name == "chunked" && string(resp.Header.PeekTrailer("X-Sum")) != "1" {
						t.Error("no trailer")
					}
				})
			})
		}
	}
}

// However a stream ends, the connection goes on or ends, and is not counted any more.
func TestClientStreamEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string
		end    func(resp *gallop.Response, r io.Reader) error
		reuse  int
	}{
		{"closed at once", chunked, func(resp *gallop.Response, r io.Reader) error { return resp.CloseBodyStream() }, 1},
		{"closed in the middle", chunked, func(resp *gallop.Response, r io.Reader) error {
			r.Read(make([]byte, 3))
			return resp.CloseBodyStream()
		}, 1},
		{"reset", chunked, func(resp *gallop.Response, r io.Reader) error { resp.Reset(); return nil }, 1},
		{"read by Body", chunked, func(resp *gallop.Response, r io.Reader) error {
			if string(resp.Body()) != "hello world" {
				return errors.New("another body")
			}
			return resp.BodyErr()
		}, 1},
		{"closed with much left", "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\nx",
			func(resp *gallop.Response, r io.Reader) error { return resp.CloseBodyStream() }, 0},
		{"closed with some missing", chunked[:len(chunked)-5],
			func(resp *gallop.Response, r io.Reader) error { return resp.CloseBodyStream() }, 0},
		{"closed while it is read", chunked[:len(chunked)-5], func(resp *gallop.Response, r io.Reader) error {
			done := make(chan error)
			go func() {
				_, err := io.Copy(io.Discard, r)
				done <- err
			}()
			time.Sleep(time.Second)
			resp.CloseBodyStream()
			if err := <-done; err != gallop.ErrBodyClosed {
				return fmt.Errorf("reading ended with %v", err)
			}
			return nil
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(time.Hour)
				u := &upstream{serve: func(n int, c *wiretest.Conn) {
					serveEach(c, func(int, *gallop.Request) string { return tt.answer })
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial}
				var resp gallop.Response
				r := streaming(t, c, &resp)
				if err := tt.end(&resp, r); err != nil {
					t.Error(err)
				}
				if n := c.IdleConnsCount(); n != tt.reuse || c.ConnsCount() != n {
					t.Errorf("%d idle connections of %d", n, c.ConnsCount())
				}
				if n, err := r.Read(make([]byte, 10)); n != 0 || err == nil {
					t.Errorf("a kept stream reads %d, %v", n, err)
				}
				// A kept stream does no harm to the next call.
				var next gallop.Response
				nr := streaming(t, c, &next)
				r.(io.Closer).Close()
				if tt.reuse > 0 {
					if b, err := io.ReadAll(nr); err != nil || string(b) != "hello world" {
						t.Errorf("the next is %q, %v", b, err)
					}
				}
				next.CloseBodyStream()
			})
		})
	}
}

// Close waits for what is left no longer because the request had a body that was sent apart.
func TestClientStreamClosedBehindAnUpload(t *testing.T) {
	for _, tt := range []struct {
		name                string
		readTimeout, within time.Duration
		duplex              bool
	}{
		{"no ReadTimeout", 0, 0, false},
		{"ReadTimeout", time.Hour, 0, false},
		{"a deadline", 0, time.Hour, false},
		{"both ways at once", time.Hour, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(2 * time.Hour)
				u := &upstream{serve: func(_ int, c *wiretest.Conn) {
					r := bufio.NewReader(c)
					takeRequest(t, r)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
					io.Copy(io.Discard, r)
				}}
				c := &gallop.HostClient{Addr: "a", Dial: u.dial, ReadTimeout: tt.readTimeout}
				req := getRequest("/")
				req.Header.SetMethod("POST")
				req.SetBodyStream(strings.NewReader("body"), -1)
				req.SetTimeout(tt.within)
				req.FullDuplex = tt.duplex
				resp := gallop.Response{StreamBody: true}
				if err := c.Do(req, &resp); err != nil {
					t.Fatal(err)
				}
				if b := make([]byte, 5); tt.duplex {
					if _, err := io.ReadFull(resp.BodyStream(), b); err != nil {
						t.Error(err)
					}
				}
				closed := make(chan struct{})
				begun := time.Now()
				go func() {
					defer close(closed)
					resp.CloseBodyStream()
				}()
				select {
				case <-closed:
					if took := time.Since(begun); took > time.Second {
						t.Errorf("closed after %v", took)
					}
				case <-time.After(24 * time.Hour):
					t.Error("not closed at all")
					c.CloseIdleConnections()
				}
				if n := c.ConnsCount(); n != 0 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// Closed because of an error, a stream does not wait for what is left of it.
func TestClientStreamClosedWithError(t *testing.T) {
	for cause, left := range map[error]int{nil: 1, errors.New("on purpose"): 0} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{serve: func(_ int, c *wiretest.Conn) {
				serveEach(c, func(int, *gallop.Request) string { return chunked })
			}}
			c := &gallop.HostClient{Addr: "a", Dial: u.dial}
			defer c.CloseIdleConnections()
			var resp gallop.Response
			stream := streaming(t, c, &resp).(gallop.ReadCloserWithError)
			if _, err := io.ReadFull(stream, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			if err := stream.CloseWithError(cause); err != nil {
				t.Error(err)
			}
			if n := c.ConnsCount(); n != left {
				t.Errorf("%d connections after %v", n, cause)
			}
			if _, err := stream.Read(make([]byte, 1)); err != gallop.ErrBodyClosed {
				t.Error(err)
			}
		})
	}
}

// A call that reads the body into memory has its limit, and another attempt if the body breaks off, even on a client
// that streams.
func TestGetFromClientsThatStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: func(n int, c *wiretest.Conn) {
			takeRequest(t, bufio.NewReader(c))
			io.WriteString(c, []string{"", chunked[:len(chunked)-20], chunked, chunked}[n])
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, StreamResponseBody: true,
			RetryIf: func(*gallop.Request) bool { return true }}
		if _, body, err := c.Get(nil, "http://a.test/"); string(body) != "hello world" || err != nil || u.dials.Load() != 2 {
			t.Errorf("%q, %v, %d attempts", body, err, u.dials.Load())
		}
		c = &gallop.HostClient{Addr: "a", Dial: u.dial, StreamResponseBody: true, MaxResponseBodySize: 10}
		if _, _, err := c.Get(nil, "http://a.test/"); err != gallop.ErrBodyTooLarge {
			t.Error(err)
		}
		c.CloseIdleConnections()
	})
}

func TestClientStreamContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: func(_ int, c *wiretest.Conn) {
			serveEach(c, func(int, *gallop.Request) string { return chunked[:len(chunked)-5] })
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, StreamResponseBody: true}
		for _, how := range []error{context.Canceled, gallop.ErrTimeout} {
			ctx, cancel := context.WithCancel(t.Context())
			req := getRequest("/")
			if how == context.Canceled {
				time.AfterFunc(time.Second, cancel)
			} else {
				req.SetTimeout(time.Second)
			}
			var resp gallop.Response
			if err := c.DoContext(ctx, req, &resp); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err := io.ReadAll(resp.BodyStream())
			if took := time.Since(begun); !errors.Is(err, how) || took != time.Second {
				t.Errorf("%v after %v, want %v", err, took, how)
			}
			if n := c.ConnsCount(); n != 0 {
				t.Errorf("%d connections", n)
			}
			cancel()
		}
	})
}

// The same over real sockets, with and without TLS: what has come on an idle connection is seen.
func TestClientSeesStaleSockets(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		for _, then := range []string{"nothing", "close", "an answer", "an answer at once"} {
			name := then
			if secure {
				name += " over TLS"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel() // it mostly waits
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				if secure {
					ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}})
				}
				defer ln.Close()
				conns := 0
				acted := make(chan struct{})
				go func() {
					for {
						c, err := ln.Accept()
						if err != nil {
							return
						}
						conns++
						r := bufio.NewReader(c)
						var req gallop.Request
						if req.Read(r) != nil {
							continue
						}
						const poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
						if then == "an answer at once" {
							io.WriteString(c, ok5)
							io.WriteString(c, poison)
						} else {
							io.WriteString(c, ok5)
						}
						switch then {
						case "close":
							c.Close()
						case "an answer":
							time.Sleep(10 * time.Millisecond)
							io.WriteString(c, poison)
						}
						acted <- struct{}{}
						if then == "nothing" {
							req.Read(r)
							io.WriteString(c, ok5)
							acted <- struct{}{}
						}
						defer c.Close()
					}
				}()
				c := &gallop.HostClient{Addr: ln.Addr().String(), IsTLS: secure, MaxIdemponentCallAttempts: 1,
					TLSConfig: &tls.Config{InsecureSkipVerify: true}}
				defer c.CloseIdleConnections()
				for range 2 {
					var req gallop.Request
					var resp gallop.Response
					scheme := "http"
					if secure {
						scheme = "https"
					}
					req.SetRequestURI(scheme + "://localhost/")
					req.Header.SetMethod("POST")
					err := c.DoTimeout(&req, &resp, 5*time.Second)
					if err != nil || string(resp.Body()) != "hello" {
						t.Fatalf("%v, %q", err, resp.Body())
					}
					<-acted
					time.Sleep(20 * time.Millisecond) // for the network
				}
				want := 2
				if then == "nothing" {
					want = 1
				}
				if conns != want {
					t.Errorf("%d connections", conns)
				}
			})
		}
	}
}

// The trailers of a stream that was taken are dropped: the response may be another one when they arrive.
func TestTakenStreamLeavesTrailers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: func(_ int, c *wiretest.Conn) {
			serveEach(c, func(int, *gallop.Request) string { return chunked })
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial}
		defer c.CloseIdleConnections()
		var resp gallop.Response
		streaming(t, c, &resp)
		r, size := resp.TakeBodyStream()
		resp.Reset()
		if b, err := io.ReadAll(r); err != nil || string(b) != "hello world" || size != -1 {
			t.Errorf("%q, %v, size %d", b, err, size)
		}
		if sum := resp.Header.PeekTrailer("X-Sum"); sum != nil {
			t.Errorf("another response got the trailer %q", sum)
		}
		if n := c.IdleConnsCount(); n != 1 {
			t.Errorf("%d idle connections", n)
		}

		resp.StreamBody = true
		if err := resp.Read(bufio.NewReader(strings.NewReader(chunked))); err != nil {
			t.Fatal(err)
		}
		r, _ = resp.TakeBodyStream()
		resp.Reset()
		if b, err := io.ReadAll(r); err != nil || string(b) != "hello world" || resp.Header.PeekTrailer("X-Sum") != nil {
			t.Errorf("%q, %v, trailer %q", b, err, resp.Header.PeekTrailer("X-Sum"))
		}
	})
}

// The connection behind a 101 is the caller's as it is, also while the upload of the request is still ending.
func TestClientUpgradesBehindAnUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{serve: func(_ int, c *wiretest.Conn) {
			r := bufio.NewReader(c)
			takeRequest(t, r)
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			io.Copy(c, r)
		}}
		c := &gallop.HostClient{Addr: "a", Dial: u.dial, ReadTimeout: time.Minute}
		ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{WroteRequest: func(error) { time.Sleep(10 * time.Millisecond) }})
		req := getRequest("/")
		req.Header.SetMethod("POST")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		req.SetBodyStream(strings.NewReader("body"), -1)
		resp := gallop.Response{StreamBody: true}
		if err := c.DoContext(ctx, req, &resp); err != nil {
			t.Fatal(err)
		}
		conn := resp.BodyStream().(io.ReadWriteCloser)
		time.Sleep(time.Hour)
		if _, err := io.WriteString(conn, "hello"); err != nil {
			t.Error(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
		conn.Close()
	})
}
