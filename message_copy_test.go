package gallop

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop/internal/http1"
)

// bitwise copies a message as an assignment does, without go vet seeing it.
func bitwise[T any](dst, src *T) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

// A message must not be copied by value. If somebody does, the copy is wrong and go vet says so, but nothing panics.
func TestMessagesCopiedByValueDoNotPanic(t *testing.T) {
	heads := []string{
		"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n",
		"POST /" + strings.Repeat("long", 500) + " HTTP/1.1\r\nHost: example.org\r\n" + strings.Repeat("x-many-more: value\r\n", 40) +
			"Cookie: a=b\r\nContent-Length: 5\r\n\r\n",
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		var req, copied Request
		var resp, copiedResp Response
		read := func(head string) {
			req.Header.Reset()
			if _, err := new(http1.Parser).ParseRequest(&req.Header.head, []byte(head), &readLimits); err != nil {
				t.Fatal(err)
			}
			resp.Reset()
			for range len(head) / 50 {
				resp.Header.Add("X-Some-Name", head[:40])
			}
		}
		read(heads[order[0]])
		bitwise(&copied, &req)
		bitwise(&copiedResp, &resp)
		read(heads[order[1]])
		useRequest(&copied)
		useRequest(&req)
		useResponse(&copiedResp)
		useResponse(&resp)
	}
}

func useRequest(req *Request) {
	useHeader(&req.Header.header)
	_, _ = req.String(), req.URI().String()
	req.Header.Cookie("a")
	req.Header.Set("Cookie", "a=b")
	req.PostArgs()
	req.CopyTo(new(Request))
	req.Reset()
}

func useResponse(resp *Response) {
	useHeader(&resp.Header.header)
	_ = resp.String()
	resp.CopyTo(new(Response))
	resp.Reset()
}

func useHeader(h *header) {
	for name := range h.All() {
		h.PeekAll(string(name))
	}
	h.PeekKeys()
	h.PeekTrailerKeys()
	h.Add("X-New", strings.Repeat("v", 100))
	h.Del("x-a")
	h.makeRoom(1 << 20)
}

// go vet reports copies of what holds a sync.Locker.
func TestVetSeesCopiesOfMessages(t *testing.T) {
	var _ sync.Locker = (*noCopy)(nil)
	for _, v := range []any{new(Request), new(Response), new(RequestHeader), new(ResponseHeader), new(URI), new(Args), new(Cookie)} {
		if f := reflect.TypeOf(v).Elem().Field(0); f.Type != reflect.TypeFor[noCopy]() {
			t.Errorf("%T begins with %s", v, f.Name)
		}
	}
}
