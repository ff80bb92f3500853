package http2

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// zeros is the longest body of a test.
var zeros [1 << 20]byte

// write calls WriteData with n bytes and the end, and checks how many are taken.
func (s *side) write(t *testing.T, id uint32, n, want int) {
	t.Helper()
	if got, ok := s.c.WriteData(id, zeros[:n], true, s.now); !ok || got != want {
		t.Fatalf("stream %d took %d of %d bytes, want %d (%v)", id, got, n, want, ok)
	}
}

func (s *side) wantSent(t *testing.T, want ...string) {
	t.Helper()
	if got := s.sent(t); !slices.Equal(got, want) {
		t.Fatalf("sent %q, want %q", got, want)
	}
}

func (s *side) wantEvents(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.events, want) {
		t.Fatalf("got %q, want %q", s.events, want)
	}
	s.events = nil
}

func (s *side) next(t *testing.T, want uint32) {
	t.Helper()
	if id, _, ok := s.c.NextWriter(); id != want || ok != (want != 0) {
		t.Fatalf("next is %d, want %d", id, want)
	}
}

// RFC 9113 §6.9: bodies wait for windows, and go on when these open.
func TestSendWindows(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 100) + request(1)))
	s.sent(t)
	s.c.Respond(1, 200, nil, false)
	s.write(t, 1, 250, 100)
	s.wantSent(t, "HEADERS 1 false true", "DATA 1 100 false")
	s.next(t, 0)
	s.write(t, 1, 150, 0)
	s.events = nil
	s.feed([]byte(frame(typeWindowUpdate, 0, 1, number(30))))
	s.wantEvents(t, "writable")
	s.next(t, 1)
	s.write(t, 1, 150, 30)

	s.feed([]byte(settings(4, 60))) // the window is now -40
	s.write(t, 1, 120, 0)
	s.feed([]byte(frame(typeWindowUpdate, 0, 1, number(40)))) // and now 0
	s.next(t, 0)
	s.events = nil
	s.feed([]byte(frame(typeWindowUpdate, 0, 1, number(1))))
	s.wantEvents(t, "writable")
	s.write(t, 1, 120, 1)
	s.feed([]byte(settings(4, 1000)))
	s.next(t, 1)
	s.write(t, 1, 119, 119)
	s.wantSent(t, "DATA 1 30 false", "SETTINGS ack", "DATA 1 1 false", "SETTINGS ack", "DATA 1 119 true")
	s.next(t, 0)
	if s.c.Streams() != 0 || s.c.Held() != 1 {
		t.Errorf("%d streams, %d held", s.c.Streams(), s.c.Held())
	}
	s.c.Release(1)
	s.wantSent(t)
}

func TestConnWindow(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<20, 5, 1<<20) + request(1) + request(3)))
	s.sent(t)
	for _, id := range []uint32{1, 3} {
		s.c.Respond(id, 200, nil, false)
	}
	s.write(t, 1, 60_000, 16384) // MaxSendFrame limits it
	for n := 60_000 - 16384; n > 0; n -= 16384 {
		s.next(t, 1)
		s.write(t, 1, n, min(n, 16384))
	}
	s.sent(t)
	s.write(t, 3, 60_000, 65535-60_000)
	s.next(t, 0)
	s.events = nil
	s.feed([]byte(frame(typeWindowUpdate, 0, 3, number(100))))
	s.wantEvents(t) // the stream's window was open
	s.feed([]byte(frame(typeWindowUpdate, 0, 0, number(100))))
	s.wantEvents(t, "writable")
	s.next(t, 3)
	s.write(t, 3, 54_465, 100)
	s.wantSent(t, "DATA 3 5535 false", "DATA 3 100 false")
}

// An empty body needs no window.
func TestEmptyData(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 0) + request(1)))
	s.sent(t)
	s.c.Respond(1, 200, nil, false)
	if n, ok := s.c.WriteData(1, nil, false, 0); n != 0 || !ok {
		t.Error(n, ok)
	}
	s.write(t, 1, 0, 0)
	s.wantSent(t, "HEADERS 1 false true", "DATA 1 0 true")
	if _, ok := s.c.WriteData(1, nil, true, 0); ok {
		t.Error("data after the end")
	}
}

// The output takes DATA only up to a limit. The rest waits until it was written.
func TestFullOutput(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<30) + frame(typeWindowUpdate, 0, 0, number(1<<30)) + request(1)))
	s.sent(t)
	s.c.Respond(1, 200, nil, false)
	left := 1 << 20
	for turn := 0; left > 0; turn++ {
		n, _ := s.c.WriteData(1, zeros[:left], true, s.now)
		left -= n
		if s.c.out.unsent() > maxData+headerLen*10 {
			t.Fatalf("%d bytes wait", s.c.out.unsent())
		}
		if n == 0 {
			s.next(t, 0)
			s.c.Sent(len(s.c.Out()))
			s.next(t, 1)
		}
		if turn > 1000 {
			t.Fatal("no end")
		}
	}
}

func TestSentInParts(t *testing.T) {
	s := newSide(testConfig(Server))
	s.c.Ping(1)
	all := bytes.Clone(s.c.Out())
	var got []byte
	for len(s.c.Out()) > 0 {
		got = append(got, s.c.Out()[0])
		s.c.Sent(1)
	}
	if !bytes.Equal(got, all) {
		t.Errorf("wrote %x, want %x", got, all)
	}
	had := s.c.LendOut(nil)
	s.c.Ping(2)
	if cap(had) == 0 || len(s.c.Out()) != 17 {
		t.Errorf("%d, %d", cap(had), len(s.c.Out()))
	}
}

// RFC 9218: who sends next.
func TestScheduling(t *testing.T) {
	for _, tt := range []struct {
		name    string
		streams []string // the Priority field of streams 1, 3, …
		want    string   // the order of the streams
	}{
		{"round robin", []string{"", "", ""}, "1 3 5 1 3 5"},
		{"urgent first", []string{"u=5", "u=1", ""}, "3 3 3 3 3 3"},
		{"incremental", []string{"i", "i"}, "1 3 1 3"},
		{"not incremental", []string{"u=2", "u=2"}, "1 1 1 1 1 1 1 1 3 3 3 3 3 3 3 3 1 1"},
		{"some not incremental", []string{"u=3", "i"}, "1 1 1 1 1 1 1 1 3 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t)
			in := settings(4, 1<<30) + frame(typeWindowUpdate, 0, 0, number(1<<30))
			for i, p := range tt.streams {
				lines := get
				if p != "" {
					lines = with(get, "priority: "+p)
				}
				in += headers(uint32(2*i+1), flagEndStream, lines...)
			}
			s.feed([]byte(in))
			for i := range tt.streams {
				id := uint32(2*i + 1)
				s.c.Respond(id, 200, nil, false)
				s.c.streams.slots[s.c.streams.find(id)].waiting = forWindow
				s.c.wake(s.c.streams.find(id))
			}
			var order []string
			for range strings.Fields(tt.want) {
				s.c.Sent(len(s.c.Out()))
				id, _, _ := s.c.NextWriter()
				s.write(t, id, 1<<20, 16384)
				order = append(order, fmt.Sprint(id))
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The least urgent stream gets some turns, and streams of the same urgency get the same number.
func TestFairness(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<30) + frame(typeWindowUpdate, 0, 0, number(1<<30)) +
		headers(1, flagEndStream, with(get, "priority: u=7")...) + request(3) + request(5)))
	turns := map[uint32]int{}
	for _, id := range []uint32{1, 3, 5} {
		s.c.Respond(id, 200, nil, false)
		s.write(t, id, 1<<20, 16384)
		s.c.Sent(len(s.c.Out()))
	}
	for range 320 {
		s.c.Sent(len(s.c.Out()))
		id, _, _ := s.c.NextWriter()
		turns[id]++
		s.write(t, id, 1<<20, 16384)
	}
	if turns[1] != 10 || turns[3] != 155 || turns[5] != 155 {
		t.Errorf("turns %v", turns)
	}
}

// A stream that waits can get another priority, and can be reset.
func TestChangesWhileWaiting(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<30) + frame(typeWindowUpdate, 0, 0, number(1<<30)) + request(1) + request(3) + request(5)))
	for _, id := range []uint32{1, 3, 5} {
		s.c.Respond(id, 200, nil, false)
		s.write(t, id, 1<<20, 16384)
	}
	s.c.Sent(len(s.c.Out()))
	s.feed([]byte(frame(typePriorityUpdate, 0, 0, number(5), "u=0")))
	s.next(t, 5)
	s.feed([]byte(frame(typeRSTStream, 0, 5, number(8))))
	s.next(t, 1)
	s.c.Reset(1, InternalError)
	s.next(t, 3)
	s.c.MergePriority(3, []byte("u=6"))
	s.next(t, 3)
	s.c.Release(3)
	s.next(t, 0)
	if s.c.sched.filled != 0 || s.c.Streams() != 0 || s.c.Held() != 2 {
		t.Errorf("lists %b, %d streams, %d held", s.c.sched.filled, s.c.Streams(), s.c.Held())
	}
	s.wantSent(t, "RST 1 INTERNAL_ERROR", "RST 3 CANCEL")
}

// wantWaiting checks which streams wait for a window, since when, and how many bytes the peer owes credit for.
func (s *side) wantWaiting(t *testing.T, when string, want ...string) {
	t.Helper()
	var got []string
	for id := uint32(1); id <= 9; id += 2 {
		if since, uncredited, ok := s.c.AwaitsWindow(id); ok {
			got = append(got, fmt.Sprintf("%d since %ds, %d bytes", id, since/1e9, uncredited))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: waiting are %q, want %q", when, got, want)
	}
}

// CVE-2016-1546: streams whose peer opens no window are found.
func TestAwaitsWindow(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 10) + request(1) + request(3) + request(5)))
	for _, id := range []uint32{1, 3} {
		s.c.Respond(id, 200, nil, false)
		s.write(t, id, 100, 10)
		s.now += 1e9
	}
	s.wantWaiting(t, "at first", "1 since 1s, 10 bytes", "3 since 2s, 10 bytes")
	s.feed([]byte(frame(typeWindowUpdate, 0, 1, number(5))))
	s.wantWaiting(t, "with a window", "3 since 2s, 10 bytes")
	s.write(t, 1, 90, 5)
	s.wantWaiting(t, "after progress", "1 since 3s, 10 bytes", "3 since 2s, 10 bytes")
	s.now += 1e9
	s.write(t, 3, 90, 0) // no progress
	s.wantWaiting(t, "without progress", "1 since 3s, 10 bytes", "3 since 2s, 10 bytes")
	s.feed([]byte(settings(4, 0)))
	s.wantWaiting(t, "with a smaller window", "1 since 3s, 10 bytes", "3 since 2s, 10 bytes")
	s.feed([]byte(settings(4, 18)))
	s.write(t, 1, 85, 8)
	s.wantWaiting(t, "with a larger window", "1 since 4s, 8 bytes")
}

// Credit beyond what the peer has got does not count for later bytes.
func TestCreditAhead(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 10) + request(1) + frame(typeWindowUpdate, 0, 1, number(100))))
	s.c.Respond(1, 200, nil, false)
	s.write(t, 1, 200, 110)
	s.wantWaiting(t, "after credit", "1 since 1s, 110 bytes")
}

// Streams wait for the window of the connection, as long as nothing opens it. Streams that wait for the output do not count.
func TestAwaitsWindowOfConn(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<20) + request(1) + request(3)))
	s.c.Respond(1, 200, nil, false)
	s.c.Respond(3, 200, nil, false)
	s.c.WriteData(3, zeros[:1000], false, s.now)
	s.c.Sent(len(s.c.Out()))
	for _, n := range []int{16384, 16384, 16384, 65535 - 1000 - 3*16384} {
		s.now += 1e9
		s.write(t, 1, 100_000, n)
	}
	s.now += 1e9
	s.write(t, 3, 10, 0)
	s.wantWaiting(t, "at first", "1 since 5s, 65535 bytes", "3 since 6s, 65535 bytes")
	s.feed([]byte(frame(typeWindowUpdate, 0, 0, number(60_000))))
	s.wantWaiting(t, "with a window")
	s.c.Sent(len(s.c.Out()))
	s.now += 1e9
	for _, n := range []int{16384, 16384, 16384, 60_000 - 3*16384} {
		s.write(t, 1, 100_000, n)
	}
	s.wantWaiting(t, "after progress of one stream", "1 since 7s, 65535 bytes", "3 since 7s, 65535 bytes")
}

// Streams do not wait for their peer to open a window while the output is full.
func TestAwaitsOutput(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<20) + frame(typeWindowUpdate, 0, 0, number(1<<20)) + request(1) + request(3)))
	s.c.Respond(1, 200, nil, false)
	s.c.Respond(3, 200, nil, false)
	for range 4 {
		s.c.WriteData(1, zeros[:100_000], false, s.now)
	}
	s.next(t, 0)
	s.write(t, 3, 10, 0)
	s.now += 1000e9
	s.wantWaiting(t, "while the output is full")
}

// Credit for consumed bytes is given at half of a window; credit of the connection when bytes arrive.
func TestCredit(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1)))
	for range 3 {
		s.feed([]byte(data(1, 0, largeData)))
	}
	s.wantSent(t)
	s.c.Consumed(1, 32767-1)
	s.wantSent(t)
	s.c.Consumed(1, 1)
	s.wantSent(t, "WINDOW 1 32767")
	s.c.Consumed(1, 16385)
	for i := range 29 { // the connection has got 32 frames then, which is half of its window
		if i == 28 {
			s.wantSent(t)
		}
		s.c.streams.slots[0].recv.open = 1 << 20
		s.feed([]byte(data(1, 0, largeData)))
	}
	s.wantSent(t, fmt.Sprint("WINDOW 0 ", 32*16384))

	s.c.HoldCredit(true)
	s.feed([]byte(strings.Repeat(data(1, 0, largeData), 40)))
	s.wantSent(t)
	s.c.HoldCredit(false)
	s.wantSent(t, fmt.Sprint("WINDOW 0 ", 40*16384))
}

// A peer that has ended its side needs no credit for the stream.
func TestNoCreditAfterTheEnd(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1) + strings.Repeat(data(1, 0, largeData), 2) + data(1, flagEndStream, largeData)))
	s.c.Consumed(1, 3*16384)
	s.c.GrowWindow(1, 1<<20)
	s.wantSent(t)
}

// Bytes that no caller gets are given back: padding, and DATA of streams that were reset.
func TestCreditOfDroppedBytes(t *testing.T) {
	s := started(t)
	s.c.HoldCredit(true)
	s.feed([]byte(post(1) + data(1, flagPadded, "\x64"+strings.Repeat("x", 200))))
	if w := s.c.streams.slots[0].recv; w.owed != 101 || w.open != 65535-201 {
		t.Errorf("window of the stream %+v", w)
	}
	s.c.Reset(1, Cancel)
	s.feed([]byte(data(1, 0, largeData)))
	if w := s.c.recv; w.owed != 16384 || w.open != 1<<20-201-16384 || s.c.held != 201 {
		t.Errorf("window of the connection %+v, held %d", w, s.c.held)
	}
}

func TestGrowWindow(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1)))
	s.c.GrowWindow(1, 100_000)
	s.c.GrowWindow(1, 50_000)
	s.c.GrowWindow(0, 2<<20)
	s.c.GrowWindow(3, 2<<20)
	s.wantSent(t, "WINDOW 1 34465", "WINDOW 0 1048576")
	s.feed([]byte(strings.Repeat(data(1, 0, largeData[:10000]), 10)))
	if s.failed {
		t.Errorf("failed: %v", s.c.failed)
	}
}

// A stream can be reset in the middle of a frame. The rest of the frame is skipped.
func TestResetWithinFrame(t *testing.T) {
	s := started(t)
	f := post(1) + data(1, flagEndStream, "abcdef")
	s.feed([]byte(f[:len(f)-3]))
	s.c.Reset(1, Cancel)
	s.events = nil
	s.feed([]byte(f[len(f)-3:] + request(3)))
	s.wantEvents(t, "head 3 GET https / [host=a] end")
	if got := string(s.datas[1]); got != "abc" {
		t.Errorf("data %q", got)
	}
}

func TestPeerSettings(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(1, 1, 2, 0, 3, 3, 4, 4, 5, 55555, 6, 6, 8, 1)))
	want := Settings{HeaderTableSize: 1, MaxConcurrentStreams: 3, InitialWindowSize: 4, MaxFrameSize: 55555, MaxHeaderListSize: 6, EnableConnect: true}
	if got := s.c.Peer(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// RFC 9113 §6.5.3: a value counts when the peer has acknowledged it.
func TestAnnounce(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1)))
	v := s.c.Announced()
	v.InitialWindowSize, v.MaxFrameSize, v.HeaderTableSize = 1000, 20_000, 0
	if !s.c.Announce(v) {
		t.Fatal("not announced")
	}
	s.wantSent(t, "SETTINGS 1=0 4=1000 5=20000")
	s.feed([]byte(data(1, 0, largeData))) // as the old values permit
	s.events = nil
	s.feed([]byte(frame(typeSettings, flagAck, 0)))
	s.wantEvents(t, "acked")
	if w := s.c.streams.slots[0].recv; w.open != 1000-16384 || w.size != 1000 {
		t.Errorf("window %+v", w)
	}
	s.c.Consumed(1, 16384)
	s.wantSent(t, "WINDOW 1 16384")
	s.feed([]byte(post(3) + data(3, 0, largeData[:1001])))
	if got := verdicts(s.sent(t)); got != "C COMPRESSION_ERROR" { // the table was reduced, and the block does not say so
		t.Errorf("got %s", got)
	}
}

func TestUnacknowledgedSettings(t *testing.T) {
	s := started(t)
	for i := range maxUnacked {
		v := s.c.Announced()
		v.MaxConcurrentStreams = uint32(i)
		if !s.c.Announce(v) {
			t.Fatal(i)
		}
	}
	if s.c.Announce(s.c.Announced()) || !s.c.SettingsUnacked() {
		t.Error("one more SETTINGS frame")
	}
	s.feed([]byte(strings.Repeat(frame(typeSettings, flagAck, 0), maxUnacked)))
	if s.c.SettingsUnacked() || s.c.own.acked.maxConcurrentStreams != maxUnacked-1 {
		t.Errorf("%+v", s.c.own)
	}
	s.c.Fail(ErrSettingsTimeout)
	s.feed(nil)
	if got := s.events[len(s.events)-1]; !strings.HasPrefix(got, "failed the peer does not") {
		t.Error(got)
	}
}

// The table of the peer's decoder is used as far as the peer permits.
func TestPeerTableSize(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1) + request(3) + request(5)))
	var fields field.List
	field.Add(&fields, field.ContentType, "Content-Type", "text/plain")
	s.c.Respond(1, 200, &fields, true)
	first := len(s.c.Out())
	s.c.Sent(first)
	s.c.Respond(3, 200, &fields, true)
	if n := len(s.c.Out()); n != headerLen+2 {
		t.Errorf("%d bytes", n)
	}
	s.sent(t)
	s.feed([]byte(settings(1, 0)))
	s.sent(t)
	s.c.Respond(5, 200, &fields, true)
	if out := s.c.Out(); out[headerLen] != 0x20 || len(out) < first {
		t.Errorf("%x", out)
	}
}

// A head that exceeds the peer's frame size continues in further frames.
func TestLongHead(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	var fields field.List
	long := strings.Repeat("x", 20_000)
	field.Add(&fields, field.Unknown, "x", long)
	field.Add(&fields, field.Unknown, "y", long)
	s.c.Respond(1, 200, &fields, true)
	c := startedClient(t, 1)
	c.feed(bytes.Clone(s.c.Out()))
	s.wantSent(t, "HEADERS 1 true false", "CONTINUATION 1 false", "CONTINUATION 1 true")
	if want := "head 1 200 [x=" + long + "; y=" + long + "] end"; len(c.events) != 1 || c.events[0] != want {
		t.Errorf("got %.100q", c.events)
	}
}

// Fields that HTTP/2 forbids are not sent.
func TestFieldsThatAreLeftOut(t *testing.T) {
	c := newSide(testConfig(Client))
	s := newSide(testConfig(Server))
	var fields field.List
	for _, f := range [][2]string{{"Connection", "close"}, {"Keep-Alive", "1"}, {"Proxy-Connection", "close"}, {"Transfer-Encoding", "chunked"},
		{"Upgrade", "x"}, {"HTTP2-Settings", "x"}, {"TE", "gzip, trailers"}, {"Host", "b"}, {"X-A", "B"}} {
		field.Add(&fields, field.Lookup(f[0]), f[0], f[1])
	}
	line := RequestLine{Method: []byte("GET"), Scheme: []byte("https"), Authority: []byte("a"), Path: []byte("/")}
	if _, _, ok := c.c.Request(&line, &fields, true); !ok {
		t.Fatal("no stream")
	}
	s.feed(bytes.Clone(c.c.Out()))
	if got, want := s.events[1], "head 1 GET https / [host=a; te=trailers; x-a=B] end"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRespondTwice(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	s.c.Respond(1, 103, nil, false)
	if _, ok := s.c.WriteData(1, []byte("x"), true, 0); ok || s.c.WriteTrailers(1, nil) {
		t.Error("a body without a final head")
	}
	s.sent(t)
	if !s.c.Respond(1, 103, nil, false) || !s.c.Respond(1, 200, nil, false) || s.c.Respond(1, 200, nil, false) || s.c.Respond(3, 200, nil, false) {
		t.Error("heads")
	}
	if !s.c.WriteTrailers(1, nil) || s.c.WriteTrailers(1, nil) {
		t.Error("trailers")
	}
	s.wantSent(t, "HEADERS 1 false true", "HEADERS 1 false true", "HEADERS 1 true true")
}

// Output that is never empty neither grows nor counts control frames forever.
func TestOutputThatIsNeverEmpty(t *testing.T) {
	var o output
	var want, got []byte
	for i := range 5000 {
		frame := appendPing(nil, uint64(i), flagAck)
		o.buf = append(o.buf, frame...)
		o.noteControl()
		want = append(want, frame...)
		if o.unsent() > 500 {
			n := 17 + i%13
			got = append(got, o.buf[o.sent:int(o.sent)+n]...)
			o.wrote(n)
		}
		if o.isFull() || len(o.buf) > 1500 || int(o.older+o.newer) < o.unsent()/17 {
			t.Fatalf("after %d frames: %+v", i, o)
		}
	}
	if !bytes.HasPrefix(want, got) || len(got) < 1000 {
		t.Error("other bytes were written than appended")
	}
}

// If a window shrinks, half of its new size may be owed already. Without credit at that time, both sides would wait.
func TestShrunkWindow(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1) + data(1, 0, largeData) + post(3) + data(3, flagEndStream, largeData)))
	s.c.Consumed(1, 16384)
	s.c.Consumed(3, 16384)
	v := s.c.Announced()
	v.InitialWindowSize = 1000
	s.c.Announce(v)
	s.sent(t)
	s.feed([]byte(frame(typeSettings, flagAck, 0)))
	s.wantSent(t, "WINDOW 1 16384")
	s.feed([]byte(data(1, 0, largeData[:1000])))
	s.wantSent(t)
	s.feed([]byte(data(1, 0, "x")))
	s.wantSent(t, "RST 1 FLOW_CONTROL_ERROR")
}

// The window of a stream that has ended does not overflow.
func TestOverflowOfEndedStreams(t *testing.T) {
	s := started(t)
	s.feed([]byte(post(1) + frame(typeWindowUpdate, 0, 1, number(1<<31-1-65535))))
	s.c.Respond(1, 200, nil, true)
	s.feed([]byte(settings(4, 65536)))
	if s.failed {
		t.Errorf("failed: %v", s.c.failed)
	}
}

// A stream's window is of no use while the connection's window is shut.
func TestStreamWindowAlone(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<20) + request(1)))
	s.c.Respond(1, 200, nil, false)
	for left := 65_535 - 100; left > 0; left -= 16384 {
		s.c.Sent(len(s.c.Out()))
		s.write0(t, 1, min(left, 16384))
	}
	s.feed([]byte(settings(4, 100) + request(3)))
	s.c.Respond(3, 200, nil, false)
	s.write(t, 3, 200, 100)
	s.events = nil
	s.feed([]byte(frame(typeWindowUpdate, 0, 3, number(100))))
	s.wantEvents(t)
	s.next(t, 0)
	s.feed([]byte(frame(typeWindowUpdate, 0, 0, number(1))))
	s.wantEvents(t, "writable")
}

// A window of usual size may end with a tiny frame each time.
func TestTinyTails(t *testing.T) {
	s := started(t)
	s.feed([]byte(settings(4, 1<<30) + request(1)))
	s.c.Respond(1, 200, nil, false)
	s.c.send = 0
	for range 5000 {
		s.feed([]byte(frame(typeWindowUpdate, 0, 0, number(2*16384+26))))
		for _, n := range []int{16384, 16384, 26} {
			s.write(t, 1, 1<<20, n)
		}
		s.c.Sent(len(s.c.Out()))
	}
	if s.failed || s.c.failed != nil {
		t.Errorf("failed: %v", s.c.failed)
	}
}

// A stream that has sent all it has at the moment has no turn until it has more.
func TestPauses(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1)))
	s.c.Respond(1, 200, nil, false)
	if n, _ := s.c.WriteData(1, []byte(largeData+"x"), false, s.now); n != 16384 {
		t.Fatalf("took %d bytes", n)
	}
	s.next(t, 1)
	s.write0(t, 1, 1)
	s.next(t, 0)
	s.wantWaiting(t, "without bytes")
	s.write(t, 1, 1, 1)
}

// Small frames that this side chooses are not blamed on the peer.
func TestSmallFrames(t *testing.T) {
	cfg := testConfig(Server)
	cfg.MaxSendFrame = 10
	s := newSide(cfg)
	s.feed([]byte(hello + request(1)))
	s.c.Respond(1, 200, nil, false)
	for left := 20_000; left > 0; left -= 10 {
		s.write(t, 1, left, 10)
		s.c.Sent(len(s.c.Out()))
	}
	if s.c.abuse.missing != [buckets]int32{} {
		t.Errorf("%v are missing", s.c.abuse.missing)
	}
}

// Until it knows the server's settings, a client opens no more streams than most servers permit.
func TestUnsureClient(t *testing.T) {
	cfg := testConfig(Client)
	cfg.MaxConcurrentStreams = 1000
	c := newSide(cfg)
	for range unsureStreams {
		c.request(t, "GET", true)
	}
	if c.c.CanOpen() {
		t.Error("before SETTINGS")
	}
	c.feed([]byte(settings()))
	if !c.c.CanOpen() {
		t.Error("after SETTINGS")
	}
}

// A RST_STREAM that follows a whole response is written on its own: see Reset. A place for that stays where it is while output is
// written in parts and while frames are appended.
func TestResetIsWrittenAlone(t *testing.T) {
	for _, part := range []int{1, 7, 100} {
		s := started(t)
		s.feed([]byte(post(1) + post(3) + post(5)))
		s.sent(t)
		var pieces []string
		write := func() {
			var piece []byte
			for left := len(s.c.OutPiece()); left > 0; left = len(s.c.OutPiece()) {
				n := min(part, left)
				piece = append(piece, s.c.OutPiece()[:n]...)
				s.c.Sent(n)
				if n == left {
					break
				}
			}
			pieces = append(pieces, strings.Join(describe(t, piece), "; "))
		}
		respond := func(id uint32) {
			s.c.Respond(id, 404, nil, true)
			s.c.Release(id)
		}
		respond(1)
		respond(3)
		write()
		respond(5)
		for len(s.c.Out()) > 0 {
			write()
		}
		want := []string{"HEADERS 1 true true", "RST 1 NO_ERROR; HEADERS 3 true true; RST 3 NO_ERROR; HEADERS 5 true true", "RST 5 NO_ERROR"}
		if !slices.Equal(pieces, want) {
			t.Errorf("in parts of %d: %q", part, pieces)
		}
	}
}
