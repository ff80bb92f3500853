package gallop

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/target"
)

// The zero value is a request, and Reset makes one.
func TestRequestReset(t *testing.T) {
	var fresh, used Request
	used.SetRequestURI("http://u:p@a/b?c=d")
	used.URI().QueryArgs().Set("x", "y")
	used.Header.Set("X", "y")
	used.SetBodyString("abc")
	used.PostArgs().Set("a", "b")
	used.SetUserValue("k", 1)
	used.SetTimeout(time.Second)
	used.UseHostHeader, used.DisableRedirectPathNormalizing, used.isTLS = true, true, true
	used.Reset()
	for name, is := range map[string]bool{
		"header":      string(used.Header.Header()) == string(fresh.Header.Header()),
		"URI":         used.URI().String() == fresh.URI().String(),
		"body":        len(used.Body()) == 0 && !used.IsBodyStream(),
		"arguments":   used.PostArgs().Len() == 0,
		"user values": used.UserValue("k") == nil,
		"timeout":     used.GetTimeOut() == 0,
		"flags":       !used.UseHostHeader && !used.DisableRedirectPathNormalizing && !used.isTLS,
	} {
		if !is {
			t.Errorf("Reset left the %s", name)
		}
	}
}

// The URI is that of the target and Host, in all four forms, and whatever the scheme
// of the connection is.
func TestRequestURI(t *testing.T) {
	for _, tt := range []struct {
		method, target, host string
		tls                  bool
		want                 string
	}{
		{"GET", "/a?b", "H.example", false, "http://h.example/a?b"},
		{"GET", "/a?b", "h", true, "https://h/a?b"},
		{"GET", "http://other/a", "h", false, "http://other/a"},
		{"GET", "http://other/a", "h", true, "https://other/a"},
		{"OPTIONS", "*", "h", false, "http://h"},
		{"CONNECT", "h:443", "h:443", false, "http://h:443/"},
		{"GET", "/a b", "h", false, "http://h/a%20b"},
	} {
		var req Request
		req.Header.SetMethod(tt.method)
		req.Header.SetRequestURI(tt.target)
		req.Header.SetHost(tt.host)
		req.isTLS = tt.tls
		if got := req.URI().String(); got != tt.want {
			t.Errorf("%s %s with Host %s: %s, want %s", tt.method, tt.target, tt.host, got, tt.want)
		}
		before := string(req.Header.RequestURI())
		if got := string(req.RequestURI()); tt.target[0] != 'h' && got != before {
			t.Errorf("RequestURI became %q from %q", got, before)
		}
	}
}

func TestURIOfARequest(t *testing.T) {
	for _, tc := range []struct {
		name, method, target, host string
		https                      bool
		full, path                 string
	}{
		{"origin-form", "GET", "/a?b", "A.Test:80", false, "http://a.test:80/a?b", "/a"},
		{"origin-form over TLS", "GET", "/a", "a.test", true, "https://a.test/a", "/a"},
		{"not plain", "GET", "/a/%2e%2e/%62", "a.test", false, "http://a.test/%62", "/b"},
		{"looks like an authority", "GET", "//evil.test/x", "a.test", false, "http://a.test//evil.test/x", "/evil.test/x"},
		{"no Host, as HTTP/1.0 has it", "GET", "/a", "", false, "http:///a", "/a"},
		{"absolute-form goes before Host", "GET", "HTTP://B.Test/a", "a.test", false, "http://b.test/a", "/a"},
		{"absolute-form without path", "GET", "http://b.test?c", "a.test", false, "http://b.test/?c", "/"},
		{"absolute-form over TLS", "GET", "http://b.test/", "a.test", true, "https://b.test/", "/"},
		{"authority-form", "CONNECT", "b.test:443", "a.test", false, "http://b.test:443/", "/"},
		{"asterisk-form", "OPTIONS", "*", "a.test", false, "http://a.test", "*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parsed, err := target.Parse([]byte(tc.method), []byte(tc.target))
			if err != nil {
				t.Fatal(err)
			}
			var u URI
			u.Update("https://u:p@before.test/before?before#before")
			u.QueryArgs().Set("before", "x")
			u.setTarget(&parsed, []byte(tc.host), tc.https)
			if u.String() != tc.full || string(u.Path()) != tc.path || u.isHTTPS() != tc.https {
				t.Errorf("got %s, %s", u.String(), u.Path())
			}
			if _, query, _ := strings.Cut(tc.full, "?"); query != string(u.QueryString()) || u.QueryArgs().Has("before") {
				t.Errorf("query: %q, %q", u.QueryString(), u.QueryArgs())
			}
		})
	}
}

func TestURIDoesNotAllocate(t *testing.T) {
	var u URI
	host, get := []byte("A.Example"), []byte("GET")
	uris := [][]byte{[]byte("/a/b?c=d&e=f+g"), []byte("/a/../%62/c%2Fd?%41=1#x"), []byte("http://u:p@[::1]:80/x")}
	wire := []byte("/a/./b%20c?d=e&f")
	for what, f := range map[string]func(){
		"Parse": func() {
			for _, uri := range uris {
				if err := u.Parse(host, uri); err != nil {
					t.Fatal(err)
				}
				u.Path()
				u.QueryArgs()
				u.FullURI()
				u.RequestURI()
			}
		},
		"a request's target": func() {
			parsed, err := target.Parse(get, wire)
			if err != nil {
				t.Fatal(err)
			}
			u.setTarget(&parsed, host, false)
			if len(u.Path()) == 0 || u.QueryArgs().Len() != 2 {
				t.Fatal()
			}
		},
		"setters": func() {
			u.SetScheme("https")
			u.SetHost("B.Example:1")
			u.SetPath("/a b")
			u.SetQueryString("c d")
			u.SetHash("e")
			u.FullURI()
		},
	} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

func BenchmarkURIOfARequest(b *testing.B) {
	var u URI
	get, host, wire := []byte("GET"), []byte("example.com"), []byte("/articles/2026/some-title.html?page=2&sort=date")
	for b.Loop() {
		parsed, _ := target.Parse(get, wire)
		u.setTarget(&parsed, host, false)
		u.Path()
	}
}

// notingConn answers every request and keeps the last one.
type notingConn struct {
	answeringConn
	sent string
}

func (c *notingConn) Write(p []byte) (int, error) {
	c.sent = string(p)
	return c.answeringConn.Write(p)
}

func notingClient() (*HostClient, *notingConn) {
	conn := &notingConn{}
	return &HostClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) { return conn, nil }}, conn
}

// A request that is sent again and again is put together once, and yet every change of it
// is sent, however it is made.
func TestChangesBetweenTwoSendings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(req *Request)
		want   string // in what is sent afterwards
	}{
		{"nothing", func(*Request) {}, "GET /path?q=1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: gallop\r\nX-One: first\r\n\r\n"},
		{"a field is set", func(req *Request) { req.Header.Set("X-One", "other") }, "\r\nX-One: other\r\n"},
		{"a field is added", func(req *Request) { req.Header.Add("X-Two", "second") }, "\r\nX-Two: second\r\n"},
		{"a field is removed", func(req *Request) { req.Header.Del("X-One") }, "gallop\r\n\r\n"},
		{"a field is written to", func(req *Request) { copy(req.Header.Peek("X-One"), "FIRST") }, "\r\nX-One: FIRST\r\n"},
		{"a field is named otherwise", func(req *Request) {
			req.Header.DisableNormalizing()
			req.Header.Del("X-One")
			req.Header.Set("x-oNE", "first")
		}, "\r\nx-oNE: first\r\n"},
		{"the method", func(req *Request) { req.Header.SetMethod("PUT") }, "PUT /path?q=1 "},
		{"the version", func(req *Request) { req.Header.SetProtocol("HTTP/1.0") }, "GET /path?q=1 HTTP/1.0\r\n"},
		{"the target", func(req *Request) { req.SetRequestURI("http://b.test/other") }, "GET /other HTTP/1.1\r\nHost: b.test\r\n"},
		{"the path", func(req *Request) { req.URI().SetPath("/other") }, "GET /other?q=1 "},
		{"the query", func(req *Request) { req.URI().QueryArgs().Add("r", "2") }, "GET /path?q=1&r=2 "},
		{"the host", func(req *Request) { req.SetHost("b.test") }, "\r\nHost: b.test\r\n"},
		{"the host of the header", func(req *Request) {
			req.UseHostHeader = true
			req.Header.SetHost("b.test")
		}, "\r\nHost: b.test\r\n"},
		{"another URI", func(req *Request) {
			var uri URI
			_ = uri.Parse(nil, []byte("http://user:word@b.test/other"))
			req.SetURI(&uri)
		}, "\r\nAuthorization: Basic dXNlcjp3b3Jk\r\n"},
		{"a body", func(req *Request) { req.SetBodyString("body") }, "\r\nContent-Length: 4\r\n\r\nbody"},
		{"arguments", func(req *Request) { req.PostArgs().Add("a", "b") }, "\r\nContent-Length: 3\r\n\r\na=b"},
		{"the end of the connection", func(req *Request) { req.SetConnectionClose() }, "\r\nConnection: close\r\n"},
		{"no usual fields", func(req *Request) { req.Header.DisableSpecialHeader() }, "HTTP/1.1\r\nX-One: first\r\nHost: a.test\r\n\r\n"},
		{"a reset", func(req *Request) {
			req.Reset()
			req.SetRequestURI("http://a.test/path?q=1")
		}, "gallop\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, conn := notingClient()
			var req Request
			req.SetRequestURI("http://a.test/path?q=1")
			req.Header.Set("X-One", "first")
			for range 4 {
				if err := c.Do(&req, nil); err != nil {
					t.Fatal(err)
				}
			}
			if req.sent == nil || !req.sent.valid {
				t.Error("what was sent is not kept")
			}
			tt.change(&req)
			for range 3 { // what is kept of it, too
				conn.sent = ""
				if err := c.Do(&req, nil); err != nil || !strings.Contains(conn.sent, tt.want) {
					t.Fatalf("%v, sent %q, want %q in it", err, conn.sent, tt.want)
				}
			}
		})
	}
}

// A request that is refused the first time is refused the next time as well.
func TestBadTargetBetweenTwoSendings(t *testing.T) {
	c, conn := notingClient()
	var req Request
	req.SetRequestURI("http://a.test/path")
	for range 4 {
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
	}
	conn.sent = ""
	copy(req.Header.RequestURI(), "/p\r\nh")
	if err := c.Do(&req, nil); strings.Contains(conn.sent, "/p\r\n") {
		t.Errorf("%v, sent %q", err, conn.sent)
	}
	copy(req.Header.Host(), "a\r\nb:c")
	if err := c.Do(&req, nil); strings.Contains(conn.sent, "b:c") {
		t.Errorf("%v, sent %q", err, conn.sent)
	}
}

// The host of the URI counts again as soon as UseHostHeader does not say otherwise.
func TestSentWithoutUseHostHeaderAgain(t *testing.T) {
	c, conn := notingClient()
	var req Request
	req.SetRequestURI("http://a.test/")
	req.UseHostHeader = true
	for i := range 5 {
		if i == 1 { // the URI has been taken from the header
			req.Header.SetHost("b.test")
		}
		if err := c.Do(&req, nil); err != nil || i > 0 && !strings.Contains(conn.sent, "\r\nHost: b.test\r\n") {
			t.Fatalf("%v, sent %q", err, conn.sent)
		}
	}
	req.UseHostHeader = false
	if err := c.Do(&req, nil); err != nil || !strings.Contains(conn.sent, "\r\nHost: a.test\r\n") {
		t.Errorf("%v, sent %q", err, conn.sent)
	}
}

// Another client has other fields to add.
func TestSentByTwoClients(t *testing.T) {
	var req Request
	req.SetRequestURI("http://a.test/")
	for range 4 {
		for _, name := range []string{"one", "two"} {
			c, conn := notingClient()
			c.Name = name
			for range 3 {
				if err := c.Do(&req, nil); err != nil || !strings.Contains(conn.sent, "User-Agent: "+name+"\r\n") {
					t.Fatalf("%v, sent %q", err, conn.sent)
				}
			}
		}
	}
}

// A request that is changed each time costs nothing for what might have been kept, and one
// that was large keeps nothing when it is reset.
func TestSentIsNotKeptInVain(t *testing.T) {
	c, _ := notingClient()
	var req Request
	req.SetRequestURI("http://a.test/")
	for i := range 10 {
		req.Header.Set("X-Number", strings.Repeat("x", i))
		if err := c.Do(&req, nil); err != nil || req.sent.text != nil {
			t.Fatalf("%v, kept %q", err, req.sent.text)
		}
	}
	req.Header.Set("X-Large", strings.Repeat("x", 2*maxKeptBuffer))
	for range 3 {
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !req.sent.valid {
		t.Error("a large head is not kept")
	}
	if req.Reset(); req.sent != nil {
		t.Error("a large head is kept for ever")
	}
}

// The last request on a connection that is too old says so, whatever was sent before.
func TestSentOnAConnectionThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conn := notingClient()
		c.MaxConnDuration = time.Second
		var req Request
		req.SetRequestURI("http://a.test/")
		for i := range 5 {
			if i == 4 {
				time.Sleep(2 * time.Second)
			}
			if err := c.Do(&req, nil); err != nil || strings.Contains(conn.sent, "\r\nConnection: close\r\n") != (i == 4) {
				t.Fatalf("request %d: %v, sent %q", i, err, conn.sent)
			}
		}
	})
}
