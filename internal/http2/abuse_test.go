package http2

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// attack is what a hostile client sends after hello: first once, and then each again and again, until the connection fails.
type attack struct {
	name  string
	first string
	each  func(i int) string // i counts from 0
	after int                // how many times each is tolerated
	err   *Error
}

func again(frames string) func(int) string { return func(int) string { return frames } }

// nth returns a function that makes each request on a new stream, after streams that first uses.
func nth(used int, unit func(stream uint32) string) func(int) string {
	return func(i int) string { return unit(uint32(2*(used+i) + 1)) }
}

func attacks() []attack {
	early := 100 + 2*int(testConfig(Server).MaxConcurrentStreams)
	// hello has a control frame, so 999 of 1000 are left, unless a request has put it back.
	cancel := func(stream uint32) string { return frame(typeRSTStream, 0, stream, number(8)) }
	var ten strings.Builder
	for i := range 10 {
		ten.WriteString(request(uint32(2*i + 1)))
	}
	entry := "\x40\x01a" + string(appendText(nil, strings.Repeat("x", 3000)))
	return []attack{
		{"Rapid Reset", "", nth(0, func(s uint32) string { return request(s) + cancel(s) }), early, ErrEarlyResets},
		{"Rapid Reset with bodies", "", nth(0, func(s uint32) string { return post(s) + cancel(s) }), early, ErrEarlyResets},
		{"MadeYouReset by WINDOW_UPDATE of 0", "", nth(0, func(s uint32) string { return post(s) + frame(typeWindowUpdate, 0, s, number(0)) }), early, ErrEarlyResets},
		{"MadeYouReset by a window overflow", "", nth(0, func(s uint32) string { return post(s) + frame(typeWindowUpdate, 0, s, number(1<<31-1)) }), early, ErrEarlyResets},
		{"MadeYouReset by PRIORITY", "", nth(0, func(s uint32) string { return post(s) + frame(typePriority, 0, s, "abcd") }), early, ErrEarlyResets},
		{"MadeYouReset by self dependency", "", nth(0, func(s uint32) string { return post(s) + frame(typePriority, 0, s, number(s), "\x10") }), early, ErrEarlyResets},
		{"MadeYouReset by trailers", "", nth(0, func(s uint32) string { return post(s) + headers(s, 0, "x: y") }), early, ErrEarlyResets},
		{"MadeYouReset by content", "", nth(0, func(s uint32) string { return headers(s, 0, with(get, "content-length: 1")...) + data(s, 0, "xx") }), early, ErrEarlyResets},
		{"MadeYouReset of a running request, WINDOW_UPDATE", "", nth(0, func(s uint32) string { return request(s) + frame(typeWindowUpdate, 0, s, number(0)) }), 0, ErrStreamIncrement},
		{"MadeYouReset of a running request, overflow", "", nth(0, func(s uint32) string { return request(s) + frame(typeWindowUpdate, 0, s, number(1<<31-1)) }), 0, ErrStreamOverflow},
		{"MadeYouReset of a running request, PRIORITY", "", nth(0, func(s uint32) string { return request(s) + frame(typePriority, 0, s, "abcd") }), 0, ErrPriorityLength},
		{"MadeYouReset of a running request, DATA", "", nth(0, func(s uint32) string { return request(s) + data(s, 0, "x") }), 0, ErrHalfClosed},
		{"malformed requests", "", nth(0, func(s uint32) string { return headers(s, flagEndStream, ":method: GET") }), early, ErrEarlyResets},
		{"refused requests", ten.String(), nth(10, request), early, ErrEarlyResets},

		{"PING", "", again(frame(typePing, 0, 0, "12345678")), 999, ErrControlFlood},
		{"PING acknowledgments", "", again(frame(typePing, flagAck, 0, "12345678")), 999, ErrControlFlood},
		{"SETTINGS", "", again(settings()), 999, ErrControlFlood},
		{"SETTINGS with many entries", "", again(settings(make([]uint32, 2*160)...)), 1000 / 11, ErrControlFlood},
		{"SETTINGS acknowledgments", "", again(frame(typeSettings, flagAck, 0)), 999, ErrControlFlood},
		{"PRIORITY", "", again(frame(typePriority, 0, 1, "abcde")), 999, ErrControlFlood},
		{"PRIORITY_UPDATE", request(1), again(frame(typePriorityUpdate, 0, 0, number(1), "u=1")), 1000, ErrControlFlood},
		{"GOAWAY", "", again(frame(typeGoAway, 0, 0, number(0), number(0))), 999, ErrControlFlood},
		{"unknown frames", "", again(frame(0x20, 0, 0, "abc")), 999, ErrControlFlood},
		{"RST_STREAM on a closed stream", done(1), again(cancel(1)), 1000, ErrControlFlood},
		{"WINDOW_UPDATE of the connection", "", again(frame(typeWindowUpdate, 0, 0, number(1))), 999, ErrControlFlood},
		{"WINDOW_UPDATE of a stream", request(1), again(frame(typeWindowUpdate, 0, 1, number(1))), 1000 + updatesPerStream, ErrControlFlood},
		{"WINDOW_UPDATE on a closed stream", done(1), again(frame(typeWindowUpdate, 0, 1, number(1))), 1000 + updatesPerStream, ErrControlFlood},
		{"DATA on a stream that was reset", post(1) + frame(typeWindowUpdate, 0, 1, number(0)), again(data(1, 0, strings.Repeat("x", 100))), 1000 - 1 + updatesPerStream - 1, ErrControlFlood},
		{"HEADERS on a stream that the client has reset", post(1) + cancel(1), again(headers(1, 0, "x: y")), 1000, ErrControlFlood},

		{"empty DATA", post(1), again(data(1, 0, "")), 2 + 100, ErrEmptyData},
		{"DATA with nothing but padding", post(1), again(data(1, flagPadded, "\xff"+strings.Repeat("\x00", 255))), 2 + 100, ErrEmptyData},
		{"tiny DATA", post(1), again(data(1, 0, "x")), 250_000, ErrTinyData},

		{"empty CONTINUATION", frame(typeHeaders, 0, 1, "\x82"), again(frame(typeContinuation, 0, 1)), 1, ErrContinuations},
		{"empty HEADERS and CONTINUATION", frame(typeHeaders, 0, 1), again(frame(typeContinuation, 0, 1)), 0, ErrContinuations},
		{"small CONTINUATION", frame(typeHeaders, 0, 1, "\x82"), again(frame(typeContinuation, 0, 1, "\x00\x01a\x01b")), 8, ErrContinuations},
		{"large CONTINUATION", frame(typeHeaders, 0, 1, strings.Repeat("x", 16384)), again(frame(typeContinuation, 0, 1, strings.Repeat("x", 16384))), 7, ErrBlockTooLarge},
		{"HPACK bomb", headers(1, flagEndStream, get...), nth(1, func(s uint32) string {
			return frame(typeHeaders, flagEndHeaders|flagEndStream, s, block(get...), entry, strings.Repeat("\xbe", 4000))
		}), 0, ErrListFarTooLarge},
		{"tiny windows", settings(4, 0) + request(1), func(int) string { return frame(typeWindowUpdate, 0, 1, number(1)) }, 1000, ErrTinyWindows},
		{"tiny windows through SETTINGS", settings(4, 0) + request(1), func(i int) string { return settings(4, uint32(i+1)) }, 1000, ErrControlFlood},
	}
}

// Each attack ends with the right error after exactly as many frames as are tolerated, while memory stays within bounds.
func TestAttacks(t *testing.T) {
	for _, a := range attacks() {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			s := attacked(t)
			s.feed([]byte(a.first))
			if s.failed {
				t.Fatalf("failed before the attack: %q", s.events)
			}
			s.events = nil
			n := 0
			for ; !s.failed && n < 300_000; n++ {
				s.drain(t)
				s.feed([]byte(a.each(n)))
				s.events = s.events[max(0, len(s.events)-1):]
				s.checkBounds(t)
			}
			if s.c.failed != a.err || n-1 != a.after {
				t.Errorf("%v after %d, want %v after %d", s.c.failed, n-1, a.err, a.after)
			}
			if got := verdicts(s.sent(t)); !strings.HasSuffix(got, "C "+a.err.Code.String()) {
				t.Errorf("sent %s", got)
			}
		})
	}
}

// attacked returns a server that sends a body of 100 kB in response to a request, except on /done, and releases streams that
// are reset.
func attacked(t testing.TB) *side {
	s := started(t)
	bodies := map[uint32]int{}
	write := func(id uint32) {
		n, _ := s.c.WriteData(id, make([]byte, bodies[id]), true, s.now)
		bodies[id] -= n
	}
	s.on = func(ev Event) {
		switch ev.Kind {
		case Head:
			target := string(s.m.Head.Fields.Bytes(s.m.Head.Target))
			s.c.Respond(ev.Stream, 200, nil, target == "/done")
			if target == "/done" {
				s.c.Release(ev.Stream)
			} else if !ev.End {
				s.c.GrowWindow(ev.Stream, 1<<20)
			} else if s.c.Peer().InitialWindowSize < 65535 {
				bodies[ev.Stream] = 100_000
				write(ev.Stream)
			}
		case Reset:
			s.c.Release(ev.Stream)
		case Writable, SettingsChanged:
			for id, _, ok := s.c.NextWriter(); ok; id, _, ok = s.c.NextWriter() {
				write(id)
			}
		}
	}
	return s
}

// drain writes the output, as for a peer that reads.
func (s *side) drain(t testing.TB) {
	s.c.Sent(len(s.c.Out()))
	if s.full {
		s.resume()
	}
}

// checkBounds checks everything that a peer can make a connection hold.
func (s *side) checkBounds(t testing.TB) {
	t.Helper()
	cfg := s.c.cfg
	limit := int(cfg.MaxConcurrentStreams)
	// One event may append a frame of data, a head and some control frames after the output was found not to be full.
	if n := s.c.out.unsent(); n > maxUnsent+cfg.MaxSendFrame+4096 {
		t.Fatalf("%d bytes of output", n)
	}
	if n := s.c.out.older + s.c.out.newer; n > maxControl {
		t.Fatalf("%d control frames", n)
	}
	if s.c.Streams() > limit || s.c.Held() > 2*limit || len(s.c.streams.slots) > 4*limit {
		t.Fatalf("%d streams, %d slots", s.c.streams.live, len(s.c.streams.slots))
	}
	if r := s.c.closed.resets; r != nil && len(r.newest) > keptResets {
		t.Fatalf("%d resets are remembered", len(r.newest))
	}
	if b := s.c.block.block; b != nil && len(b.buf) > cfg.MaxBlock {
		t.Fatalf("%d bytes of a block", len(b.buf))
	}
	if n := len(s.m.Buf); n > cfg.Header.List+cfg.HeaderTableSize {
		t.Fatalf("%d bytes of a head", n)
	}
}

// A body that is collected gets credit for each byte, but no more tiny frames.
func TestTinyCollected(t *testing.T) {
	s := started(t)
	s.on = func(ev Event) {
		if ev.Kind == Data {
			s.c.Collected(ev.Stream, len(ev.Data))
		}
	}
	s.feed([]byte(post(1)))
	n := 0
	for ; !s.failed && n < 300_000; n++ {
		s.drain(t)
		s.feed([]byte(data(1, 0, "x")))
		s.events = s.events[:0]
	}
	if s.c.failed != ErrTinyData || n != 250_000+1 {
		t.Errorf("%v after %d frames", s.c.failed, n)
	}
}

// A client may open many streams before it knows the limit, if it acknowledges the limit later.
func TestRefusalsBeforeSettings(t *testing.T) {
	s := newSide(testConfig(Server))
	s.feed([]byte(hello))
	id := uint32(1)
	open := func(n int) {
		for range n {
			s.feed([]byte(request(id)))
			s.drain(t)
			id += 2
		}
	}
	open(10 + freeRefusals)
	if got := s.c.abuse.missing[earlyEnds]; s.failed || got != 0 {
		t.Fatalf("failed %v, level %d", s.failed, got)
	}
	open(1)
	if got := s.c.abuse.missing[earlyEnds]; got != thousand {
		t.Errorf("level %d", got)
	}
	s.c.own.freeRefusals = 10
	s.feed([]byte(frame(typeSettings, flagAck, 0)))
	open(1)
	if got := s.c.abuse.missing[earlyEnds]; got != 2*thousand {
		t.Errorf("level %d", got)
	}
}

// A peer that sends and does not read gets no further than a bounded amount of output.
func TestPeerThatDoesNotRead(t *testing.T) {
	for name, each := range map[string]string{"PING": frame(typePing, 0, 0, "12345678"), "SETTINGS": settings()} {
		s := attacked(t)
		s.c.abuse.missing[controlFrames] = -1 << 30
		for range 3000 {
			s.feed([]byte(each))
			s.checkBounds(t)
		}
		if !s.full || s.failed {
			t.Errorf("%s: full %v, failed %v", name, s.full, s.failed)
		}
		s.drain(t)
		if s.c.out.unsent() == 0 {
			t.Errorf("%s: nothing was read after the output was written", name)
		}
	}
}

// Cookie crumbs cost as much as other fields (CVE-2026-49975): the limit of fields applies before they are joined.
func TestManyCookies(t *testing.T) {
	s := started(t)
	s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, 1, block(get...), "\x60\x01a", strings.Repeat("\xbe", 1000))))
	if len(s.events) != 1 || !strings.HasSuffix(s.events[0], "excess end") || s.heads[0].Fields.Len() > 2 {
		t.Errorf("got %.200q", s.events)
	}
	s.checkBounds(t)
}

// Clients that do nothing wrong are never cut, however busy they are.
func TestBusyClients(t *testing.T) {
	const ms = 1e6
	shorter := 6
	if wiretest.Full() {
		shorter = 1
	}
	for _, tt := range []struct {
		name  string
		turns int
		step  int64 // nanoseconds for each turn
		turn  func(s *side, i int) string
	}{
		{"browser that cancels ten loads at once, every second", 1000, 1000 * ms, func(s *side, i int) (in string) {
			for k := range 10 {
				in += request(uint32(20*i + 2*k + 1))
			}
			for k := range 10 {
				in += frame(typeRSTStream, 0, uint32(20*i+2*k+1), number(8))
			}
			return in
		}},
		{"gRPC with 5 % cancels, 10 000 calls per second", 20_000, ms / 10, func(s *side, i int) string {
			id := uint32(2*i + 1)
			if i%20 == 0 {
				return request(id) + frame(typeRSTStream, 0, id, number(8))
			}
			return done(id)
		}},
		{"50 PINGs per second for an hour", 3600 * 50 / shorter, 20 * ms, func(*side, int) string { return frame(typePing, 0, 0, "12345678") }},
		{"PING with each DATA frame, as gRPC measures its bandwidth", 20_000, 0, func(s *side, i int) (in string) {
			if i == 0 {
				in = request(1)
			}
			if i > 0 {
				s.c.WriteData(1, make([]byte, 100), false, s.now)
			}
			return in + frame(typePing, 0, 0, "12345678") + frame(typeWindowUpdate, 0, 0, number(100)) + frame(typeWindowUpdate, 0, 1, number(100))
		}},
		{"chat with 20 bytes per message, at full speed", 20_000, 0, func(s *side, i int) (in string) {
			if i == 0 {
				s.c.abuse.missing[tinyData] = s.c.abuse.full(tinyData)
				in = post(1)
			}
			s.c.Consumed(1, 25)
			return in + data(1, 0, strings.Repeat("x", 25))
		}},
		{"400 000 small messages that a handler reads late", 8, 0, func(s *side, i int) (in string) {
			if i == 0 {
				in = post(1)
			}
			s.c.Consumed(1, 50_000)
			return in + strings.Repeat(data(1, 0, "x"), 50_000)
		}},
		{"small bodies in some frames, which are collected", 20_000, 0, func(s *side, i int) string {
			id := uint32(2*i + 1)
			head := headers(id, 0, ":method: POST", ":scheme: https", ":authority: a", ":path: /done")
			return head + strings.Repeat(data(id, 0, "x"), 30) + data(id, flagEndStream, "")
		}},
		{"large body with small pieces, which is collected", 10_000, 0, func(s *side, i int) (in string) {
			if i == 0 {
				in = post(1)
			}
			s.c.Collected(1, 2000+30)
			return in + data(1, 0, largeData[:2000]) + strings.Repeat(data(1, 0, "x"), 30)
		}},
		{"large uploads that are refused early", 500, ms, func(s *side, i int) (in string) {
			id := uint32(2*i + 1)
			s.feed([]byte(post(id)))
			s.c.Respond(id, 413, nil, true)
			s.c.Release(id)
			return strings.Repeat(data(id, 0, largeData[:1000]), 65)
		}},
		{"100 000 small messages that nobody reads at the moment", 1, 0, func(s *side, i int) string {
			return post(1) + strings.Repeat(data(1, 0, "0123456789"), 100_000)
		}},
		{"small bodies in single frames", 5000, 0, func(s *side, i int) string {
			s.c.abuse.missing[tinyData] = s.c.abuse.full(tinyData)
			id := uint32(2*i + 1)
			return headers(id, 0, ":method: POST", ":scheme: https", ":authority: a", ":path: /done") + data(id, flagEndStream, "x")
		}},
		{"upload of 160 MB", 10_000 / shorter, 0, func(s *side, i int) (in string) {
			if i == 0 {
				in = post(1)
			}
			s.c.Consumed(1, 16384)
			return in + data(1, 0, largeData)
		}},
		{"priorities of Firefox before each request", 1000, ms, func(s *side, i int) string {
			return strings.Repeat(frame(typePriority, 0, uint32(2*i+1), "abcde"), 5) + done(uint32(2*i+1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := attacked(t)
			for i := range tt.turns {
				s.now += tt.step
				s.feed([]byte(tt.turn(s, i)))
				s.drain(t)
				s.events, s.heads = s.events[:0], s.heads[:0]
				s.datas[1] = s.datas[1][:0]
				if s.failed {
					t.Fatalf("turn %d: %v", i, s.c.failed)
				}
			}
		})
	}
}

var largeData = strings.Repeat("x", 16384)

// Time puts tokens back, up to the burst.
func TestBucketsRefill(t *testing.T) {
	var a abuse
	a.init(10)
	a.tick(5e9)
	for k := range buckets {
		rule := bucketRules[k]
		full := (a.full(k) - a.missing[k]) / thousand
		for range full {
			if err := a.take(k, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.take(k, 1); err != rule.err {
			t.Errorf("bucket %d: %v, want %v", k, err, rule.err)
		}
	}
	for now := int64(5e9); now <= 6e9; now += 1e5 { // in steps that are shorter than a tick
		a.tick(now)
	}
	for k := range buckets {
		if got := (a.full(k) - a.missing[k]) / thousand; got != min(bucketRules[k].perSecond, a.full(k)/thousand) {
			t.Errorf("bucket %d has %d tokens after a second", k, got)
		}
	}
	a.tick(1 << 62)
	if a.missing != [buckets]int32{} {
		t.Errorf("%v are missing", a.missing)
	}
}

// A client that opens both windows for every 4 KiB that it has read, as clients in Go do, is not limited, even if it reads only
// after everything was sent.
func TestUpdatesOfReaders(t *testing.T) {
	const bodies, size, step = 10, 1 << 20, 4 << 10
	s := started(t)
	s.feed([]byte(settings(4, size) + frame(typeWindowUpdate, 0, 0, number(bodies*size))))
	s.on = func(ev Event) {
		if ev.Kind == Head {
			s.c.Respond(ev.Stream, 200, nil, false)
		}
	}
	for i := range uint32(bodies) {
		id := 2*i + 1
		s.feed([]byte(request(id)))
		for sent := 0; sent < size; s.drain(t) {
			n, ok := s.c.WriteData(id, make([]byte, size-sent), false, s.now)
			if sent += n; n == 0 || !ok {
				t.Fatalf("stream %d: sent %d bytes, %v", id, sent, ok)
			}
		}
	}
	for i := range uint32(bodies) {
		for range size / step {
			s.feed([]byte(frame(typeWindowUpdate, 0, 0, number(step)) + frame(typeWindowUpdate, 0, 2*i+1, number(step))))
		}
	}
	if s.failed {
		t.Errorf("the connection failed: %v", s.c.failed)
	}
}
