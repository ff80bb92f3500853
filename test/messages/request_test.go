package messages_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// A copy has everything but what belongs to one request alone, and shares no bytes.
func TestRequestCopyTo(t *testing.T) {
	var src, dst gallop.Request
	src.SetRequestURI("http://a/b")
	src.URI().SetPath("/c")
	src.Header.SetMethod("POST")
	src.Header.Set("X", "y")
	src.Header.SetContentType("application/x-www-form-urlencoded")
	src.SetBodyString("k=v")
	src.PostArgs()
	src.SetTimeout(time.Second)
	src.UseHostHeader = true
	src.SetUserValue("k", 1)
	dst.SetBodyString("before")
	src.CopyTo(&dst)
	want := src.String()
	src.Reset()
	src.SetRequestURI("http://xxxxxx/")
	src.SetBodyString("xxx")
	if got := dst.String(); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if string(dst.PostArgs().Peek("k")) != "v" || dst.GetTimeOut() != time.Second || !dst.UseHostHeader || dst.UserValue("k") != nil {
		t.Errorf("arguments %q, timeout %v, flag %v, user value %v", dst.PostArgs(), dst.GetTimeOut(), dst.UseHostHeader, dst.UserValue("k"))
	}
	dst.CopyTo(&dst)
	if got := dst.String(); got != want {
		t.Errorf("copied to itself: %q", got)
	}

	src.SetBodyRaw([]byte("raw"))
	src.CopyTo(&dst)
	src.SetBodyStream(strings.NewReader("abc"), 3)
	if string(dst.Body()) != "raw" {
		t.Errorf("raw body: %q", dst.Body())
	}
	src.CopyTo(&dst)
	if string(dst.Body()) != "" || string(src.Body()) != "abc" {
		t.Errorf("stream: copy %q, original %q", dst.Body(), src.Body())
	}

	src.SetBodyStream(wiretest.Failing("abc"), -1)
	src.Body()
	src.CopyTo(&dst)
	if err := dst.BodyErr(); !errors.Is(err, wiretest.ErrTest) || dst.Write(bufio.NewWriter(io.Discard)) != err {
		t.Errorf("the copy of a body that could not be read is an empty one: %v", err)
	}
	dst.SetBodyString("")
	if src.SetBodyString("x"); src.BodyErr() != nil || dst.BodyErr() != nil {
		t.Errorf("with another body: %v, %v", src.BodyErr(), dst.BodyErr())
	}
}

func TestRequestSetURI(t *testing.T) {
	var req gallop.Request
	req.SetRequestURIBytes([]byte("http://a/b"))
	var u gallop.URI
	u.Parse(nil, []byte("http://c/d"))
	for _, tt := range []struct {
		set  func()
		want string
	}{
		{func() {}, "http://a/b"},
		{func() { req.SetURI(&u) }, "http://c/d"},
		{func() { req.SetURI(nil) }, "http://a/b"},
		{func() { req.SetHost("e:80") }, "http://e:80/b"},
		{func() { req.SetHostBytes([]byte("f")) }, "http://f/b"},
		{func() { req.Header.SetHost("g"); req.SetRequestURI("/h") }, "http://g/h"},
	} {
		if tt.set(); req.URI().String() != tt.want || string(req.Host()) != string(req.URI().Host()) {
			t.Errorf("URI %s, host %s, want %s", req.URI(), req.Host(), tt.want)
		}
	}
}

func TestPostArgs(t *testing.T) {
	for _, tt := range []struct{ contentType, want string }{
		{"application/x-www-form-urlencoded", "a=b"},
		{"Application/X-WWW-Form-URLencoded ; charset=utf-8", "a=b"},
		{"application/x-www-form-urlencoded2", ""},
		{"application/json", ""},
		{"", ""},
	} {
		var req gallop.Request
		req.Header.SetContentType(tt.contentType)
		req.SetBodyStream(strings.NewReader("a=b"), 3)
		if got := req.PostArgs().String(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.contentType, got, tt.want)
		}
	}
}

type countCloser int

func (c *countCloser) Close() error { *c++; return nil }

func TestUserValues(t *testing.T) {
	type key struct{}
	var req gallop.Request
	var closed countCloser
	req.SetUserValue("a", 1)
	req.SetUserValue([]byte("b"), 2)
	req.SetUserValueBytes([]byte("c"), 3)
	req.SetUserValue(key{}, &closed)
	req.SetUserValue("absent", nil)
	req.SetUserValueBytes([]byte("absent"), nil)
	for _, k := range []any{"a", []byte("a")} {
		if got := req.UserValue(k); got != 1 {
			t.Errorf("UserValue(%v) = %v", k, got)
		}
	}
	if req.UserValueBytes([]byte("b")) != 2 || req.UserValue("c") != 3 || req.UserValue(key{}) != &closed || req.UserValue(7) != nil ||
		req.UserValueBytes([]byte("none")) != nil {
		t.Error("a value is not where it was put")
	}
	var texts, all []any
	req.VisitUserValues(func(k []byte, v any) { texts = append(texts, string(k), v) })
	req.VisitUserValuesAll(func(k, v any) { all = append(all, k, v) })
	if want := []any{"a", 1, "b", 2, "c", 3}; !slices.Equal(texts, want) || !slices.Equal(all, append(want, key{}, &closed)) {
		t.Errorf("visited %v and %v", texts, all)
	}
	req.SetUserValue("a", 4)
	req.SetUserValueBytes([]byte("c"), nil)
	req.RemoveUserValue([]byte("b"))
	req.RemoveUserValueBytes([]byte("none"))
	if req.UserValue("a") != 4 || req.UserValue("b") != nil || req.UserValue("c") != nil || closed != 0 {
		t.Error("values were not replaced or removed")
	}
	req.ResetUserValues()
	req.Reset()
	if req.UserValue("a") != nil || closed != 1 {
		t.Errorf("after reset: %v, closed %d times", req.UserValue("a"), closed)
	}
}

// A released request is not the one that is acquired next, and keeps no bytes of it.
func TestReleaseRequestAndResponse(t *testing.T) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	req.SetRequestURI("http://a/b")
	req.SetBodyString("abc")
	resp.SetBodyString("abc")
	resp.SetStatusCode(404)
	gallop.ReleaseRequest(req)
	gallop.ReleaseResponse(resp)
	req, resp = gallop.AcquireRequest(), gallop.AcquireResponse()
	if len(req.Body()) != 0 || string(req.RequestURI()) != "/" || len(resp.Body()) != 0 || resp.StatusCode() != 200 {
		t.Errorf("got %q, %q, %q, %d", req.Body(), req.RequestURI(), resp.Body(), resp.StatusCode())
	}
}

// In race builds a view that was kept shows that it should not have been.
func TestReleasePoisons(t *testing.T) {
	if !bufpool.Poisons {
		t.Skip("only race builds poison")
	}
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	req.SetBodyString("abc")
	req.Header.Set("X", "abc")
	resp.SetBodyString("abc")
	resp.Header.Set("X", "abc")
	views := [][]byte{req.Body(), req.Header.Peek("X"), resp.Body(), resp.Header.Peek("X")}
	gallop.ReleaseRequest(req)
	gallop.ReleaseResponse(resp)
	for i, view := range views {
		if view[0] != bufpool.Poison {
			t.Errorf("view %d is %q", i, view)
		}
	}
}

func TestResponseReset(t *testing.T) {
	var resp gallop.Response
	resp.SetStatusCode(404)
	resp.SetBodyString("abc")
	resp.SkipBody, resp.StreamBody, resp.ImmediateHeaderFlush = true, true, true
	var dst gallop.Response
	resp.CopyTo(&dst)
	resp.Reset()
	if got := resp.String(); got != "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" || resp.SkipBody || resp.StreamBody || resp.ImmediateHeaderFlush {
		t.Errorf("%q", got)
	}
	if dst.StatusCode() != 404 || string(dst.Body()) != "abc" || !dst.SkipBody {
		t.Errorf("copy: %d %q %v", dst.StatusCode(), dst.Body(), dst.SkipBody)
	}
}

// The head goes out before a stream has yielded anything if that was asked for.
func TestImmediateHeaderFlush(t *testing.T) {
	for _, immediate := range []bool{false, true} {
		var out bytes.Buffer
		var resp gallop.Response
		resp.ImmediateHeaderFlush = immediate
		resp.SetBodyStream(wiretest.ReaderFunc(func(p []byte) (int, error) {
			if (out.Len() > 0) != immediate {
				t.Errorf("immediate %v, but %q was sent", immediate, out.String())
			}
			return 0, wiretest.ErrTest
		}), -1)
		resp.Write(bufio.NewWriter(&out))
	}
}

// A target that was checked while it was parsed is looked at again once it is another one.
func TestURIOfAChangedTarget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*gallop.RequestHeader)
		want   string
	}{
		{"not at all", func(*gallop.RequestHeader) {}, "http://a/b?c"},
		{"target", func(h *gallop.RequestHeader) { h.SetRequestURI("http://other/%64?e") }, "http://other/%64?e"},
		{"method", func(h *gallop.RequestHeader) { h.SetMethod("CONNECT"); h.SetRequestURI("b:1") }, "http://b:1/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.Request
			if err := req.Read(bufio.NewReader(strings.NewReader("GET /b?c HTTP/1.1\r\nHost: a\r\n\r\n"))); err != nil {
				t.Fatal(err)
			}
			tt.change(&req.Header)
			if got := req.URI().String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A user value that is closed by Reset may look at its request.
func TestResetClosesValuesFirst(t *testing.T) {
	var req gallop.Request
	req.SetRequestURI("/path")
	seen := ""
	req.SetUserValue("k", closeFunc(func() error { seen = string(req.RequestURI()); return nil }))
	if req.Reset(); seen != "/path" {
		t.Errorf("saw %q", seen)
	}
}

type closeFunc func() error

func (f closeFunc) Close() error { return f() }
