//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// tlsServer serves s over TLS on event loops, and returns how it is dialed.
func tlsServer(t *testing.T, s *gallop.Server) (dial func(through func(net.Conn) net.Conn) *rawClient) {
	t.Helper()
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	s.Engine = gallop.EngineLoop
	addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	return func(through func(net.Conn) net.Conn) *rawClient {
		nc := dialTCP(t, addr)
		if through != nil {
			nc = through(nc)
		}
		c := tls.Client(nc, &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: []string{"other", "http/1.1"}})
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
		return &rawClient{t, c, bufio.NewReader(c)}
	}
}

// byteByByte writes each byte by itself.
type byteByByte struct{ net.Conn }

func (c byteByByte) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
		if i%16 == 0 {
			runtime.Gosched()
		}
	}
	return len(p), nil
}

func echoBody(ctx *gallop.RequestCtx) {
	if !ctx.IsTLS() {
		ctx.Error("no TLS", gallop.StatusTeapot)
		return
	}
	_, _ = ctx.Write(ctx.Path())
	_, _ = ctx.Write(ctx.PostBody())
}

func TestLoopTLSIdleConnectionsHoldNoGoroutine(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	s := &gallop.Server{Handler: echoBody}
	dial := tlsServer(t, s)
	first := dial(nil)
	proveFast(t, s, first, "/", "/")
	before := runtime.NumGoroutine()
	var conns []*rawClient
	for range 100 {
		c := dial(nil)
		c.want("/idle", "/idle")
		conns = append(conns, c)
	}
	wiretest.Eventually(t, func() bool { return runtime.NumGoroutine() < before+50 })
	for _, c := range conns {
		c.want("/again", "/again")
	}
	if stats := s.Stats().Loop; stats.Inline == 0 {
		t.Errorf("no handler was called on a loop: %+v", stats)
	}
}

func TestLoopTLSRecordsInParts(t *testing.T) {
	t.Parallel()
	dial := tlsServer(t, &gallop.Server{Handler: echoBody})
	c := dial(func(nc net.Conn) net.Conn { return byteByByte{nc} })
	for i := range 20 {
		path, body := fmt.Sprintf("/%d", i), strings.Repeat("x", i*50)
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
		if got, err := c.answer(); got != path+body || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func TestLoopTLSRequestsAndRecordsDoNotMatch(t *testing.T) {
	dial := tlsServer(t, &gallop.Server{Handler: echoBody})
	c := dial(nil)
	var all strings.Builder
	for i := range 30 {
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
	}
	for _, size := range []int{all.Len(), 40, 7} {
		for rest := all.String(); rest != ""; {
			n := min(size, len(rest))
			if _, err := io.WriteString(c, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for i := range 30 {
			if got, err := c.answer(); got != fmt.Sprintf("/%d", i) || err != nil {
				t.Fatalf("records of %d: answer %d is %q, %v", size, i, got, err)
			}
		}
	}
}

func TestLoopTLSLargeBodies(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if len(ctx.PostBody()) > 0 {
			ctx.SetBody(ctx.PostBody())
			return
		}
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for range 256 { // more than sockets hold
				_, _ = w.Write(large[:1<<16])
				_ = w.Flush()
			}
		})
	}}
	c := tlsServer(t, s)(nil)
	go func() {
		_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(large), large)
	}()
	if got, err := c.answer(); got != string(large) || err != nil {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for range 2 {
		if got, err := c.get("/stream"); len(got) != 256<<16 || strings.Trim(got, "0123456789abcdef") != "" || err != nil {
			t.Fatalf("%d bytes of a stream, %v", len(got), err)
		}
	}
}

func TestLoopTLSHandlersThatBlock(t *testing.T) {
	release := make(chan struct{})
	s := &gallop.Server{Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/block" {
			<-release
		}
		echoBody(ctx)
	}}
	dial := tlsServer(t, s)
	blocked, free := dial(nil), dial(nil)
	fmt.Fprint(blocked, "GET /block HTTP/1.1\r\nHost: a\r\n\r\n")
	for range 10 {
		free.want("/free", "/free")
	}
	close(release)
	if got, err := blocked.answer(); got != "/block" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	blocked.want("/again", "/again")
}

func TestLoopTLSHijack(t *testing.T) {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { _, _ = io.Copy(c, c) })
	}}
	c := tlsServer(t, s)(nil)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\nfirst")
	got := make([]byte, 5)
	for _, want := range []string{"first", "then "} {
		if _, err := io.ReadFull(c, got); string(got) != want || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		fmt.Fprint(c, "then ")
	}
	wantNoConns(t, s)
}

func TestLoopTLSOtherProtocols(t *testing.T) {
	s := &gallop.Server{}
	s.NextProto("other", func(c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	})
	c := tlsServer(t, s)(nil)
	fmt.Fprint(c, "hello")
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); string(got) != "hello" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	_ = c.Close()
	wantNoConns(t, s)
}

// A connection ends as TLS has it, so that the client knows that nothing is missing.
func TestLoopTLSEnds(t *testing.T) {
	t.Parallel()
	wantEnd := func(c *rawClient) {
		t.Helper()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%d, %v", n, err)
		}
	}
	s := &gallop.Server{Handler: echoBody, IdleTimeout: 300 * time.Millisecond}
	dial := tlsServer(t, s)
	c := dial(nil)
	for try := 0; try < 20; try++ { // the connection may have ended before because the machine is slow
		if body, err := c.get("/"); body == "/" && err == nil {
			break
		}
		c = dial(nil)
	}
	wantEnd(c) // idle for too long
	wantEnd(dial(nil))
	got, err := "", io.EOF
	for try := 0; try < 20 && err != nil; try++ {
		c = dial(nil)
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		got, err = c.answer()
	}
	if got != "/" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	wantEnd(c)
	_ = dial(nil).Close()
	wantNoConns(t, s)

	s = &gallop.Server{Handler: echoBody}
	dial = tlsServer(t, s)
	c = dial(nil)
	c.want("/", "/")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.ShutdownWithContext(ctx); err != nil {
		t.Error(err)
	}
	wantEnd(c)
}
