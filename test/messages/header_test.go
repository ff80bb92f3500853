package messages_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// anyHeader is a RequestHeader or a ResponseHeader.
type anyHeader interface {
	All() iter.Seq2[[]byte, []byte]
	Set(name, value string)
	SetCanonical(name, value []byte)
	Add(name, value string)
	EnableNormalizing() bool
	DisableNormalizing() bool
}

// lines shows the fields of h with the names that are sent, one "name: value" a line.
func lines(h anyHeader) string {
	var b strings.Builder
	normalizes := h.DisableNormalizing()
	for name, value := range h.All() {
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	if normalizes {
		h.EnableNormalizing()
	}
	return b.String()
}

func TestFieldsAreKeptInOrderAndAsSpelled(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *gallop.RequestHeader)
		want  string
	}{
		{"Add appends", func(h *gallop.RequestHeader) {
			h.Add("X-a", "1")
			h.Add("via", "2")
			h.Add("x-A", "3")
		}, "X-a: 1\nvia: 2\nx-A: 3\n"},
		{"Set replaces the first and removes the others", func(h *gallop.RequestHeader) {
			h.Add("X-a", "1")
			h.Add("Via", "2")
			h.Add("x-A", "3")
			h.Set("x-a", "4")
		}, "x-a: 4\nVia: 2\n"},
		{"Set adds what is not there", func(h *gallop.RequestHeader) { h.Set("ETAG", `"x"`) }, "ETAG: \"x\"\n"},
		{"Del removes all lines", func(h *gallop.RequestHeader) {
			h.Add("Via", "1")
			h.Add("X", "2")
			h.Add("via", "3")
			h.Del("VIA")
		}, "X: 2\n"},
		{"Add sets what there is one of", func(h *gallop.RequestHeader) {
			for _, name := range []string{"Host", "Content-Type", "User-Agent", "Server", "Date", "Content-Length"} {
				h.Add(name, "1")
				h.Add(name, "2")
			}
		}, "Host: 2\nContent-Type: 2\nUser-Agent: 2\nServer: 2\nDate: 2\nContent-Length: 2\n"},
		{"blanks around values are taken off", func(h *gallop.RequestHeader) { h.Set("X", " \t a b\t ") }, "X: a b\n"},
		{"an empty value is one", func(h *gallop.RequestHeader) { h.Set("X", "") }, "X: \n"},
		{"normalizing", func(h *gallop.RequestHeader) {
			h.EnableNormalizing()
			h.Set("content-TYPE", "1")
			h.Add("FOO-bar", "2")
			h.Set("etag", "3")
			h.SetCanonical([]byte("as-it-is"), []byte("4"))
			h.Add("again-", "5")
			h.Set("Usual-Name2", "6")
			h.DisableNormalizing()
			h.Set("x-after", "7")
			h.Set("ETAG", "8")
			h.EnableNormalizing()
			h.Set("dnt", "9")
		}, "Content-Type: 1\nFoo-Bar: 2\nETAG: 8\nas-it-is: 4\nAgain-: 5\nUsual-Name2: 6\nx-after: 7\nDNT: 9\n"},
		{"in bytes", func(h *gallop.RequestHeader) {
			h.SetBytesK([]byte("A"), "1")
			h.SetBytesV("B", []byte("2"))
			h.SetBytesKV([]byte("C"), []byte("3"))
			h.AddBytesK([]byte("A"), "4")
			h.AddBytesV("B", []byte("5"))
			h.AddBytesKV([]byte("C"), []byte("6"))
			h.DelBytes([]byte("b"))
		}, "A: 1\nC: 3\nA: 4\nC: 6\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.RequestHeader
			h.DisableNormalizing()
			c.build(&h)
			if got := lines(&h); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if n := strings.Count(c.want, "\n"); h.Len() != n || len(h.PeekKeys()) != n {
				t.Errorf("Len %d, %d keys, want %d", h.Len(), len(h.PeekKeys()), n)
			}
		})
	}
}

func TestFindingIgnoresCase(t *testing.T) {
	var h gallop.RequestHeader
	h.DisableNormalizing()
	h.Add("x-Thing", "1")
	h.Add("X-THING", "2")
	h.Add("content-type", "3")
	h.Add("Empty", "")
	for name, want := range map[string]string{
		"X-Thing": "1", "x-thing": "1", "X-THING": "1", "Content-Type": "3", "CONTENT-TYPE": "3", "empty": "",
	} {
		for how, got := range map[string][]byte{
			"Peek": h.Peek(name), "PeekBytes": h.PeekBytes([]byte(name)), "PeekCanonical": h.PeekCanonical([]byte(name)),
		} {
			if got == nil || string(got) != want {
				t.Errorf("%s(%q) = %q", how, name, got)
			}
		}
	}
	for _, name := range []string{"", "x", "Content-Length", "X-Thing2", "no such"} {
		if got := h.Peek(name); got != nil {
			t.Errorf("Peek(%q) = %q", name, got)
		}
	}
	if got := fmt.Sprintf("%s", h.PeekAll("x-thing")); got != "[1 2]" {
		t.Errorf("PeekAll: %s", got)
	}
	if got := fmt.Sprintf("%s", h.PeekAll("none")); got != "[]" {
		t.Errorf("PeekAll of none: %s", got)
	}
	if got := fmt.Sprintf("%s", h.PeekKeys()); got != "[x-Thing X-THING content-type Empty]" {
		t.Errorf("PeekKeys: %s", got)
	}
}

// hostile is what must not get into a head as a name, value, or part of a first line.
var hostile = []string{"a\r\nX-Injected: yes", "a\nb", "a\rb", "a\x00b", "a\x7fb", "\x1b[2J", "a\v"}

func TestControlCharactersBecomeBlanks(t *testing.T) {
	for _, s := range hostile {
		want := strings.TrimRight(strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, s), " ")
		want = strings.TrimLeft(want, " ")
		var req gallop.RequestHeader
		var resp gallop.ResponseHeader
		wiretest.Must(t, resp.SetTrailer("T"))
		req.SetUserAgent(s)
		req.SetReferer(s)
		req.SetContentType(s)
		req.Add("X", s)
		resp.SetServer(s)
		resp.SetContentEncoding(s)
		resp.Set("X", s)
		resp.Set("T", s)
		for _, got := range []string{
			string(req.UserAgent()), string(req.Referer()), string(req.ContentType()), string(req.Peek("X")),
			string(resp.Server()), string(resp.ContentEncoding()), string(resp.Peek("X")), string(resp.PeekTrailer("T")),
		} {
			if got != want {
				t.Errorf("%q became %q, want %q", s, got, want)
			}
		}
	}
}

func TestSettersRefuseWhatWouldBreakOut(t *testing.T) {
	names := append([]string{"", "a b", "a:", "(a)", "a\tb", "ä", strings.Repeat("n", 1<<16)}, hostile...)
	var req gallop.RequestHeader
	var resp gallop.ResponseHeader
	req.SetHost("a")
	req.Set("X", "kept")
	resp.Set("X", "kept")
	wiretest.Must(t, resp.SetTrailer("T"))
	resp.Set("T", "kept")
	wantReq, wantResp := req.String(), resp.String()+string(resp.TrailerHeader())
	check := func(what, with string) {
		t.Helper()
		if got := req.String(); got != wantReq {
			t.Fatalf("%s(%.20q) made the request\n%.99s", what, with, got)
		}
		if got := resp.String() + string(resp.TrailerHeader()); got != wantResp {
			t.Fatalf("%s(%.20q) made the response\n%.99s", what, with, got)
		}
	}
	for _, s := range names {
		for _, h := range []anyHeader{&req, &resp} {
			h.Set(s, "v")
			h.Add(s, "v")
			h.SetCanonical([]byte(s), []byte("v"))
		}
		if s != "" { // which means something for these
			if len(s) <= 64 {
				req.SetCookie(s, "v")
			}
			req.SetMethod(s)
			for _, err := range []error{resp.SetTrailer(s), resp.AddTrailer(s), req.SetTrailer(s)} {
				if err != gallop.ErrBadTrailer {
					t.Errorf("trailer %.20q: %v", s, err)
				}
			}
		}
		check("a name", s)
	}
	for _, s := range hostile {
		for _, h := range []anyHeader{&req, &resp} {
			for _, name := range []string{"Host", "Cookie", "Connection", "Content-Length",
				"Transfer-Encoding", "Trailer", "Set-Cookie", "Expect"} {
				h.Set(name, s)
				h.Add(name, s)
			}
		}
		req.SetRequestURI(s)
		req.SetMethod(s)
		req.SetProtocol(s)
		req.SetHost(s)
		req.SetCookie("c", s)
		req.SetMultipartFormBoundary(s)
		resp.SetProtocol([]byte(s))
		check("a value", s)
	}
	for _, s := range []string{"", "x", "-1", "+1", "1 2", "1,1", "0x10", "9223372036854775808"} {
		req.Set("Content-Length", s)
		resp.Add("Content-Length", s)
		check("Content-Length", s)
	}
	for _, s := range []string{"", "gzip", "identity", "gzip, chunked", "chunked, chunked", "chunked;a=b"} {
		req.Set("Transfer-Encoding", s)
		resp.Add("Transfer-Encoding", s)
		check("Transfer-Encoding", s)
	}
	for _, s := range []string{"a b", "close;x", `"close"`} {
		req.Set("Connection", s)
		resp.Add("Connection", s)
		check("Connection", s)
	}
	for _, s := range []string{"HTTP/2", "HTTP/1.2", "http/1.1", "", "HTTP/1.1 "} {
		req.SetProtocol(s)
		resp.SetProtocol([]byte(s))
		check("protocol", s)
	}
}

func TestViewsOutliveChangesOfAHeader(t *testing.T) {
	var h gallop.RequestHeader
	h.SetRequestURI("/first")
	h.Set("X", "first")
	uri, x := h.RequestURI(), h.Peek("X")
	for i := range 5000 {
		h.SetRequestURI(fmt.Sprint("/other/", i))
		h.Set("X", fmt.Sprint("other ", i))
	}
	if string(uri) != "/first" || string(x) != "first" {
		t.Errorf("views became %q and %q", uri, x)
	}
	if got := h.String(); got != "GET /other/4999 HTTP/1.1\r\nX: other 4999\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

func TestResetMakesTheZeroValue(t *testing.T) {
	var h gallop.ResponseHeader
	want := h.String()
	h.SetStatusCode(404)
	h.SetStatusMessage([]byte("Gone fishing"))
	h.SetProtocol([]byte("HTTP/1.0"))
	h.SetContentLength(-2)
	h.SetConnectionClose()
	h.EnableNormalizing()
	h.SetNoDefaultContentType(true)
	wiretest.Must(t, h.SetTrailer("T"))
	h.Set("T", "1")
	h.PeekAll("T")
	h.Reset()
	if got := h.String(); got != want {
		t.Errorf("%q", got)
	}
	if h.ContentLength() != 0 || h.ConnectionClose() || string(h.TrailerHeader()) != "\r\n" || h.StatusCode() != 200 ||
		h.Peek("T") != nil || h.ContentType() == nil || !h.EnableNormalizing() {
		t.Error("something is left")
	}
}

func TestHeaderHas(t *testing.T) {
	var h gallop.ResponseHeader
	h.Set("X-A", "1")
	h.Set("X-Empty", "")
	h.SetTrailer("X-Sum")
	h.Set("X-Sum", "1")
	for name, want := range map[string]bool{"x-a": true, "X-Empty": true, "X-B": false, "X-Sum": true, "Content-Type": false, "": false} {
		if h.Has(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	h.SetContentType("text/plain; charset=utf-8") // the default
	if !h.Has("content-type") {
		t.Error("Content-Type is set")
	}
	h.Del("X-A")
	if h.Has("X-A") {
		t.Error("X-A was deleted")
	}
	var request gallop.RequestHeader
	request.SetHost("a")
	if !request.Has("host") || request.Has("User-Agent") {
		t.Errorf("%q", request.String())
	}
}
