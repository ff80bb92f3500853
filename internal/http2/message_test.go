package http2

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/message"
)

// RFC 9113 §8.2 and §8.3: malformed requests are stream errors.
func TestRequestRules(t *testing.T) {
	bad := "S 1 PROTOCOL_ERROR"
	method, scheme, authority, path := get[0], get[1], get[2], get[3]
	var rules []rule
	row := func(name, want string, lines ...string) {
		rules = append(rules, rule{name, headers(1, 0, lines...), want})
	}
	row("usual", "", get...)
	row("another order", "", path, authority, scheme, method)
	row("upper case in a name", bad, with(get, "Accept: x")...)
	row("blank in a name", bad, with(get, "a b: x")...)
	row("control character in a name", bad, with(get, "a\x00b: x")...)
	row("DEL in a name", bad, with(get, "a\x7f: x")...)
	row("byte above ASCII in a name", bad, with(get, "a\xe4: x")...)
	rules = append(rules, rule{"colon in a name", frame(typeHeaders, flagEndHeaders, 1, block(get...), "\x00\x03a:b\x01x"), bad})
	rules = append(rules, rule{"empty name", frame(typeHeaders, flagEndHeaders, 1, block(get...), "\x00\x00\x01x"), bad})
	row("NUL in a value", bad, with(get, "a: x\x00y")...)
	row("CR in a value", bad, with(get, "a: x\ry")...)
	row("LF in a value", bad, with(get, "a: x\ny")...)
	row("blank at the start of a value", bad, with(get, "a:  x")...)
	row("blank at the end of a value", bad, with(get, "a: x ")...)
	row("tab at the end of a value", bad, with(get, "a: x\t")...)
	row("tab in a value", "", with(get, "a: x\ty")...)
	row("byte above ASCII in a value", "", with(get, "a: x\xe4y")...)
	row("empty value", "", with(get, "a: ")...)
	row("LF in a path", bad, method, scheme, authority, ":path: /\na")
	row("LF in a method", bad, ":method: GET\n", scheme, authority, path)

	row("Connection", bad, with(get, "connection: close")...)
	row("Proxy-Connection", bad, with(get, "proxy-connection: close")...)
	row("Keep-Alive", bad, with(get, "keep-alive: 1")...)
	row("Transfer-Encoding", bad, with(get, "transfer-encoding: chunked")...)
	row("Upgrade", bad, with(get, "upgrade: h2c")...)
	row("HTTP2-Settings is ignored", "", with(get, "http2-settings: AAA")...)
	row("TE: trailers", "", with(get, "te: trailers")...)
	row("TE: gzip", bad, with(get, "te: gzip")...)
	row("TE: trailers and more", bad, with(get, "te: trailers, gzip")...)
	row("TE in upper case", bad, with(get, "te: Trailers")...)

	row("pseudo-field after a regular field", bad, method, scheme, "a: b", authority, path)
	row("unknown pseudo-field", bad, with(get, ":test: x")...)
	row("pseudo-field of responses", bad, with(get, ":status: 200")...)
	row("no method", bad, scheme, authority, path)
	row("no scheme", bad, method, authority, path)
	row("no path", bad, method, scheme, authority)
	row("two methods", bad, with(get, method)...)
	row("two schemes", bad, with(get, scheme)...)
	row("two paths", bad, with(get, path)...)
	row("two authorities", bad, with(get, authority)...)
	row("empty method", bad, ":method: ", scheme, authority, path)
	row("method that is no token", bad, ":method: G T", scheme, authority, path)
	row("unknown method", "", ":method: BREW", scheme, authority, path)
	row("empty path", bad, method, scheme, authority, ":path: ")
	row("path without a slash", bad, method, scheme, authority, ":path: a")
	row("absolute path", bad, method, scheme, authority, ":path: http://a/")
	row("asterisk", bad, method, scheme, authority, ":path: *")
	row("asterisk with OPTIONS", "", ":method: OPTIONS", scheme, authority, ":path: *")
	row("scheme http", "", method, ":scheme: http", authority, path)
	row("scheme in upper case", "", method, ":scheme: HTTPS", authority, path)
	row("other scheme", bad, method, ":scheme: ftp", authority, path)

	row("Host that agrees", "", with(get, "host: a")...)
	row("Host in upper case", "", with(get, "host: A")...)
	row("Host with the default port", "", with(get, "host: a:443")...)
	row("Host with another port", bad, with(get, "host: a:80")...)
	row("Host with the default port of http", "", method, ":scheme: http", authority, path, "host: a:80")
	row("Host with the default port of https", bad, method, ":scheme: http", authority, path, "host: a:443")
	row("Host that differs", bad, with(get, "host: b")...)
	row("Host without authority", "", method, scheme, path, "host: a")
	row("two Hosts", bad, method, scheme, path, "host: a", "host: a")
	row("two Hosts with authority", bad, with(get, "host: a", "host: a")...)
	row("neither Host nor authority", bad, method, scheme, path)

	row("CONNECT", "", ":method: CONNECT", ":authority: a:1")
	row("CONNECT without authority", bad, ":method: CONNECT", "host: a:1")
	row("CONNECT with scheme", bad, ":method: CONNECT", scheme, ":authority: a:1")
	row("CONNECT with path", bad, ":method: CONNECT", path, ":authority: a:1")
	row("CONNECT with content", bad, ":method: CONNECT", ":authority: a:1", "content-length: 5")
	row("extended CONNECT without the setting", bad, ":method: CONNECT", ":protocol: websocket", scheme, authority, path)
	row("protocol without CONNECT", bad, with(get, ":protocol: websocket")...)

	row("Content-Length", "", with(get, "content-length: 5")...)
	row("Content-Length twice, equal", bad, with(get, "content-length: 5", "content-length: 5")...)
	row("Content-Length twice, different", bad, with(get, "content-length: 5", "content-length: 6")...)
	row("Content-Length that is no number", bad, with(get, "content-length: 5x")...)
	row("negative Content-Length", bad, with(get, "content-length: -5")...)
	row("list in Content-Length", bad, with(get, "content-length: 5, 5")...)
	rules = append(rules, rule{"Content-Length without body", headers(1, flagEndStream, with(get, "content-length: 5")...), bad})
	rules = append(rules, rule{"Content-Length 0 without body", headers(1, flagEndStream, with(get, "content-length: 0")...), ""})
	tryAll(t, started, rules)
}

// A malformed request is decoded to its end, because the next one may refer to what it stores.
func TestTableAfterMalformed(t *testing.T) {
	s := started(t)
	s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, 1, block("A: b"), "\x40\x01x\x01y") +
		frame(typeHeaders, flagEndHeaders|flagEndStream, 3, block(get...), "\xbe")))
	if want := "head 3 GET https / [host=a; x=y] end"; len(s.events) != 2 || s.events[1] != want {
		t.Errorf("got %q, want %q", s.events, want)
	}
	s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, 5, block("A: b"), "\xff\x00")))
	if s.c.failed != ErrCompression {
		t.Errorf("got %v", s.c.failed)
	}
}

// RFC 8441.
func TestExtendedConnect(t *testing.T) {
	willing := func(t testing.TB) *side {
		cfg := testConfig(Server)
		cfg.ExtendedConnect = true
		s := newSide(cfg)
		if got := strings.Join(s.sent(t), "; "); !strings.Contains(got, " 8=1") {
			t.Errorf("sent %s", got)
		}
		s.feed([]byte(hello))
		s.events = nil
		return s
	}
	all := []string{":method: CONNECT", ":protocol: websocket", ":scheme: https", ":authority: a", ":path: /chat"}
	bad := "S 1 PROTOCOL_ERROR"
	tryAll(t, willing, []rule{
		{"all pseudo-fields", headers(1, 0, all...), ""},
		{"plain CONNECT", headers(1, 0, ":method: CONNECT", ":authority: a:1"), ""},
		{"no scheme", headers(1, 0, all[0], all[1], all[3], all[4]), bad},
		{"no path", headers(1, 0, all[:4]...), bad},
		{"no authority", headers(1, 0, all[0], all[1], all[2], all[4]), bad},
		{"empty protocol", headers(1, 0, all[0], ":protocol: ", all[2], all[3], all[4]), bad},
		{"another method", headers(1, 0, ":method: GET", all[1], all[2], all[3], all[4]), bad},
	})
	s := willing(t)
	s.feed([]byte(headers(1, 0, all...) + data(1, 0, "abc")))
	if got, want := strings.Join(s.events, "\n"), "head 1 CONNECT https /chat protocol=websocket [host=a]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h := &s.heads[0]; h.MethodID != message.Connect || h.Body != message.Chunked && h.Body != message.NoBody {
		t.Errorf("method %d, body %d", h.MethodID, h.Body)
	}
}

// RFC 9113 §8.1: bodies and trailers of requests.
func TestBodyRules(t *testing.T) {
	bad := "S 1 PROTOCOL_ERROR"
	long := headers(1, 0, with(get, "content-length: 3")...)
	tryAll(t, started, []rule{
		{"body of the right length", long + data(1, 0, "a") + data(1, flagEndStream, "bc"), ""},
		{"padded body of the right length", long + data(1, flagPadded|flagEndStream, "\x02abc\x00\x00"), ""},
		{"body that is too long", long + data(1, 0, "abcd"), bad},
		{"body that is too short", long + data(1, flagEndStream, "ab"), bad},
		{"body that is too short, then an empty end", long + data(1, 0, "ab") + data(1, flagEndStream, ""), bad},
		{"trailers after a body that is too short", long + data(1, 0, "ab") + headers(1, flagEndStream, "x: y"), bad},
		{"trailers", long + data(1, 0, "abc") + headers(1, flagEndStream, "x: y"), ""},
		{"trailers without a body", post(1) + headers(1, flagEndStream, "x: y"), ""},
		{"trailers without END_STREAM", post(1) + headers(1, 0, "x: y"), bad},
		{"second head without END_STREAM", post(1) + headers(1, 0, get...), bad},
		{"pseudo-field in trailers", post(1) + headers(1, flagEndStream, ":path: /"), bad},
		{"upper case in trailers", post(1) + headers(1, flagEndStream, "X: y"), bad},
		{"Connection in trailers", post(1) + headers(1, flagEndStream, "connection: close"), bad},
		{"DATA after trailers", post(1) + headers(1, flagEndStream, "x: y") + data(1, 0, "x"), "C STREAM_CLOSED"},
	})
}

// TestMessages looks at all that a Message shows.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags frameFlags
		lines []string
		want  string
		check func(h *message.Head) bool
	}{
		{"usual", flagEndStream, with(get, "accept: x", "x-y: z"), "GET https / [host=a; accept=x; x-y=z]",
			func(h *message.Head) bool {
				return h.MethodID == message.Get && h.Body == message.NoBody && h.Length == -1 && h.TargetChecked && h.Received && h.Flags == message.LongConnection
			}},
		{"body of known length", 0, []string{":method: POST", get[1], get[2], ":path: /a?b=c", "content-length: 7"},
			"POST https /a?b=c [host=a; content-length=7]",
			func(h *message.Head) bool {
				return h.MethodID == message.Post && h.Body == message.Fixed && h.Length == 7
			}},
		{"body of unknown length", 0, []string{":method: PUT", get[1], get[2], ":path: /%41"}, "PUT https /%41 [host=a]",
			func(h *message.Head) bool { return h.Body == message.Chunked && h.Length == -1 && !h.TargetChecked }},
		{"empty body of known length", 0, with(get, "content-length: 0"), "GET https / [host=a; content-length=0]",
			func(h *message.Head) bool { return h.Body == message.Fixed && h.Length == 0 }},
		{"Host instead of authority", flagEndStream, []string{get[0], get[1], get[3], "x: y", "host: b"}, "GET https / [x=y; host=b]", nil},
		{"Host and authority", flagEndStream, with(get, "x: y", "host: A"), "GET https / [host=a; x=y]", nil},
		{"no authority in front", flagEndStream, []string{get[0], get[1], get[3], get[2]}, "GET https / [host=a]", nil},
		{"CONNECT", 0, []string{":method: CONNECT", ":authority: a:1"}, "CONNECT  a:1 [host=a:1]",
			func(h *message.Head) bool {
				return h.MethodID == message.Connect && h.Length == -1 && h.Body == message.NoBody
			}},
		{"CONNECT with Content-Length 0", 0, []string{":method: CONNECT", ":authority: a:1", "content-length: 0"}, "CONNECT  a:1 [host=a:1; content-length=0]",
			func(h *message.Head) bool { return h.Length == -1 && h.Body == message.NoBody }},
		{"expectation", 0, with(get, "expect: 100-continue"), "GET https / [host=a; expect=100-continue]",
			func(h *message.Head) bool { return h.Flags == message.LongConnection|message.ExpectContinue }},
		{"cookies", flagEndStream, with(get, "cookie: a=1", "x: y", "cookie: b=2", "cookie: ", "cookie: c=3"),
			"GET https / [host=a; cookie=a=1; b=2; c=3; x=y]", nil},
		{"one cookie", flagEndStream, with(get, "cookie: a=1"), "GET https / [host=a; cookie=a=1]", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t)
			s.feed([]byte(headers(1, tt.flags, tt.lines...)))
			want := "head 1 " + tt.want
			if tt.flags&flagEndStream != 0 {
				want += " end"
			}
			if len(s.events) != 1 || s.events[0] != want {
				t.Fatalf("got %q, want %q", s.events, want)
			}
			if h := &s.heads[0]; tt.check != nil && !tt.check(h) {
				t.Errorf("head %+v", h)
			}
		})
	}
}

func TestTrailerFields(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1) + data(1, 0, "abc") + headers(1, flagEndStream, "x: y", "content-length: 3", "host: b", "authorization: z", "x-forwarded-for: q", "grpc-status: 0")))
	if got, want := s.events[len(s.events)-1], "trailers 1  [x=y; grpc-status=0] end"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A header list beyond the limit is reported with the head, so that the server can respond with 431. The connection goes on.
func TestExcess(t *testing.T) {
	many := get
	for range 101 {
		many = with(many, "a: b")
	}
	large := with(get, "a: "+strings.Repeat("x", 30000), "b: "+strings.Repeat("x", 30000), "c: "+strings.Repeat("x", 6000), "d: x", "e: y", "content-length: x")
	for name, lines := range map[string][]string{"fields": many, "list": large, "string": with(get, "a: "+strings.Repeat("x", 32<<10+1))} {
		s := started(t)
		s.feed([]byte(split(1, 16384, block(lines...)) + request(3)))
		if len(s.events) != 2 || !strings.HasSuffix(s.events[0], " excess") || !strings.HasPrefix(s.events[1], "head 3 ") {
			t.Errorf("%s: %.100q", name, s.events)
		}
		if got := verdicts(s.sent(t)); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if !s.c.Respond(1, 431, nil, true) {
			t.Errorf("%s: no response", name)
		}
		s.c.Release(1)
		if got := strings.Join(s.sent(t), "; "); got != "HEADERS 1 true true; RST 1 NO_ERROR" {
			t.Errorf("%s: sent %s", name, got)
		}
	}
}

// split returns HEADERS and CONTINUATION frames of at most n bytes.
func split(stream uint32, n int, block string) (frames string) {
	t := typeHeaders
	for ; len(block) > n; block = block[n:] {
		frames += frame(t, 0, stream, block[:n])
		t = typeContinuation
	}
	return frames + frame(t, flagEndHeaders, stream, block)
}

func TestPriorityOfRequests(t *testing.T) {
	s := started(t)
	update := func(stream uint32, value string) string {
		return frame(typePriorityUpdate, 0, 0, number(stream), value)
	}
	s.feed([]byte(headers(1, flagEndStream, with(get, "priority: u=1, i")...) + request(3) + update(3, "u=6") +
		update(5, "u=5") + update(5, "u=4, i") + update(7, "u=0") + request(5) + // in advance
		headers(9, flagEndStream, with(get, "priority: u=2", "priority: i")...)))
	for id, want := range map[uint32]Priority{1: {1, true}, 3: {6, false}, 5: {4, true}, 9: {2, true}} {
		if got := s.c.streams.slots[s.c.streams.find(id)].priority; got != want {
			t.Errorf("stream %d: %v, want %v", id, got, want)
		}
	}
	if n := len(s.c.closed.resets.early); n != 0 {
		t.Errorf("%d priorities are remembered", n)
	}
}
