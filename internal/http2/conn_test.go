package http2

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// The caller's deadlines need to know what is unfinished.
func TestProgress(t *testing.T) {
	s := newSide(testConfig(Server))
	if s.c.Started() || !s.c.SettingsUnacked() {
		t.Error("a new connection")
	}
	s.feed([]byte(hello + frame(typeHeaders, 0, 1, "\x82")))
	if !s.c.Started() || !s.c.BlockOpen() {
		t.Error("an unfinished block")
	}
	s.feed([]byte(frame(typeContinuation, flagEndHeaders, 1, block(get[1:]...)) + frame(typeSettings, flagAck, 0)))
	if s.c.BlockOpen() || s.c.SettingsUnacked() || s.c.Streams() != 1 {
		t.Error("a complete request")
	}
}

// Event.Need says how many bytes a frame takes that does not arrive in parts.
func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{
		{"", 9},
		{frame(typePing, 0, 0, "12345678")[:8], 9},
		{frame(typePing, 0, 0, "12345678")[:9], 17},
		{frame(typeHeaders, 0, 1, strings.Repeat("x", 100))[:50], 109},
		{data(1, flagPadded, "\x01ab\x00")[:9], 10},
		{post(1) + data(1, 0, "abc")[:9], 1},
		{frame(0x20, 0, 0, "abc")[:10], 1},
	} {
		s := started(t)
		for p := []byte(tt.in); ; {
			ev, n := s.c.Next(p, &s.m, s.now)
			if p = p[n:]; ev.Kind == More {
				if ev.Need != tt.want {
					t.Errorf("%q needs %d, want %d", tt.in, ev.Need, tt.want)
				}
				break
			}
		}
	}
	s := newSide(testConfig(Server))
	if ev, n := s.c.Next([]byte(Preface[:5]), &s.m, 0); ev.Need != 1 || n != 5 {
		t.Errorf("a part of the preface: %d bytes, needs %d", n, ev.Need)
	}
}

// Only the first failure counts.
func TestFailTwice(t *testing.T) {
	s := started(t)
	s.c.Fail(ErrSettingsTimeout)
	s.c.Fail(ErrInadequateSecurity)
	s.wantSent(t, "GOAWAY 0 SETTINGS_TIMEOUT")
	s.feed([]byte("x"))
	if s.c.failed != ErrSettingsTimeout || !strings.Contains(ErrSettingsTimeout.Error(), "http2: ") {
		t.Errorf("failed: %v", s.c.failed)
	}
}

func TestCodes(t *testing.T) {
	for code, want := range map[Code]string{NoError: "NO_ERROR", HTTP11Required: "HTTP_1_1_REQUIRED", 14: "unknown code", 1 << 31: "unknown code"} {
		if got := code.String(); got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
}

// Calls for streams that are not there, or not any more, do nothing.
func TestUnknownStreams(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	s.c.Respond(1, 200, nil, true)
	s.sent(t)
	for _, id := range []uint32{1, 3} {
		if _, _, ok := s.c.BeginHead(id); ok || s.c.Respond(id, 200, nil, true) || s.c.WriteTrailers(id, nil) || s.c.SendWindow(id) != 0 {
			t.Errorf("stream %d may send", id)
		}
		s.c.Reset(id, Cancel)
		s.c.Consumed(id, 1<<20)
		s.c.GrowWindow(id, 1<<20)
		s.c.MergePriority(3, []byte("u=0"))
		s.c.Release(id)
		s.c.Release(id)
	}
	s.wantSent(t)
	if _, _, ok := s.c.Request(&RequestLine{}, nil, true); ok {
		t.Error("a request of a server")
	}
}

func TestSendWindowOfStream(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 100) + request(1)))
	if got := s.c.SendWindow(1); got != 100 {
		t.Errorf("window %d", got)
	}
	s.feed([]byte(settings(4, 100_000)))
	if got := s.c.SendWindow(1); got != 65535 {
		t.Errorf("window %d, limited by the connection", got)
	}
}

// A block that the caller encodes itself.
func TestBeginHead(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	dst, e, ok := s.c.BeginHead(1)
	if !ok {
		t.Fatal("no stream")
	}
	var fields field.List
	field.Add(&fields, field.TE, "TE", "gzip")
	field.Add(&fields, field.Server, "Server", "x")
	s.c.EndHead(1, appendFields(e, append(dst, 0x88), &fields, false), true, true)
	c := startedClient(t, 1)
	c.feed(append([]byte(nil), s.c.Out()...))
	c.wantEvents(t, "head 1 200 [server=x] end")
}

func TestUpdatePriority(t *testing.T) {
	c := startedClient(t, 1)
	c.c.UpdatePriority(1, Priority{Urgency: 1})
	c.wantSent(t, "PRIORITY_UPDATE 1 u=1")
}

// A response whose header list is too large is reported with its head.
func TestExcessOfResponses(t *testing.T) {
	c := startedClient(t, 2)
	large := []string{":status: 200", "a: " + strings.Repeat("x", 30000), "b: " + strings.Repeat("x", 30000), "c: " + strings.Repeat("x", 6000)}
	c.feed([]byte(split(1, 16384, block(large...)) + headers(3, flagEndStream, ":status: 204")))
	if len(c.events) != 2 || !strings.HasSuffix(c.events[0], " excess") || c.events[1] != "head 3 204 [] end" {
		t.Errorf("got %.200q", c.events)
	}
	c.c.Release(1)
	c.wantSent(t, "RST 1 CANCEL")
	c.feed([]byte(frame(typeHeaders, flagEndHeaders, 3, "\xff\x00")))
	if c.c.failed != ErrCompression {
		t.Errorf("got %v", c.c.failed)
	}
}

// WriteData may be called for a stream whose turn it is not.
func TestOutOfTurn(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<30) + frame(typeWindowUpdate, 0, 0, number(1<<30)) + request(1) + request(3) + request(5)))
	for _, id := range []uint32{1, 3, 5} {
		s.c.Respond(id, 200, nil, false)
		s.write(t, id, 1<<20, 16384)
		s.c.Sent(len(s.c.Out()))
	}
	s.write(t, 3, 1<<20, 16384)
	s.next(t, 1)
	s.write(t, 1, 1<<20, 16384)
	s.next(t, 3)
}

// RFC 9113 §4.2: a larger frame size counts when the peer has acknowledged it.
func TestLargerFrames(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		{"before the acknowledgment", post(1) + data(1, 0, largeData+"x"), "C FRAME_SIZE_ERROR"},
		{"after the acknowledgment", frame(typeSettings, flagAck, 0) + post(1) + data(1, 0, largeData+"x"), ""},
		{"beyond the new size", frame(typeSettings, flagAck, 0) + post(1) + data(1, 0, largeData+largeData), "C FRAME_SIZE_ERROR"},
	} {
		s := started(t)
		v := s.c.Announced()
		v.MaxFrameSize = 20_000
		s.c.Announce(v)
		s.feed([]byte(tt.in))
		if got := verdicts(s.sent(t)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
