package gallop

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/wiretest"
)

const lowerHead = "GET / HTTP/1.1\r\nhost: h\r\nauthorization: x\r\nETAG: \"1\"\r\nwww-authenticate: a\r\nsec-websocket-key: k\r\n" +
	"x-own-name: 1\r\nX-OTHER: 2\r\nX-Usual: 3\r\nx-own-name: 4\r\ntrailer: x-sum, ETag\r\n\r\n"

const lowerKeys = "Host Authorization Etag Www-Authenticate Sec-Websocket-Key X-Own-Name X-Other X-Usual X-Own-Name Trailer"

func keysOf(loop func(yield func(name, value []byte) bool)) string {
	var names []string
	loop(func(name, _ []byte) bool {
		names = append(names, string(name))
		return true
	})
	return strings.Join(names, " ")
}

func TestLoopsShowCanonicalNames(t *testing.T) {
	var req RequestHeader
	wiretest.ReadHead(&req, lowerHead)
	var resp ResponseHeader
	_, status, _ := strings.Cut(lowerHead, "\r\n")
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n" + status))); err != nil {
		t.Fatal(err)
	}
	visit := func(visitAll func(func(key, value []byte))) func(func(name, value []byte) bool) {
		return func(yield func(name, value []byte) bool) {
			visitAll(func(key, value []byte) { yield(key, value) })
		}
	}
	for how, loop := range map[string]func(func(name, value []byte) bool){
		"request: All": req.All(), "request: AllInOrder": req.AllInOrder(), "request: VisitAll": visit(req.VisitAll),
		"request: VisitAllInOrder": visit(req.VisitAllInOrder), "response: All": resp.All(), "response: VisitAll": visit(resp.VisitAll),
	} {
		if got := keysOf(loop); got != lowerKeys {
			t.Errorf("%s: %s", how, got)
		}
	}
	if got := string(bytes.Join(req.PeekKeys(), []byte(" "))); got != lowerKeys {
		t.Errorf("PeekKeys: %s", got)
	}
	if got := string(bytes.Join(resp.PeekTrailerKeys(), []byte(" "))); got != "X-Sum Etag" {
		t.Errorf("PeekTrailerKeys: %s", got)
	}
	if got := string(req.RawHeaders()); got != status {
		t.Errorf("RawHeaders: %q", got)
	}
	var forwarded RequestHeader
	req.CopyTo(&forwarded)
	if head := string(forwarded.Header()); !strings.Contains(head, "\r\nx-own-name: 1\r\n") || !strings.Contains(head, "\r\nETAG: ") {
		t.Errorf("forwarded %q", head)
	}
	req.DisableNormalizing()
	if got := keysOf(req.All()); got != "host authorization ETAG www-authenticate sec-websocket-key x-own-name X-OTHER X-Usual x-own-name trailer" {
		t.Errorf("as they came: %s", got)
	}
}

func TestTrailersShowCanonicalNames(t *testing.T) {
	var h RequestHeader
	if err := h.ReadTrailer(bufio.NewReader(strings.NewReader("x-sum: 1\r\nETAG: 1\r\nX-Usual: 1\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(h.AllTrailers()); got != "X-Sum Etag X-Usual" {
		t.Errorf("AllTrailers: %s", got)
	}
	if got := trailerNames(&h); got != "[X-Sum Etag X-Usual]" {
		t.Errorf("Trailers: %s", got)
	}
}

// A header that changes between loops shows the names that it has then, and views of before hold.
func TestShownNamesFollowChanges(t *testing.T) {
	var h RequestHeader
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nhost: h\r\nx-a: 1\r\nx-b: 2\r\nx-ab: 3\r\n\r\n")
	before := append([][]byte(nil), h.PeekKeys()...)
	h.Del("x-a")
	h.SetCanonical([]byte("x-new-one"), []byte("4"))
	if got := keysOf(h.All()); got != "Host X-B X-Ab X-New-One" {
		t.Errorf("got %s", got)
	}
	if got := string(bytes.Join(before, []byte(" "))); got != "Host X-A X-B X-Ab" {
		t.Errorf("views became %s", got)
	}
	h.Reset()
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nhost: h\r\nx-c: 1\r\n\r\n")
	if got := keysOf(h.All()); got != "Host X-C" {
		t.Errorf("after Reset: %s", got)
	}
}

// The race detector watches what the goroutines write.
func TestShownNamesFromSeveralGoroutines(t *testing.T) {
	var h RequestHeader
	b := []byte(lowerHead)
	if _, err := new(http1.Parser).ParseRequest(&h.head, b, &readLimits); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if got := keysOf(h.All()); got != lowerKeys {
					t.Errorf("got %s", got)
				}
				h.VisitAllTrailer(func([]byte) {})
			}
		})
	}
	all.Wait()
	if string(b) != lowerHead {
		t.Error("the buffer of the connection was written to")
	}
}

func TestShowingNamesAllocatesAtMostOnce(t *testing.T) {
	for _, tt := range []struct {
		name, fields string
		want         float64
	}{
		{"known", "host: h\r\nuser-agent: a\r\nACCEPT: b\r\nwww-authenticate: c\r\n", 0},
		{"usual", "Host: h\r\nX-Usual-Name: a\r\n", 0},
		{"others", "host: h\r\n" + strings.Repeat("x-own: 1\r\nx-second-one: 2\r\nX-UPPER: 3\r\n", 20), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := []byte("GET / HTTP/1.1\r\n" + tt.fields + "\r\n")
			var h RequestHeader
			n := 0
			count := func(name, _ []byte) { n += len(name) }
			if got := testing.AllocsPerRun(20, func() {
				h.Reset()
				h.names.text = nil // as in a header that was not used before
				if _, err := new(http1.Parser).ParseRequest(&h.head, head, &readLimits); err != nil {
					t.Fatal(err)
				}
				h.VisitAll(count)
				for name := range h.All() {
					n += len(name)
				}
				h.PeekKeys()
			}); got > tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

const tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ----"

func TestShownNamesAgreeWithTextproto(t *testing.T) {
	check := func(name string) {
		var h header
		field.Add(&h.head.Fields, field.Lookup(name), name, "")
		if got, want := keysOf(h.All()), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%q is shown as %q, textproto has %q", name, got, want)
		}
	}
	for id := field.Unknown + 1; id.String() != ""; id++ {
		check(id.String())
		check(strings.ToLower(id.String()))
		check(strings.ToUpper(id.String()))
		if id == field.HTTP2Settings {
			break
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		name := make([]byte, 1+r.IntN(40))
		for i := range name {
			name[i] = tokenBytes[r.IntN(len(tokenBytes))]
		}
		check(string(name))
	}
}

func ExampleRequestHeader_All() {
	var h RequestHeader
	h.DisableNormalizing()
	h.Set("x-request-id", "7")
	h.EnableNormalizing()
	for name, value := range h.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output: X-Request-Id: 7
}
