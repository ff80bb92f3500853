package gallop

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// plainness are handlers with a request, and whether what they leave is a plain response.
var plainness = map[string]struct {
	request string
	handler RequestHandler
	plain   bool
}{
	"nothing":     {"GET / HTTP/1.1", func(*RequestCtx) {}, true},
	"text":        {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("text") }, true},
	"type":        {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SuccessString("text/css", "a{}") }, true},
	"type alone":  {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetContentType("text/css") }, true},
	"raw":         {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.SetBodyRaw([]byte("raw")) }, true},
	"200":         {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetStatusCode(StatusOK) }, true},
	"post":        {"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", func(ctx *RequestCtx) { ctx.SetBody(ctx.PostBody()) }, true},
	"chunks":      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", func(ctx *RequestCtx) { ctx.SetBody(ctx.PostBody()) }, true},
	"fields":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { addMany(ctx); ctx.SetBodyString("x") }, true},
	"cookie":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { addMany(ctx); ctx.Response.Header.Add("Set-Cookie", "a=b") }, true},
	"set twice":   {"GET / HTTP/1.1", func(ctx *RequestCtx) { addMany(ctx); ctx.SetContentType("a/b"); ctx.SetContentType("c/d") }, true},
	"deleted":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { addMany(ctx); ctx.Response.Header.Del("X-3") }, true},
	"empty value": {"GET / HTTP/1.1", func(ctx *RequestCtx) { addMany(ctx); ctx.Response.Header.Set("X-3", "") }, true},
	"no type":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetContentType(""); ctx.SetBodyString("x") }, true},
	"largest":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBody(make([]byte, smallBody)) }, true},
	"too large":   {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBody(make([]byte, smallBody+1)) }, false},
	"head":        {"HEAD / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("text") }, false},
	"1.0":         {"GET / HTTP/1.0\r\nConnection: keep-alive", func(ctx *RequestCtx) { ctx.SetBodyString("text") }, false},
	"asks to end": {"GET / HTTP/1.1\r\nConnection: close", func(ctx *RequestCtx) { ctx.SetBodyString("text") }, false},
	"ends":        {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetConnectionClose() }, false},
	"connection":  {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.Set("Connection", "x") }, false},
	"404":         {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.NotFound() }, false},
	"204":         {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetStatusCode(StatusNoContent) }, false},
	"reason":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.SetStatusMessage([]byte("Fine")) }, false},
	"protocol":    {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.SetProtocol([]byte("HTTP/1.0")) }, false},
	"server":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.SetServer("me") }, false},
	"date":        {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.Set("Date", "Sat, 01 Jan 2000 00:00:00 GMT") }, false},
	"no date":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.SetNoDefaultDate(true) }, false},
	"untyped":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.Header.SetNoDefaultContentType(true); ctx.SetBodyString("x") }, false},
	"length":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("x"); ctx.Response.Header.SetContentLength(7) }, false},
	"until close": {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("x"); ctx.Response.Header.SetContentLength(-2) }, false},
	"trailer":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { _ = ctx.Response.Header.SetTrailer("X-End"); ctx.SetBodyString("x") }, false},
	"stream":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("abc"), 3) }, false},
	"failed":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Response.fail(errors.New("x")) }, false},
	"no body":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("x"); ctx.Response.SkipBody = true }, false},
	"late":        {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.TimeoutError("late") }, false},
	"watched":     {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Done(); ctx.SetBodyString("x") }, false},
	"deadline":    {"GET / HTTP/1.1", func(ctx *RequestCtx) { _ = ctx.SetWriteDeadline(time.Now().Add(time.Hour)); ctx.SetBodyString("x") }, false},
	"panics":      {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.SetBodyString("x"); panic("a test") }, false},
	"switches":    {"GET / HTTP/1.1", func(ctx *RequestCtx) { ctx.Hijack(func(net.Conn) {}); ctx.SetBodyString("x") }, false},
}

func addMany(ctx *RequestCtx) {
	for _, name := range []string{"X-1", "X-2", "X-3", "Vary", "Cache-Control", "ETag", "Link", "X-4"} {
		ctx.Response.Header.Add(name, "value of "+name)
	}
}

// TestPlainResponses has each request served with and without the short way, and next to
// another one, which has to be answered as well or not at all.
func TestPlainResponses(t *testing.T) {
	for name, tt := range plainness {
		t.Run(name, func(t *testing.T) {
			request := tt.request
			if !strings.Contains(request, "\r\n\r\n") {
				request += "\r\n\r\n"
			}
			request = strings.Replace(request, "\r\n", "\r\nHost: x\r\n", 1)
			request += "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
			short := serveOnce(t, tt.handler, request, tt.plain, false)
			if long := serveOnce(t, tt.handler, request, false, true); !bytes.Equal(short, long) {
				t.Errorf("%q the short way, and %q the long way", short, long)
			}
		})
	}
}

// serveOnce returns what a server answers, at a time that is always the same, and checks whether the
// first response is plain, unless only the long way is to be gone.
func serveOnce(t *testing.T, handler RequestHandler, request string, wantPlain, long bool) []byte {
	t.Helper()
	s := &Server{Logger: nowhere{}}
	s.Handler = func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/next" {
			ctx.SetBodyString("next")
			return
		}
		handler(ctx)
		if ctx.ex == nil || long {
			return
		}
		if plain := ctx.timeout.Load() == nil && ctx.ex.wire.isPlain(); plain != wantPlain {
			t.Errorf("plain: %v", plain)
		}
	}
	s.prepare()
	if long {
		s.set.plain = false
	}
	client, server := net.Pipe()
	defer client.Close()
	go s.ServeConn(server)
	go io.WriteString(client, request)
	client.SetReadDeadline(time.Now().Add(5 * time.Second))
	answer, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err, answer)
	}
	return withoutDates(answer)
}

// withoutDates returns a response with other letters for the dates in it.
func withoutDates(answer []byte) []byte {
	for at := 0; ; {
		i := bytes.Index(answer[at:], []byte("\r\nDate: "))
		if i < 0 {
			return answer
		}
		at += i + len("\r\nDate: ")
		copy(answer[at:], "Day, 00 Mon 0000 00:00:00 GMT")
	}
}

type nowhere struct{}

func (nowhere) Printf(string, ...any) {}

// TestWhyNotPlain makes each condition of a plain response fail, one at a time.
func TestWhyNotPlain(t *testing.T) {
	obstacles := map[string]func(c *serverConn){
		"settings":            func(c *serverConn) { c.set.plain = false },
		"time to write":       func(c *serverConn) { c.writeLimit = time.Second },
		"last response":       func(c *serverConn) { c.close = true },
		"HTTP/1.0":            func(c *serverConn) { c.http10 = true },
		"awaited 100":         func(c *serverConn) { c.awaits100 = true },
		"hijacked":            func(c *serverConn) { c.hijacked = true },
		"method":              func(c *serverConn) { c.method = message.HeadMethod },
		"status":              func(c *serverConn) { c.ctx.SetStatusCode(StatusNoContent) },
		"reason phrase":       func(c *serverConn) { c.ctx.Response.Header.SetStatusMessage([]byte("Fine")) },
		"framing":             func(c *serverConn) { c.ctx.Response.Header.SetContentLength(7) },
		"protocol":            func(c *serverConn) { c.ctx.Response.Header.SetProtocol([]byte("HTTP/1.0")) },
		"headers":             func(c *serverConn) { c.ctx.Response.Header.SetNoDefaultDate(true) },
		"stream":              func(c *serverConn) { c.ctx.output().ex = c.exchange },
		"failed response":     func(c *serverConn) { c.ctx.Response.fail(errors.New("a test")) },
		"skipped body":        func(c *serverConn) { c.ctx.Response.SkipBody = true },
		"large body":          func(c *serverConn) { c.ctx.SetBody(make([]byte, smallBody+1)) },
		"context in use":      func(c *serverConn) { c.ctx.Done() },
		"unread request body": func(c *serverConn) { c.body.kind, c.body.left = message.Fixed, 1 },
		"deadline by hand":    func(c *serverConn) { c.Output.ByHand.Store(new(time.Time)) },
		"shutdown":            func(c *serverConn) { c.Server.Stopping.Store(true) },
	}
	for want, obstacle := range obstacles {
		c := connOf(&settings{plain: true})
		c.keepAlive, c.method = true, message.Get
		if why := c.whyNotPlain(); why != "" {
			t.Fatalf("an empty response is not plain because of: %s", why)
		}
		if obstacle(c); c.whyNotPlain() != want {
			t.Errorf("%q instead of %q", c.whyNotPlain(), want)
		}
	}
	source, err := os.ReadFile("h1_plain.go")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ = bytes.Cut(source, []byte("whyNotPlain() string {"))
	source, _, _ = bytes.Cut(source, []byte("\n}\n"))
	for _, match := range regexp.MustCompile(`return "(.+)"`).FindAllSubmatch(source, -1) {
		if obstacles[string(match[1])] == nil {
			t.Errorf("the condition %q is not tested", match[1])
		}
	}
}

// TestPlainOnlyWhereSettingsAllow checks that no setting is forgotten.
func TestPlainOnlyWhereSettingsAllow(t *testing.T) {
	for name, s := range map[string]*Server{
		"DisableKeepalive":     {DisableKeepalive: true},
		"MaxRequestsPerConn":   {MaxRequestsPerConn: 9},
		"NoDefaultDate":        {NoDefaultDate: true},
		"NoDefaultContentType": {NoDefaultContentType: true},
	} {
		if s.prepare(); s.set.plain {
			t.Errorf("with %s responses may be plain", name)
		}
	}
}

// connOf returns a connection of a server with these settings, which serves a request.
func connOf(set *settings) *serverConn {
	c := new(serverConn)
	c.srv, c.set = new(Server), set
	c.Prepare(&c.srv.conns, c)
	c.Conn.Set = &set.Settings
	c.exchange = c.newExchange()
	return c
}

// TestRecyclePlain has what plain responses leave behind cleared in the short and in the long way.
func TestRecyclePlain(t *testing.T) {
	for name, tt := range plainness {
		if !tt.plain {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var left [2]*RequestCtx
			for i := range left {
				c := connOf(&settings{plain: true, head: http1.Limits{Target: 99, Head: 999, Fields: 9}})
				c.keepAlive = true
				c.ctx.ex = c.exchange
				ctx := &c.ctx
				head, body, _ := strings.Cut(tt.request, "\r\n\r\n")
				text := []byte(strings.Replace(head+"\r\n\r\n", "\r\n", "\r\nHost: x\r\n", 1))
				if _, err := new(http1.Parser).ParseRequest(&ctx.Request.Header.head, text, &c.set.head); err != nil {
					t.Fatal(err)
				}
				ctx.Request.body.view = []byte(body)
				ctx.Request.uriShown = true // which nothing takes back
				ctx.QueryArgs()
				ctx.PostArgs()
				field.Add(&ctx.Request.Header.trailers, field.Unknown, "a", "b")
				ctx.Request.Header.PeekKeys()
				ctx.Response.Header.PeekAll("Vary")
				ctx.Request.SetTimeout(time.Second)
				ctx.Request.UseHostHeader, ctx.Request.FullDuplex, ctx.Request.DisableRedirectPathNormalizing = true, true, true
				ctx.Response.ImmediateHeaderFlush, ctx.Response.StreamBody = true, true
				tt.handler(ctx)
				if !c.isPlain() {
					t.Fatal("not plain")
				}
				if i == 0 && !c.recyclePlain() {
					t.Fatal("left to the long way")
				} else if i == 1 {
					c.recycle()
				}
				c.leaveWire()
				left[i] = ctx
			}
			if !reflect.DeepEqual(left[0], left[1]) {
				t.Errorf("%+v the short way, %+v the long way", left[0], left[1])
			}
		})
	}
}

// TestRecyclePlainLeavesTheRest lists what is for the long way.
func TestRecyclePlainLeavesTheRest(t *testing.T) {
	for name, leave := range map[string]func(*serverConn){
		"values":    func(c *serverConn) { c.ctx.SetUserValue("a", "b") },
		"address":   func(c *serverConn) { c.ctx.SetRemoteAddr(zeroAddr) },
		"a form":    func(c *serverConn) { c.ctx.Request.form = &multipart.Form{} },
		"context":   func(c *serverConn) { c.ctx.Done() },
		"much":      func(c *serverConn) { c.ctx.Request.buf = make([]byte, 0, requestBodyKeep.Load()+1) },
		"much more": func(c *serverConn) { c.ctx.Response.buf = make([]byte, 0, responseBodyKeep.Load()+1) },
		"pinned":    func(c *serverConn) { c.Input.Pinned = []byte("a") },
		"poison":    func(c *serverConn) { c.set.Poison = true },
		"sent":      func(c *serverConn) { c.ctx.Request.sent = &sentHead{} },
		"stream":    func(c *serverConn) { c.ctx.Request.SetBodyStream(strings.NewReader("a"), 1) },
	} {
		c := connOf(&settings{})
		c.ctx.Request.Header.Set("a", "b")
		c.ctx.Response.Header.Set("Vary", "b")
		if leave(c); c.recyclePlain() {
			t.Errorf("%s: taken the short way", name)
		}
		if c.ctx.Request.Header.Len() == 0 {
			t.Errorf("%s: half of it is done", name)
		}
	}
}
