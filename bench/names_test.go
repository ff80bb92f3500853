package bench

import (
	"bufio"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/valyala/fasthttp"
)

// knownNames returns the names in gallop's table.
func knownNames(t *testing.T) (names []string) {
	defer func() {
		if recover(); len(names) < 60 {
			t.Fatalf("only %d names", len(names))
		}
	}()
	for id := field.Unknown + 1; ; id++ { // String panics after the last one
		names = append(names, id.String())
	}
}

// moreNames are names in fasthttp's table, and names that only one of the packages or neither has.
const moreNames = "Accept Accept-CH Accept-Encoding Authorization Cache-Control Content-DPR Content-Language Content-Location DNT DPR ETag " +
	"Expect-CT HTTP2-Settings Last-Event-ID Last-Modified Location NEL Priority Proxy-Authenticate Range Referer Sec-CH-UA Sec-CH-UA-Mobile " +
	"Sec-Fetch-Site Sec-WebSocket-Accept Sec-WebSocket-Key SourceMap TE Tk Vary Via WWW-Authenticate X-DNS-Prefetch-Control X-Forwarded-For " +
	"X-Real-IP X-Request-ID X-UA-Compatible X-XSS-Protection traceparent tracestate x-own X_Own x.own -x- x--y"

// Both packages show the names of received fields in the same way.
func TestShownNamesAgreeWithFasthttp(t *testing.T) {
	var names []string
	for _, name := range knownNames(t) {
		for _, name := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			compareShown(t, []string{name}) // two framing fields would be refused
		}
	}
	for _, name := range strings.Fields(moreNames) {
		names = append(names, name, strings.ToLower(name), strings.ToUpper(name))
	}
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ----"
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		name := make([]byte, 1+r.IntN(40))
		for i := range name {
			name[i] = token[r.IntN(len(token))]
		}
		names = append(names, string(name))
	}
	for ; len(names) > 0; names = names[min(50, len(names)):] {
		compareShown(t, names[:min(50, len(names))])
	}
}

func compareShown(t *testing.T, names []string) {
	head := "POST / HTTP/1.1\r\n"
	if !strings.EqualFold(names[0], "Host") {
		head += "Host: h\r\n"
	}
	for _, name := range names {
		value := "1"
		if strings.EqualFold(name, "Transfer-Encoding") {
			value = "chunked"
		}
		head += name + ": " + value + "\r\n"
	}
	head += "\r\n"
	var ours gallop.RequestHeader
	var theirs fasthttp.RequestHeader
	if err := ours.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatal(err, head)
	}
	if err := theirs.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatal(err, head)
	}
	var got, want []string
	for name := range ours.All() {
		got = append(got, string(name))
	}
	for name := range theirs.All() {
		want = append(want, string(name))
	}
	slices.Sort(got) // fasthttp shows some names first
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
