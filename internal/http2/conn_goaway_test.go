package http2

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
)

// RFC 9113 §6.8: a server ends gracefully in two steps.
func TestShutdown(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	s.c.Shutdown()
	s.c.Shutdown()
	s.wantSent(t, "GOAWAY 2147483647 NO_ERROR", "PING 7449354471629398305 false")
	s.events = nil
	s.feed([]byte(post(3))) // it was on its way
	s.feed([]byte(frame(typePing, flagAck, 0, "gallop!!")))
	s.wantSent(t, "GOAWAY 3 NO_ERROR")
	if began, last := s.c.ShuttingDown(); !began || !last {
		t.Error(began, last)
	}
	s.events = nil
	s.feed([]byte(data(3, 0, "abc") + headers(5, 0, with(get, "x: y")...) + data(5, flagEndStream, "abc") + frame(typeRSTStream, 0, 5, number(8))))
	s.wantEvents(t)
	s.wantSent(t)
	s.c.FinishShutdown()
	s.c.Respond(1, 200, nil, true)
	s.c.Respond(3, 200, nil, true)
	if s.c.Streams() != 1 {
		t.Errorf("%d streams", s.c.Streams())
	}
	s.feed([]byte(data(3, flagEndStream, "d")))
	if s.c.Streams() != 0 {
		t.Errorf("%d streams", s.c.Streams())
	}
	s.wantSent(t, "HEADERS 1 true true", "HEADERS 3 true true")
}

// A PING of the client with the same data is no acknowledgment, and neither is one without Shutdown.
func TestShutdownPing(t *testing.T) {
	s := started(t)
	s.feed([]byte(frame(typePing, flagAck, 0, "gallop!!")))
	s.c.Shutdown()
	s.feed([]byte(frame(typePing, 0, 0, "gallop!!")))
	if _, last := s.c.ShuttingDown(); last {
		t.Error("the last stream was announced")
	}
}

// A connection error says which streams may have been processed. Everything after it is ignored.
func TestFailure(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1) + headers(3, flagEndStream, ":method: GET") + frame(typePing, 0, 1, "12345678") + request(5)))
	s.wantSent(t, "RST 3 PROTOCOL_ERROR", "GOAWAY 1 PROTOCOL_ERROR")
	s.feed([]byte(request(7)))
	s.wantSent(t)
	if s.c.Respond(1, 200, nil, false) {
		t.Error("a response on a failed connection")
	}
	if _, _, ok := s.c.BeginHead(1); ok {
		t.Error("a head on a failed connection")
	}
	if _, ok := s.c.WriteData(1, []byte("x"), true, 0); ok {
		t.Error("data on a failed connection")
	}
	if len(s.rest) > 0 {
		t.Errorf("%d bytes are left", len(s.rest))
	}
}

// Nothing follows the GOAWAY of a connection error, in whatever state the streams are.
func TestNothingIsSentAfterAFailure(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1) + request(3) + request(5)))
	s.c.Respond(1, 200, nil, false)
	s.c.Respond(3, 200, nil, false)
	s.wantSent(t, "HEADERS 1 false true", "HEADERS 3 false true")
	s.c.Fail(ErrSettingsTimeout)
	s.wantSent(t, "GOAWAY 5 SETTINGS_TIMEOUT")
	s.c.Reset(1, InternalError)
	if s.c.WriteTrailers(3, nil) {
		t.Error("trailers on a failed connection")
	}
	for _, id := range []uint32{1, 3, 5} {
		s.c.Release(id)
	}
	s.c.Shutdown()
	s.c.FinishShutdown()
	s.wantSent(t)
}

func TestGoAwayFromServer(t *testing.T) {
	c := startedClient(t, 3)
	c.feed([]byte(frame(typeGoAway, 0, 0, number(1<<31-1), number(0), "bye")))
	c.wantEvents(t, "goaway 2147483647 NO_ERROR bye")
	if c.c.CanOpen() || c.c.IsUnprocessed(5) || c.c.Streams() != 3 {
		t.Error("after the first GOAWAY")
	}
	c.feed([]byte(frame(typeGoAway, 0, 0, number(3), number(0xff), strings.Repeat("x", 300))))
	c.wantEvents(t, "goaway 3 unknown code "+strings.Repeat("x", keptDebug))
	if !c.c.IsUnprocessed(5) || c.c.IsUnprocessed(3) || c.c.Streams() != 2 || c.c.Held() != 3 {
		t.Error("after the second GOAWAY")
	}
	c.feed([]byte(headers(1, flagEndStream, ":status: 200") + headers(3, flagEndStream, ":status: 200")))
	c.wantEvents(t, "head 1 200 [] end", "head 3 200 [] end")
	for id := range uint32(6) {
		c.c.Release(id)
	}
	if c.c.Held() != 0 {
		t.Errorf("%d held", c.c.Held())
	}
	c.wantSent(t)
}

func TestGoAwayFromClient(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1) + frame(typeGoAway, 0, 0, number(0), number(0)) + request(3)))
	if len(s.events) != 3 || s.events[1] != "goaway 0 NO_ERROR " {
		t.Errorf("got %q", s.events)
	}
}

func TestPing(t *testing.T) {
	s := started(t)
	s.c.Ping(7)
	s.c.Ping(8)
	s.wantSent(t, "PING 7 false", "PING 8 false")
	s.feed([]byte(frame(typePing, flagAck, 0, "\x00\x00\x00\x00\x00\x00\x00\x07") + frame(typePing, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x09")))
	s.wantEvents(t, "pong 7")
	s.wantSent(t, "PING 9 true")
}

// The limits of a client: the server's settings, and its own.
func TestCanOpen(t *testing.T) {
	c := newSide(testConfig(Client))
	for range 10 {
		c.request(t, "GET", true)
	}
	if c.c.CanOpen() {
		t.Error("beyond the client's own limit")
	}
	c.feed([]byte(settings(3, 2)))
	c.feed([]byte(strings.Repeat(headers(1, flagEndStream, ":status: 200"), 1)))
	if c.c.CanOpen() || c.c.Streams() != 9 {
		t.Error("beyond the server's limit")
	}
	for id := uint32(3); id <= 17; id += 2 {
		c.feed([]byte(headers(id, flagEndStream, ":status: 200")))
	}
	if c.c.Streams() != 1 || c.c.CanOpen() {
		t.Error("too many streams are held")
	}
	for id := uint32(1); id <= 17; id += 2 {
		c.c.Release(id)
	}
	if !c.c.CanOpen() {
		t.Error("within the limit")
	}
	c.feed([]byte(settings(3, 0)))
	if c.c.CanOpen() {
		t.Error("no stream is permitted")
	}
	c.feed([]byte(settings(3, 100)))
	c.c.closed.highest = maxStreamID - 2
	if id := c.request(t, "GET", true); id != maxStreamID || c.c.CanOpen() {
		t.Errorf("last identifier %d", id)
	}
	if newSide(testConfig(Server)).c.CanOpen() {
		t.Error("a server")
	}
}

// MaxOpen is what a pool of connections asks for.
func TestMaxOpen(t *testing.T) {
	c := newSide(testConfig(Client))
	c.c.cfg.MaxConcurrentStreams = 500
	check := func(want int) {
		t.Helper()
		if got := c.c.MaxOpen(); got != want {
			t.Errorf("%d streams, want %d", got, want)
		}
	}
	check(unsureStreams)
	c.feed([]byte(settings()))
	check(500)
	c.feed([]byte(settings(3, 7)))
	check(7)
	for range 7 {
		c.request(t, "GET", true)
	}
	check(7) // whether or not they are in use
	c.feed([]byte(frame(typeGoAway, 0, 0, number(13), number(0))))
	check(0)
}

// A stream that is opened apart from its head is like one that Request has opened.
func TestOpen(t *testing.T) {
	c := startedClient(t, 0)
	id, slot, ok := c.c.Open(message.HeadMethod)
	if id != 1 || slot != 0 || !ok {
		t.Fatal(id, slot, ok)
	}
	dst, e, _ := c.c.BeginHead(id)
	c.c.EndHead(id, hpack.AppendPseudo(e, dst, hpack.Method, "HEAD"), true, true)
	c.wantSent(t, "HEADERS 1 true true")
	c.feed([]byte(headers(1, flagEndStream, ":status: 200", "content-length: 5")))
	if last := c.events[len(c.events)-1]; !strings.HasPrefix(last, "head 1 ") {
		t.Error(last)
	}
}

// TestClientPreface looks at all that both roles announce first.
func TestClientPreface(t *testing.T) {
	c := newSide(testConfig(Client))
	if !strings.HasPrefix(string(c.c.Out()), Preface) {
		t.Fatalf("%q", c.c.Out())
	}
	c.wantSent(t, "SETTINGS 2=0 6=65536 9=1", "WINDOW 0 983041")
	s := newSide(testConfig(Server))
	s.wantSent(t, "SETTINGS 3=10 6=65536 9=1", "WINDOW 0 983041")
}

// A reset stream keeps its slot until it is released, and only so many of them are kept.
func TestHeldStreams(t *testing.T) {
	s := started(t)
	id := uint32(1)
	for range 20 {
		s.feed([]byte(request(id) + frame(typeRSTStream, 0, id, number(8))))
		id += 2
	}
	if s.c.Streams() != 0 || s.c.Held() != 20 {
		t.Errorf("%d streams, %d held", s.c.Streams(), s.c.Held())
	}
	s.feed([]byte(request(id)))
	s.wantSent(t, "RST 41 REFUSED_STREAM")
	s.c.Release(1)
	s.events = nil
	s.feed([]byte(request(id + 2)))
	s.wantEvents(t, "head 43 GET https / [host=a] end")
}

// Resets are remembered for the newest streams. Older streams get the benefit of the doubt.
func TestRememberedResets(t *testing.T) {
	s := started(t)
	for id := uint32(1); id <= 2*keptResets+1; id += 2 {
		s.now += 1e9
		s.feed([]byte(post(id)))
		s.c.Release(id)
	}
	s.sent(t)
	s.feed([]byte(data(2*keptResets+1, 0, "x") + data(3, 0, "x")))
	s.wantSent(t)
	s.feed([]byte(data(1, 0, "x")))
	s.wantSent(t, "RST 1 STREAM_CLOSED")
}

func TestShrink(t *testing.T) {
	s := started(t)
	s.feed([]byte(done(1)))
	s.c.Respond(1, 200, nil, true)
	s.c.Shrink()
	if s.c.streams.slots == nil {
		t.Error("a held stream is lost")
	}
	s.c.Release(1)
	s.c.Shrink()
	if s.c.streams.slots != nil || s.c.streams.index != nil || s.c.block.block != nil {
		t.Error("memory is kept")
	}
	s.feed([]byte(request(3)))
	if s.c.Held() != 1 {
		t.Error("no stream after Shrink")
	}
}

// A server may send several control frames for each request of a client, as gRPC servers do.
func TestControlFramesOfServers(t *testing.T) {
	c := startedClient(t, 0)
	for range 2000 {
		id := c.request(t, "GET", true)
		c.feed([]byte(headers(id, flagEndStream, ":status: 200") + strings.Repeat(frame(typePing, 0, 0, "12345678"), 10)))
		c.c.Release(id)
		c.drain(t)
	}
	if c.failed {
		t.Errorf("failed: %v", c.c.failed)
	}
	for range 1000 {
		c.feed([]byte(frame(typePing, 0, 0, "12345678")))
		c.drain(t)
	}
	c.feed([]byte(frame(typePing, 0, 0, "12345678")))
	if c.c.failed != ErrControlFlood {
		t.Errorf("got %v", c.c.failed)
	}
}
