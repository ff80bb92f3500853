package gallop

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
