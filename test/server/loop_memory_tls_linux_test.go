package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TLS on event loops whose system is in memory: in virtual time, and with sockets that take and
// bring as little at a time as the tests want.

// onTLSLoops runs test in a bubble for a server on a loop, and for one that calls its handlers
// there.
func onTLSLoops(t *testing.T, s func() *gallop.Server, test func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener)) {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for name, listen := range map[string]func(*gallop.Server) *wiretest.KernelListener{
		"loop": servertest.ListenOnLoop, "inline": servertest.ListenInline,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := s()
				ln, _ := serveInMemoryBy(t, s, listen(s), func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
				test(t, s, ln)
			})
		})
	}
}

// dialTLS connects, through a connection that may be disturbed.
func dialTLS(t *testing.T, ln *wiretest.KernelListener, through func(*wiretest.Conn) net.Conn) *rawClient {
	t.Helper()
	nc, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if through != nil {
		nc = through(nc.(*wiretest.Conn))
	}
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) // what is tested is not the certificate
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &rawClient{t, c, bufio.NewReader(c)}
}

// These are requests and responses of any size, in records and pieces of any size, each in its turn.
func TestLoopTLSInMemory(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]func(*wiretest.Conn) net.Conn{
		"as it comes":   nil,
		"octets":        func(c *wiretest.Conn) net.Conn { return byteByByte{c} },
		"a slow reader": func(c *wiretest.Conn) net.Conn { c.SetWindow(700); return c },
	} {
		t.Run(name, func(t *testing.T) {
			onTLSLoops(t, func() *gallop.Server { return &gallop.Server{Handler: echoBody} }, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
				conns := []*rawClient{dialTLS(t, ln, through), dialTLS(t, ln, through), dialTLS(t, ln, nil)}
				for i := range 12 {
					body := strings.Repeat("x", i*i*60)
					for k, c := range conns {
						path := fmt.Sprintf("/%d-%d", i, k)
						go fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%sGET %s HTTP/1.1\r\nHost: a\r\n\r\n", path, len(body), body, path)
						for _, want := range []string{path + body, path} {
							if got, err := c.answer(); got != want || err != nil {
								t.Fatalf("%.40q of %d, %v; want %.40q of %d", got, len(got), err, want, len(want))
							}
						}
					}
				}
				synctest.Wait()
				if n := s.GetOpenConnectionsCount(); n != 3 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// A client that does not finish the handshake, or sends half a record or nothing, is waited for as long as the
// server's timeouts allow.
func TestLoopTLSTimes(t *testing.T) {
	s := func() *gallop.Server {
		return &gallop.Server{Handler: echoBody, TLSHandshakeTimeout: 3 * time.Second, IdleTimeout: 20 * time.Second, ReadHeaderTimeout: 5 * time.Second}
	}
	onTLSLoops(t, s, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		wantEnd := func(name string, c io.Reader, after time.Duration) {
			t.Helper()
			begun := time.Now()
			if b, err := io.ReadAll(c); len(b) > 0 && !bytes.Contains(b, []byte("408")) || err != nil && err != io.ErrUnexpectedEOF {
				t.Errorf("%s: %q, %v", name, b, err)
			}
			if d := time.Since(begun); d < after || d > after+2*time.Second {
				t.Errorf("%s: closed after %v", name, d)
			}
		}
		silent, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		wantEnd("no handshake", silent, 3*time.Second)
		half, _ := ln.Dial()
		_, _ = half.Write([]byte{22, 3, 1, 2})
		wantEnd("half a handshake", half, 3*time.Second)
		idle := dialTLS(t, ln, nil)
		idle.want("/", "/")
		wantEnd("idle", idle.r, 20*time.Second)
		slow := dialTLS(t, ln, nil)
		slow.want("/", "/")
		_, _ = io.WriteString(slow, "GET / HTTP/1.1\r\nHos")
		wantEnd("half a head", slow.r, 5*time.Second)
		time.Sleep(10 * time.Second) // in which the server looks whether the client closes, too
		if n := s.GetOpenConnectionsCount(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// However a client goes, its connection ends and no other does.
func TestLoopTLSClientsGo(t *testing.T) {
	onTLSLoops(t, func() *gallop.Server { return &gallop.Server{Handler: echoBody} }, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		stays := dialTLS(t, ln, nil)
		stays.want("/", "/")
		for name, leave := range map[string]func(raw *wiretest.Conn){
			"reset":      func(raw *wiretest.Conn) { raw.Reset() },
			"closed":     func(raw *wiretest.Conn) { _ = raw.Close() },
			"half shut":  func(raw *wiretest.Conn) { _ = raw.CloseWrite() },
			"half of it": func(raw *wiretest.Conn) { _, _ = raw.Write([]byte{23, 3, 3, 1, 0, 7}); _ = raw.Close() },
			"no TLS":     func(raw *wiretest.Conn) { _, _ = raw.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")) },
		} {
			var raw *wiretest.Conn
			c := dialTLS(t, ln, func(c *wiretest.Conn) net.Conn { raw = c; return c })
			c.want("/x", "/x")
			leave(raw)
			synctest.Wait()
			if n := s.GetOpenConnectionsCount(); n != 1 {
				t.Errorf("%s: %d connections", name, n)
			}
			stays.want("/y", "/y")
		}
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.(*wiretest.Conn).CloseWrite() // before the handshake
		_, _ = io.ReadAll(nc)
		synctest.Wait()
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// A connection that is taken over is a TLS one still, and Shutdown lets requests finish.
func TestLoopTLSTakenAndShutDown(t *testing.T) {
	hijack := func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/take":
			ctx.SetStatusCode(101)
			ctx.Response.Header.Set("Connection", "Upgrade")
			ctx.Response.Header.Set("Upgrade", "echo")
			ctx.Hijack(func(c net.Conn) { _, _ = io.Copy(c, c) })
		case "/slow":
			time.Sleep(time.Minute)
		}
		ctx.SetBodyString("done")
	}
	onTLSLoops(t, func() *gallop.Server { return &gallop.Server{Handler: hijack} }, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		taken, slow, idle := dialTLS(t, ln, nil), dialTLS(t, ln, nil), dialTLS(t, ln, nil)
		idle.want("/", "done")
		_, _ = io.WriteString(taken, "GET /take HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst ")
		_, _ = io.WriteString(slow, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
		time.Sleep(time.Second)
		begun := time.Now()
		if err := s.ShutdownWithContext(context.Background()); err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d < 58*time.Second || d > time.Minute {
			t.Errorf("after %v", d)
		}
		if body, err := slow.answer(); body != "done" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		if b, err := io.ReadAll(idle.r); len(b) > 0 || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		_, _ = io.WriteString(taken, "second")
		for line := " "; line != "\r\n" && line != ""; {
			line, _ = taken.r.ReadString('\n')
		}
		got := make([]byte, len("first second"))
		if _, err := io.ReadFull(taken.r, got); err != nil || string(got) != "first second" {
			t.Errorf("%q, %v", got, err)
		}
		_ = taken.Close()
	})
}

// A large answer to a client that does not take it at once is not cut short because of a write long
// before, by a handler that was overtaken.
func TestLoopTLSLargeAnswersBehindSlowHandlers(t *testing.T) {
	large := strings.Repeat("x", 1<<18)
	s := func() *gallop.Server {
		return &gallop.Server{IdleTimeout: time.Hour, Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/slow":
				time.Sleep(10 * time.Millisecond)
			case "/large":
				ctx.SetBodyString(large)
			}
		}}
	}
	onTLSLoops(t, s, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		c := dialTLS(t, ln, func(nc *wiretest.Conn) net.Conn { nc.SetWindow(8 << 10); return nc })
		for range 5 { // all workers take turns
			c.want("/slow", "")
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		c.want("/large", large)
		c.want("/large", large)
	})
}

// The handler of another protocol has the deadlines of its connection to itself.
func TestLoopTLSDeadlinesOfOtherProtocols(t *testing.T) {
	var took chan time.Duration
	s := func() *gallop.Server {
		took = make(chan time.Duration, 1)
		s := &gallop.Server{}
		s.NextProto("other", func(c net.Conn) error {
			_ = c.SetWriteDeadline(time.Now().Add(3 * time.Second))
			begun := time.Now()
			_, err := c.Write(make([]byte, 1<<20))
			took <- time.Since(begun)
			return err
		})
		return s
	}
	onTLSLoops(t, s, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		nc.(*wiretest.Conn).SetWindow(8 << 10)
		c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"other"}})
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		if d := <-took; d != 3*time.Second {
			t.Errorf("a write that shall take 3s took %v", d)
		}
	})
}

// slowToShake waits before it sends anything.
type slowToShake struct {
	net.Conn
	once sync.Once
}

func (c *slowToShake) Write(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(4 * time.Second) })
	return c.Conn.Write(p)
}

// The time for the first head begins when it can be sent, which is behind the handshake.
func TestLoopTLSSlowHandshake(t *testing.T) {
	s := func() *gallop.Server {
		return &gallop.Server{Handler: echoBody, TLSHandshakeTimeout: 10 * time.Second, ReadHeaderTimeout: 3 * time.Second}
	}
	onTLSLoops(t, s, func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
		c := dialTLS(t, ln, func(nc *wiretest.Conn) net.Conn { return &slowToShake{Conn: nc} })
		time.Sleep(2 * time.Second)
		c.want("/", "/")
	})
}
