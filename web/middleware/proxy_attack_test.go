package middleware_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// headers returns the lines of a head that show returned, without the request line, the Host and the headers that each request has.
func headers(text string) (lines []string) {
	_, text, _ = strings.Cut(text, "\r\n\r\n")
	for i, line := range strings.Split(text, "\n") {
		name, _, _ := strings.Cut(line, ":")
		if i > 0 && name != "Host" && !strings.HasPrefix(name, "X-Forwarded-") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// Headers that end at the proxy do not reach the target, however they are named or spelled.
func TestProxyHopByHopRequest(t *testing.T) {
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{showing(t)}, ModifyRequest: func(c *web.Ctx, to *gallop.Request) error {
		to.Header.Set("X-User", "ann")
		return nil
	}})
	for _, tc := range []struct {
		rule, fields string
		want         []string
	}{
		{"Connection names headers", "Connection: close, X-Foo\r\nX-Foo: 1\r\nX-Bar: 2\r\n", []string{"X-Bar: 2"}},
		{"all Connection headers count, also behind an empty one: CVE-2021-33197", "Connection: \r\nConnection: x-foo ,, X-BAR\r\nX-Foo: 1\r\nX-Bar: 2\r\nConnection: close\r\n", nil},
		{"what the proxy adds cannot be removed: golang.org/issue/50580", "Connection: close, X-User, X-Forwarded-For, X-Forwarded-Host, Via, Host\r\nX-User: eve\r\n", nil},
		{"hop-by-hop headers", "Connection: close\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nTrailer: X-A\r\nX-B: 1\r\n", []string{"X-B: 1"}},
		{"TE: trailers is kept", "Connection: close, TE\r\nTE: gzip;q=0.5, Trailers;q=1\r\n", []string{"Connection: TE", "TE: trailers"}},
		{"no other TE is kept", "Connection: close, TE\r\nTE: gzip\r\n", nil},
		{"no h2c: an upgrade carries requests past the proxy", "Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", nil},
		{"Upgrade without Connection", "Connection: close\r\nUpgrade: websocket\r\n", nil},
		{"underscores: CVE-2024-45614", "Connection: close\r\nX_User: eve\r\nX-Forwarded_For: 1.2.3.4\r\nContent_Length: 5\r\nTransfer_Encoding: chunked\r\n", nil},
		{"forwarding headers", "Connection: close\r\nX-Forwarded-Prefix: /evil\r\nx-forwarded-ssl: on\r\nForwarded: for=1.2.3.4\r\nX-Real-Ip: 1.2.3.4\r\n", nil},
		{"Expect without a body", "Connection: close\r\nExpect: 100-continue\r\n", nil},
	} {
		got := headers(f.raw(t, "GET / HTTP/1.1\r\nHost: x\r\n"+tc.fields+"\r\n"))
		if want := append(slices.Clone(tc.want), "X-User: ann"); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", tc.rule, got, want)
		}
	}
	for _, name := range []string{"For", "Host", "Proto"} {
		text := f.raw(t, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, X-Forwarded-"+name+"\r\nX-Forwarded-"+name+": evil\r\n\r\n")
		if strings.Contains(text, "evil") || strings.Count(text, "\nX-Forwarded-") != 3 {
			t.Errorf("X-Forwarded-%s:\n%s", name, text)
		}
	}
}

func TestProxyHopByHopResponse(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		readHead(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: \r\nConnection: X-Foo, close\r\nX-Foo: 1\r\nX-Bar: 2\r\nKeep-Alive: timeout=5\r\n"+
			"Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nProxy-Connection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	eachFront(t, func(t *testing.T, start func(middleware.Proxy, ...web.Middleware) front) {
		r, text := start(middleware.Proxy{Targets: []string{upstream}}).do(t, "GET", "/", nil)
		var names []string
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		if fmt.Sprint(names) != "[Content-Length Date Server X-Bar]" || text != "ok" {
			t.Errorf("%v %q", r.Header, text)
		}
	})
}

// A message means the same to the server and to the target, or is refused. Whatever the target reads behind the first request would be
// a smuggled one.
func TestProxyNoSmuggling(t *testing.T) {
	heads := make(chan string, 16)
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(request.Body)
			heads <- fmt.Sprintf("%s %s %q", request.Method, request.RequestURI, body)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, kind := range []string{"loops", "goroutines"} {
		f := startFront(t, kind, middleware.Proxy{Targets: []string{upstream}})
		for _, tc := range []struct{ rule, request, want string }{
			{"CL.TE", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, ""},
			{"TE.CL", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n23\r\n" + smuggled + "\r\n0\r\n\r\n", ""},
			{"two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 35\r\n\r\n" + smuggled, ""},
			{"a hidden coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled, ""},
			{"a space before the colon", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled, ""},
			{"a length that Connection names", "POST / HTTP/1.1\r\nHost: x\r\nConnection: close, Content-Length\r\nContent-Length: 35\r\n\r\n" + smuggled, `POST / "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"`},
			{"a coding that Connection names", "POST / HTTP/1.1\r\nHost: x\r\nConnection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n23\r\n" + smuggled + "\r\n0\r\n\r\n", `POST / "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"`},
			{"a GET with a body", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 35\r\n\r\n" + smuggled, `GET / "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"`},
			{"an upgrade with a body", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\nContent-Length: 35\r\n\r\n" + smuggled, `GET / "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"`},
			{"a line end in the target", "GET /a%0d%0aX-A:%201%0d%0a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `GET /a%0d%0aX-A:%201%0d%0a ""`},
			{"a space in the target", "GET /a HTTP/1.1\r\nX: HTTP/1.1\r\nHost: x\r\n y: z\r\nConnection: close\r\n\r\n", ""},
		} {
			text := f.raw(t, tc.request)
			var got []string
			for len(heads) > 0 {
				got = append(got, <-heads)
			}
			if tc.want == "" && (len(got) > 0 || !strings.HasPrefix(text, "HTTP/1.1 400") && !strings.HasPrefix(text, "HTTP/1.1 501")) || tc.want != "" && (len(got) != 1 || got[0] != tc.want) {
				t.Errorf("%s: the target got %q, the client:\n%s", tc.rule, got, text)
			}
		}
	}
}

// A response has one meaning, too: bytes behind it do not become the response to another request.
func TestProxyNoResponseSmuggling(t *testing.T) {
	upstream := scripted(t, func(c net.Conn, r *bufio.Reader) {
		for {
			head := readHead(r)
			if len(head) == 0 {
				return
			}
			switch {
			case strings.HasPrefix(head[0], "GET /more"):
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			case strings.HasPrefix(head[0], "HEAD"):
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			case strings.HasPrefix(head[0], "GET /204"):
				io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			default:
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
			}
		}
	})
	f := startFront(t, "loops", middleware.Proxy{Targets: []string{upstream}})
	for range 5 {
		for _, path := range []string{"GET /more", "HEAD /", "GET /204"} {
			method, path, _ := strings.Cut(path, " ")
			f.do(t, method, path, nil)
			if _, text := f.do(t, "GET", "/victim", nil); text != "good" {
				t.Fatalf("after %s %s: %q", method, path, text)
			}
		}
	}
}
