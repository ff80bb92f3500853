package http2peers_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Every kind of request arrives, and its response as well.
func TestCalls(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<17) // more than any window
	cases := []struct {
		name, method, path, body string
		set                      func(req *gallop.Request)
		want                     string // the body
		headers                  string // of the response
	}{
		{"GET", "GET", "/a?b=c", "", nil, "", "X-Method=GET X-Target=/a?b=c X-Host=example.com X-Agent=gallop X-Proto=HTTP/2.0"},
		{"POST", "POST", "/", "hello", nil, "hello", "X-Method=POST X-Length=5"},
		{"an empty POST", "POST", "/", "", nil, "", "X-Method=POST X-Length=0"},
		{"a method of its own", "PURGE", "/", "", nil, "", "X-Method=PURGE"},
		{"a large body", "PUT", "/", large, nil, large, ""},
		{"a stream", "POST", "/", "", func(req *gallop.Request) { req.SetBodyStream(strings.NewReader(large), -1) }, large, "X-Length=-1"},
		{"a stream with a length", "POST", "/", "", func(req *gallop.Request) { req.SetBodyStream(strings.NewReader(large), len(large)) }, large, ""},
		{"a writer", "POST", "/", "", func(req *gallop.Request) {
			req.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 100 {
					w.WriteString("0123456789")
					w.Flush()
				}
			})
		}, strings.Repeat("0123456789", 100), ""},
		{"trailers", "POST", "/", "", func(req *gallop.Request) {
			req.Header.SetTrailer("X-Sum")
			req.Header.Set("X-Sum", "7")
			req.SetBodyStream(strings.NewReader("x"), -1)
		}, "x", "trailer X-Sum=7"},
		{"a trailer that is known at the end of the body", "POST", "/", "", func(req *gallop.Request) {
			req.Header.SetTrailer("X-Sum")
			req.SetBodyStream(readerFunc(func(p []byte) (int, error) {
				req.Header.Set("X-Sum", "7")
				return copy(p, "x"), io.EOF
			}), -1)
		}, "x", "trailer X-Sum=7"},
		{"Expect: 100-continue", "POST", "/", "hello", func(req *gallop.Request) { req.Header.Set("Expect", "100-continue") }, "hello", ""},
		{"Expect with a stream", "POST", "/", "", func(req *gallop.Request) {
			req.Header.Set("Expect", "100-continue")
			req.SetBodyStream(strings.NewReader("hello"), -1)
		}, "hello", ""},
		{"headers that HTTP/2 does not have", "GET", "/", "", func(req *gallop.Request) {
			req.Header.Set("Connection", "keep-alive, x-hop")
			req.Header.Set("Keep-Alive", "timeout=5")
			req.Header.Set("Proxy-Connection", "keep-alive")
			req.Header.Set("TE", "gzip")
		}, "", "X-Method=GET"},
		{"HEAD", "HEAD", "/", "", nil, "", "X-Method=HEAD"},
		{"OPTIONS *", "OPTIONS", "/", "", func(req *gallop.Request) { req.SetRequestURI("*"); req.SetHost("example.com") }, "", "X-Target=*"},
		{"a status without a body", "GET", "/status?code=204", "", nil, "", ""},
		{"early hints", "GET", "/hints", "", nil, "", "X-Method=GET"},
	}
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		for _, stream := range []bool{false, true} {
			for _, tc := range cases {
				if tc.name == "OPTIONS *" && c.IsTLS {
					continue // a request without a URI has no scheme
				}
				t.Run(fmt.Sprintf("%s, streamed %v", tc.name, stream), func(t *testing.T) {
					req := request(c, tc.method, tc.path, tc.body)
					if tc.set != nil {
						tc.set(req)
					}
					resp := &gallop.Response{StreamBody: stream}
					if err := c.Do(req, resp); err != nil {
						t.Fatal(err)
					}
					body := string(resp.Body())
					if err := resp.BodyErr(); body != tc.want || err != nil {
						t.Errorf("%d bytes, %v", len(body), err)
					}
					for _, pair := range strings.Fields(strings.TrimPrefix(tc.headers, "trailer ")) {
						name, value, _ := strings.Cut(pair, "=")
						got := resp.Header.Peek(name)
						if strings.HasPrefix(tc.headers, "trailer") {
							got = resp.Header.PeekTrailer(name)
						}
						if string(got) != value {
							t.Errorf("%s is %q, want %q", name, got, value)
						}
					}
				})
			}
		}
		if n := c.ConnsCount(); n != 1 || c.IdleConnsCount() != 1 {
			t.Errorf("%d connections, %d of them idle", n, c.IdleConnsCount())
		}
	})
}

// Many calls at the same time share one connection, which one of them dials.
func TestOneConnection(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		var group sync.WaitGroup
		for i := range 80 {
			group.Go(func() {
				for j := range 20 {
					body := strings.Repeat(fmt.Sprint(i, " ", j, ","), 1+i*j)
					var resp gallop.Response
					if err := c.Do(request(c, "POST", "/", body), &resp); err != nil || string(resp.Body()) != body {
						t.Errorf("%d bytes of %d, %v", len(resp.Body()), len(body), err)
					}
				}
			})
		}
		group.Wait()
		if n := c.ConnsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// A call that is cancelled, or whose time is over, ends at once and costs its stream only.
func TestCancel(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		conn := func() net.Addr {
			var resp gallop.Response
			if err := c.Do(request(c, "GET", "/", ""), &resp); err != nil {
				t.Fatal(err)
			}
			return resp.LocalAddr()
		}
		before := conn()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := c.DoContext(ctx, request(c, "GET", "/slow", ""), nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		var call *gallop.CallError
		for limit := range wiretest.LongerLimits(10 * time.Millisecond) { // until the machine sends the request in time
			err := c.DoTimeout(request(c, "GET", "/slow", ""), nil, limit)
			if !errors.Is(err, gallop.ErrTimeout) || !errors.As(err, &call) || call.Method != "GET" || !strings.HasSuffix(call.URL, "/slow") {
				t.Fatalf("%v: %+v", err, call)
			}
			if call.Phase == "waiting for the response" {
				break
			}
		}
		if call.Phase != "waiting for the response" {
			t.Errorf("%+v", call)
		}
		if err := c.DoDeadline(request(c, "GET", "/slow", ""), nil, time.Now().Add(10*time.Millisecond)); !errors.Is(err, gallop.ErrTimeout) {
			t.Error(err)
		}
		if after := conn(); c.ConnsCount() != 1 || after.String() != before.String() {
			t.Errorf("%d connections, from %v and %v", c.ConnsCount(), before, after)
		}
	})
}

// Responses as streams: reading in pieces, closing early, several at the same time.
func TestStreams(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		body := strings.Repeat("x", 3<<20)
		streams := make([]io.Reader, 3)
		for i := range streams {
			resp := &gallop.Response{StreamBody: true}
			if err := c.Do(request(c, "POST", "/", body), resp); err != nil {
				t.Fatal(err)
			}
			streams[i] = resp.BodyStream()
		}
		if n, err := io.ReadFull(streams[0], make([]byte, 100_000)); n != 100_000 || err != nil {
			t.Fatal(n, err)
		}
		streams[0].(io.Closer).Close()
		if n, err := streams[0].Read(make([]byte, 1)); n != 0 || err != gallop.ErrBodyClosed {
			t.Error(n, err)
		}
		for _, stream := range streams[1:] {
			if n, err := io.Copy(io.Discard, stream); n != int64(len(body)) || err != nil {
				t.Error(n, err)
			}
		}
		if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 1 || idle != 1 {
			t.Errorf("%d connections, %d of them idle", open, idle)
		}
	})
}

// Close ends a Read that waits.
func TestCloseWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		req := request(c, "GET", "/", "")
		resp := &gallop.Response{StreamBody: true}
		done := make(chan error)
		go func() { done <- c.Do(req, resp) }()
		s.accept()
		s.wants("HEADERS 1 end")
		s.head(1, false, ":status", "200")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		stream := resp.BodyStream()
		go func() {
			time.Sleep(time.Second)
			stream.(io.Closer).Close()
		}()
		began := time.Now()
		if n, err := stream.Read(make([]byte, 1)); n != 0 || err != gallop.ErrBodyClosed || time.Since(began) != time.Second {
			t.Error(n, err, time.Since(began))
		}
		s.wants("RST_STREAM 1 CANCEL")
		if c.ConnsCount() != 1 {
			t.Error("the connection is closed")
		}
	})
}

// A server can respond while the request is sent: refusing it, or reading and writing at the same time.
func TestFullDuplex(t *testing.T) {
	c := overStd(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(403)
			return
		}
		w.(http.Flusher).Flush()
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(w, strings.ToUpper(line))
			w.(http.Flusher).Flush()
		}
	})
	read, write := io.Pipe()
	req, resp := request(c, "POST", "/", ""), &gallop.Response{StreamBody: true}
	req.FullDuplex = true
	req.SetBodyStream(read, -1)
	if err := c.Do(req, resp); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(resp.BodyStream())
	for i := range 5 {
		fmt.Fprintf(write, "line %d\n", i)
		if line, err := out.ReadString('\n'); line != fmt.Sprintf("LINE %d\n", i) || err != nil {
			t.Fatal(line, err)
		}
	}
	write.Close()
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	req = request(c, "POST", "/refuse", "")
	req.SetBodyStream(endless{}, -1)
	resp = &gallop.Response{}
	if err := c.Do(req, resp); err != nil || resp.StatusCode() != 403 {
		t.Error(resp.StatusCode(), err)
	}
	if c.ConnsCount() != 1 {
		t.Errorf("%d connections", c.ConnsCount())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A request body that cannot be read fails the call with the reader's error, and resets the stream.
func TestBrokenUploads(t *testing.T) {
	broken := errors.New("broken")
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		for _, tc := range []struct {
			name string
			body io.Reader
			size int
			want string
		}{
			{"an error", io.MultiReader(strings.NewReader("x"), failing{broken}), -1, "broken"},
			{"too short", strings.NewReader("x"), 5, "ended before the announced size"},
		} {
			req := request(c, "POST", "/", "")
			req.SetBodyStream(tc.body, tc.size)
			var call *gallop.CallError
			if err := c.Do(req, nil); !errors.As(err, &call) || call.Phase != "reading the request body" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		req := request(c, "POST", "/", "")
		req.SetBodyStream(panicking{}, -1)
		if err := c.Do(req, nil); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Error(err)
		}
		if err := c.Do(request(c, "GET", "/", ""), nil); err != nil || c.ConnsCount() != 1 {
			t.Error(err, c.ConnsCount())
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("panic") }

// The body of a response to CONNECT is the tunnel, which outlives the context of its call.
func TestConnect(t *testing.T) {
	c := overStd(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "CONNECT" || r.Host != "far.example.com:22" {
			w.WriteHeader(400)
			return
		}
		w.(http.Flusher).Flush()
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				io.WriteString(w, "bye")
				return
			}
			io.WriteString(w, line)
			w.(http.Flusher).Flush()
		}
	})
	req, resp := &gallop.Request{}, &gallop.Response{StreamBody: true}
	req.Header.SetMethod("CONNECT")
	req.Header.SetHost("far.example.com:22")
	req.Header.SetRequestURI("far.example.com:22")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if err := c.DoContext(ctx, req, resp); err != nil || resp.StatusCode() != 200 {
		t.Fatal(resp.StatusCode(), err)
	}
	cancel()
	tunnel := resp.BodyStream().(io.ReadWriteCloser)
	in := bufio.NewReader(tunnel)
	for range 3 {
		fmt.Fprintf(tunnel, "hello\n")
		if line, err := in.ReadString('\n'); line != "hello\n" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if err := tunnel.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(in); string(rest) != "bye" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if n := c.IdleConnsCount(); n != 0 {
		t.Error("the connection of an open tunnel is idle")
	}
	tunnel.Close()
	if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 1 || idle != 1 {
		t.Errorf("%d connections, %d of them idle", open, idle)
	}
}

// A Client follows redirects, keeps cookies and balances calls over HTTP/2 as over HTTP/1.
func TestClients(t *testing.T) {
	addr := newStd(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/here", http.StatusFound)
		default:
			cookie, _ := r.Cookie("a")
			fmt.Fprint(w, r.Proto, r.URL.Path, cookie)
		}
	})
	c := &gallop.Client{TLSConfig: &tls.Config{InsecureSkipVerify: true}, Jar: &gallop.CookieJar{}}
	defer c.CloseIdleConnections()
	url := "https://" + addr + "/moved"
	if status, body, err := c.Get(nil, url); status != 200 || string(body) != "HTTP/2.0/herea=b" || err != nil {
		t.Errorf("%d %q, %v", status, body, err)
	}
	req, resp := &gallop.Request{}, &gallop.Response{}
	req.SetRequestURI(url)
	if err := c.DoRedirects(req, resp, 0); err != gallop.ErrTooManyRedirects && !errors.Is(err, gallop.ErrTooManyRedirects) {
		t.Error(err)
	}
	lb := &gallop.LBClient{Clients: []gallop.BalancingClient{secured(t, addr), secured(t, addr)}}
	for range 4 {
		req.SetRequestURI("https://" + addr + "/lb")
		if err := lb.Do(req, resp); err != nil || string(resp.Header.Protocol()) != "HTTP/2.0" {
			t.Error(err)
		}
	}
	if n := c.ConnsCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A trace reports what it reports over HTTP/1.
func TestTrace(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		var mu sync.Mutex
		var got []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf(format, args...))
		}
		ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{
			GetConn:      func(string) { note("get") },
			GotConn:      func(i gallop.GotConnInfo) { note("got %s %v", i.Protocol, i.Reused) },
			PutIdleConn:  func(string) { note("idle") },
			WroteHeaders: func() { note("headers") },
			WroteRequest: func(err error) { note("request %v", err) },
			GotFirstByte: func() { note("first") },
			GotInterim:   func(resp *gallop.Response) { note("%d %s", resp.StatusCode(), resp.Header.Peek("Link")) },
			CallFailed:   func(err *gallop.CallError) { note("failed: %s", err.Phase) },
		})
		for range 2 {
			if err := c.DoContext(ctx, request(c, "GET", "/hints", ""), nil); err != nil {
				t.Fatal(err)
			}
		}
		for limit := range wiretest.LongerLimits(10 * time.Millisecond) {
			before := len(got)
			req := request(c, "GET", "/slow", "")
			req.SetTimeout(limit)
			c.DoContext(ctx, req, nil)
			if slices.Contains(got[before:], "request <nil>") {
				break
			}
			got = got[:before] // the machine was too slow to send the request in time
		}
		call := "headers, request <nil>, first, 103 </a.css>, idle"
		want := "get, got HTTP/2.0 false, " + call + ", get, got HTTP/2.0 true, " + call +
			", get, got HTTP/2.0 true, headers, request <nil>, idle, failed: waiting for the response"
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	})
}

// Calls on one connection report at the same time how long it was idle.
func TestTraceOfManyCalls(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		var got atomic.Int64
		ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{GotConn: func(i gallop.GotConnInfo) {
			if i.Idle >= 0 {
				got.Add(1)
			}
		}})
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				for range 20 {
					if err := c.DoContext(ctx, request(c, "GET", "/", ""), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if calls.Wait(); got.Load() != 400 {
			t.Errorf("%d calls have reported their connection, want 400", got.Load())
		}
	})
}

// OnInterim gets interim responses, and limits hold for them.
func TestInterims(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		var seen []int
		c.OnInterim = func(resp *gallop.Response) { seen = append(seen, resp.StatusCode()) }
		if err := c.Do(request(c, "GET", "/hints", ""), nil); err != nil || len(seen) != 1 || seen[0] != 103 {
			t.Error(err, seen)
		}
	})
}

// A callback that panics ends its call, and costs no connection.
func TestCallbackPanics(t *testing.T) {
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		c.OnInterim = func(*gallop.Response) { panic("interim") }
		func() {
			defer func() {
				if v := recover(); v != "interim" {
					t.Errorf("recovered %v", v)
				}
			}()
			c.Do(request(c, "GET", "/hints", ""), nil)
		}()
		if err := c.Do(request(c, "GET", "/", ""), nil); err != nil || c.ConnsCount() != 1 || c.IdleConnsCount() != 1 {
			t.Error(err, c.ConnsCount(), c.IdleConnsCount())
		}
	})
}

// AcquireConn and requests with an Upgrade use HTTP/1 beside HTTP/2.
func TestHTTP1Beside(t *testing.T) {
	c := overStd(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Proto", r.Proto) })
	proto := func(set func(req *gallop.Request)) string {
		req, resp := request(c, "GET", "/", ""), &gallop.Response{}
		set(req)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		return string(resp.Header.Peek("X-Proto"))
	}
	plain := func(*gallop.Request) {}
	upgrade := func(req *gallop.Request) {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
	}
	if a, b := proto(plain), proto(upgrade); a != "HTTP/2.0" || b != "HTTP/1.1" {
		t.Error(a, b)
	}
	cc, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(cc.Conn(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	line, _ := bufio.NewReader(cc.Conn()).ReadString('\n')
	if !strings.HasPrefix(line, "HTTP/1.1 200") {
		t.Errorf("%q", line)
	}
	c.CloseConn(cc)
}

// A connection carries as many calls as the server permits. Further calls use further connections, and then wait or fail.
func TestStreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int32
		s := &gallop.Server{HTTP2: &gallop.HTTP2Config{MaxConcurrentStreams: 2}, Handler: func(ctx *gallop.RequestCtx) {
			n := busy.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(time.Second)
			busy.Add(-1)
		}}
		c := overMemory(t, s)
		c.MaxConns, c.MaxConnWaitTimeout = 3, -1
		if err := c.Do(request(c, "GET", "/", ""), nil); err != nil { // the client learns the limit
			t.Fatal(err)
		}
		began := time.Now()
		var calls []*result
		for range 8 {
			calls = append(calls, start(c, request(c, "GET", "/", "")))
		}
		for _, call := range calls {
			call.want(t, "")
		}
		if took := time.Since(began); took != 2*time.Second || most.Load() != 6 || c.ConnsCount() != 3 {
			t.Errorf("%v, %d at once, %d connections", took, most.Load(), c.ConnsCount())
		}
	})
}

// With StrictMaxConcurrentRequests, calls wait for the connection that there is, and use another one when it goes away.
func TestStrictMaxConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		c.HTTP2 = &gallop.HTTP2Config{StrictMaxConcurrentRequests: true}
		first := start(c, request(c, "GET", "/", ""))
		s.accept(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		s.wants("HEADERS 1 end")
		var calls []*result
		for range 3 {
			synctest.Wait()
			calls = append(calls, start(c, request(c, "GET", "/", "")))
		}
		limited := request(c, "GET", "/", "")
		limited.SetTimeout(time.Second)
		start(c, limited).fails(t, "timeout")
		s.respond(1, "1")
		first.want(t, "1")
		s.wants("HEADERS 3 end")
		s.respond(3, "3")
		calls[0].want(t, "3")
		s.wants("HEADERS 5 end")
		s.must(s.fr.WriteGoAway(5, http2.ErrCodeNo, nil))
		old, fr := s.nc, s.fr
		s.accept(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		s.wants("HEADERS 1 end")
		s.must(fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: []byte{0x88}, EndHeaders: true})) // :status 200
		s.must(fr.WriteData(5, true, []byte("5")))
		s.respond(1, "1")
		calls[1].want(t, "5")
		calls[2].want(t, "1")
		if n := s.dials.Load(); n != 2 {
			t.Errorf("%d dials", n)
		}
		old.Close()
	})
}

// Settings that concern connections: their age, and idle ones.
func TestConnectionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, &gallop.Server{Handler: echo})
		c.MaxConnDuration, c.MaxIdleConnDuration = time.Minute, 10*time.Second
		call := func() string {
			t.Helper()
			var resp gallop.Response
			if err := c.Do(request(c, "GET", "/", ""), &resp); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return fmt.Sprint(c.ConnsCount(), c.IdleConnsCount())
		}
		for range 7 {
			if got := call(); got != "1 1" {
				t.Errorf("connections %s", got)
			}
			time.Sleep(9 * time.Second)
		}
		if got := call(); got != "0 0" {
			t.Errorf("the connection is too old: %s", got)
		}
		call()
		time.Sleep(11 * time.Second)
		if synctest.Wait(); c.ConnsCount() != 0 {
			t.Error("the idle connection is open")
		}
		call()
		req := request(c, "GET", "/", "")
		req.SetConnectionClose()
		if err := c.Do(req, nil); err != nil || c.ConnsCount() != 0 {
			t.Error(err, c.ConnsCount())
		}
	})
}

// Limits on responses.
func TestResponseLimits(t *testing.T) {
	c := overStd(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/head":
			w.Header().Set("X", strings.Repeat("x", 5000))
		case "/body":
			w.Write(make([]byte, 1001))
		case "/stream":
			w.(http.Flusher).Flush()
			w.Write(make([]byte, 1001))
		}
	})
	c.MaxResponseBodySize = 1000
	var small *gallop.ErrSmallBuffer
	if err := c.Do(request(c, "GET", "/head", ""), nil); !errors.As(err, &small) || !strings.Contains(err.Error(), "MaxResponseHeaderBytes") {
		t.Error(err)
	}
	for _, path := range []string{"/body", "/stream"} {
		if err := c.Do(request(c, "GET", path, ""), nil); !errors.Is(err, gallop.ErrBodyTooLarge) {
			t.Error(err)
		}
	}
	resp := &gallop.Response{SkipBody: true}
	if err := c.Do(request(c, "GET", "/body", ""), resp); err != nil || len(resp.Body()) > 0 || c.ConnsCount() != 1 {
		t.Error(err, len(resp.Body()), c.ConnsCount())
	}
}

// ReadTimeout and WriteTimeout are for each call, in virtual time.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		c.ReadTimeout, c.WriteTimeout = 3*time.Second, 2*time.Second
		began := time.Now()
		call := start(c, request(c, "GET", "/", ""))
		s.accept(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		s.wants("HEADERS 1 end")
		call.fails(t, "waiting for the response: timeout")
		if took := time.Since(began); took != 3*time.Second {
			t.Error(took)
		}
		s.wants("RST_STREAM 1 CANCEL")
		began = time.Now()
		call = start(c, request(c, "POST", "/", "body")) // whose window stays shut
		s.wants("HEADERS 3", "RST_STREAM 3 CANCEL")
		call.fails(t, "writing the request: timeout")
		if took := time.Since(began); took != 2*time.Second {
			t.Error(took)
		}
	})
}

// A plain call needs no memory of its own.
func TestAllocations(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the server's goroutines allocate")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Protocols: protocols(h1, h2c), Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	go s.Serve(ln)
	defer s.Shutdown()
	c := &gallop.HostClient{Addr: ln.Addr().String(), Protocols: protocols(h2c)}
	defer c.CloseIdleConnections()
	req, resp := request(c, "GET", "/", ""), &gallop.Response{}
	call := func() {
		if err := c.DoTimeout(req, resp, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		call()
	}
	if allocs := testing.AllocsPerRun(1000, call); allocs > 0 {
		t.Errorf("%v allocations per call", allocs)
	}
}

// CountError gets the errors of servers. If it panics, nothing else happens.
func TestCountError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		var counted atomic.Pointer[string]
		c.HTTP2 = &gallop.HTTP2Config{CountError: func(errType string) {
			counted.Store(&errType)
			panic("on purpose")
		}}
		call := start(c, request(c, "GET", "/", ""))
		s.accept()
		s.wants("HEADERS 1 end")
		s.head(1, true, ":status", "99")
		call.fails(t, "status")
		if got := counted.Load(); got == nil || *got != "stream_protocol_error_status" {
			t.Error(got)
		}
		call = start(c, request(c, "GET", "/", ""))
		s.wants("RST_STREAM 1 PROTOCOL_ERROR", "HEADERS 3 end")
		s.respond(3, "hello")
		call.want(t, "hello")
	})
}

// An LBClient counts calls, and not connections: over HTTP/2, all calls to a server share one.
func TestBalancedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := overMemory(t, &gallop.Server{Handler: echo}), overMemory(t, &gallop.Server{Handler: echo})
		lb := &gallop.LBClient{Clients: []gallop.BalancingClient{first, second}}
		ctx, cancel := context.WithCancel(t.Context())
		for range 6 { // behind the back of lb
			go first.DoContext(ctx, request(first, "GET", "/slow", ""), nil)
		}
		synctest.Wait()
		for range 10 {
			go lb.DoContext(ctx, request(first, "GET", "/slow", ""), nil)
			synctest.Wait()
		}
		if a, b := first.PendingRequests(), second.PendingRequests(); a != 8 || b != 8 || first.ConnsCount() != 1 || second.ConnsCount() != 1 {
			t.Errorf("%d and %d calls, on %d and %d connections", a, b, first.ConnsCount(), second.ConnsCount())
		}
		cancel()
		synctest.Wait()
		if n := first.PendingRequests() + second.PendingRequests(); n != 0 {
			t.Errorf("%d calls are left", n)
		}
	})
}

// readerFunc is a function that implements io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
