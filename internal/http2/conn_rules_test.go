package http2

import (
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// rule is a row of RFC 9113's rules: the peer sends bytes, and gets a verdict: nothing, "S stream code" for each stream error,
// "C code" for a connection error.
type rule struct {
	name string
	in   string
	want string
}

// try feeds a row to a server whose streams are answered if their path is /done, in one piece and cut at each position. All must
// have the same outcome.
func try(t *testing.T, start func(testing.TB) *side, in, want string) {
	t.Helper()
	run := func(cut int) (events []string, frames []string) {
		s := start(t)
		s.onHead = func(ev Event) {
			if target := s.m.Head.Fields.Bytes(s.m.Head.Target); string(target) == "/done" {
				s.c.Respond(ev.Stream, 200, nil, true)
			}
		}
		s.feed([]byte(in[:cut]))
		s.feed([]byte(in[cut:]))
		return s.events, s.sent(t)
	}
	events, frames := run(0)
	if got := verdicts(frames); got != want {
		t.Errorf("got %q, want %q (events %q)", got, want, events)
	}
	step := 1 + len(in)/500
	if step > 1 && !wiretest.Full() {
		step = 1 + len(in)/100
	}
	for cut := 1; cut < len(in); cut += step {
		cutEvents, cutFrames := run(cut)
		if !slices.Equal(events, cutEvents) || !slices.Equal(frames, cutFrames) {
			t.Fatalf("cut at %d: %q %q, in one piece: %q %q", cut, cutEvents, cutFrames, events, frames)
		}
	}
}

func tryAll(t *testing.T, start func(testing.TB) *side, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) { try(t, start, r.in, r.want) })
	}
}

// done is a request that gets a response at once, so its stream is closed afterwards.
func done(stream uint32) string {
	return headers(stream, flagEndStream, ":method: GET", ":scheme: https", ":authority: a", ":path: /done")
}

func fresh(testing.TB) *side { return newSide(testConfig(Server)) }

// RFC 9113 §3.4.
func TestPreface(t *testing.T) {
	tryAll(t, fresh, []rule{
		{"right", hello, ""},
		{"HTTP/1", "GET / HTTP/1.1\r\n\r\n", "C PROTOCOL_ERROR"},
		{"differs at the end", Preface[:23] + "\r", "C PROTOCOL_ERROR"},
		{"no SETTINGS", Preface + frame(typePing, 0, 0, "12345678"), "C PROTOCOL_ERROR"},
		{"acknowledgment first", Preface + frame(typeSettings, flagAck, 0), "C PROTOCOL_ERROR"},
		{"unknown frame first", Preface + frame(0x20, 0, 0), "C PROTOCOL_ERROR"},
	})
	client := func(testing.TB) *side { return newSide(testConfig(Client)) }
	tryAll(t, client, []rule{
		{"right, from a server", settings(), ""},
		{"no SETTINGS, from a server", frame(typePing, 0, 0, "12345678"), "C PROTOCOL_ERROR"},
	})
}

// The preface is refused as soon as a byte differs.
func TestPrefaceAtOnce(t *testing.T) {
	s := newSide(testConfig(Server))
	s.feed([]byte("PRIX"))
	if got := verdicts(s.sent(t)); got != "C PROTOCOL_ERROR" {
		t.Errorf("got %q", got)
	}
}

// RFC 9113 §4 and §6: lengths, streams, padding.
func TestFrameRules(t *testing.T) {
	long := strings.Repeat("x", 16385)
	prio := number(0) + "\x10"
	tryAll(t, started, []rule{
		{"DATA too long", post(1) + data(1, 0, long), "C FRAME_SIZE_ERROR"},
		{"HEADERS too long", frame(typeHeaders, flagEndHeaders, 1, long), "C FRAME_SIZE_ERROR"},
		{"unknown type too long", frame(0x20, 0, 0, long), "C FRAME_SIZE_ERROR"},
		{"largest DATA", post(1) + data(1, 0, long[1:]), ""},
		{"unknown type", frame(0x20, 0xff, 7, "abc") + request(1), ""},
		{"unknown type with the longest payload", frame(0x0a, 0, 0, long[1:]) + request(1), ""},
		{"unknown flags", frame(typePing, 0xfe, 0, "12345678"), ""},
		{"reserved bit", frame(typePing, 0, 1<<31, "12345678"), ""},

		{"DATA on stream 0", data(0, 0, "x"), "C PROTOCOL_ERROR"},
		{"HEADERS on stream 0", headers(0, 0, get...), "C PROTOCOL_ERROR"},
		{"PRIORITY on stream 0", frame(typePriority, 0, 0, prio), "C PROTOCOL_ERROR"},
		{"RST_STREAM on stream 0", frame(typeRSTStream, 0, 0, number(8)), "C PROTOCOL_ERROR"},
		{"CONTINUATION on stream 0", frame(typeContinuation, 0, 0), "C PROTOCOL_ERROR"},
		{"SETTINGS on a stream", frame(typeSettings, 0, 1), "C PROTOCOL_ERROR"},
		{"PING on a stream", frame(typePing, 0, 1, "12345678"), "C PROTOCOL_ERROR"},
		{"GOAWAY on a stream", frame(typeGoAway, 0, 1, number(0), number(0)), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE on a stream", request(1) + frame(typePriorityUpdate, 0, 1, number(1), "u=1"), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE for stream 0", frame(typePriorityUpdate, 0, 0, number(0), "u=1"), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE of 3 bytes", frame(typePriorityUpdate, 0, 0, "abc"), "C FRAME_SIZE_ERROR"},
		{"PRIORITY_UPDATE that is no dictionary", request(1) + frame(typePriorityUpdate, 0, 0, number(1), "=;"), ""},
		{"PRIORITY_UPDATE for an idle stream", frame(typePriorityUpdate, 0, 0, number(9), "u=1"), ""},
		{"PRIORITY_UPDATE for a stream of the server", frame(typePriorityUpdate, 0, 0, number(2), "u=1"), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE for as many idle streams as permitted", early(1, 10) + early(1, 10), ""},
		{"PRIORITY_UPDATE for too many idle streams", early(1, 11), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE for too many idle streams beside open ones", request(1) + request(3) + early(5, 9), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE for idle streams that are opened", early(1, 10) + request(19) + early(21, 9), ""},
		{"PRIORITY_UPDATE for closed streams", done(101) + early(1, 50), ""},

		{"RST_STREAM of 3 bytes", request(1) + frame(typeRSTStream, 0, 1, "abc"), "C FRAME_SIZE_ERROR"},
		{"RST_STREAM of 5 bytes", request(1) + frame(typeRSTStream, 0, 1, "abcde"), "C FRAME_SIZE_ERROR"},
		{"SETTINGS of 5 bytes", frame(typeSettings, 0, 0, "abcde"), "C FRAME_SIZE_ERROR"},
		{"acknowledgment with payload", frame(typeSettings, flagAck, 0, "abcdef"), "C FRAME_SIZE_ERROR"},
		{"PING of 7 bytes", frame(typePing, 0, 0, "1234567"), "C FRAME_SIZE_ERROR"},
		{"PING of 9 bytes", frame(typePing, 0, 0, "123456789"), "C FRAME_SIZE_ERROR"},
		{"GOAWAY of 7 bytes", frame(typeGoAway, 0, 0, "1234567"), "C FRAME_SIZE_ERROR"},
		{"WINDOW_UPDATE of 3 bytes", frame(typeWindowUpdate, 0, 0, "abc"), "C FRAME_SIZE_ERROR"},
		{"WINDOW_UPDATE of 5 bytes", frame(typeWindowUpdate, 0, 0, "abcde"), "C FRAME_SIZE_ERROR"},
		{"PRIORITY of 4 bytes on an open stream", post(1) + frame(typePriority, 0, 1, "abcd"), "S 1 FRAME_SIZE_ERROR"},
		{"PRIORITY of 4 bytes on a running request", request(1) + frame(typePriority, 0, 1, "abcd"), "C FRAME_SIZE_ERROR"},
		{"PRIORITY of 6 bytes on an idle stream", frame(typePriority, 0, 1, "abcdef"), "C FRAME_SIZE_ERROR"},
		{"PRIORITY of 4 bytes on a closed stream", done(1) + frame(typePriority, 0, 1, "abcd"), "S 1 FRAME_SIZE_ERROR"},
		{"PUSH_PROMISE from a client", request(1) + frame(typePushPromise, flagEndHeaders, 1, number(2), block(get...)), "C PROTOCOL_ERROR"},

		{"padded DATA", post(1) + data(1, flagPadded, "\x03abc\x00\x00\x00"), ""},
		{"DATA that is all padding", post(1) + data(1, flagPadded, "\x03\x00\x00\x00"), ""},
		{"padding as long as DATA", post(1) + data(1, flagPadded, "\x04abc\x00"), ""},
		{"padding longer than DATA", post(1) + data(1, flagPadded, "\x05abc\x00"), "C PROTOCOL_ERROR"},
		{"padded DATA without a pad length", post(1) + data(1, flagPadded, ""), "C FRAME_SIZE_ERROR"},
		{"padded HEADERS", frame(typeHeaders, flagPadded|flagEndHeaders|flagEndStream, 1, "\x02", block(get...), "\x00\x00"), ""},
		{"padding longer than HEADERS", frame(typeHeaders, flagPadded|flagEndHeaders, 1, "\xff", block(get...)), "C PROTOCOL_ERROR"},
		{"padding one byte longer than HEADERS", frame(typeHeaders, flagPadded|flagEndHeaders, 1, "\x03", "\x82\x00"), "C PROTOCOL_ERROR"},
		{"HEADERS without a pad length", frame(typeHeaders, flagPadded|flagEndHeaders, 1), "C FRAME_SIZE_ERROR"},
		{"HEADERS with half a priority", frame(typeHeaders, flagPriority|flagEndHeaders, 1, "abc"), "C FRAME_SIZE_ERROR"},
		{"HEADERS with priority", frame(typeHeaders, flagPriority|flagEndHeaders, 1, prio, block(get...)), ""},
		{"HEADERS with priority and padding", frame(typeHeaders, flagPadded|flagPriority|flagEndHeaders, 1, "\x01", prio, block(get...), "\x00"), ""},
		{"HEADERS that depends on itself", frame(typeHeaders, flagPriority|flagEndHeaders, 1, number(1), "\x10", block(get...)), "S 1 PROTOCOL_ERROR"},
		{"PRIORITY that depends on itself", post(1) + frame(typePriority, 0, 1, number(1), "\x10"), "S 1 PROTOCOL_ERROR"},
		{"PRIORITY that depends on itself, idle", frame(typePriority, 0, 1, number(1), "\x10"), "C PROTOCOL_ERROR"},
		{"PRIORITY that depends on itself, closed", done(1) + frame(typePriority, 0, 1, number(1), "\x10"), "S 1 PROTOCOL_ERROR"},
		{"PRIORITY on an idle stream", frame(typePriority, 0, 9, prio) + request(1), ""},
	})
}

// early returns PRIORITY_UPDATE frames for n streams.
func early(first uint32, n int) (frames string) {
	for range n {
		frames += frame(typePriorityUpdate, 0, 0, number(first), "u=1")
		first += 2
	}
	return frames
}

// RFC 9113 §4.3 and §6.10.
func TestBlockRules(t *testing.T) {
	b := block(get...)
	first := frame(typeHeaders, flagEndStream, 1, b[:5])
	rest := frame(typeContinuation, flagEndHeaders, 1, b[5:])
	tryAll(t, started, []rule{
		{"in two frames", first + rest, ""},
		{"in four frames", first + frame(typeContinuation, 0, 1, b[5:7]) + frame(typeContinuation, 0, 1, b[7:9]) + frame(typeContinuation, flagEndHeaders, 1, b[9:]), ""},
		{"interrupted by DATA", post(1) + frame(typeHeaders, flagEndStream, 3, b[:5]) + data(1, 0, "x"), "C PROTOCOL_ERROR"},
		{"interrupted by PING", first + frame(typePing, 0, 0, "12345678") + rest, "C PROTOCOL_ERROR"},
		{"interrupted by an unknown frame", first + frame(0x20, 0, 0) + rest, "C PROTOCOL_ERROR"},
		{"interrupted by HEADERS", first + request(1), "C PROTOCOL_ERROR"},
		{"continued on another stream", first + frame(typeContinuation, flagEndHeaders, 3, b[5:]), "C PROTOCOL_ERROR"},
		{"CONTINUATION alone", rest, "C PROTOCOL_ERROR"},
		{"CONTINUATION after the end", request(1) + rest, "C PROTOCOL_ERROR"},
		{"invalid index", frame(typeHeaders, flagEndHeaders, 1, "\xff\x00"), "C COMPRESSION_ERROR"},
		{"literal with an invalid index", frame(typeHeaders, flagEndHeaders, 1, "\x7f\x00\x01x"), "C COMPRESSION_ERROR"},
		{"cut off", frame(typeHeaders, flagEndHeaders, 1, b[:len(b)-1]), "C COMPRESSION_ERROR"},
		{"invalid on a stream that is refused", frame(typeHeaders, flagPriority|flagEndHeaders, 1, number(1), "\x10\xff\x00"), "C COMPRESSION_ERROR"},
		{"invalid on a stream that was reset", request(1) + frame(typeRSTStream, 0, 1, number(8)) + frame(typeHeaders, flagEndHeaders, 1, "\xff\x00"), "C COMPRESSION_ERROR"},
	})
}

// A block in a single frame is limited as well.
func TestMaxBlock(t *testing.T) {
	small := func(t testing.TB) *side {
		cfg := testConfig(Server)
		cfg.MaxBlock = 1000
		s := newSide(cfg)
		s.feed([]byte(hello))
		return s
	}
	longest := "a: " + strings.Repeat("x", 1000-len(block(with(get, "a: ")...))-2)
	tryAll(t, small, []rule{
		{"within the limit", headers(1, 0, with(get, longest)...), ""},
		{"beyond the limit", headers(1, 0, with(get, longest+"x")...), "C ENHANCE_YOUR_CALM"},
	})
}

// RFC 9113 §5.1.
func TestStateRules(t *testing.T) {
	cancel := frame(typeRSTStream, 0, 1, number(8))
	update := frame(typeWindowUpdate, 0, 1, number(1))
	tryAll(t, started, []rule{
		{"even identifier", headers(2, flagEndStream, get...), "C PROTOCOL_ERROR"},
		{"identifiers that go back", request(5) + request(3), "C PROTOCOL_ERROR"},
		{"identifiers with gaps", request(5) + request(9), ""},
		{"DATA on an idle stream", data(1, 0, "x"), "C PROTOCOL_ERROR"},
		{"DATA on a stream of the server", data(2, 0, "x"), "C PROTOCOL_ERROR"},
		{"RST_STREAM on an idle stream", cancel, "C PROTOCOL_ERROR"},
		{"WINDOW_UPDATE on an idle stream", update, "C PROTOCOL_ERROR"},
		{"WINDOW_UPDATE on a stream of the server", frame(typeWindowUpdate, 0, 2, number(1)), "C PROTOCOL_ERROR"},

		{"half closed: DATA", request(1) + data(1, 0, "x"), "C STREAM_CLOSED"},
		{"half closed: HEADERS", request(1) + request(1), "C STREAM_CLOSED"},
		{"half closed: WINDOW_UPDATE", request(1) + update, ""},
		{"half closed: PRIORITY", request(1) + frame(typePriority, 0, 1, number(0), "\x10"), ""},
		{"half closed: RST_STREAM", request(1) + cancel, ""},

		{"closed: DATA", done(1) + data(1, 0, "x"), "C STREAM_CLOSED"},
		{"closed before a gap: DATA", done(1) + request(9) + data(1, 0, "x"), "C STREAM_CLOSED"},
		{"in a gap: DATA", done(1) + request(9) + data(5, 0, "x"), "C PROTOCOL_ERROR"},
		{"closed: HEADERS", done(1) + request(1), "C STREAM_CLOSED"},
		{"closed: WINDOW_UPDATE", done(1) + update, ""},
		{"closed: WINDOW_UPDATE of 0", done(1) + frame(typeWindowUpdate, 0, 1, number(0)), ""},
		{"closed: RST_STREAM", done(1) + cancel, ""},

		{"reset by the peer: DATA", post(1) + cancel + data(1, 0, "x"), "S 1 STREAM_CLOSED"},
		{"reset by the peer: HEADERS", post(1) + cancel + request(1), "S 1 STREAM_CLOSED"},
		{"reset by the peer: RST_STREAM", post(1) + cancel + cancel, ""},
		{"reset by the peer: WINDOW_UPDATE", post(1) + cancel + update, ""},

		{"reset by the server: DATA", post(1) + frame(typeWindowUpdate, 0, 1, number(0)) + data(1, 0, "x"), "S 1 PROTOCOL_ERROR"},
		{"reset by the server: HEADERS", post(1) + frame(typeWindowUpdate, 0, 1, number(0)) + request(1), "S 1 PROTOCOL_ERROR"},
		{"reset by the server: RST_STREAM", post(1) + frame(typeWindowUpdate, 0, 1, number(0)) + cancel, "S 1 PROTOCOL_ERROR"},
		{"rejected: DATA", headers(1, 0, ":method: GET") + data(1, 0, "x"), "S 1 PROTOCOL_ERROR"},

		{"response before the body has arrived", headers(1, 0, ":method: POST", ":scheme: https", ":authority: a", ":path: /done") + data(1, flagEndStream, "x"), ""},
		{"streams up to the limit", strings.Join([]string{request(1), request(3), request(5), request(7), request(9), request(11), request(13), request(15), request(17), request(19)}, ""), ""},
		{"stream beyond the limit", strings.Join([]string{request(1), request(3), request(5), request(7), request(9), request(11), request(13), request(15), request(17), request(19), request(21)}, ""), "S 21 REFUSED_STREAM"},
	})
}

// RFC 9113 §6.9.
func TestWindowRules(t *testing.T) {
	kilobytes := func(stream uint32, n int) string {
		return strings.Repeat(data(stream, 0, strings.Repeat("x", 1024)), n)
	}
	tryAll(t, started, []rule{
		{"WINDOW_UPDATE of 0 for the connection", frame(typeWindowUpdate, 0, 0, number(0)), "C PROTOCOL_ERROR"},
		{"WINDOW_UPDATE of 0 for an open stream", post(1) + frame(typeWindowUpdate, 0, 1, number(0)), "S 1 PROTOCOL_ERROR"},
		{"WINDOW_UPDATE of 0 for a running request", request(1) + frame(typeWindowUpdate, 0, 1, number(0)), "C PROTOCOL_ERROR"},
		{"window of the connection overflows", frame(typeWindowUpdate, 0, 0, number(1<<31-1)), "C FLOW_CONTROL_ERROR"},
		{"window of the connection is largest", frame(typeWindowUpdate, 0, 0, number(1<<31-1-65535)), ""},
		{"window of an open stream overflows", post(1) + frame(typeWindowUpdate, 0, 1, number(1<<31-1)), "S 1 FLOW_CONTROL_ERROR"},
		{"window of a running request overflows", request(1) + frame(typeWindowUpdate, 0, 1, number(1<<31-1)), "C FLOW_CONTROL_ERROR"},
		{"window of a stream is largest", request(1) + frame(typeWindowUpdate, 0, 1, number(1<<31-1-65535)), ""},
		{"initial window overflows a stream", request(1) + frame(typeWindowUpdate, 0, 1, number(1<<31-1-65535)) + settings(4, 65536), "C FLOW_CONTROL_ERROR"},
		{"DATA fills the window of a stream", post(1) + kilobytes(1, 63), ""},
		{"DATA exceeds the window of a stream", post(1) + kilobytes(1, 64), "S 1 FLOW_CONTROL_ERROR"},
		{"padding exceeds the window of a stream", post(1) + kilobytes(1, 63) + data(1, flagPadded, "\xff"+strings.Repeat("\x00", 255)+strings.Repeat("x", 768)), "S 1 FLOW_CONTROL_ERROR"},
	})
	small := func(testing.TB) *side {
		cfg := testConfig(Server)
		cfg.StreamWindow, cfg.ConnWindow = 1<<20, 65535
		s := newSide(cfg)
		s.c.HoldCredit(true)
		s.feed([]byte(hello + frame(typeSettings, flagAck, 0)))
		return s
	}
	tryAll(t, small, []rule{
		{"DATA exceeds the window of the connection", post(1) + kilobytes(1, 64), "C FLOW_CONTROL_ERROR"},
		{"DATA of two streams exceeds it", post(1) + post(3) + kilobytes(1, 32) + kilobytes(3, 32), "C FLOW_CONTROL_ERROR"},
	})
}

// RFC 9113 §6.5, RFC 8441 §3, RFC 9218 §2.1.
func TestSettingsRules(t *testing.T) {
	tryAll(t, started, []rule{
		{"unknown settings", settings(0x0a0a, 1, 7, 7, 0xffff, 0), ""},
		{"the same setting twice", settings(4, 1, 4, 2), ""},
		{"ENABLE_PUSH 2", settings(2, 2), "C PROTOCOL_ERROR"},
		{"ENABLE_PUSH from a client", settings(2, 1), ""},
		{"largest initial window", settings(4, 1<<31-1), ""},
		{"initial window too large", settings(4, 1<<31), "C FLOW_CONTROL_ERROR"},
		{"frame size too small", settings(5, 16383), "C PROTOCOL_ERROR"},
		{"frame size too large", settings(5, 1<<24), "C PROTOCOL_ERROR"},
		{"frame sizes at the limits", settings(5, 16384, 5, 1<<24-1), ""},
		{"ENABLE_CONNECT_PROTOCOL 2", settings(8, 2), "C PROTOCOL_ERROR"},
		{"ENABLE_CONNECT_PROTOCOL back to 0", settings(8, 1, 8, 0), "C PROTOCOL_ERROR"},
		{"NO_RFC7540_PRIORITIES 2", settings(9, 2), "C PROTOCOL_ERROR"},
		{"NO_RFC7540_PRIORITIES changes later", settings(9, 1), "C PROTOCOL_ERROR"},
		{"everything large", settings(1, 1<<32-1, 3, 1<<32-1, 6, 1<<32-1), ""},
		{"no streams", settings(3, 0), ""},
		{"acknowledgment that is not due", frame(typeSettings, flagAck, 0), ""},
	})
	tryAll(t, fresh, []rule{
		{"NO_RFC7540_PRIORITIES first", Preface + settings(9, 1) + settings(9, 1), ""},
	})
	tryAll(t, func(t testing.TB) *side { return startedClient(t, 1) }, []rule{
		{"ENABLE_PUSH 1 from a server", settings(2, 1), "C PROTOCOL_ERROR"},
		{"ENABLE_PUSH 0 from a server", settings(2, 0), ""},
	})
}

// Rules that only a client enforces.
func TestClientRules(t *testing.T) {
	ok := []string{":status: 200"}
	tryAll(t, func(t testing.TB) *side { return startedClient(t, 2) }, []rule{
		{"response", headers(1, flagEndStream, ok...), ""},
		{"response with body", headers(1, 0, ok...) + data(1, flagEndStream, "abc"), ""},
		{"interim responses", headers(1, 0, ":status: 100") + headers(1, 0, ":status: 103", "link: a") + headers(1, flagEndStream, ok...), ""},
		{"too many interim responses", strings.Repeat(headers(1, 0, ":status: 102"), 6), "S 1 PROTOCOL_ERROR"},
		{"interim response with END_STREAM", headers(1, flagEndStream, ":status: 100"), "S 1 PROTOCOL_ERROR"},
		{"status 101", headers(1, 0, ":status: 101"), "S 1 PROTOCOL_ERROR"},
		{"DATA before the head", data(1, 0, "x"), "S 1 PROTOCOL_ERROR"},
		{"DATA after an interim response", headers(1, 0, ":status: 100") + data(1, 0, "x"), "S 1 PROTOCOL_ERROR"},
		{"no status", headers(1, 0, "a: b"), "S 1 PROTOCOL_ERROR"},
		{"status of two digits", headers(1, 0, ":status: 20"), "S 1 PROTOCOL_ERROR"},
		{"status of four digits", headers(1, 0, ":status: 0200"), "S 1 PROTOCOL_ERROR"},
		{"status that is no number", headers(1, 0, ":status: 2x0"), "S 1 PROTOCOL_ERROR"},
		{"status below 100", headers(1, 0, ":status: 099"), "S 1 PROTOCOL_ERROR"},
		{"pseudo-field of a request", headers(1, 0, ":status: 200", ":path: /"), "S 1 PROTOCOL_ERROR"},
		{"response on an idle stream", headers(5, 0, ok...), "C PROTOCOL_ERROR"},
		{"response on an even stream", headers(2, 0, ok...), "C PROTOCOL_ERROR"},
		{"response after the response", headers(1, flagEndStream, ok...) + headers(1, flagEndStream, ok...), "C STREAM_CLOSED"},
		{"PUSH_PROMISE", frame(typePushPromise, flagEndHeaders, 1, number(2), block(get...)), "C PROTOCOL_ERROR"},
		{"PRIORITY_UPDATE from a server", frame(typePriorityUpdate, 0, 0, number(1), "u=1"), "C PROTOCOL_ERROR"},
		{"GOAWAY that raises the last stream", frame(typeGoAway, 0, 0, number(1), number(0)) + frame(typeGoAway, 0, 0, number(3), number(0)), "C PROTOCOL_ERROR"},
		{"GOAWAY that lowers the last stream", frame(typeGoAway, 0, 0, number(1<<31-1), number(0)) + frame(typeGoAway, 0, 0, number(3), number(0)), ""},
		{"body longer than Content-Length", headers(1, 0, ":status: 200", "content-length: 2") + data(1, 0, "abc"), "S 1 PROTOCOL_ERROR"},
		{"body shorter than Content-Length", headers(1, 0, ":status: 200", "content-length: 2") + data(1, flagEndStream, "a"), "S 1 PROTOCOL_ERROR"},
		{"no body despite Content-Length", headers(1, flagEndStream, ":status: 200", "content-length: 2"), "S 1 PROTOCOL_ERROR"},
		{"304 with Content-Length", headers(1, flagEndStream, ":status: 304", "content-length: 2"), ""},
		{"304 with body", headers(1, 0, ":status: 304") + data(1, flagEndStream, "x"), "S 1 PROTOCOL_ERROR"},
		{"204 with an empty body", headers(1, 0, ":status: 204") + data(1, flagEndStream, ""), ""},
		{"trailers", headers(1, 0, ok...) + headers(1, flagEndStream, "a: b"), ""},
		{"trailers without END_STREAM", headers(1, 0, ok...) + headers(1, 0, "a: b"), "S 1 PROTOCOL_ERROR"},
	})
	upload := func(method string) func(t testing.TB) *side {
		return func(t testing.TB) *side {
			s := startedClient(t, 0)
			s.request(t, method, false)
			s.sent(t)
			return s
		}
	}
	tryAll(t, upload("POST"), []rule{
		{"WINDOW_UPDATE of 0 after the response", headers(1, flagEndStream, ok...) + frame(typeWindowUpdate, 0, 1, number(0)), "S 1 PROTOCOL_ERROR"},
		{"response and RST_STREAM before the end of the request", headers(1, flagEndStream, ok...) + frame(typeRSTStream, 0, 1, number(0)), ""},
	})
	tryAll(t, upload("CONNECT"), []rule{
		{"tunnel", headers(1, 0, ":status: 200", "content-length: 2") + data(1, 0, "abc"), ""},
		{"tunnel that ends at once", headers(1, flagEndStream, ":status: 200", "content-length: 2"), ""},
		{"refused tunnel", headers(1, 0, ":status: 403", "content-length: 2") + data(1, 0, "abc"), "S 1 PROTOCOL_ERROR"},
	})
	head := func(t testing.TB) *side {
		s := startedClient(t, 0)
		s.request(t, "HEAD", true)
		s.sent(t)
		return s
	}
	tryAll(t, head, []rule{
		{"response to HEAD", headers(1, flagEndStream, ":status: 200", "content-length: 2"), ""},
		{"response to HEAD with body", headers(1, 0, ":status: 200", "content-length: 2") + data(1, flagEndStream, "ab"), "S 1 PROTOCOL_ERROR"},
	})
}
