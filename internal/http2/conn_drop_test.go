package http2

import (
	"fmt"
	"strings"
	"testing"
)

// RFC 9113 §4.3: the header block of a stream that is refused, reset or ignored still changes the compression table.
func TestBlocksThatAreDropped(t *testing.T) {
	cancel := frame(typeRSTStream, 0, 1, number(8))
	stored := "\x40\x01x\x01y" // x: y, with indexing
	head := func(stream uint32, lines ...string) string {
		return frame(typeHeaders, flagEndHeaders|flagEndStream, stream, block(lines...), stored)
	}
	var crowd string
	for id := uint32(1); id < 20; id += 2 {
		crowd += request(id)
	}
	for _, tt := range []struct {
		name, in, want string
		shut           bool
	}{
		{"too many streams", crowd + head(21, get...), "S 21 REFUSED_STREAM", false},
		{"malformed", head(1, ":method: GET"), "S 1 PROTOCOL_ERROR", false},
		{"depends on itself", frame(typeHeaders, flagPriority|flagEndHeaders, 1, number(1), "\x10", block(get...), stored), "S 1 PROTOCOL_ERROR", false},
		{"reset by the client", post(1) + cancel + head(1, get...), "S 1 STREAM_CLOSED", false},
		{"reset by the server", post(1) + frame(typeWindowUpdate, 0, 1, number(0)) + head(1, get...), "S 1 PROTOCOL_ERROR", false},
		{"second head without an end", post(1) + frame(typeHeaders, flagEndHeaders, 1, block(get...), stored), "S 1 PROTOCOL_ERROR", false},
		{"beyond the last stream", head(3, get...), "", true},
		{"too large", frame(typeHeaders, flagEndHeaders|flagEndStream, 1, block(with(get, strings.Split(strings.Repeat("a: b\n", 100)+"a: b", "\n")...)...), stored), "", false},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			s := started(t)
			if tt.shut {
				s.c.Shutdown()
				s.c.FinishShutdown()
				s.sent(t)
			}
			s.feed([]byte(tt.in))
			if got := verdicts(s.sent(t)); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, 101, block(get...), "\xbe")))
			if s.failed {
				t.Fatalf("the table has no entry: %v", s.c.failed)
			}
			s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, 103, block(get...), "\xbf")))
			if s.c.failed != ErrCompression {
				t.Errorf("the table has two entries: %v", s.c.failed)
			}
		})
	}
}

// The connection's window gets back the bytes of DATA frames that are dropped, padding included, so that it never runs dry.
func TestWindowOfDroppedData(t *testing.T) {
	cancel := frame(typeRSTStream, 0, 1, number(8))
	short := headers(1, 0, with(get, "content-length: 3")...)
	for _, tt := range []struct {
		name, in string
		shut     bool
	}{
		{"reset by the client", post(1) + cancel, false},
		{"reset by the server", post(1) + frame(typeWindowUpdate, 0, 1, number(0)), false},
		{"malformed", headers(1, 0, ":method: GET"), false},
		{"longer than Content-Length", short, false},
		{"beyond the stream's window", post(1) + strings.Repeat(data(1, 0, largeData), 4), false},
		{"beyond the last stream", headers(1, 0, get...), true},
		{"response is complete", headers(1, 0, ":method: POST", ":scheme: https", ":authority: a", ":path: /done"), false},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			s := started(t)
			if tt.shut {
				s.c.Shutdown()
				s.c.FinishShutdown()
			}
			s.onHead = func(ev Event) {
				if target := string(s.m.Head.Fields.Bytes(s.m.Head.Target)); target == "/done" {
					s.c.Respond(ev.Stream, 200, nil, true)
					s.c.Release(ev.Stream)
				}
			}
			s.feed([]byte(tt.in))
			sent := strings.Count(tt.in, largeData) * len(largeData)
			given := connCredit(s.sent(t))
			for range 200 { // three times the window of the connection
				s.now += 1e9
				padded := data(1, flagPadded, "\xff"+strings.Repeat("x", 16383))
				s.feed([]byte(padded))
				sent += len(padded) - headerLen
				given += connCredit(s.sent(t))
			}
			if s.failed {
				t.Fatalf("failed: %v", s.c.failed)
			}
			if sent-given != int(s.c.recv.owed) || s.c.recv.open+s.c.recv.owed != s.c.recv.size {
				t.Errorf("%d bytes were sent, %d given back, window %+v", sent, given, s.c.recv)
			}
		})
	}
}

// connCredit returns the credit for the connection among frames that were sent.
func connCredit(frames []string) (sum int) {
	for _, f := range frames {
		var n int
		if k, _ := fmt.Sscanf(f, "WINDOW 0 %d", &n); k == 1 {
			sum += n
		}
	}
	return sum
}
