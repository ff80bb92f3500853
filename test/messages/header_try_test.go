package messages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// TrySet and TryAdd report what Set and Add drop or change, and then leave the header alone.
func TestTrySetAndTryAdd(t *testing.T) {
	for _, tt := range []struct {
		name, key, value string
		ok               bool
	}{
		{"usual", "X-A", "b", true},
		{"blanks around", "X-A", "  b\t", true},
		{"empty", "X-A", "", true},
		{"length", "Content-Length", "12", true},
		{"options", "Connection", "close, x", true},
		{"cookie", "Cookie", "a=b", true},
		{"empty name", "", "b", false},
		{"blank in a name", "X A", "b", false},
		{"colon in a name", "X:", "b", false},
		{"long name", strings.Repeat("x", 1<<17), "b", false},
		{"end of line", "Content-Security-Policy", "default-src\r\n'self'", false},
		{"zero", "X-A", "a\x00b", false},
		{"no length", "Content-Length", "12a", false},
		{"other coding", "Transfer-Encoding", "gzip", false},
		{"no options", "Connection", "a b", false},
		{"no trailer", "Trailer", "Content-Length", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.RequestHeader
			var resp gallop.ResponseHeader
			for name, try := range map[string]func(key, value string) error{
				"RequestHeader.TrySet": req.TrySet, "RequestHeader.TryAdd": req.TryAdd,
				"ResponseHeader.TrySet": resp.TrySet, "ResponseHeader.TryAdd": resp.TryAdd,
			} {
				req.Reset()
				resp.Reset()
				err := try(tt.key, tt.value)
				if (err == nil) != tt.ok || err != nil && !errors.Is(err, gallop.ErrInvalidHeader) {
					t.Errorf("%s: %v", name, err)
				}
				if err != nil && len(err.Error()) > 200 {
					t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
				}
				if n := req.Len() + resp.Len(); (n == 1) != tt.ok {
					t.Errorf("%s: %d fields", name, n)
				}
			}
		})
	}
}

// They set and add as Set and Add do.
func TestTrySetIsSet(t *testing.T) {
	var set, try gallop.ResponseHeader
	set.Set("x-a", "1")
	set.Add("X-A", "2")
	set.Set("Set-Cookie", "a=1")
	set.Set("Set-Cookie", "b=2")
	for _, err := range []error{try.TrySet("x-a", "1"), try.TryAdd("X-A", "2"), try.TrySet("Set-Cookie", "a=1"), try.TrySet("Set-Cookie", "b=2")} {
		if err != nil {
			t.Error(err)
		}
	}
	if set.String() != try.String() {
		t.Errorf("got %q, want %q", try.String(), set.String())
	}
	var reqSet, reqTry gallop.RequestHeader
	for _, h := range []*gallop.RequestHeader{&reqSet, &reqTry} {
		h.Set("Cookie", "a=1")
	}
	reqSet.Set("Cookie", "b=2")
	if err := reqTry.TrySet("Cookie", "b=2"); err != nil {
		t.Error(err)
	}
	if reqSet.String() != reqTry.String() {
		t.Errorf("got %q, want %q", reqTry.String(), reqSet.String())
	}
}

func TestProtoAtLeast(t *testing.T) {
	for _, tt := range []struct {
		protocol           string
		is10, is11, is2, h bool
	}{
		{"HTTP/1.0", true, false, false, false},
		{"HTTP/1.1", true, true, false, true},
		{"HTTP/2.0", true, true, true, true},
		{"HTTP/3.0", true, true, true, true},
		{"HTTP/x.1", false, false, false, true},
		{"HTTP/1.10", false, false, false, true},
		{"websocket", false, false, false, true},
	} {
		var h gallop.RequestHeader
		h.SetProtocol(tt.protocol)
		if got := [...]bool{h.ProtoAtLeast(1, 0), h.ProtoAtLeast(1, 1), h.ProtoAtLeast(2, 0), h.IsHTTP11()}; got != [...]bool{tt.is10, tt.is11, tt.is2, tt.h} {
			t.Errorf("%s: %v", tt.protocol, got)
		}
	}
	if h := new(gallop.RequestHeader); !h.ProtoAtLeast(1, 1) || h.ProtoAtLeast(1, 2) {
		t.Error("a new header is not of HTTP/1.1")
	}
}

func TestLengthConstants(t *testing.T) {
	var h gallop.ResponseHeader
	for _, length := range []int{gallop.LengthUnknown, gallop.LengthUntilClose, 7} {
		if h.SetContentLength(length); h.ContentLength() != length {
			t.Errorf("got %d, want %d", h.ContentLength(), length)
		}
	}
	if h.SetContentLength(gallop.LengthUnknown); !strings.Contains(h.String(), "Transfer-Encoding: chunked") {
		t.Errorf("%q", h.String())
	}
}

// Resolve does what Update does, and an error leaves the URI as it was.
func TestURIResolve(t *testing.T) {
	for _, tt := range []struct {
		ref, want string
		as        any // the error; nil for none
	}{
		{"c", "http://user:p@h/a/c", nil},
		{"", "http://user:p@h/a/b?q#f", nil},
		{"//g/x?y", "http://g/x?y", nil},
		{"https://g", "https://g/", nil},
		{"http://[::1/", "", nil},
		{"http://a\x00/", "", nil},
		{"//", "", nil},
		{"http://a b/", "", new(gallop.InvalidHostError)},
		{"http://%41/", "", new(gallop.EscapeError)},
	} {
		const base = "http://user:p@h/a/b?q#f"
		var u, updated gallop.URI
		for _, u := range []*gallop.URI{&u, &updated} {
			if err := u.Parse(nil, []byte(base)); err != nil {
				t.Fatal(err)
			}
		}
		before := u.String()
		err := u.Resolve(tt.ref)
		updated.Update(tt.ref)
		if tt.want == "" {
			if !errors.Is(err, gallop.ErrInvalidURI) || !errors.Is(err, gallop.ErrorInvalidURI) || tt.as != nil && !errors.As(err, tt.as) {
				t.Errorf("%q: %v", tt.ref, err)
			}
			if u.String() != before || u.Password() == nil {
				t.Errorf("%q: it is %q afterwards", tt.ref, u.String())
			}
			if len(updated.Host()) > 0 {
				t.Errorf("%q: Update leaves %q", tt.ref, updated.String())
			}
			continue
		}
		if err != nil || u.String() != updated.String() {
			t.Errorf("%q: got %q, %v, want %q", tt.ref, u.String(), err, updated.String())
		}
	}
}
