package messages_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

func TestMethods(t *testing.T) {
	is := map[string]func(h *gallop.RequestHeader) bool{
		"GET": (*gallop.RequestHeader).IsGet, "HEAD": (*gallop.RequestHeader).IsHead, "POST": (*gallop.RequestHeader).IsPost,
		"PUT": (*gallop.RequestHeader).IsPut, "DELETE": (*gallop.RequestHeader).IsDelete, "CONNECT": (*gallop.RequestHeader).IsConnect,
		"OPTIONS": (*gallop.RequestHeader).IsOptions, "TRACE": (*gallop.RequestHeader).IsTrace, "PATCH": (*gallop.RequestHeader).IsPatch,
		"QUERY": (*gallop.RequestHeader).IsQuery,
	}
	for _, method := range []string{"", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY", "get", "PURGE"} {
		var h gallop.RequestHeader
		h.SetMethod("PURGE")
		h.SetMethod(method)
		want := method
		if want == "" {
			want = "GET"
		}
		if got := string(h.Method()); got != want {
			t.Errorf("SetMethod(%q): %q", method, got)
		}
		for name, f := range is {
			if f(&h) != (name == want) {
				t.Errorf("%q is %s: %v", method, name, f(&h))
			}
		}
	}
}

func TestRequestTarget(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "/a?b=c%20d": "/a?b=c%20d", "/a b  c": "/a%20b%20%20c", "http://a/b": "http://a/b", "*": "*", "/ä": "/ä",
		"?a=b": "/?a=b", "?a b": "/?a%20b",
	} {
		var h gallop.RequestHeader
		h.SetRequestURI("/before")
		h.SetRequestURIBytes([]byte(in))
		if got := string(h.RequestURI()); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	var h gallop.RequestHeader
	h.SetRequestURI("/before")
	h.SetRequestURI("/a\tb")
	if got := string(h.RequestURI()); got != "/before" {
		t.Errorf("a tab: %q", got)
	}
}

func TestHasAcceptEncoding(t *testing.T) {
	for _, c := range []struct {
		accept string // of each line, "" for no field
		coding string
		want   bool
	}{
		{"", "gzip", false},
		{"gzip", "gzip", true},
		{"GZip", "gzIP", true},
		{"deflate,gzip", "gzip", true},
		{"deflate , gzip\t", "gzip", true},
		{"xgzip", "gzip", false},
		{"gzipx", "gzip", false},
		{"gzip;q=1.0", "gzip", true},
		{"gzip ; q=0.001", "gzip", true},
		{"gzip;Q=0.5", "gzip", true},
		{"gzip;q=0", "gzip", false},
		{"gzip;q=0.", "gzip", false},
		{"gzip;q=0.000", "gzip", false},
		{"gzip;q=0, br", "gzip", false},
		{"gzip;q=0, br", "br", true},
		{"gzip;q=", "gzip", false},
		{"gzip;q=x", "gzip", false},
		{"gzip;q=0x1", "gzip", false},
		{"gzip;q=0.5x", "gzip", false},
		{"gzip;q=-1", "gzip", false},
		{"gzip;q=1.5", "gzip", false},
		{"gzip;q=0.1234", "gzip", false},
		{"gzip; q = 0", "gzip", false},
		{"gzip; q = 0.5", "gzip", true},
		{"gzip;q", "gzip", false},
		{"gzip, gzip;q=0", "gzip", false},
		{"gzip;q=0, gzip", "gzip", false},
		{"gzip;a=b;q=0", "gzip", false},
		{"gzip;a=b", "gzip", true},
		{"*", "gzip", true},
		{"*;q=0", "gzip", false},
		{"*;q=0, gzip", "gzip", true},
		{"gzip;q=0, *", "gzip", false},
		{"*, gzip;q=0", "gzip", false},
		{"identity", "gzip", false},
		{", ,", "", false},
	} {
		var h gallop.RequestHeader
		if c.accept != "" {
			h.Set("Accept-Encoding", c.accept)
		}
		if h.HasAcceptEncoding(c.coding) != c.want || h.HasAcceptEncodingBytes([]byte(c.coding)) != c.want {
			t.Errorf("%q accepts %q: %v", c.accept, c.coding, !c.want)
		}
	}
	var h gallop.RequestHeader
	h.Add("Accept-Encoding", "*")
	h.Add("Accept-Encoding", "br;q=0")
	if h.HasAcceptEncoding("br") || !h.HasAcceptEncoding("gzip") {
		t.Error("two lines are not one list")
	}
}

func TestMultipartFormBoundary(t *testing.T) {
	for contentType, want := range map[string]string{
		"": "", "multipart/form-data": "", "multipart/form-data; boundary=": "",
		"multipart/form-data; boundary=abc":            "abc",
		"Multipart/Form-Data;BOUNDARY=abc":             "abc",
		"multipart/form-data ; charset=x; boundary=ab": "ab",
		`multipart/form-data; boundary="a b"`:          "a b",
		"multipart/form-datax; boundary=abc":           "",
		"multipart/mixed; boundary=abc":                "",
		"text/plain; boundary=abc":                     "",
		`multipart/form-data; x="; boundary=no"`:       "",
	} {
		var h gallop.RequestHeader
		h.SetContentType(contentType)
		if got := string(h.MultipartFormBoundary()); got != want {
			t.Errorf("%q: %q", contentType, got)
		}
	}
	for boundary, want := range map[string]string{
		"abc": "multipart/form-data; boundary=abc", "a b": `multipart/form-data; boundary="a b"`, `a"b`: "", `a\b`: "",
	} {
		var h gallop.RequestHeader
		h.SetMultipartFormBoundary(boundary)
		if got := string(h.ContentType()); got != want || want != "" && string(h.MultipartFormBoundary()) != boundary {
			t.Errorf("%q: %q", boundary, got)
		}
	}
}

func TestSetByteRange(t *testing.T) {
	for _, c := range []struct {
		start, end int
		want       string
	}{
		{0, 0, "bytes=0-0"}, {5, 10, "bytes=5-10"}, {5, -1, "bytes=5-"}, {-5, 0, "bytes=-5"}, {math.MinInt, 0, fmt.Sprintf("bytes=%d", math.MinInt)},
	} {
		var h gallop.RequestHeader
		h.SetByteRange(c.start, c.end)
		if got := string(h.Peek("Range")); got != c.want {
			t.Errorf("%d, %d: %q", c.start, c.end, got)
		}
	}
}

func TestRequestFieldsByName(t *testing.T) {
	var h gallop.RequestHeader
	h.SetHost("h")
	h.SetUserAgent("u")
	h.SetReferer("r")
	h.SetContentType("t")
	h.SetContentEncoding("e")
	if string(h.Host())+string(h.UserAgent())+string(h.Referer())+string(h.ContentType())+string(h.ContentEncoding()) != "hurte" {
		t.Errorf("%q", h.String())
	}
	h.SetHostBytes([]byte("H"))
	h.SetUserAgentBytes([]byte("U"))
	h.SetRefererBytes([]byte("R"))
	h.SetContentTypeBytes([]byte("T"))
	h.SetContentEncodingBytes([]byte("E"))
	if got := lines(&h); got != "Host: H\nUser-Agent: U\nReferer: R\nContent-Type: T\nContent-Encoding: E\n" {
		t.Errorf("%q", got)
	}
	h.SetHost("")
	h.SetReferer(" ")
	h.SetContentTypeBytes(nil)
	if got := lines(&h); got != "User-Agent: U\nContent-Encoding: E\n" {
		t.Errorf("nothing removes: %q", got)
	}
}

func TestSpecialHeaderTellsWhatItWas(t *testing.T) {
	var h gallop.RequestHeader
	if h.EnableSpecialHeader() || h.DisableSpecialHeader() || !h.DisableSpecialHeader() || !h.EnableSpecialHeader() {
		t.Error("not the state before")
	}
}

func TestProtocolOfARequest(t *testing.T) {
	var h gallop.RequestHeader
	for _, tt := range []struct{ set, want, sent string }{
		{"HTTP/1.0", "HTTP/1.0", " HTTP/1.0\r\n"},
		{"https", "https", " HTTP/1.1\r\n"},
		{"HTTP/2", "HTTP/2", " HTTP/1.1\r\n"},
		{"a\r\nb", "HTTP/2", " HTTP/1.1\r\n"},
		{"HTTP/1.1", "HTTP/1.1", " HTTP/1.1\r\n"},
	} {
		h.SetProtocol(tt.set)
		if got := string(h.Protocol()); got != tt.want || !strings.Contains(h.String(), tt.sent) {
			t.Errorf("%q: %q, sent as %q", tt.set, got, h.String())
		}
	}
	h.SetProtocol("h3")
	var kept gallop.RequestHeader
	h.CopyTo(&kept)
	h.Reset()
	if string(h.Protocol()) != "HTTP/1.1" || string(kept.Protocol()) != "h3" {
		t.Errorf("%q after Reset, %q copied", h.Protocol(), kept.Protocol())
	}
}

func TestPeekKeysAndPeekAllDoNotMeet(t *testing.T) {
	var h gallop.RequestHeader
	h.Add("A", "1")
	h.Add("B", "2")
	h.Add("A", "3")
	var got []string
	for _, key := range h.PeekKeys() {
		for _, value := range h.PeekAll(string(key)) {
			got = append(got, string(key)+string(value))
		}
	}
	if s := strings.Join(got, " "); s != "A1 A3 B2 A1 A3" {
		t.Error(s)
	}
}
