package middleware_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

const soon = 20 * time.Second

// within fails the test if ch gets nothing soon.
func within[T any](t *testing.T, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(soon):
		t.Fatalf("%s: nothing after %v", what, soon)
	}
	return v
}

// The head, and each part of a response, arrive while the target still makes the rest, and so do those of a request.
func TestProxyStreams(t *testing.T) {
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		for _, length := range []string{"", "1000000"} {
			f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
				http.NewResponseController(w).EnableFullDuplex()
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.(http.Flusher).Flush()
				for lines := bufio.NewReader(r.Body); ; {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					fmt.Fprint(w, "got ", line)
					w.(http.Flusher).Flush()
				}
			})}})
			body, write := io.Pipe()
			r, _ := http.NewRequest("POST", f.url, body)
			if strings.HasPrefix(f.url, "http:") {
				go write.Write([]byte("\n")) // over HTTP/1, the client sends the head with the first part
			}
			response, err := f.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(response.Body)
			if strings.HasPrefix(f.url, "http:") {
				wantLines(t, lines, "got ")
			}
			for i := range 20 {
				go fmt.Fprintln(write, i)
				wantLines(t, lines, fmt.Sprint("got ", i))
			}
			write.Close()
			response.Body.Close()
		}
	})
}

// The head of a stream arrives before its first part.
func TestProxyHeadAtOnce(t *testing.T) {
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		goOn := make(chan bool)
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-goOn
			fmt.Fprint(w, "data: 1\n\n")
		})}})
		response, err := f.client.Get(f.url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		goOn <- true
		if text, err := io.ReadAll(response.Body); string(text) != "data: 1\n\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// A response that the target does not finish is not made to look complete.
func TestProxyTargetBreaksOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, text string }{
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"},
		{"a large length", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"},
		{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf"},
		{"a chunk and nonsense", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"},
		{"half of the trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\nX-A: 1\r\n"},
	} {
		for _, reset := range []bool{false, true} {
			goOn := make(chan bool)
			upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
				readHead(r)
				io.WriteString(c, tc.text)
				select { // a reset would overtake the head
				case <-goOn:
				case <-time.After(soon):
				}
				if reset {
					c.(*net.TCPConn).SetLinger(0)
				}
			})
			eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
				f := start(middleware.Proxy{Targets: []string{upstream}})
				response, err := f.client.Get(f.url)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				goOn <- true
				if text, err := io.ReadAll(response.Body); err == nil || len(text) > 4 {
					t.Errorf("%s, reset %v: %q, %v", tc.kind, reset, text, err)
				}
			})
		}
	}
	// HTTP/1.0 has no chunks: the client sees the reset.
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
	})
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{upstream}})
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	if text, err := io.ReadAll(c); err == nil {
		t.Errorf("HTTP/1.0: %q without an error", text)
	}
}

// A body that goes up to the close of the connection is complete when the target closes.
func TestProxyBodyUntilClose(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nall of it")
	})
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		if _, text := start(middleware.Proxy{Targets: []string{upstream}}).do(t, "GET", "/", nil); text != "all of it" {
			t.Errorf("%q", text)
		}
	})
}

// A target that pauses for too long in the middle breaks the response off.
func TestProxyTargetPauses(t *testing.T) {
	t.Parallel()
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
		r.ReadByte()
	})
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		got := ""
		for limit := range wiretest.LongerLimits(50 * time.Millisecond) { // until the machine passes on within the limit what the target sends
			f := start(middleware.Proxy{Targets: []string{upstream}, IdleTimeout: limit})
			response, err := f.client.Get(f.url)
			if err != nil {
				got = err.Error()
				continue
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil && string(text) == "half" {
				return
			}
			got = fmt.Sprintf("%d %q, %v", response.StatusCode, text, err)
		}
		t.Error(got)
	})
}

// MaxResponseBody breaks off a body without a length.
func TestProxyMaxResponseBody(t *testing.T) {
	f := startFront(t, "loops", middleware.Proxy{MaxResponseBody: 1000, Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		w.Write(make([]byte, len(r.URL.RawQuery)))
	})}})
	for n, ok := range map[int]bool{1000: true, 1001: false} {
		response, err := f.client.Get(f.url + "?" + strings.Repeat("x", n))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if (err == nil) != ok || len(text) > 1000 {
			t.Errorf("%d: %d bytes, %v", n, len(text), err)
		}
	}
}

// If the client goes away, the call to the target ends, too: before the response, and in the middle of it.
func TestProxyClientGoesAway(t *testing.T) {
	for _, begun := range []bool{false, true} {
		arrived, ended := make(chan bool, 1), make(chan error, 1)
		upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
			if len(readHead(r)) == 0 {
				return
			}
			if begun {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
			}
			arrived <- true
			_, err := r.ReadByte()
			ended <- err
		})
		eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
			f := start(middleware.Proxy{Targets: []string{upstream}})
			ctx, cancel := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, "GET", f.url, nil)
			done := make(chan bool)
			go func() {
				defer close(done)
				if response, err := f.client.Do(r); err == nil {
					io.ReadAll(response.Body)
				}
			}()
			within(t, arrived, "the request")
			cancel()
			if err := within(t, ended, "the end of the call"); err == nil {
				t.Error("the target got more bytes")
			}
			<-done
		})
	}
}

// If a request body breaks off, the target does not take it for complete.
func TestProxyRequestBreaksOff(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan bool, 1), make(chan string, 1)
	upstream := target(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		body, err := io.ReadAll(r.Body)
		ended <- fmt.Sprint(len(body), " ", err != nil)
	})
	for _, kind := range []string{"loops", "goroutines"} {
		f := startFront(t, kind, middleware.Proxy{Targets: []string{upstream}})
		for _, request := range []string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 70_000),
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n" + strings.Repeat("x", 70_000) + "\r\n",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n" + strings.Repeat("x", 70_000) + "\r\nzz\r\n",
		} {
			c, err := net.Dial("tcp", f.addr)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, request)
			within(t, begun, "the request")
			c.Close()
			if got := within(t, ended, "the request body"); !strings.HasSuffix(got, " true") {
				t.Errorf("%q...: %s", request[:60], got)
			}
		}
	}
}

// A target that refuses a body gets no more of it, and the client gets the refusal.
func TestProxyEarlyResponse(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		r.Discard(10)
		io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
		c.(*net.TCPConn).CloseWrite()
		c.SetReadDeadline(time.Now().Add(soon))
		io.Copy(io.Discard, r) // a reset for what is unread would overtake the response
	})
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{upstream}})
		if r, text := f.do(t, "POST", "/", bytes.NewReader(make([]byte, 100_000))); r.StatusCode != 413 || text != "no!" {
			t.Errorf("%d %q", r.StatusCode, text)
		}
	})
}

// With Expect: 100-continue, the client sends its body only if the target wants it.
func TestProxyExpectContinue(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		head := readHead(r)
		if len(head) == 0 {
			return
		}
		if !strings.Contains(strings.Join(head, "\n"), "Expect: 100-continue") {
			io.WriteString(c, "HTTP/1.1 500 No Expect\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if strings.HasPrefix(head[0], "POST /refuse") {
			io.WriteString(c, "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		body := make([]byte, 5)
		io.ReadFull(r, body)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n%s", body)
	})
	for _, kind := range []string{"loops", "goroutines"} {
		f := startFront(t, kind, middleware.Proxy{Targets: []string{upstream}})
		for path, want := range map[string]string{"/refuse": "417", "/take": "100 200"} {
			c, err := net.Dial("tcp", f.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(soon))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", path)
			r := bufio.NewReader(c)
			first := readHead(r)
			got := strings.Fields(first[0])[1]
			if got == "100" {
				io.WriteString(c, "hello")
				got += " " + strings.Fields(readHead(r)[0])[1]
			}
			if got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
}

func TestProxyTrailers(t *testing.T) {
	for _, announced := range []bool{true, false} {
		eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
			f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				prefix := http.TrailerPrefix
				if announced {
					w.Header().Set("Trailer", "X-Got, X-Forwarded-For")
					prefix = ""
				}
				w.Write(body)
				w.(http.Flusher).Flush()
				w.Header().Set(prefix+"X-Got", strings.Join(r.Trailer["X-Sent"], "+")+strings.Join(r.Trailer["X-Forwarded-For"], "+"))
				w.Header().Set(prefix+"X-Forwarded-For", "evil")
			})}})
			r, _ := http.NewRequest("POST", f.url, io.MultiReader(strings.NewReader("hello")))
			r.Trailer = http.Header{"X-Sent": {"a", "b"}, "X_Sent": {"c"}}
			response, err := f.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if string(text) != "hello" || err != nil || response.Trailer.Get("X-Got") != "a+b" || response.Trailer.Get("X-Forwarded-For") != "" {
				t.Errorf("announced %v: %q, %v, %v", announced, text, err, response.Trailer)
			}
		})
	}
}

func TestProxyInterim(t *testing.T) {
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.Header().Set("Connection", "X-Foo")
			w.Header().Set("X-Foo", "1")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			w.WriteHeader(http.StatusOK)
		})}}, middleware.SecureHeaders{})
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(status, h))
			return nil
		}}
		r, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", f.url, nil)
		response, err := f.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := strings.Join(hints, " "); got != "103 map[Link:[</a.css>; rel=preload]] 103 map[Link:[</a.css>; rel=preload]]" {
			t.Errorf("%s", got)
		}
		if response.Header.Get("Link") != "" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v", response.Header)
		}
	})
}

// endless yields n bytes and counts what was read.
type endless struct {
	left int64
	read *atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	e.read.Add(n)
	return int(n), nil
}

// large is more than the memory that a proxy may use, and than sockets buffer.
const large = 64 << 20

// peak returns how much the heap grows while f runs.
func peak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that garbage counts little, whatever earlier tests have left
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done, result := make(chan bool), make(chan uint64)
	go func() {
		highest := before.HeapInuse
		for {
			select {
			case <-done:
				result <- highest - before.HeapInuse
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&now)
				highest = max(highest, now.HeapInuse)
			}
		}
	}()
	f()
	close(done)
	return <-result
}

// Large bodies pass through in bounded memory, and whichever side is slow slows the other side down.
func TestProxyBoundedMemory(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				n, err := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, n, " ", err)
				return
			}
			io.Copy(w, &endless{large, new(atomic.Int64)})
		})}})
		grown := peak(func() {
			for _, length := range []int64{large, -1} {
				r, _ := http.NewRequest("POST", f.url, &endless{large, new(atomic.Int64)})
				r.ContentLength = length
				response, err := f.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if string(text) != fmt.Sprint(large, " <nil>") {
					t.Fatalf("upload: %s", text)
				}
			}
			response, err := f.client.Get(f.url)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if n, err := io.Copy(io.Discard, response.Body); n != large || err != nil {
				t.Fatalf("download: %d, %v", n, err)
			}
		})
		if grown > 32<<20 {
			t.Errorf("the heap grew by %d MiB", grown>>20)
		}
	})
}

func TestProxyBackpressure(t *testing.T) {
	t.Parallel()
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		t.Parallel()
		var sent atomic.Int64
		goOn, stop := make(chan bool), make(chan bool)
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				r.Body.Read(make([]byte, 1))
				<-goOn
				n, _ := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, n+1)
				return
			}
			io.Copy(w, &endless{large, &sent})
			close(stop)
		})}})
		// The client does not read.
		response, err := f.client.Get(f.url)
		if err != nil {
			t.Fatal(err)
		}
		settled(t, &sent, "the target's response")
		response.Body.Close()
		within(t, stop, "the end of the target's response")
		// The target does not read.
		sent.Store(0)
		result := make(chan string, 1)
		go func() {
			r, _ := http.NewRequest("POST", f.url, &endless{large, &sent})
			r.ContentLength = large
			response, err := f.client.Do(r)
			if err != nil {
				result <- err.Error()
				return
			}
			text, _ := io.ReadAll(response.Body)
			result <- string(text)
		}()
		settled(t, &sent, "the client's request")
		goOn <- true
		if text := within(t, result, "the response"); text != fmt.Sprint(large) {
			t.Error(text)
		}
	})
}

// settled waits until no more is sent, and fails if that is nearly everything.
func settled(t *testing.T, sent *atomic.Int64, what string) {
	t.Helper()
	for last := int64(-1); ; {
		time.Sleep(150 * time.Millisecond)
		now := sent.Load()
		if now == last && now > 0 {
			break
		}
		last = now
	}
	if n := sent.Load(); n > large/2 {
		t.Errorf("%s: %d of %d bytes were sent to a side that does not read", what, n, int64(large))
	}
}

// HTTP/2 to the target: bodies, trailers, errors and resets.
func TestProxyHTTP2Target(t *testing.T) {
	s := &gallop.Server{StreamRequestBody: true, Protocols: new(gallop.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	s.Handler = func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/abort":
			out, _ := ctx.StreamResponse()
			out.WriteString("half")
			out.Flush()
			panic(gallop.ErrAbortHandler)
		case "/trailers":
			out, _ := ctx.StreamResponse()
			io.Copy(out, ctx.RequestBodyStream())
			ctx.Response.Header.AppendTrailer("Grpc-Status", "0")
			ctx.Response.Header.AppendTrailer("X-Got", string(ctx.Request.Header.PeekTrailer("X-Sent")))
			ctx.Response.Header.AppendTrailer("X-Te", string(ctx.Request.Header.Peek("Te")))
		default:
			fmt.Fprintf(ctx, "%s %s %s %s", ctx.Request.Header.Protocol(), ctx.Method(), ctx.Host(), ctx.RequestURI())
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{"http://" + ln.Addr().String()}, KeepHost: true, ConfigureClient: func(hc *gallop.HostClient) {
			hc.Protocols = new(gallop.Protocols)
			hc.Protocols.SetUnencryptedHTTP2(true)
		}})
		if _, text := f.do(t, "GET", "/a%2Fb?c", nil); text != "HTTP/2.0 GET "+f.addr+" /a%2Fb?c" {
			t.Errorf("%q", text)
		}
		r, _ := http.NewRequest("POST", f.url+"/trailers", io.MultiReader(strings.NewReader("hello")))
		r.Trailer = http.Header{"X-Sent": {"a"}}
		r.Header.Set("Te", "trailers")
		response, err := f.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if string(text) != "hello" || err != nil || fmt.Sprint(response.Trailer) != "map[Grpc-Status:[0] X-Got:[a] X-Te:[trailers]]" {
			t.Errorf("%q, %v, %v", text, err, response.Trailer)
		}
		if response, err = f.client.Get(f.url + "/abort"); err == nil {
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if err == nil {
			t.Error("a response without its end looks complete")
		}
	})
}

// Middleware around the proxy sees the failure of a stream as an error, and a Timeout ends the call.
func TestProxyWithTimeout(t *testing.T) {
	ended := make(chan error, 1)
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		if len(readHead(r)) > 0 {
			_, err := r.ReadByte()
			ended <- err
		}
	})
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{upstream}}, middleware.Timeout{After: 50 * time.Millisecond})
	if r, _ := f.do(t, "GET", "/", nil); r.StatusCode != http.StatusServiceUnavailable && r.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("%d", r.StatusCode)
	}
	if err := within(t, ended, "the end of the call"); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
