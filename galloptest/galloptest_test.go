package galloptest_test

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

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/memnet"
)

func request(target string) *gallop.Request {
	req := new(gallop.Request)
	req.SetRequestURI(target)
	return req
}

// Handlers that need a server work with Do.
func TestDo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle gallop.RequestHandler
		status int
		body   string
	}{
		{"a response", func(ctx *gallop.RequestCtx) { fmt.Fprintf(ctx, "%s %s", ctx.Host(), ctx.Path()) }, 200, "example.com /a"},
		{"a status", func(ctx *gallop.RequestCtx) { ctx.NotFound() }, 404, "Not Found"},
		{"StreamResponse", func(ctx *gallop.RequestCtx) {
			w, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 3 {
				fmt.Fprint(w, i)
				w.Flush()
			}
		}, 200, "012"},
		{"HijackConn", func(ctx *gallop.RequestCtx) {
			ctx.HijackSetNoResponse(true)
			c, err := ctx.HijackConn()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
		}, 202, "ok"},
		{"EarlyHints", func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Add("Link", "</style.css>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			ctx.WriteString("page")
		}, 200, "page"},
		{"deadlines", func(ctx *gallop.RequestCtx) {
			if err := ctx.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
		}, 200, ""},
		{"a panic", func(ctx *gallop.RequestCtx) { panic("on purpose") }, 500, "Internal Server Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := galloptest.Do(tt.handle, request("/a"))
			if resp.StatusCode() != tt.status || string(resp.Body()) != tt.body {
				t.Errorf("%d %q, want %d %q", resp.StatusCode(), resp.Body(), tt.status, tt.body)
			}
		})
	}
}

// The handler has returned when Do returns, and is called once.
func TestDoWaits(t *testing.T) {
	var calls, ended atomic.Int32
	galloptest.Do(func(ctx *gallop.RequestCtx) {
		defer ended.Add(1)
		calls.Add(1)
		w, err := ctx.StreamResponse()
		if err == nil {
			w.Write([]byte("x"))
			w.Flush()
		}
		time.Sleep(20 * time.Millisecond)
	}, request("http://other.test/"))
	if calls.Load() != 1 || ended.Load() != 1 {
		t.Errorf("%d calls, of which %d have ended", calls.Load(), ended.Load())
	}
}

// Without a response Do panics, and the handler was called once all the same.
func TestDoWithoutResponse(t *testing.T) {
	calls := 0
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "galloptest: no response to GET http://example.com/a") || calls != 1 {
			t.Errorf("%d calls, %s", calls, v)
		}
	}()
	galloptest.Do(func(*gallop.RequestCtx) { calls++; panic(gallop.ErrAbortHandler) }, request("/a"))
}

// A response that switches protocols is a connection.
func TestDoUpgrade(t *testing.T) {
	req := request("/chat")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp := galloptest.Do(func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
	}, req)
	conn, ok := resp.BodyStream().(io.ReadWriteCloser)
	if !ok || resp.StatusCode() != 101 {
		t.Fatalf("%d, %T", resp.StatusCode(), resp.BodyStream())
	}
	defer conn.Close()
	io.WriteString(conn, "hello\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// A request that may switch protocols, and does not, has a body in memory.
func TestDoNoUpgrade(t *testing.T) {
	for _, h := range []gallop.RequestHandler{
		func(ctx *gallop.RequestCtx) { ctx.WriteString("not here") },
		func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("not here"), -1) },
	} {
		req := request("/chat")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		if resp := galloptest.Do(h, req); resp.IsBodyStream() || string(resp.Body()) != "not here" {
			t.Errorf("stream: %v, %q", resp.IsBodyStream(), resp.Body())
		}
	}
}

func TestServe(t *testing.T) {
	client, url := galloptest.Serve(t, func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.Add("Link", "</style.css>; rel=preload")
		ctx.EarlyHints()
		fmt.Fprintf(ctx, "%s %d", ctx.Host(), ctx.ConnRequestNum())
	})
	var hints atomic.Int32
	client.OnInterim = func(resp *gallop.Response) { hints.Add(1) }
	for i, target := range []string{url + "/", url + "/b", "http://other.test:8080/"} {
		var resp gallop.Response
		if err := client.Do(request(target), &resp); err != nil {
			t.Fatal(err)
		}
		if want := []string{"example.com 1", "example.com 2", "other.test:8080 1"}[i]; string(resp.Body()) != want {
			t.Errorf("%s: %q, want %q", target, resp.Body(), want)
		}
	}
	if hints.Load() != 3 {
		t.Errorf("%d interim responses", hints.Load())
	}
}

// recorded is a testing.TB that keeps its log.
type recorded struct {
	testing.TB
	mu       sync.Mutex
	log      []string
	failed   bool
	cleanups []func()
}

func (r *recorded) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorded) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorded) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.failed = true
}

func (r *recorded) end() {
	for _, f := range r.cleanups {
		f()
	}
}

// A server ends with its test, also where a request is in flight, and what it logs stands in the log of the test.
func TestEnd(t *testing.T) {
	r := &recorded{TB: t}
	begun, told := make(chan bool, 1), make(chan error, 1)
	client, url := galloptest.Serve(r, func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/panic" {
			panic("on purpose")
		}
		begun <- true
		<-ctx.Done()
		told <- ctx.Err()
	})
	if err := client.Do(request(url+"/panic"), nil); err != nil {
		t.Fatal(err)
	}
	called := make(chan error, 1)
	go func() { called <- client.Do(request(url+"/wait"), nil) }()
	<-begun
	r.end()
	if err := <-told; err == nil {
		t.Error("the handler was not told")
	}
	<-called
	if log := strings.Join(r.log, "\n"); !strings.Contains(log, "on purpose") || r.failed {
		t.Errorf("failed: %v, log: %s", r.failed, log)
	}
	if err := client.Do(request(url), nil); err == nil {
		t.Error("the server is there after the end of the test")
	}
}

// Settings of the server hold, and one that cannot serve makes the test fail.
func TestStart(t *testing.T) {
	client, url := galloptest.Start(t, &gallop.Server{
		Name:    "mine",
		Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("x") },
	})
	var resp gallop.Response
	if err := client.Do(request(url), &resp); err != nil || string(resp.Header.Server()) != "mine" {
		t.Errorf("%q, %v", resp.Header.Server(), err)
	}
	r := &recorded{TB: t}
	galloptest.Start(r, &gallop.Server{Protocols: new(gallop.Protocols)})
	r.end()
	if !r.failed {
		t.Error("a server that does not serve is no failure")
	}
}

// In a bubble, an hour takes no time, and no goroutine is left.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx *gallop.RequestCtx) {
			time.Sleep(time.Hour)
			ctx.WriteString("late")
		}
		if resp := galloptest.Do(slow, request("/")); string(resp.Body()) != "late" {
			t.Errorf("got %q", resp.Body())
		}
		client, url := galloptest.Serve(t, slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if err := client.DoContext(ctx, request(url), nil); !errors.Is(err, gallop.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestCertificate(t *testing.T) {
	for _, tt := range []struct {
		hosts []string
		call  map[string]bool // hosts that a client may call, or not
	}{
		{nil, map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true, "example.com": true, "other.test": false}},
		{[]string{"*.a.test", "10.1.2.3"}, map[string]bool{"x.a.test": true, "10.1.2.3": true, "a.test": false, "localhost": false}},
	} {
		pair, roots := galloptest.Certificate(tt.hosts...)
		s := &gallop.Server{
			Handler:   func(ctx *gallop.RequestCtx) { fmt.Fprint(ctx, ctx.IsTLS()) },
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
			Logger:    discard{},
		}
		ln := memnet.NewListener()
		go s.ServeTLS(ln, "", "")
		client := &gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }, TLSConfig: &tls.Config{RootCAs: roots}}
		for host, ok := range tt.call {
			var resp gallop.Response
			err := client.Do(request("https://"+host+"/"), &resp)
			if (err == nil) != ok || ok && string(resp.Body()) != "true" {
				t.Errorf("%v: %s: %v", tt.hosts, host, err)
			}
		}
		client.CloseIdleConnections()
		s.Close()
	}
	a, _ := galloptest.Certificate()
	b, _ := galloptest.Certificate()
	if a.Leaf.SerialNumber.Cmp(b.Leaf.SerialNumber) == 0 {
		t.Error("two certificates have the same number")
	}
	synctest.Test(t, func(t *testing.T) {
		if now := time.Now(); now.Before(a.Leaf.NotBefore) || now.After(a.Leaf.NotAfter) {
			t.Errorf("not valid at %v", now)
		}
	})
}

type discard struct{}

func (discard) Printf(string, ...any) {}
