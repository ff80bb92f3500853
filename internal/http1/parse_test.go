package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

var defaults = Limits{Target: 16 << 10, Head: 64 << 10, Fields: 256}

// browser is a request as sent by a browser.
const browser = "GET /catalog/items?category=shoes&page=3&sort=price HTTP/1.1\r\n" +
	"Host: shop.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"Cache-Control: max-age=0\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"124\", \"Google Chrome\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"sec-ch-ua-platform: \"Linux\"\r\n" +
	"DNT: 1\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-User: ?1\r\n" +
	"Sec-Fetch-Dest: document\r\n" +
	"Referer: https://shop.example.com/catalog\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; _ga=GA1.2.1234567890.1234567890\r\n" +
	"If-None-Match: \"abc123\"\r\n" +
	"X-Requested-With: XMLHttpRequest\r\n" +
	"\r\n"

// parsed is a head and the parser that fills it.
type parsed struct {
	message.Head
	p Parser
}

func (h *parsed) Reset() {
	h.Head.Reset()
	h.p = Parser{}
}

func parseRequest(h *parsed, b []byte, lim *Limits) (int, error) {
	return h.p.ParseRequest(&h.Head, b, lim)
}

func parseResponse(h *parsed, b []byte, lim *Limits) (int, error) {
	return h.p.ParseResponse(&h.Head, b, lim)
}

func dumpHead(h *parsed, n int, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %q %q %d 1.%d flags=%b body=%d/%d\n", n, h.Fields.Bytes(h.Method), h.Fields.Bytes(h.Target),
		h.Fields.Bytes(h.Reason), h.Status, h.Minor, h.Flags, h.Body, h.Length)
	for i := range h.Fields.Len() {
		name, value := h.Fields.At(i)
		fmt.Fprintf(&b, "%s=%q\n", name, value)
	}
	return b.String()
}

type parseFunc func(*parsed, []byte, *Limits) (int, error)

// parseWhole parses b at once: into a fresh Head, and into Heads that have parsed the same or another message before,
// because their expectations must not make a difference. It parses copies, so that no parse sees what an earlier one
// wrote.
func parseWhole(f parseFunc, b []byte, lim *Limits) string {
	var fresh, other parsed
	want := parseInto(&fresh, f, b, lim)
	fresh.Reset()
	parseInto(&other, parseRequest, []byte(browser), &defaults)
	other.Reset()
	for _, h := range []*parsed{&fresh, &other} {
		if got := parseInto(h, f, b, lim); got != want {
			return "again: " + got + "at first: " + want
		}
	}
	return want
}

func parseInto(h *parsed, f parseFunc, b []byte, lim *Limits) string {
	n, err := f(h, bytes.Clone(b), lim)
	if n == 0 && err == nil {
		return "more"
	}
	if err == nil && h.TargetChecked {
		if form, err := target.Check(h.Fields.Bytes(h.Method), h.Fields.Bytes(h.Target)); form != target.Origin || err != nil {
			return fmt.Sprintf("target that is not checked: %v, %v", form, err)
		}
	}
	return dumpHead(h, n, err)
}

// parseCut parses b while it arrives in pieces, split at the cuts.
func parseCut(f parseFunc, b []byte, lim *Limits, cuts ...int) string {
	b = bytes.Clone(b)
	var h parsed
	for _, c := range append(cuts, len(b)) {
		if n, err := f(&h, b[:c:c], lim); n > 0 || err != nil {
			return dumpHead(&h, n, err)
		}
	}
	return "more"
}

var requests = []struct {
	name, in string
	want     error // nil: accepted
}{
	{"browser", browser, nil},
	{"smallest", "GET / HTTP/1.1\r\nHost:\r\n\r\n", nil},
	{"empty line before", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", nil},
	{"eight empty lines before", strings.Repeat("\r\n", 8) + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", nil},
	{"nine empty lines before", strings.Repeat("\r\n", 9) + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethod},
	{"empty line and a bare CR before", "\r\n\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethod},
	{"1.0 without Host", "GET / HTTP/1.0\r\n\r\n", nil},
	{"1.9 is 1.1", "GET / HTTP/1.9\r\nHost: a\r\n\r\n", nil},
	{"fixed body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0005\r\n\r\nhello", nil},
	{"chunked body", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n", nil},
	{"expectation", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n", nil},
	{"connection list", "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\nConnection: upgrade\r\n\r\n", nil},
	{"obs-text and tabs", "GET /\xe9 HTTP/1.1\r\nHost: a\r\nX: \t caf\xe9\tx \t\r\nY:\r\n\r\n", nil},
	{"all tchar", "!#$%&'*+-.^_`|~09AZaz / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09AZaz: 1\r\n\r\n", nil},

	{"no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethod},
	{"separator in method", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethod},
	{"NUL before method", "\x00GET / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethod},
	{"long method", strings.Repeat("M", 65) + " / HTTP/1.1\r\nHost: a\r\n\r\n", ErrMethodTooLong},
	{"two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", ErrTarget},
	{"no version", "GET /\r\nHost: a\r\n\r\n", ErrTarget},
	{"control in target", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", ErrTarget},
	{"DEL in target", "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", ErrTarget},
	{"long target", "GET /" + strings.Repeat("a", 16<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", ErrTargetTooLong},
	{"blank in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", ErrRequestLine},
	{"junk in version", "GET / HTTP/\r\r1.1\r\nHost: a\r\n\r\n", ErrRequestLine},
	{"lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", ErrRequestLine},
	{"version with LF", "GET / HTTP/1.1\nHost: a\r\n\r\n", ErrRequestLine},
	{"version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", ErrVersion},
	{"preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ErrHTTP2},
	{"TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", ErrTLS},

	{"no Host", "GET / HTTP/1.1\r\n\r\n", ErrNoHost},
	{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", ErrTwoHosts},
	{"blank before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", ErrName},
	{"blank in name", "GET / HTTP/1.1\r\nHost: a\r\nA B: c\r\n\r\n", ErrName},
	{"no colon", "GET / HTTP/1.1\r\nHost: a\r\nabc\r\n\r\n", ErrName},
	{"no name", "GET / HTTP/1.1\r\nHost: a\r\n: c\r\n\r\n", ErrName},
	{"CR in name", "GET / HTTP/1.1\r\nContent\rLength: 1\r\n\r\n", ErrName},
	{"obs-fold", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", ErrFold},
	{"leading blank", "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", ErrFold},
	{"bare LF", "GET / HTTP/1.1\r\nHost: a\n\r\n\r\n", ErrLineEnd},
	{"bare CR", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", ErrLineEnd},
	{"NUL", "GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n", ErrLineEnd},
	{"LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", ErrName},
	{"CR ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\rX", ErrLineEnd},
	{"large head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", ErrHeadTooLarge},
	{"many fields", "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 257) + "\r\n", ErrTooManyFields},

	{"signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", ErrContentLength},
	{"empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", ErrContentLength},
	{"length list", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", ErrContentLength},
	{"huge length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\n", ErrContentLength},
	{"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", ErrTwoContentLengths},
	{"CL.TE", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ErrLengthAndEncoding},
	{"zero CL.TE", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", ErrLengthAndEncoding},
	{"chunked twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ErrTransferEncoding},
	{"chunked not last", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", ErrTransferEncoding},
	{"empty coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", ErrTransferEncoding},
	{"empty member", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n", ErrTransferEncoding},
	{"unknown coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ErrUnknownCoding},
	{"identity", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", ErrUnknownCoding},
	{"TE in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", ErrTransferEncoding10},
}

func TestParseRequest(t *testing.T) {
	for _, tc := range requests {
		t.Run(tc.name, func(t *testing.T) {
			var h parsed
			n, err := parseRequest(&h, []byte(tc.in), &defaults)
			if err != tc.want && (err != nil || tc.want != nil) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if err == nil && n == 0 {
				t.Fatal("wants more")
			}
		})
	}
}

func TestRequestsCutAnywhereAreTheSame(t *testing.T) {
	for _, tc := range requests {
		b := []byte(tc.in)
		want := parseWhole(parseRequest, b, &defaults)
		step := 1 + len(b)/2000
		for i := 0; i < len(b); i += step {
			if got := parseCut(parseRequest, b, &defaults, i); got != want {
				t.Fatalf("%s cut at %d:\n%s\nwhole:\n%s", tc.name, i, got, want)
			}
		}
		var every []int
		for i := range b {
			every = append(every, i)
		}
		if got := parseCut(parseRequest, b, &defaults, every...); got != want {
			t.Fatalf("%s byte by byte:\n%s\nwhole:\n%s", tc.name, got, want)
		}
	}
}

// The previous message in a Head only influences guesses.
func TestUsedHeadsParseAsFreshOnes(t *testing.T) {
	var h parsed
	for _, before := range requests {
		for _, tc := range requests {
			if len(before.in)+len(tc.in) > 4<<10 {
				continue
			}
			h.Reset()
			_, _ = parseRequest(&h, []byte(before.in), &defaults)
			h.Reset()
			b := []byte(tc.in)
			n, err := parseRequest(&h, b, &defaults)
			if got, want := dumpHead(&h, n, err), parseWhole(parseRequest, b, &defaults); got != want {
				t.Fatalf("%s behind %s:\n%s\nin a fresh head:\n%s", tc.name, before.name, got, want)
			}
		}
	}
}

func TestParsedRequest(t *testing.T) {
	in := "POST /p?q HTTP/1.1\r\nHost: a\r\nX-A:  v \r\nconnection: Keep-Alive, UPGRADE\r\nEXPECT: 100-continue\r\nContent-Length: 5\r\n\r\nhello"
	var h parsed
	n, err := parseRequest(&h, []byte(in), &defaults)
	want := fmt.Sprintf("%d \"POST\" \"/p?q\" \"\" 0 1.1 flags=%b body=%d/5\nHost=\"a\"\nX-A=\"v\"\nconnection=\"Keep-Alive, UPGRADE\"\nEXPECT=\"100-continue\"\nContent-Length=\"5\"\n",
		len(in)-5, message.ConnectionKeepAlive|message.ConnectionUpgrade|message.ExpectContinue|message.LongConnection, message.Fixed)
	if got := dumpHead(&h, n, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLongConnection(t *testing.T) {
	for head, want := range map[string]bool{
		"1.1\r\nHost: a\r\n":                        true,
		"1.1\r\nHost: a\r\nConnection: close\r\n":   false,
		"1.1\r\nHost: a\r\nConnection: ,,CLOSE\r\n": false,
		"1.0\r\n":                                       false,
		"1.0\r\nConnection: keep-alive\r\n":             true,
		"1.0\r\nConnection: keep-alive, close\r\n":      false,
		"1.1\r\nHost: a\r\nConnection:\r\nClose: 1\r\n": true,
		"1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\nConnection: y\r\n": false,
	} {
		var h parsed
		if _, err := parseRequest(&h, []byte("GET / HTTP/"+head+"\r\n"), &defaults); err != nil {
			t.Fatal(err)
		}
		if got := h.Flags&message.LongConnection != 0; got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}

func TestParseResponse(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		method   message.Method
		want     string // dump of the head, or the error
	}{
		{"ok", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", message.Get, "38 \"\" \"\" \"OK\" 200 1.1 flags=100000 body=1/5\nContent-Length=\"5\"\n"},
		{"no reason", "HTTP/1.1 204 \r\n\r\n", message.Get, "17 \"\" \"\" \"\" 204 1.1 flags=100000 body=0/-1\n"},
		{"no blank", "HTTP/1.1 304\r\n\r\n", message.Get, "16 \"\" \"\" \"\" 304 1.1 flags=100000 body=0/-1\n"},
		{"until close", "HTTP/1.1 200 a b\r\n\r\n", message.Get, "20 \"\" \"\" \"a b\" 200 1.1 flags=1 body=3/-1\n"},
		{"head", "HTTP/1.1 200 a\r\nContent-Length: 9\r\n\r\n", message.HeadMethod, "37 \"\" \"\" \"a\" 200 1.1 flags=100000 body=0/9\nContent-Length=\"9\"\n"},
		{"fold", "HTTP/1.1 204 a\r\nX: a\r\n\t b\r\n  c \r\nY: d\r\n\r\n", message.Get, "41 \"\" \"\" \"a\" 204 1.1 flags=100000 body=0/-1\nX=\"a  \\t b    c\"\nY=\"d\"\n"},
		{"fold of nothing", "HTTP/1.1 204 a\r\nX:\r\n b\r\n\r\n", message.Get, "26 \"\" \"\" \"a\" 204 1.1 flags=100000 body=0/-1\nX=\"b\"\n"},
		{"fold over a line of blanks", "HTTP/1.1 204 a\r\nX: a\r\n \r\n\tb\r\n \r\n\r\n", message.Get, "34 \"\" \"\" \"a\" 204 1.1 flags=100000 body=0/-1\nX=\"a     \\tb\"\n"},
		{"folded type", "HTTP/1.1 204 a\r\nContent-Type: a/b;\r\n c=d\r\n\r\n", message.Get, "44 \"\" \"\" \"a\" 204 1.1 flags=100000 body=0/-1\nContent-Type=\"a/b;   c=d\"\n"},
		{"folded coding", "HTTP/1.1 200 a\r\nTransfer-Encoding: chunked,\r\n x\r\n\r\n", message.Get, ErrFold.Error()},
		{"folded connection", "HTTP/1.1 204 a\r\nConnection: x,\r\n close\r\n\r\n", message.Get, ErrFold.Error()},
		{"folded length", "HTTP/1.1 200 a\r\nContent-Length: 1\r\n 2\r\n\r\n", message.Get, ErrFold.Error()},
		{"bad code", "HTTP/1.1 20x OK\r\n\r\n", message.Get, ErrStatusLine.Error()},
		{"four digits", "HTTP/1.1 2000 OK\r\n\r\n", message.Get, ErrStatusLine.Error()},
		{"low code", "HTTP/1.1 099 OK\r\n\r\n", message.Get, ErrStatusLine.Error()},
		{"control in reason", "HTTP/1.1 200 O\x00K\r\n\r\n", message.Get, ErrStatusLine.Error()},
		{"LF", "HTTP/1.1 200 OK\nX: y\r\n\r\n", message.Get, ErrStatusLine.Error()},
		{"version 2", "HTTP/2.0 200 OK\r\n\r\n", message.Get, ErrVersion.Error()},
		{"TE and CL", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", message.Get, ErrLengthAndEncoding.Error()},
		{"TE in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", message.Get, ErrTransferEncoding10.Error()},
	} {
		parse := func(h *parsed, b []byte, lim *Limits) (int, error) {
			n, err := parseResponse(h, b, lim)
			if n > 0 {
				if err = FrameResponse(&h.Head, tc.method); err != nil {
					n = 0
				}
			}
			return n, err
		}
		want := tc.want
		if strings.HasPrefix(want, "http1: ") {
			want = "error: " + want
		}
		if got := parseWhole(parse, []byte(tc.in), &defaults); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, want)
		}
		for i := range tc.in {
			if got := parseCut(parse, []byte(tc.in), &defaults, i); got != want {
				t.Errorf("%s cut at %d: got\n%s", tc.name, i, got)
			}
		}
	}
}

func TestParseRequestAllocatesNothing(t *testing.T) {
	b := []byte(browser)
	var h parsed
	if n := testing.AllocsPerRun(100, func() {
		h.Reset()
		if n, _ := parseRequest(&h, b, &defaults); n != len(b) {
			t.Fatal(n)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParseRequest checks that a head parses to the same result wherever it is cut. If net/http accepts the head as
// well, both must agree about its contents.
func FuzzParseRequest(f *testing.F) {
	for _, tc := range requests {
		if len(tc.in) < 2000 {
			f.Add([]byte(tc.in), 7, 13)
		}
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n"), 7, 13)
	f.Fuzz(func(t *testing.T, b []byte, i, j int) {
		lim := Limits{Target: 200, Head: 1000, Fields: 20}
		want := parseWhole(parseRequest, b, &lim)
		i, j = abs(i)%(len(b)+1), abs(j)%(len(b)+1)
		if got := parseCut(parseRequest, b, &lim, min(i, j), max(i, j)); got != want {
			t.Fatalf("cut at %d and %d:\n%s\nwhole:\n%s", i, j, got, want)
		}
		var h parsed
		n, err := parseRequest(&h, bytes.Clone(b), &lim)
		if n == 0 || err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		if r.Method != string(h.Fields.Bytes(h.Method)) || r.RequestURI != string(h.Fields.Bytes(h.Target)) {
			t.Fatalf("net/http reads %s %s", r.Method, r.RequestURI)
		}
		if h.Body == message.Fixed && r.ContentLength != h.Length || h.Body == message.Chunked && r.ContentLength != -1 || h.Body == message.NoBody && r.ContentLength != 0 {
			t.Fatalf("net/http reads length %d, this %d/%d", r.ContentLength, h.Body, h.Length)
		}
		for k := range h.Fields.Len() {
			name, value := h.Fields.At(k)
			key := http.CanonicalHeaderKey(string(name))
			if key == "Host" || key == "Transfer-Encoding" || key == "Trailer" {
				continue
			}
			values := r.Header[key]
			if key == "Cookie" && len(values) > 1 { // joined to one field, which net/http does not do
				values = []string{strings.Join(slices.DeleteFunc(values, func(v string) bool { return v == "" }), "; ")}
			}
			if len(values) > 0 && !slices.Contains(values, string(value)) {
				t.Fatalf("field %q: net/http reads %q, this %q", name, values, value)
			}
		}
	})
}

func abs(n int) int { return max(n, -n, 0) }

func FuzzParseResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"), 20)
	f.Add([]byte("HTTP/1.0 404\r\n\r\n"), 3)
	f.Fuzz(func(t *testing.T, b []byte, i int) {
		lim := Limits{Target: 200, Head: 1000, Fields: 20}
		want := parseWhole(parseResponse, b, &lim)
		if got := parseCut(parseResponse, b, &lim, abs(i)%(len(b)+1)); got != want {
			t.Fatalf("cut at %d:\n%s\nwhole:\n%s", i, got, want)
		}
	})
}

func BenchmarkParseRequest(b *testing.B) {
	for _, bm := range []struct{ name, in string }{
		{"browser", browser},
		{"hello", "GET /hello HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/8.0\r\nAccept: */*\r\n\r\n"},
		{"lower", strings.ToLower(browser[:4]) + strings.ReplaceAll(browser[4:], "Sec-Fetch", "sec-fetch")},
	} {
		b.Run(bm.name, func(b *testing.B) {
			in := []byte(bm.in)
			var h parsed
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				h.Reset()
				if n, err := parseRequest(&h, in, &defaults); n != len(in) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// BenchmarkParseRequestsInTurn parses heads whose fields differ from those of the previous head.
func BenchmarkParseRequestsInTurn(b *testing.B) {
	turned := strings.SplitAfter(browser, "\r\n")
	slices.Reverse(turned[1 : len(turned)-2])
	heads := [][]byte{[]byte(browser), []byte(strings.Join(turned, ""))}
	var h parsed
	b.SetBytes(int64(len(browser)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Reset()
		in := heads[i%2]
		if n, err := parseRequest(&h, in, &defaults); n != len(in) {
			b.Fatal(n, err)
		}
	}
}

func TestLinesAreAsReceived(t *testing.T) {
	const lines = "host: a\r\nX:  y \r\n\r\n"
	for _, first := range []string{"GET / HTTP/1.1\r\n", "\r\nGET / HTTP/1.0\r\n"} {
		in := []byte(first + lines + "body")
		var h parsed
		for end := range len(first) + len(lines) {
			if n, err := parseRequest(&h, in[:end], &defaults); n > 0 || err != nil || h.Received {
				t.Fatalf("%d bytes: %d, %v, parsed %v", end, n, err, h.Received)
			}
		}
		n, err := parseRequest(&h, in, &defaults)
		if got := string(h.Fields.Bytes(h.Lines)); err != nil || !h.Received || got != lines {
			t.Errorf("%v, parsed %v, %q", err, h.Received, got)
		}
		if h.Fields.Size() != n {
			t.Errorf("the list refers to %d bytes, the head has %d", h.Fields.Size(), n)
		}
		if h.Reset(); h.Received {
			t.Error("parsed after Reset")
		}
	}
}

func TestExpectIsAList(t *testing.T) {
	for value, want := range map[string]message.Flags{
		"": 0, ",": 0, "100-continue": message.ExpectContinue, "100-Continue , 100-continue": message.ExpectContinue, ", 100-continue,": message.ExpectContinue,
		"x": message.ExpectOther, "100-continue, x": message.ExpectContinue | message.ExpectOther, "x 100-continue": message.ExpectOther, `"100-continue"`: message.ExpectOther,
		"100-continue-x": message.ExpectOther, "100-continue;a": message.ExpectOther,
	} {
		var h parsed
		in := "GET / HTTP/1.1\r\nHost: a\r\nExpect: " + value + "\r\n\r\n"
		if n, err := parseRequest(&h, []byte(in), &defaults); n != len(in) || h.Flags&^message.LongConnection != want {
			t.Errorf("%q: %v, flags %b, want %b", value, err, h.Flags&^message.LongConnection, want)
		}
	}
}
