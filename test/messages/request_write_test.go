package messages_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// How a request goes out, for every way of saying where and what.
func TestRequestWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*gallop.Request)
		want string
	}{
		{"URI", func(r *gallop.Request) { r.SetRequestURI("http://a.example/b?c=d#e") }, "GET /b?c=d HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"URI without a path", func(r *gallop.Request) { r.SetRequestURI("http://a.example") }, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"SetURI", func(r *gallop.Request) {
			var u gallop.URI
			u.Parse(nil, []byte("http://a/b"))
			r.SetURI(&u)
			u.SetPath("/other")
		}, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"path and SetHost", func(r *gallop.Request) { r.SetRequestURI("/b"); r.SetHost("a") }, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"path and Host", func(r *gallop.Request) { r.SetRequestURI("/b"); r.Header.SetHost("a") }, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"Host beside the URI", func(r *gallop.Request) { r.Header.SetHost("x"); r.SetRequestURI("http://a/b"); r.URI() }, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"UseHostHeader", func(r *gallop.Request) {
			r.UseHostHeader = true
			r.Header.SetHost("x")
			r.SetRequestURI("http://a/b")
			r.URI()
		}, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"case of the host", func(r *gallop.Request) { r.Header.SetHost("A.Example"); r.SetRequestURI("/b"); r.URI() }, "GET /b HTTP/1.1\r\nHost: A.Example\r\n\r\n"},
		{"path that was looked at", func(r *gallop.Request) {
			r.Header.SetHost("a")
			r.SetRequestURI("/a//b/../%2Fc?x=%2F")
			r.URI().QueryArgs().Peek("x")
		}, "GET /a//b/../%2Fc?x=%2F HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"path that was changed", func(r *gallop.Request) {
			r.Header.SetHost("a")
			r.SetRequestURI("/a?x=1")
			r.URI().SetPath("/b c")
			r.URI().QueryArgs().Set("x", "2")
		}, "GET /b%20c?x=2 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"userinfo", func(r *gallop.Request) { r.SetRequestURI("http://u:p@a/") }, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dTpw\r\n\r\n"},
		{"userinfo with escapes", func(r *gallop.Request) { r.SetRequestURI("http://u%40b:p%3A%2f%zz@a/") }, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dUBiOnA6LyV6eg==\r\n\r\n"},
		{"password alone", func(r *gallop.Request) { r.SetRequestURI("http://:p@a/") }, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic OnA=\r\n\r\n"},
		{"CONNECT", func(r *gallop.Request) {
			r.Header.SetMethod("CONNECT")
			r.SetRequestURI("a:443")
			r.Header.SetHost("a:443")
			r.URI()
		}, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"},
		{"OPTIONS *", func(r *gallop.Request) {
			r.Header.SetMethod("OPTIONS")
			r.SetRequestURI("*")
			r.Header.SetHost("a")
			r.URI()
		}, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"OPTIONS * of a copy", func(r *gallop.Request) {
			var from gallop.Request
			from.Header.SetMethod("OPTIONS")
			from.SetRequestURI("*")
			from.Header.SetHost("a")
			from.URI()
			from.CopyTo(r)
		}, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},

		{"POST without a body", func(r *gallop.Request) { r.Header.SetMethod("POST"); r.SetRequestURI("http://a/") }, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"},
		{"POST", func(r *gallop.Request) {
			r.Header.SetMethod("POST")
			r.SetRequestURI("http://a/")
			r.SetBodyString("abc")
		}, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nabc"},
		{"GET with a body", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyString("abc") }, "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nabc"},
		{"GET with a length and no body", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.Header.SetContentLength(3) }, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"GET that was chunked and has no body", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.Header.SetContentLength(-1) }, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"arguments", func(r *gallop.Request) {
			r.Header.SetMethod("POST")
			r.SetRequestURI("http://a/")
			r.PostArgs().Set("b", "c d")
		}, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\nb=c+d"},
		{"stream of known size", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyStream(strings.NewReader("abc"), 3) }, "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nabc"},
		{"stream", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyStream(strings.NewReader("abc"), -1) }, "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"stream writer", func(r *gallop.Request) {
			r.SetRequestURI("http://a/")
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
		}, "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"stream in HTTP/1.0", func(r *gallop.Request) {
			r.SetRequestURI("http://a/")
			r.Header.SetProtocol("HTTP/1.0")
			r.SetBodyStream(strings.NewReader("abc"), -1)
		}, "GET / HTTP/1.0\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"},
		{"close", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetConnectionClose() }, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.Request
			tt.fill(&req)
			if got := req.String(); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// Errors that are not exported, by their text.
var (
	errShortStream = errors.New("gallop: body stream ended before the announced size")
	errLongStream  = errors.New("gallop: body stream has more than the announced size")
)

// isError reports whether err is want, or an error with the same text.
func isError(err, want error) bool {
	return errors.Is(err, want) || err != nil && err.Error() == want.Error()
}

func TestRequestWriteErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*gallop.Request)
		want error
	}{
		{"no host", func(r *gallop.Request) {}, errors.New("gallop: the request has no host; set a URL such as http://example.com/")},
		{"no URI", func(r *gallop.Request) { r.SetRequestURI("http://a b/") }, gallop.EscapeError("%20")},
		{"short stream", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyStream(strings.NewReader("ab"), 3) }, errShortStream},
		{"long stream", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyStream(strings.NewReader("abcd"), 3) }, errLongStream},
		{"stream that fails", func(r *gallop.Request) { r.SetRequestURI("http://a/"); r.SetBodyStream(wiretest.Failing("ab"), -1) }, wiretest.ErrTest},
		{"body that failed", func(r *gallop.Request) {
			r.SetRequestURI("http://a/")
			r.SetBodyStream(wiretest.Failing("ab"), -1)
			r.Body()
		}, wiretest.ErrTest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.Request
			tt.fill(&req)
			var got strings.Builder
			_, err := req.WriteTo(&got)
			if !isError(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if strings.Contains(got.String(), "abcd") || strings.HasSuffix(got.String(), "0\r\n\r\n") {
				t.Errorf("written as if it were whole: %q", got.String())
			}
		})
	}
}

// A request that was written reads back as the same request.
func TestRequestRoundTrip(t *testing.T) {
	for _, set := range []func(*gallop.Request){
		func(r *gallop.Request) { r.SetBodyString("abc") },
		func(r *gallop.Request) { r.SetBodyStream(strings.NewReader("abc"), 3) },
		func(r *gallop.Request) { r.SetBodyStream(strings.NewReader("abc"), -1) },
		func(r *gallop.Request) { r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) },
	} {
		var sent, got gallop.Request
		sent.SetRequestURI("http://a.example/b?c=d")
		sent.Header.SetMethod("POST")
		set(&sent)
		if err := got.Read(bufio.NewReader(strings.NewReader(sent.String()))); err != nil {
			t.Fatal(err)
		}
		if string(got.Body()) != "abc" || got.URI().String() != "http://a.example/b?c=d" || !got.Header.IsPost() {
			t.Errorf("%q, %s", got.Body(), got.URI())
		}
	}
}

// The temporary buffers of WriteTo do not count what did not go out.
func TestWriteToCounts(t *testing.T) {
	var resp gallop.Response
	resp.SetBodyString("abc")
	if n, err := resp.WriteTo(io.Discard); n != int64(len(resp.String())) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := resp.WriteTo(wiretest.FailingWriter{}); n != 0 || err != wiretest.ErrTest {
		t.Errorf("%d, %v", n, err)
	}
}
