package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Over plain sockets a small request is looked for trouble, sent and waited for in one
// go. These are the ways in which that go can end.

// socketServer serves each connection with serve, and returns a client for it.
func socketServer(t *testing.T, serve func(c *net.TCPConn)) (c *gallop.HostClient, conns *atomic.Int32) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	c = &gallop.HostClient{Addr: ln.Addr().String(), ReadTimeout: 20 * time.Second}
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
		c.CloseIdleConnections()
	})
	return c, conns
}

// readHeads reads n heads without bodies.
func readHeads(c net.Conn, n int) bool {
	var all []byte
	for b := make([]byte, 1); bytes.Count(all, []byte("\r\n\r\n")) < n; {
		if _, err := c.Read(b); err != nil {
			return false
		}
		all = append(all, b[0])
	}
	return true
}

const shortAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func wantOK(t *testing.T, c *gallop.HostClient) {
	t.Helper()
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI("http://a.test/")
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != "ok" {
		t.Fatalf("%v, %q", err, resp.Body())
	}
}

func TestServerThatAnswersBeforeItIsAsked(t *testing.T) {
	c, conns := socketServer(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, shortAnswer)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
	// The first request on a connection gets what is there, as it does with a server that
	// is full and says so. The connection is not used again.
	for range 3 {
		c.Dial = dialAndRest
		wantOK(t, c)
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections for 3 calls", n)
	}
}

// dialAndRest dials and leaves the server the time to speak first.
func dialAndRest(addr string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	time.Sleep(20 * time.Millisecond)
	return c, err
}

func TestIdleConnectionThatBrokeIsLeftAlone(t *testing.T) {
	for name, after := range map[string]func(c *net.TCPConn){
		"closed":              func(c *net.TCPConn) { _ = c.Close() },
		"reset":               func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"half closed":         func(c *net.TCPConn) { _ = c.CloseWrite() },
		"an unasked answer":   func(c *net.TCPConn) { _, _ = io.WriteString(c, shortAnswer) },
		"a byte of something": func(c *net.TCPConn) { _, _ = c.Write([]byte{'\n'}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			step := make(chan struct{})
			c, conns := socketServer(t, func(c *net.TCPConn) {
				if readHeads(c, 1) {
					_, _ = io.WriteString(c, shortAnswer)
					<-step
					after(c)
					step <- struct{}{}
					_, _ = io.Copy(io.Discard, c)
				}
			})
			// Nothing may be sent twice, so that a call on a broken connection would fail.
			c.RetryIf = func(*gallop.Request) bool { return false }
			for range 3 {
				wantOK(t, c)
				step <- struct{}{}
				<-step
				time.Sleep(20 * time.Millisecond) // for the network
			}
			if n := conns.Load(); n != 3 {
				t.Errorf("%d connections for 3 calls", n)
			}
		})
	}
}

func TestSmallRequestsThatTheSocketDoesNotTakeAtOnce(t *testing.T) {
	const size = 12 << 10
	c, _ := socketServer(t, func(c *net.TCPConn) {
		time.Sleep(20 * time.Millisecond)
		for readHeads(c, 1) {
			if _, err := io.CopyN(io.Discard, c, size); err != nil {
				return
			}
			_, _ = io.WriteString(c, shortAnswer)
		}
	})
	c.Dial = func(addr string) (net.Conn, error) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetWriteBuffer(1 << 10)
		}
		return conn, err
	}
	for range 5 {
		req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod("POST")
		req.SetBodyString(strings.Repeat("x", size))
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "ok" {
			t.Fatalf("%v, %q", err, resp.Body())
		}
	}
}

func TestAWaitOnASocketEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call func(c *gallop.HostClient, req *gallop.Request) error
		want error
	}{
		"by a deadline": {func(c *gallop.HostClient, req *gallop.Request) error {
			return c.DoTimeout(req, nil, 50*time.Millisecond)
		}, gallop.ErrTimeout},
		"by its context": {func(c *gallop.HostClient, req *gallop.Request) error {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(50*time.Millisecond, cancel)
			return c.DoContext(ctx, req, nil)
		}, context.Canceled},
		"by ReadTimeout": {func(c *gallop.HostClient, req *gallop.Request) error {
			return c.Do(req, nil)
		}, gallop.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := socketServer(t, func(c *net.TCPConn) {
				if readHeads(c, 1) {
					_, _ = io.WriteString(c, shortAnswer)
				}
				_, _ = io.Copy(io.Discard, c)
			})
			req := gallop.AcquireRequest()
			defer gallop.ReleaseRequest(req)
			req.SetRequestURI("http://a.test/")
			addr := c.Addr
			for limit := range wiretest.LongerLimits(time.Second) { // a busy machine may need longer for the first call
				c = &gallop.HostClient{Addr: addr, ReadTimeout: limit}
				if err := c.Do(req, nil); err == nil {
					break
				}
			}
			if err := tc.call(c, req); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if n := c.ConnsCount(); n != 0 {
				t.Errorf("%d connections are left", n)
			}
		})
	}
}
