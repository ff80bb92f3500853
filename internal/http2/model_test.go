package http2

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// model predicts how a server judges frames, from the table of states in RFC 9113 §5.1. It knows nothing of Conn. Each
// function returns a verdict as verdicts prints it.
type model struct {
	streams map[uint32]*modelStream
	highest uint32
}

type modelStream struct {
	recv, sent bool   // the peer may send, this side may send
	over       string // why it is closed: "ended", "ours", "theirs"; "" if it is not
	held       bool
	window     int // bytes that the peer may send
	send       int // bytes that this side may send
	owed       int // bytes that were consumed without credit
}

func (m *model) count(of func(*modelStream) bool) (n int) {
	for _, s := range m.streams {
		if of(s) {
			n++
		}
	}
	return n
}

// fail resets a stream because of the peer, or fails the connection if a complete request is being answered.
func (m *model) fail(id uint32, code Code) string {
	s := m.streams[id]
	if s.over == "" && !s.recv {
		return "C " + code.String()
	}
	s.over = "ours"
	return fmt.Sprint("S ", id, " ", code)
}

// late judges DATA and HEADERS on a stream that may not receive them.
func (m *model) late(id uint32) string {
	s := m.streams[id]
	switch {
	case s == nil && (id > m.highest || id%2 == 0):
		return "C PROTOCOL_ERROR"
	case s == nil: // skipped
		return "C"
	case s.over == "ours":
		return ""
	case s.over == "theirs":
		return fmt.Sprint("S ", id, " STREAM_CLOSED")
	}
	return "C STREAM_CLOSED"
}

func (m *model) headers(id uint32, isRequest, end bool) string {
	s := m.streams[id]
	if s == nil && id%2 == 1 && id > m.highest {
		return m.open(id, isRequest, end)
	}
	if s == nil || s.over != "" || !s.recv {
		return m.late(id)
	}
	if isRequest || !end {
		return m.fail(id, ProtocolError)
	}
	m.end(s)
	return ""
}

func (m *model) open(id uint32, isRequest, end bool) string {
	m.highest = id
	crowded := m.count(func(s *modelStream) bool { return s.over == "" }) >= 10 || m.count(func(s *modelStream) bool { return s.held }) >= 20
	s := &modelStream{recv: !end, sent: true, window: 65535, send: 65535}
	m.streams[id] = s
	switch {
	case crowded:
		s.over = "ours"
		return fmt.Sprint("S ", id, " REFUSED_STREAM")
	case !isRequest:
		s.over = "ours"
		return fmt.Sprint("S ", id, " PROTOCOL_ERROR")
	}
	s.held = true
	return ""
}

// end notes END_STREAM of the peer.
func (m *model) end(s *modelStream) {
	if s.recv = false; !s.sent {
		s.over = "ended"
	}
}

// data judges n bytes with padding, which the server gives back at once.
func (m *model) data(id uint32, n, padding int, end bool) string {
	s := m.streams[id]
	if s == nil || s.over != "" || !s.recv {
		return m.late(id)
	}
	if n+padding > s.window {
		return m.fail(id, FlowControlError)
	}
	s.window -= n + padding
	m.consume(id, padding)
	if end {
		m.end(s)
	}
	return ""
}

func (m *model) isIdle(id uint32) bool { return id%2 == 0 || id > m.highest }

func (m *model) rst(id uint32) string {
	if m.isIdle(id) {
		return "C PROTOCOL_ERROR"
	}
	if s := m.streams[id]; s != nil && s.over == "" {
		s.over = "theirs"
	}
	return ""
}

func (m *model) update(id uint32, n int) string {
	if m.isIdle(id) {
		return "C PROTOCOL_ERROR"
	}
	s := m.streams[id]
	switch {
	case s == nil || s.over != "":
		return ""
	case n == 0:
		return m.fail(id, ProtocolError)
	case s.send+n > 1<<31-1:
		return m.fail(id, FlowControlError)
	}
	s.send += n
	return ""
}

// priority judges PRIORITY frames that are wrong.
func (m *model) priority(id uint32, code Code) string {
	if m.isIdle(id) {
		return "C " + code.String()
	}
	if s := m.streams[id]; s != nil && s.over == "" {
		return m.fail(id, code)
	}
	return fmt.Sprint("S ", id, " ", code)
}

// consume gives credit as a server does: when half of the window is owed.
func (m *model) consume(id uint32, n int) {
	if s := m.streams[id]; s != nil && s.over == "" && s.recv {
		if s.owed += n; s.owed >= 65535/2 {
			s.window += s.owed
			s.owed = 0
		}
	}
}

// play plays random frames against a server and the model.
func play(t *testing.T, r *rand.Rand) {
	s := started(t)
	m := &model{streams: map[uint32]*modelStream{}}
	unread := map[uint32]int{}
	s.on = func(ev Event) {
		if ev.Kind == Data {
			unread[ev.Stream] += len(ev.Data)
		}
	}
	var script []string
	arrived, given := 0, 0 // bytes of DATA, and credit for the connection
	for range 60 {
		id, op := choose(r, m)
		in, want, note := frames(r, m, id, op)
		if note == "" {
			serverActs(r, s, m, id, unread)
			continue
		}
		script = append(script, note)
		s.feed([]byte(in))
		sent := s.sent(t)
		got := verdicts(sent)
		if got != want && !(want == "C" && strings.HasPrefix(got, "C ")) {
			t.Fatalf("%q: got %q, want %q", script, got, want)
		}
		if strings.HasPrefix(got, "C ") != s.failed {
			t.Fatalf("%q: failed %v, sent %q", script, s.failed, got)
		}
		if s.failed {
			return
		}
		if h := parseFrameHeader([]byte(in)); h.typ == typeData {
			arrived += int(h.length)
		}
		if given += connCredit(sent); arrived-given != int(s.c.recv.owed) {
			t.Fatalf("%q: %d bytes arrived, %d were given back, window %+v", script, arrived, given, s.c.recv)
		}
		live := m.count(func(s *modelStream) bool { return s.over == "" })
		held := m.count(func(s *modelStream) bool { return s.held })
		if live != s.c.Streams() || held != s.c.Held() {
			t.Fatalf("%q: %d streams, %d held, want %d, %d", script, s.c.Streams(), s.c.Held(), live, held)
		}
	}
}

// choose chooses a stream and what happens on it: usually one of the newest streams, or a request on the next one.
func choose(r *rand.Rand, m *model) (id uint32, op int) {
	op = r.IntN(16)
	next := m.highest + 2
	if m.highest == 0 {
		next = 1
	}
	switch k := r.IntN(100); {
	case k < 20 || m.highest == 0:
		id, op = next, 0
	case k < 98:
		id = uint32(2*(int(m.highest)/2-r.IntN(min(int(m.highest)/2+1, 10))) + 1)
	default:
		id = next + uint32(r.IntN(4)) - 1
	}
	return id, op
}

// frames returns a frame of the peer, what the model says about it, and a note; or no note if it is the server's turn.
func frames(r *rand.Rand, m *model, id uint32, op int) (in, want, note string) {
	end := r.IntN(2) == 0
	f := frameFlags(0)
	if end {
		f = flagEndStream
	}
	switch op {
	case 0:
		return headers(id, f, get...), m.headers(id, true, end), fmt.Sprint("request ", id, " ", end)
	case 4:
		return headers(id, f, "x: y"), m.headers(id, false, end), fmt.Sprint("trailers ", id, " ", end)
	case 1, 2, 3, 5, 6, 7:
		n := []int{1, 100, 5000, 16384}[r.IntN(4)]
		end = r.IntN(10) == 0
		if f = 0; end {
			f = flagEndStream
		}
		if n < 16384 && r.IntN(4) == 0 {
			in = data(id, f|flagPadded, "\x09"+largeData[:n]+"123456789")
			return in, m.data(id, n, 10, end), fmt.Sprint("padded data ", id, " ", n, " ", end)
		}
		return data(id, f, largeData[:n]), m.data(id, n, 0, end), fmt.Sprint("data ", id, " ", n, " ", end)
	case 8:
		return frame(typeRSTStream, 0, id, number(8)), m.rst(id), fmt.Sprint("rst ", id)
	case 9, 10:
		n := []int{1, 1000, 1 << 30}[r.IntN(3)]
		if r.IntN(10) == 0 {
			n = 0
		}
		return frame(typeWindowUpdate, 0, id, number(uint32(n))), m.update(id, n), fmt.Sprint("update ", id, " ", n)
	case 11:
		switch r.IntN(8) {
		case 0:
			return frame(typePriority, 0, id, "abcd"), m.priority(id, FrameSizeError), fmt.Sprint("short priority ", id)
		case 1:
			return frame(typePriority, 0, id, number(id), "x"), m.priority(id, ProtocolError), fmt.Sprint("self ", id)
		}
		return frame(typePriority, 0, id, number(0), "x"), "", fmt.Sprint("priority ", id)
	}
	return "", "", ""
}

// serverActs lets the server respond, reset, release or consume.
func serverActs(r *rand.Rand, s *side, m *model, id uint32, unread map[uint32]int) {
	st := m.streams[id]
	switch r.IntN(4) {
	case 0:
		if ok := s.c.Respond(id, 200, nil, true); ok {
			if st.sent = false; !st.recv {
				st.over = "ended"
			}
		}
	case 1:
		s.c.Consumed(id, unread[id])
		m.consume(id, unread[id])
		unread[id] = 0
	case 2:
		if s.c.Reset(id, Cancel); st != nil && st.over == "" {
			st.over = "ours"
		}
	case 3:
		if s.c.Release(id); st != nil {
			if st.held = false; st.over == "" {
				st.over = "ours"
			}
		}
	}
	s.c.Sent(len(s.c.Out()))
}

func TestModel(t *testing.T) {
	for seed := range 3000 {
		play(t, rand.New(rand.NewPCG(uint64(seed), 7)))
	}
}

// FuzzModel lets the fuzzer choose frames.
func FuzzModel(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, tape []byte) {
		play(t, rand.New(&taped{tape, rand.NewChaCha8([32]byte{})}))
	})
}
