package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"github.com/gallop-http/gallop/web"
)

// refusals are handlers that answer requests without reading their bodies, and the status.
var refusals = map[string]struct {
	status int
	serve  func(over gallop.EngineType) *gallop.Server
}{
	"root, 204": {204, refuse(func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(204) })},
	"root, 401": {401, refuse(func(ctx *gallop.RequestCtx) { ctx.Error("who are you?", 401) })},
	"root, 401, part read": {401, refuse(func(ctx *gallop.RequestCtx) {
		io.ReadFull(ctx.RequestBodyStream(), make([]byte, 1000))
		ctx.Error("who are you?", 401)
	})},
	"root, 401, a stream": {401, refuse(func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(401)
		ctx.SetBodyStream(strings.NewReader("who are you?"), -1)
	})},
	"root, 401, a stream, part read": {401, refuse(func(ctx *gallop.RequestCtx) {
		io.ReadFull(ctx.RequestBodyStream(), make([]byte, 1000))
		ctx.SetStatusCode(401)
		ctx.SetBodyStream(strings.NewReader("who are you?"), 12)
	})},
	"root, 401, StreamResponse": {401, refuse(func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(401)
		s, _ := ctx.StreamResponse()
		s.WriteString("who are you?")
		s.Flush()
	})},
	"nethttp, 204": {204, refuseByNetHTTP(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })},
	"nethttp, 401": {401, refuseByNetHTTP(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })},
	"nethttp, 401, large": {401, refuseByNetHTTP(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("who are you?", 1000), http.StatusUnauthorized)
	})},
	"nethttp, 401, flushed": {401, refuseByNetHTTP(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		http.NewResponseController(w).Flush()
	})},
	"web, 204": {204, refuseByWeb(func(c *web.Ctx) error { return c.SendStatus(204) })},
	"web, 401": {401, refuseByWeb(func(c *web.Ctx) error { return web.NewError(401, "who are you?") })},
}

func refuse(h gallop.RequestHandler) func(gallop.EngineType) *gallop.Server {
	return func(over gallop.EngineType) *gallop.Server {
		return &gallop.Server{Engine: over, StreamRequestBody: true, Handler: h}
	}
}

func refuseByNetHTTP(h http.HandlerFunc) func(gallop.EngineType) *gallop.Server {
	return func(over gallop.EngineType) *gallop.Server {
		s := nethttp.NewServer(h)
		s.Engine = over
		return s
	}
}

func refuseByWeb(h web.Handler) func(gallop.EngineType) *gallop.Server {
	app := web.New(web.Config{})
	app.Post("/", h)
	return refuse(app.Handler())
}

// unreadBody is what postUnread sends the beginning of.
var unreadBody = sync.OnceValue(func() []byte { return make([]byte, 20<<20) })

// unreadPost returns a POST with a body of this size.
func unreadPost(t *testing.T, url string, size int, chunked bool) *http.Request {
	t.Helper()
	var content io.Reader = bytes.NewReader(unreadBody()[:size])
	if chunked {
		content = struct{ io.Reader }{content}
	}
	req, err := http.NewRequest("POST", url, content)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// readRefusal reads the body of a response, which must have this status.
func readRefusal(resp *http.Response, status int) error {
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != status {
		return errors.New(resp.Status)
	}
	return nil
}

// postUnread posts a body of this size n times, and returns how many of the posts failed.
func postUnread(t *testing.T, url string, size, n, status int, chunked bool) (failed int) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	for range n {
		resp, err := client.Do(unreadPost(t, url, size, chunked))
		if err == nil {
			err = readRefusal(resp, status)
		}
		if err != nil {
			failed++
		}
	}
	return failed
}

// postOnOneConn posts a body of this size n times on one connection, and reads each response while it sends the body. It
// does not use the client of net/http. If the body takes 50 ms longer than the response, that client closes the
// connection.
func postOnOneConn(t *testing.T, addr string, size, n, status int, chunked bool) error {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	for i := range n {
		req := unreadPost(t, "http://"+addr+"/", size, chunked)
		sent := make(chan error, 1)
		go func() { sent <- req.Write(c) }()
		resp, err := http.ReadResponse(r, req)
		if err == nil {
			err = readRefusal(resp, status)
		}
		if err == nil && resp.Close {
			err = errors.New("the response ends the connection")
		}
		if err == nil {
			err = <-sent
		}
		if err != nil {
			return fmt.Errorf("post %d: %w", i, err)
		}
	}
	return nil
}

// A body that is not read, and that is too long to be skipped, ends the connection. The
// client learns of that from the response, and does not send another request.
func TestUnreadBodiesAreAnnounced(t *testing.T) {
	t.Parallel()
	few, some, many := 2, 5, 15
	if wiretest.Full() {
		some, many = 10, 60
	}
	if wiretest.Long() {
		few, some = 60, 60
	}
	for _, tt := range []struct {
		name    string
		size, n int
		chunked bool
		tls     bool
	}{
		{"300 KB, chunked", 300 << 10, many, true, false},
		{"1 MB, chunked", 1 << 20, few, true, false},
		{"20 MB, chunked", 20 << 20, few, true, false},
		{"300 KB", 300 << 10, few, false, false},
		{"20 MB", 20 << 20, few, false, false},
		{"300 KB, chunked, over TLS", 300 << 10, some, true, true},
		{"20 MB, chunked, over TLS", 20 << 20, few, true, true},
		{"300 KB, over TLS", 300 << 10, few, false, true},
		{"20 MB, over TLS", 20 << 20, few, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, refusal := range refusals {
				t.Run(name, func(t *testing.T) {
					servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
						s := refusal.serve(over)
						failed := postUnread(t, listenFor(t, s, tt.tls), tt.size, tt.n, refusal.status, tt.chunked)
						if failed > 0 {
							if most := postUnread(t, serveNetHTTP(t, refusal.status, tt.tls), tt.size, tt.n, refusal.status, tt.chunked); failed > most {
								t.Errorf("%d of %d posts failed, and %d with net/http", failed, tt.n, most)
							}
						}
					})
				})
			}
		})
	}
}

// unreadCertificate is for listenFor.
var unreadCertificate = sync.OnceValues(func() (pair [2][]byte, err error) {
	pair[0], pair[1], err = gallop.GenerateTestCertificate("127.0.0.1")
	return pair, err
})

// listenFor has s serve, over TLS or not, and returns its URL.
func listenFor(t *testing.T, s *gallop.Server, overTLS bool) (url string) {
	t.Helper()
	if !overTLS {
		return "http://" + listen(t, s, s.Serve) + "/"
	}
	pair, err := unreadCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return "https://" + listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, pair[0], pair[1]) }) + "/"
}

// serveNetHTTP has net/http's server answer with this status, and with a body if it may have one. It reads no bodies.
func serveNetHTTP(t *testing.T, status int, overTLS bool) (url string) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusNoContent {
			w.WriteHeader(status)
		} else {
			http.Error(w, "who are you?", status)
		}
	}))
	t.Cleanup(s.Close)
	if overTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	return s.URL
}

// A body that ends within the bound does not cost the connection, if it ends within a second.
func TestUnreadBodiesWithinTheBoundKeepTheConnection(t *testing.T) {
	t.Parallel()
	const bound = 256 << 10
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				for _, size := range []int{1, 10_000, 200_000, bound} {
					for _, chunked := range []bool{false, true} {
						s := refusal.serve(over)
						addr := listen(t, s, s.Serve)
						err := retrySlow(time.Second, func() error { return postOnOneConn(t, addr, size, 5, refusal.status, chunked) })
						if err != nil {
							t.Errorf("%d bytes, chunked %v: %v", size, chunked, err)
						}
					}
				}
			})
		})
	}
}

// chunkedPost is a request with a body of so many chunks of 1000 bytes and its end, if whole.
func chunkedPost(chunks int, whole bool) string {
	body := strings.Repeat("3e8\r\n"+strings.Repeat("x", 1000)+"\r\n", chunks)
	if whole {
		body += "0\r\nX-Sum: 1\r\n\r\n"
	}
	return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body
}

// The table says what a head reports about the connection, when it is sent, and which part of the body a handler
// reads after it.
func TestUnreadBodyAndTheHead(t *testing.T) {
	stream := func(before func(ctx *gallop.RequestCtx), after func(t *testing.T, ctx *gallop.RequestCtx)) func(*testing.T) gallop.RequestHandler {
		return func(t *testing.T) gallop.RequestHandler {
			return func(ctx *gallop.RequestCtx) {
				before(ctx)
				s, err := ctx.StreamResponse()
				if err != nil {
					t.Error(err)
				}
				s.WriteString("answer")
				s.Flush()
				after(t, ctx)
			}
		}
	}
	nothing := func(*gallop.RequestCtx) {}
	leave := func(*testing.T, *gallop.RequestCtx) {}
	fullDuplex := func(ctx *gallop.RequestCtx) { ctx.Request.FullDuplex = true }
	readSome := func(ctx *gallop.RequestCtx) { io.ReadFull(ctx.RequestBodyStream(), make([]byte, 2500)) }
	readRest := func(most int) func(t *testing.T, ctx *gallop.RequestCtx) {
		return func(t *testing.T, ctx *gallop.RequestCtx) {
			b, err := io.ReadAll(ctx.RequestBodyStream())
			if len(b) != most || bytes.Count(b, []byte("x")) != most || err != nil {
				t.Errorf("read %d bytes, %v", len(b), err)
			}
			if sum := string(ctx.Request.Header.Peek("X-Sum")); sum != "" {
				t.Errorf("a trailer among the fields: %q", sum)
			}
			n := 0
			for range ctx.Request.Header.AllTrailers() {
				n++
			}
			if n > 1 {
				t.Errorf("%d trailers", n)
			}
		}
	}
	gathered := func(t *testing.T) gallop.RequestHandler {
		return func(ctx *gallop.RequestCtx) { ctx.SetBodyString("answer") }
	}
	writer := func(t *testing.T) gallop.RequestHandler {
		return func(ctx *gallop.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				if b := ctx.PostBody(); len(b) != 3000 {
					t.Errorf("read %d bytes", len(b))
				}
				w.WriteString("answer")
			})
		}
	}
	fixed := func(n int) string {
		return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + strconv.Itoa(n) + "\r\n\r\n"
	}
	for name, tt := range map[string]struct {
		handler func(t *testing.T) gallop.RequestHandler
		request string
		close   bool
		after   time.Duration // until the head comes
	}{
		"chunked, whole":                     {gathered, chunkedPost(3, true), false, 0},
		"chunked, at the bound":              {gathered, chunkedPost(262, true), false, 0},
		"chunked, beyond the bound":          {gathered, chunkedPost(263, true), true, 0},
		"chunked, does not end":              {gathered, chunkedPost(3, false), true, time.Second},
		"chunked, wrong":                     {gathered, chunkedPost(3, false) + "x\r\n", true, 0},
		"chunked, a huge chunk":              {stream(nothing, leave), chunkedPost(0, false) + "ffffff\r\nx", true, 0},
		"streamed, whole":                    {stream(nothing, leave), chunkedPost(3, true), false, 0},
		"streamed, whole, read behind":       {stream(nothing, readRest(3000)), chunkedPost(3, true), false, 0},
		"streamed, whole, read around":       {stream(readSome, readRest(500)), chunkedPost(3, true), false, 0},
		"streamed, large, read around":       {stream(readSome, readRest(97_500)), chunkedPost(100, true), false, 0},
		"streamed, too large, read around":   {stream(readSome, readRest(497_500)), chunkedPost(500, true), true, 0},
		"streamed, at the bound":             {stream(nothing, leave), chunkedPost(262, true), false, 0},
		"streamed, beyond the bound":         {stream(nothing, leave), chunkedPost(263, true), true, 0},
		"streamed, does not end":             {stream(nothing, leave), chunkedPost(3, false), true, time.Second},
		"streamed, wrong":                    {stream(nothing, leave), chunkedPost(3, false) + "x\r\n", true, 0},
		"both ways at once":                  {stream(fullDuplex, readRest(500_000)), chunkedPost(500, true), false, 0},
		"by a writer that reads the request": {writer, chunkedPost(3, true), false, 0},
		"a length":                           {gathered, fixed(10) + "0123456789", false, 0},
		"a length beyond the bound":          {gathered, fixed(256<<10 + 1), true, 0},
		"a length, streamed":                 {stream(nothing, leave), fixed(10) + "0123456789", false, 0},
		"a length at the bound, streamed":    {stream(nothing, leave), fixed(256<<10) + strings.Repeat("x", 256<<10), false, 0},
		"a length beyond it, streamed":       {stream(nothing, leave), fixed(256<<10 + 1), true, 0},
		"a length, both ways at once":        {stream(fullDuplex, readRest(300_000)), fixed(300_000) + strings.Repeat("x", 300_000), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				handler := tt.handler(t)
				s := &gallop.Server{StreamRequestBody: true, NoDefaultDate: true, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/next" {
						ctx.SetBodyString("next")
						return
					}
					handler(ctx)
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					begin := time.Now()
					go c.Send(tt.request)
					r := c.Next("POST")
					if r.Status != 200 || string(r.Body) != "answer" {
						t.Fatalf("got %d %q", r.Status, r.Body)
					}
					if got := strings.Join(r.Values("Connection"), ","); (got == "close") != tt.close {
						t.Errorf("Connection: %q", got)
					}
					if took := time.Since(begin); took < tt.after || took > tt.after+100*time.Millisecond {
						t.Errorf("the response came after %v", took)
					}
					if !tt.close {
						c.Send(wiretest.Get("/next"))
						c.Want(200)
						c.WantBody("next")
					}
				})
			})
		})
	}
}
