package client_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

var errNoWrite = errors.New("no write")

// deafConn is a connection on which writing fails after a number of bytes, and on which nothing comes then. With
// onlyClose it heeds no deadline.
type deafConn struct {
	net.Conn
	left      atomic.Int64
	onlyClose bool
}

func newDeafConn(nc net.Conn, left int64) *deafConn {
	c := &deafConn{Conn: nc}
	c.left.Store(left)
	return c
}

func (c *deafConn) Write(p []byte) (int, error) {
	left := c.left.Add(-int64(len(p)))
	if left >= 0 {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:max(0, len(p)+int(left))])
	return n, cmp.Or(err, errNoWrite)
}

func (c *deafConn) SetDeadline(at time.Time) error {
	return c.unless(c.onlyClose, at, c.Conn.SetDeadline)
}
func (c *deafConn) SetReadDeadline(at time.Time) error {
	return c.unless(c.onlyClose, at, c.Conn.SetReadDeadline)
}
func (c *deafConn) SetWriteDeadline(at time.Time) error {
	return c.unless(c.onlyClose, at, c.Conn.SetWriteDeadline)
}

func (c *deafConn) unless(not bool, at time.Time, set func(time.Time) error) error {
	if not {
		return nil
	}
	return set(at)
}

const noLimit = 1 << 30

// A write that fails ends the call soon, though the server says nothing: for each way in which requests are written.
func TestClientEndsAfterFailedWrite(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(req *gallop.Request){
		"get":         func(req *gallop.Request) { req.Header.Set("X-Long", strings.Repeat("a", 300)) },
		"small body":  func(req *gallop.Request) { req.SetBody(make([]byte, 1000)) },
		"body beside": func(req *gallop.Request) { req.SetBody(make([]byte, 40<<10)) },
		"large body":  func(req *gallop.Request) { req.SetBody(make([]byte, 400<<10)) },
		"stream":      func(req *gallop.Request) { req.SetBodyStream(strings.NewReader(strings.Repeat("x", 400<<10)), -1) },
		"a blocked pipe": func(req *gallop.Request) {
			r, w := io.Pipe()
			go w.Write(make([]byte, 100<<10))
			time.AfterFunc(30*time.Second, func() { r.Close() })
			req.SetBodyStream(r, -1)
		},
		"expect": func(req *gallop.Request) {
			req.Header.Set("Expect", "100-continue")
			req.SetBody(make([]byte, 100))
		},
	} {
		for _, onlyClose := range []bool{false, true} {
			if onlyClose && name == "expect" { // which waits by deadline
				continue
			}
			for _, written := range []int64{0, 20, 150} {
				t.Run(name, func(t *testing.T) {
					overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
						defer time.Sleep(time.Minute)
						c.DetailedErrors = true
						c.DialContext = func(context.Context, string, string) (net.Conn, error) {
							nc, peer := memnet.Pipe()
							go io.Copy(io.Discard, serve(peer))
							d := newDeafConn(nc, noLimit)
							d.onlyClose = onlyClose
							if c.IsTLS { // when the handshake is over
								time.AfterFunc(time.Second, func() { d.left.Store(written) })
								return d, nil
							}
							d.left.Store(written)
							return d, nil
						}
						ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{GotConn: func(gallop.GotConnInfo) { time.Sleep(2 * time.Second) }})
						req := requestFor(c)
						req.Header.SetMethod("POST")
						fill(req)
						begun := time.Now()
						err := c.DoContext(ctx, req, nil)
						var closed *gallop.ClosedError
						if took := time.Since(begun); took > 3500*time.Millisecond || !errors.As(err, &closed) || !errors.Is(err, errNoWrite) {
							t.Errorf("%d written: %v after %v", written, err, took)
						}
					})
				})
			}
		}
	}
}

// A response that the server sent before a write failed counts, even if it arrives a moment late.
func TestClientReadsLastWords(t *testing.T) {
	for _, delay := range []time.Duration{0, 90 * time.Millisecond} {
		overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
			c.DialContext = func(context.Context, string, string) (net.Conn, error) {
				nc, peer := memnet.Pipe()
				d := newDeafConn(nc, noLimit)
				go func() {
					peer := serve(peer)
					defer peer.Close()
					var req gallop.Request
					req.Header.Read(bufio.NewReader(peer))
					d.left.Store(0)
					time.Sleep(delay)
					io.WriteString(peer, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno")
				}()
				return d, nil
			}
			req := requestFor(c)
			req.Header.SetMethod("POST")
			req.SetBody(make([]byte, 400<<10))
			var resp gallop.Response
			if err := c.Do(req, &resp); err != nil || resp.StatusCode() != 413 || string(resp.Body()) != "no" {
				t.Errorf("%v: %v, %v", delay, err, &resp)
			}
		})
	}
}

// The body of a refusal may come long after its head, which has stopped the upload.
func TestClientReadsLateRefusal(t *testing.T) {
	for name, fill := range map[string]func(req *gallop.Request){
		"bytes":  func(req *gallop.Request) { req.SetBody(make([]byte, 8<<20)) },
		"chunks": func(req *gallop.Request) { req.SetBodyStream(bytes.NewReader(make([]byte, 8<<20)), -1) },
		"fixed":  func(req *gallop.Request) { req.SetBodyStream(bytes.NewReader(make([]byte, 8<<20)), 8<<20) },
		"a blocked pipe": func(req *gallop.Request) {
			r, w := io.Pipe()
			go w.Write(make([]byte, 1000))
			time.AfterFunc(time.Minute, func() { r.Close() })
			req.SetBodyStream(r, -1)
		},
	} {
		for _, streams := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
					defer time.Sleep(2 * time.Minute)
					c.DialContext = func(context.Context, string, string) (net.Conn, error) {
						nc, peer := memnet.Pipe()
						go func() {
							peer := serve(peer)
							defer peer.Close()
							var req gallop.Request
							in := bufio.NewReader(peer)
							req.Header.Read(in)
							io.WriteString(peer, "HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\n")
							for _, word := range []string{"no", "way"} {
								time.Sleep(5 * time.Second)
								io.WriteString(peer, word)
							}
						}()
						return nc, nil
					}
					c.StreamResponseBody = streams
					req := requestFor(c)
					req.Header.SetMethod("POST")
					fill(req)
					var resp gallop.Response
					if err := c.Do(req, &resp); err != nil || resp.StatusCode() != 413 || string(resp.Body()) != "noway" {
						t.Errorf("%v, %v", err, &resp)
					}
				})
			})
		}
	}
}

// A response that goes up to the end of the connection is not whole if the connection was reset, also where the
// failed write was told of that.
func TestClientTellsAResetFromTheEnd(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 418 No\r\n\r\npart")
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	for i := range 300 {
		c := gallop.HostClient{Addr: ln.Addr().String(), StreamResponseBody: i%2 > 0}
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("http://" + c.Addr)
		req.SetBodyStream(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 300))), -1)
		err := c.Do(&req, &resp)
		if s := resp.BodyStream(); err == nil && s != nil {
			_, err = io.ReadAll(s)
		}
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("%v: %v", err, &resp)
		}
	}
}

// A request of which nothing could be written on a connection that was used before is sent again, whatever its
// method, and with its body if that was not read.
func TestClientRepeatsUnwrittenRequest(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		for _, body := range []string{"none", "bytes", "stream"} {
			t.Run(method+" "+body, func(t *testing.T) {
				overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
					var conns []*deafConn
					got := ""
					c.DialContext = func(context.Context, string, string) (net.Conn, error) {
						nc, peer := memnet.Pipe()
						go func() {
							peer := serve(peer)
							defer peer.Close()
							for r := bufio.NewReader(peer); ; {
								var req gallop.Request
								if req.Read(r) != nil {
									return
								}
								got = string(req.Body())
								io.WriteString(peer, ok5)
							}
						}()
						conns = append(conns, newDeafConn(nc, noLimit))
						return conns[len(conns)-1], nil
					}
					defer c.CloseIdleConnections()
					if err := c.Do(requestFor(c), nil); err != nil {
						t.Fatal(err)
					}
					conns[0].left.Store(0)
					req, want := requestFor(c), ""
					req.Header.SetMethod(method)
					switch body {
					case "bytes":
						req.SetBodyString("body")
						want = "body"
					case "stream":
						req.SetBodyStream(io.MultiReader(strings.NewReader("body")), -1)
						want = "body"
					}
					if err := c.Do(req, nil); err != nil || len(conns) != 2 || got != want {
						t.Errorf("%v, %d connections, body %q", err, len(conns), got)
					}
				})
			})
		}
	}
}
