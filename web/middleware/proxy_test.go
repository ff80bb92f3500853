package middleware_test

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
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// front is a server in front of a target.
type front struct {
	addr, url string
	client    *http.Client
}

// plainListener hides that its connections are sockets, so that each gets a goroutine instead of a place on an event loop.
type plainListener struct{ net.Listener }

func (l plainListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{c}, nil
}

// eachFront runs a test over each way in which requests arrive.
func eachFront(t *testing.T, test func(t *testing.T, start func(p middleware.Proxy, use ...web.Middleware) front)) {
	for _, kind := range []string{"loops", "goroutines", "http2"} {
		t.Run(kind, func(t *testing.T) {
			test(t, func(p middleware.Proxy, use ...web.Middleware) front { return startFront(t, kind, p, use...) })
		})
	}
}

func startFront(t testing.TB, kind string, p middleware.Proxy, use ...web.Middleware) front {
	t.Helper()
	app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{StreamRequestBody: true, ExtendedConnect: true, Logger: newQuiet()}})
	app.Use(use...)
	app.All("/{path...}", p.Handler())
	return serveFront(t, kind, app, app.Serve)
}

func serveFront(t testing.TB, kind string, app *web.App, serve func(net.Listener) error) front {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := front{addr: ln.Addr().String()}
	f.url = "http://" + f.addr
	transport := &http.Transport{DisableCompression: true}
	switch kind {
	case "goroutines":
		ln = plainListener{ln}
	case "http2":
		certificate, pool := galloptest.Certificate("127.0.0.1")
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}})
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: pool}, true
		f.url = "https://" + f.addr
	}
	f.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	go serve(ln)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		app.Close()
	})
	return f
}

// do sends a request, and returns the response with its body.
func (f front) do(t testing.TB, method, target string, body io.Reader, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, f.url+target, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header[name] = append(r.Header[name], value)
	}
	response, err := f.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return response, string(text)
}

// raw sends bytes and returns what comes back until the connection closes, or nothing comes any more.
func (f front) raw(t testing.TB, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, request)
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	text, _ := io.ReadAll(c)
	return string(text)
}

// scripted is a target that calls script for each connection.
func scripted(t testing.TB, script func(c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				script(c, bufio.NewReader(c))
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// readHead reads a head, and returns its lines.
func readHead(r *bufio.Reader) (lines []string) {
	for {
		line, err := r.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); err != nil || line == "" {
			return lines
		}
		lines = append(lines, line)
	}
}

// showing is a target that responds with the head that it got.
func showing(t testing.TB) string {
	return scripted(t, func(c net.Conn, r *bufio.Reader) {
		for {
			lines := readHead(r)
			if len(lines) == 0 {
				return
			}
			text := strings.Join(lines, "\n")
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
}

// target is a net/http server as a target.
func target(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestProxyForwardsRequest(t *testing.T) {
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			w.Header().Set("X-Length", fmt.Sprint(r.ContentLength))
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, r.Method, " ", r.RequestURI, " ", r.Header.Get("Cookie"), " ", string(body), " ", err)
		})}})
		for _, tc := range []struct {
			method, target string
			body           io.Reader
			text, length   string
		}{
			{"GET", "/a/b%2Fc;d?e=%20f;g&h", nil, "GET /a/b%2Fc;d?e=%20f;g&h x=1; y=2  <nil>", "0"},
			{"POST", "/", strings.NewReader("hello"), "POST / x=1; y=2 hello <nil>", "5"},
			{"PUT", "/", io.MultiReader(strings.NewReader("chunked")), "PUT / x=1; y=2 chunked <nil>", "-1"},
			{"POST", "/", strings.NewReader(""), "POST / x=1; y=2  <nil>", "0"},
			{"PROPFIND", "/?", nil, "PROPFIND /? x=1; y=2  <nil>", "0"},
		} {
			r, text := f.do(t, tc.method, tc.target, tc.body, "Cookie: x=1; y=2")
			if text != tc.text || r.StatusCode != http.StatusTeapot || r.Header.Get("X-Length") != tc.length || len(r.Header["Set-Cookie"]) != 2 {
				t.Errorf("%s: %d %q, %v, want %q, length %s", tc.target, r.StatusCode, text, r.Header, tc.text, tc.length)
			}
		}
	})
}

// A body that is in memory, because the server does not stream bodies, is sent with its length.
func TestProxyBodyInMemory(t *testing.T) {
	app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}})
	app.All("/{path...}", middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, r.ContentLength, " ", len(body), " ", r.TransferEncoding, r.Header["Expect"])
	})}}.Handler())
	f := serveFront(t, "loops", app, app.Serve)
	for _, n := range []int{0, 1, 100_000, 3_000_000} {
		want := fmt.Sprintf("%d %d [] []", n, n)
		for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", n)), io.MultiReader(strings.NewReader(strings.Repeat("x", n)))} {
			if _, text := f.do(t, "POST", "/", body); text != want {
				t.Errorf("%q, want %q", text, want)
			}
		}
	}
}

// Responses without a body have none on the wire either, and say what they would have.
func TestProxyNoBody(t *testing.T) {
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		f := start(middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"1"`)
			switch r.URL.Path {
			case "/204":
				w.WriteHeader(http.StatusNoContent)
			case "/304":
				w.WriteHeader(http.StatusNotModified)
			default:
				http.ServeContent(w, r, "a.txt", time.Time{}, strings.NewReader(strings.Repeat("0123456789", 10_000)))
			}
		})}})
		for _, tc := range []struct {
			method, path, rang string
			status             int
			length             int64
			body               int
		}{
			{"HEAD", "/", "", 200, 100_000, 0},
			{"GET", "/204", "", 204, 0, 0},
			{"GET", "/304", "", 304, 0, 0},
			{"HEAD", "/204", "", 204, 0, 0},
			{"GET", "/", "bytes=5-14", 206, 10, 10},
			{"GET", "/", "bytes=5-", 206, 99_995, 99_995},
			{"GET", "/", "bytes=100000-", 416, -1, -1},
			{"GET", "/", "", 200, 100_000, 100_000},
		} {
			var fields []string
			if tc.rang != "" {
				fields = append(fields, "Range: "+tc.rang)
			}
			for range 2 { // the second one uses the same connections
				r, text := f.do(t, tc.method, tc.path, nil, fields...)
				if r.StatusCode != tc.status || tc.length >= 0 && max(r.ContentLength, 0) != tc.length || tc.body >= 0 && len(text) != tc.body || r.Header.Get("Etag") != `"1"` && tc.status != 416 {
					t.Errorf("%s %s %s: %d, length %d, body of %d, %v", tc.method, tc.path, tc.rang, r.StatusCode, r.ContentLength, len(text), r.Header)
				}
			}
		}
	})
}

func TestProxyHost(t *testing.T) {
	upstream := showing(t)
	addr := strings.TrimPrefix(upstream, "http://")
	for _, tc := range []struct {
		rule  string
		proxy middleware.Proxy
		want  []string
	}{
		{"the target's own host", middleware.Proxy{}, []string{"Host: " + addr, "X-Forwarded-Host: shop.example"}},
		{"the client's host", middleware.Proxy{KeepHost: true}, []string{"Host: shop.example", "X-Forwarded-Host: shop.example"}},
		{"a host from ModifyRequest", middleware.Proxy{ModifyRequest: func(_ *web.Ctx, to *gallop.Request) error {
			to.Header.SetHost("inner.example")
			return nil
		}}, []string{"Host: inner.example", "X-Forwarded-Host: shop.example"}},
		{"RFC 7239", middleware.Proxy{ProxyHeaders: web.Forwarded}, []string{`Forwarded: for=127.0.0.1;host="shop.example";proto=http`}},
		{"Via", middleware.Proxy{Via: "edge"}, []string{"Via: 1.1 edge"}},
		{"a prefix", middleware.Proxy{StripPrefix: "/api/"}, []string{"GET /x HTTP/1.1", "X-Forwarded-Prefix: /api"}},
		{"a client of one's own", middleware.Proxy{Client: &gallop.Client{NoDefaultUserAgentHeader: true}, KeepHost: true}, []string{"GET /api/x HTTP/1.1", "Host: shop.example"}},
	} {
		tc.proxy.Targets = []string{upstream}
		f := startFront(t, "loops", tc.proxy)
		text := f.raw(t, "GET /api/x HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n")
		for _, want := range tc.want {
			if !slices.Contains(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"), want) {
				t.Errorf("%s: no %q in\n%s", tc.rule, want, text)
			}
		}
	}
}

// The target gets the path that the client has sent, and only paths below the prefix.
func TestProxyPath(t *testing.T) {
	upstream := showing(t)
	for _, client := range []gallop.Doer{nil, &gallop.Client{NoDefaultUserAgentHeader: true}} {
		f := startFront(t, "loops", middleware.Proxy{Targets: []string{upstream + "/v2/"}, StripPrefix: "/api", Client: client})
		for _, tc := range []struct{ target, want string }{
			{"/api", "/v2/"},
			{"/api?x", "/v2/?x"},
			{"/api/", "/v2/"},
			{"/api/a/b%2Fc%2fd", "/v2/a/b%2Fc%2fd"},
			{"/api/%61%25%32%46", "/v2/%61%25%32%46"},
			{"/api/a//b/", "/v2/a//b/"},
			{"/api/a;b=1/c;d", "/v2/a;b=1/c;d"},
			{"/api/.a/b./..c/d../...", "/v2/.a/b./..c/d../..."},
			{"/api/a?b=/../c", "/v2/a?b=/../c"},
			{"/api/a?b;c&d=%zz&e=%", "/v2/a?b;c&d=%zz&e=%"}, // CVE-2022-2880: sent as it came
			{"/api/a?x=1&x=2?", "/v2/a?x=1&x=2?"},
			{"http://shop.example/api/a%2F?b", "/v2/a%2F?b"},
			{"/api/%252e%252e/a", "/v2/%252e%252e/a"}, // nothing is decoded twice

			{"/api/../admin", ""},
			{"/api/a/../../admin", ""},
			{"/api/..", ""},
			{"/api/%2e%2e/admin", ""},
			{"/api/.%2E/admin", ""},
			{"/api/..%2fadmin", ""},
			{"/api/a%2f..%2f..%2fadmin", ""},
			{"/api/..;/admin", ""},
			{"/api/..;a=b/admin", ""},
			{"/api/..%3b/admin", ""},
			{"/api/..%5cadmin", ""},
			{"/api/%5c..%5cadmin", ""},
			{"/api//evil.example/", ""},
			{"/api/%2fevil.example/", ""},
			{"/api/%5cevil.example/", ""},
			{"//api/a", ""},
			{"/x/../api/a", ""},
			{"/./api/a", ""},
			{"/%61pi/a", ""},
			{"/apix", ""},
			{"/", ""},
		} {
			text := f.raw(t, "GET "+tc.target+" HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n")
			status := strings.SplitN(text, " ", 3)[1]
			switch {
			case tc.want == "" && status != "400" && status != "404":
				t.Errorf("%s:\n%s", tc.target, text)
			case tc.want != "" && !strings.Contains(text, "\nGET "+tc.want+" HTTP/1.1\n"):
				t.Errorf("%s: not %s:\n%s", tc.target, tc.want, text)
			}
		}
	}
}

// Without StripPrefix, a path cannot differ from the one that the routes and the middleware have seen.
func TestProxyPathWithoutPrefix(t *testing.T) {
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{showing(t)}})
	for target, status := range map[string]string{
		"/a/b": "200", "/a//b": "200", "//a": "400", "///a": "400", "/public/..%2fadmin": "400", "/public/../admin": "400", "/%2e%2e": "400",
	} {
		text := f.raw(t, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got := strings.SplitN(text, " ", 3)[1]; got != status {
			t.Errorf("%s: %s", target, text)
		}
	}
}

func TestProxyModify(t *testing.T) {
	refused := &web.Error{Status: http.StatusForbidden, Message: "no"}
	f := startFront(t, "loops", middleware.Proxy{
		Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Inner", "secret")
			w.Header().Set("X-Both", "target")
			w.Header().Add("Vary", "Accept")
			fmt.Fprint(w, r.URL.Path, " ", r.Header.Get("X-User"))
		})},
		ModifyRequest: func(c *web.Ctx, to *gallop.Request) error {
			to.Header.Set("X-User", "ann")
			switch c.Path() {
			case "/moved":
				to.Header.SetRequestURI("/new")
			case "/refused":
				return refused
			}
			return nil
		},
		ModifyResponse: func(c *web.Ctx, from *gallop.Response) error {
			from.Header.Del("X-Inner")
			from.Header.SetStatusCode(http.StatusAccepted)
			if c.Path() == "/bad" {
				return refused
			}
			return nil
		},
	}, web.Handler(func(c *web.Ctx) error {
		c.SetHeader("X-Both", "middleware")
		c.Vary("Cookie")
		return c.Next()
	}))
	for path, want := range map[string]string{"/": "/ ann 202", "/moved": "/new ann 202", "/refused": "no 403", "/bad": "no 403"} {
		r, text := f.do(t, "GET", path, nil, "Connection: X-User", "X-User: eve")
		if got := fmt.Sprint(text, " ", r.StatusCode); got != want {
			t.Errorf("%s: %q", path, got)
		}
		if r.Header.Get("X-Inner") != "" || r.Header.Get("X-Both") != "middleware" {
			t.Errorf("%s: %v", path, r.Header)
		}
		if vary := strings.Join(r.Header["Vary"], ","); r.StatusCode == 202 && vary != "Cookie,Accept" {
			t.Errorf("Vary: %s", vary)
		}
	}
}

func TestProxyBalances(t *testing.T) {
	var counts [3]atomic.Int64
	var urls []string
	for i := range 2 {
		urls = append(urls, target(t, func(w http.ResponseWriter, r *http.Request) {
			counts[i].Add(1)
			io.Copy(w, r.Body)
		}))
	}
	f := startFront(t, "loops", middleware.Proxy{Targets: urls, Strategy: gallop.LBRoundRobin})
	for range 20 {
		f.do(t, "GET", "/", nil)
	}
	if a, b := counts[0].Load(), counts[1].Load(); a != 10 || b != 10 {
		t.Errorf("%d and %d requests", a, b)
	}
	// A target that cannot be reached costs no request, not even one with a body, which nobody has read.
	f = startFront(t, "loops", middleware.Proxy{Targets: []string{"http://" + wiretest.FreeAddress(t), urls[0], "http://" + wiretest.FreeAddress(t)}, Strategy: gallop.LBRoundRobin})
	for range 20 {
		for _, body := range []io.Reader{strings.NewReader("hello"), io.MultiReader(strings.NewReader("hello"))} {
			if r, text := f.do(t, "POST", "/", body); r.StatusCode != 200 || text != "hello" {
				t.Fatalf("%d %q", r.StatusCode, text)
			}
		}
	}
	// Failing targets get few requests.
	sick := target(t, func(w http.ResponseWriter, r *http.Request) {
		counts[2].Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	f = startFront(t, "loops", middleware.Proxy{Targets: []string{sick, urls[0]}})
	for range 50 {
		f.do(t, "GET", "/", nil)
	}
	if n := counts[2].Load(); n > 10 {
		t.Errorf("the failing target got %d of 50 requests", n)
	}
}

// A request that a target may have acted on is not sent again, unless it is idempotent.
func TestProxyRepeatsOnlyIfSafe(t *testing.T) {
	for _, tc := range []struct {
		method string
		body   io.Reader
		most   int64
	}{
		{"POST", nil, 1},
		{"POST", strings.NewReader("hello"), 1},
		{"PUT", io.MultiReader(strings.NewReader("hello")), 1},
		{"GET", nil, 3},
	} {
		var requests atomic.Int64
		var urls []string
		for range 4 {
			urls = append(urls, scripted(t, func(c net.Conn, r *bufio.Reader) {
				if len(readHead(r)) > 0 {
					requests.Add(1)
				}
			}))
		}
		f := startFront(t, "loops", middleware.Proxy{Targets: urls})
		if r, _ := f.do(t, tc.method, "/", tc.body); r.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %d", tc.method, r.StatusCode)
		}
		if n := requests.Load(); n > tc.most {
			t.Errorf("%s: sent %d times", tc.method, n)
		}
	}
}

func TestProxyErrors(t *testing.T) {
	t.Parallel()
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		switch head := readHead(r); {
		case len(head) == 0:
		case strings.HasPrefix(head[0], "GET /slow?"):
			r.ReadByte() // until the proxy gives up
		case strings.HasPrefix(head[0], "GET /nonsense?"):
			io.WriteString(c, "hello\r\n\r\n")
		case strings.HasPrefix(head[0], "GET /switch?"):
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		case strings.HasPrefix(head[0], "GET /large?"):
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n")
		case strings.HasPrefix(head[0], "GET /smuggled?"):
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		case strings.HasPrefix(head[0], "GET /lengths?"):
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")
		case strings.HasPrefix(head[0], "GET /split?"):
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for _, tc := range []struct {
		path   string
		proxy  middleware.Proxy
		status int
	}{
		{"/", middleware.Proxy{Targets: []string{"http://" + wiretest.FreeAddress(t)}}, 502},
		{"/", middleware.Proxy{Targets: []string{"http://" + wiretest.FreeAddress(t), "http://" + wiretest.FreeAddress(t), "http://" + wiretest.FreeAddress(t), "http://" + wiretest.FreeAddress(t)}}, 502},
		{"/closed", middleware.Proxy{}, 502},
		{"/nonsense", middleware.Proxy{}, 502},
		{"/switch", middleware.Proxy{}, 502},
		{"/smuggled", middleware.Proxy{}, 502},
		{"/lengths", middleware.Proxy{}, 502},
		{"/split", middleware.Proxy{}, 502},
		{"/large", middleware.Proxy{MaxResponseBody: 1999}, 502},
		{"/slow", middleware.Proxy{Timeout: 50 * time.Millisecond}, 504},
		{"/slow", middleware.Proxy{Timeout: 50 * time.Millisecond, Targets: []string{upstream, upstream}}, 504},
		{"/", middleware.Proxy{ConfigureClient: func(hc *gallop.HostClient) {
			hc.DialContext = nil
			hc.DialTimeout = func(string, time.Duration) (net.Conn, error) { return nil, gallop.ErrNoFreeConns }
		}}, 503},
	} {
		if tc.proxy.Targets == nil {
			tc.proxy.Targets = []string{upstream}
		}
		var got error
		app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}, ErrorHandler: func(c *web.Ctx, err error) {
			got = err
			web.ProblemErrorHandler(c, err)
		}})
		app.All("/{path...}", tc.proxy.Handler())
		f := serveFront(t, "loops", app, app.Serve)
		r, text := f.do(t, "GET", tc.path+"?secret=1", nil)
		if r.StatusCode != tc.status || r.Header.Get("Content-Type") != "application/problem+json" || strings.Contains(text, "127.0.0.1") {
			t.Errorf("%s: %d %s", tc.path, r.StatusCode, text)
		}
		var failed *middleware.ProxyError
		if !errors.As(got, &failed) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%s: %v", tc.path, got)
		}
		if tc.status == 503 && r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

func TestProxyHops(t *testing.T) {
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{showing(t)}, Via: "edge"})
	for _, tc := range []struct {
		method, field string
		status        int
		text          string
	}{
		{"OPTIONS", "Max-Forwards: 0", 502, ""},
		{"OPTIONS", "Max-Forwards: 5", 200, "Max-Forwards: 4"},
		{"GET", "Max-Forwards: 0", 200, ""},
		{"GET", "Via: 1.1 other", 200, "Via: 1.1 other"},
		{"GET", "Via: 1.1 other, 1.1 edge", 508, ""},
	} {
		r, text := f.do(t, tc.method, "/", nil, tc.field)
		if r.StatusCode != tc.status || !strings.Contains(text, tc.text) {
			t.Errorf("%s: %d %s", tc.field, r.StatusCode, text)
		}
		if tc.status == 200 && r.Header.Get("Via") != "1.1 edge" {
			t.Errorf("Via: %q", r.Header["Via"])
		}
	}
	if text := f.raw(t, "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(text, "HTTP/1.1 501") {
		t.Error(text)
	}
}

func TestProxySettings(t *testing.T) {
	ok := []string{"http://127.0.0.1:9"}
	mustPanic(t, "Targets", func() { middleware.Proxy{}.Handler() })
	mustPanic(t, "Targets", func() {
		middleware.Proxy{Targets: ok, Target: func(*web.Ctx) (string, error) { return "", nil }}.Handler()
	})
	for _, bad := range []string{"", "127.0.0.1:9", "ftp://a", "http://", "http://a:b:c", "http://u:p@a", "http://a?b", "http://a/../b", "http://a#b"} {
		mustPanic(t, "target", func() { middleware.Proxy{Targets: []string{bad}}.Handler() })
	}
	mustPanic(t, "StripPrefix", func() { middleware.Proxy{Targets: ok, StripPrefix: "api"}.Handler() })
	mustPanic(t, "StripPrefix", func() { middleware.Proxy{Targets: ok, StripPrefix: "/a/%2e."}.Handler() })
	mustPanic(t, "Via", func() { middleware.Proxy{Targets: ok, Via: "a b"}.Handler() })
	mustPanic(t, "ProxyHeaders", func() { middleware.Proxy{Targets: ok, ProxyHeaders: 9}.Handler() })
}

// Only trusted proxies determine the addresses of clients.
func TestProxyTrustedPeer(t *testing.T) {
	spoofed := []string{
		"X-Forwarded-For: 203.0.113.66", "X-Forwarded-For: 198.51.100.7", "X-Forwarded-Proto: https", "X-Forwarded-Host: shop.example",
		"X-Forwarded-Prefix: /evil", "X-Forwarded-Port: 1", "X-Forwarded-Server: evil", "X-Real-IP: 203.0.113.66", "Forwarded: for=203.0.113.66",
		"X_forwarded_for: 203.0.113.66", "X-Forwarded_for: 203.0.113.66",
	}
	for _, tc := range []struct {
		trusted []netip.Prefix
		want    string
	}{
		{nil, "For: 127.0.0.1 Host: ADDR Proto: http"},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "For: 198.51.100.7 Host: shop.example Proto: https"},
	} {
		app := web.New(web.Config{TrustedProxies: tc.trusted, NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}})
		app.All("/{path...}", middleware.Proxy{Targets: []string{showing(t)}}.Handler())
		f := serveFront(t, "loops", app, app.Serve)
		_, text := f.do(t, "GET", "/", nil, spoofed...)
		var got []string
		for line := range strings.SplitSeq(text, "\n") {
			if low := strings.ToLower(line); strings.Contains(low, "forwarded") || strings.Contains(low, "real") {
				got = append(got, strings.TrimPrefix(line, "X-Forwarded-"))
			}
		}
		slices.Sort(got)
		if got, want := strings.Join(got, " "), strings.ReplaceAll(tc.want, "ADDR", f.addr); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProxyWithBodyLimit(t *testing.T) {
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{target(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	})}}, middleware.BodyLimit{Size: 1000})
	for n, status := range map[int]int{1000: 200, 1001: 413, 100_000: 413} {
		for _, body := range []io.Reader{bytes.NewReader(make([]byte, n)), io.MultiReader(bytes.NewReader(make([]byte, n)))} {
			if r, _ := f.do(t, "POST", "/", body); r.StatusCode != status {
				t.Errorf("%d bytes: %d", n, r.StatusCode)
			}
		}
	}
}

// A target that depends on the client can only be a public one, unless the program brings a client of its own.
func TestProxyTarget(t *testing.T) {
	upstream := showing(t)
	addr := strings.TrimPrefix(upstream, "http://")
	choose := func(c *web.Ctx) (string, error) {
		if c.Path() == "/forbidden" {
			return "", &web.Error{Status: http.StatusForbidden}
		}
		return strings.ReplaceAll(c.ReqHeader("X-Target"), "ADDR", addr), nil
	}
	own := &gallop.Client{NoDefaultUserAgentHeader: true}
	for _, tc := range []struct {
		client gallop.Doer
		path   string
		target string
		status int
		want   string
	}{
		{own, "/a%2Fb//c?d", "http://ADDR/v2/", 200, "GET /v2/a%2Fb//c?d HTTP/1.1\nHost: " + addr},
		{own, "/forbidden", "http://ADDR", 403, ""},
		{own, "/", "http://ADDR/?a=", 502, ""},
		{own, "/", "http://user:password@ADDR/", 502, ""},
		{own, "/", "http://ADDR/a/../b", 502, ""},
		{own, "/", "http://ADDR#", 502, ""},
		{own, "/", "ADDR", 502, ""},
		{own, "/", "file:///etc/passwd", 502, ""},
		{own, "/", "gopher://ADDR/", 502, ""},
		{own, "/", "//ADDR/", 502, ""},
		{own, "/", "", 502, ""},
		{nil, "/", "http://ADDR", 502, ""},
		{nil, "/", "http://127.0.0.1", 502, ""},
		{nil, "/", "http://localhost:80", 502, ""},
		{nil, "/", "http://169.254.169.254/latest/meta-data", 502, ""},
	} {
		var got error
		app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}, ErrorHandler: func(c *web.Ctx, err error) {
			got = err
			web.DefaultErrorHandler(c, err)
		}})
		app.All("/{path...}", middleware.Proxy{Target: choose, Client: tc.client}.Handler())
		f := serveFront(t, "loops", app, app.Serve)
		if r, text := f.do(t, "GET", tc.path, nil, "X-Target: "+tc.target); r.StatusCode != tc.status || !strings.HasPrefix(text, tc.want) {
			t.Errorf("%s: %d %s", tc.target, r.StatusCode, text)
		}
		if tc.client == nil && !errors.Is(got, middleware.ErrNotPublic) {
			t.Errorf("%s: %v", tc.target, got)
		}
	}
}

// After App.Rewrite, the target gets the new path, with the client's encoding.
func TestProxyAfterRewrite(t *testing.T) {
	app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}})
	app.Rewrite("/old/{path...}", "/new/{path...}")
	app.All("/new/{path...}", middleware.Proxy{Targets: []string{showing(t)}, StripPrefix: "/new"}.Handler())
	f := serveFront(t, "loops", app, app.Serve)
	for target, want := range map[string]string{
		"/old/a%2Fb%252F?c=%zz": "GET /a%2Fb%252F?c=%zz HTTP/1.1",
		"/old/../new/a":         "400",
		"/old/%2e%2e/admin":     "404",
	} {
		text := f.raw(t, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", target, text)
		}
	}
}
