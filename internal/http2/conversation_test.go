package http2

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// pair is a client and a server that talk to each other. Their programs act at random between deliveries of pieces of random
// length.
type pair struct {
	t        testing.TB
	r        *rand.Rand
	client   *peer
	server   *peer
	requests int // still to be made
	sizes    int // how many of the sizes of bodies are used
	stats    map[string]int
}

// peer is one side of a pair, with the program on top.
type peer struct {
	*side
	wire   []byte // bytes on their way to this side
	sends  map[uint32]*body
	gets   map[uint32]int // bytes of bodies that are not consumed
	sums   map[uint32]int // bytes of a body that have arrived
	ends   map[uint32]bool
	heads  map[uint32]bool
	resets map[uint32]bool // streams that either side has reset
}

// sorted returns the streams in a map in their order, so that a seed always means the same.
func sorted[V any](m map[uint32]V) []uint32 { return slices.Sorted(maps.Keys(m)) }

// body is what a stream still has to send. Byte i of a body is pattern(id, i).
type body struct {
	at, size int
	trailers bool
}

func pattern(id uint32, i int) byte { return byte(int(id)*7 + i*3 + i>>8) }

func newPeer(cfg *Config) *peer {
	return &peer{side: newSide(cfg), sends: map[uint32]*body{}, gets: map[uint32]int{}, sums: map[uint32]int{},
		ends: map[uint32]bool{}, heads: map[uint32]bool{}, resets: map[uint32]bool{}}
}

func newPair(t testing.TB, r *rand.Rand, requests, sizes int) *pair {
	p := &pair{t: t, r: r, requests: requests, sizes: sizes, stats: map[string]int{}}
	configs := [2]*Config{testConfig(Client), testConfig(Server)}
	for _, cfg := range configs {
		cfg.StreamWindow = []uint32{1, 100, 5000, 65535, 200_000}[r.IntN(5)]
		cfg.ConnWindow = 65535 + r.Uint32N(100_000)
		cfg.MaxConcurrentStreams = 1 + r.Uint32N(10)
		cfg.EncoderTableSize = []int{0, 100, 4096, 10_000}[r.IntN(4)]
		cfg.HeaderTableSize = []int{0, 100, 4096, 10_000}[r.IntN(4)]
		cfg.MaxFrameSize = 16384 + r.Uint32N(10_000)
		cfg.MaxSendFrame = 1 + r.IntN(30_000)
	}
	p.client, p.server = newPeer(configs[0]), newPeer(configs[1])
	p.client.on = func(ev Event) { p.event(p.client, ev) }
	p.server.on = func(ev Event) { p.event(p.server, ev) }
	return p
}

func (p *pair) sides() [2]*peer { return [2]*peer{p.client, p.server} }

func (p *pair) other(s *peer) *peer {
	if s == p.client {
		return p.server
	}
	return p.client
}

// event is the program's part in an event.
func (p *pair) event(s *peer, ev Event) {
	id := ev.Stream
	switch ev.Kind {
	case Failed:
		p.t.Fatalf("failed: %v", ev.Err)
	case Rejected:
		if ev.Err != ErrRefused {
			p.t.Fatalf("rejected: %v", ev.Err)
		}
	case Head:
		s.heads[id] = true
		if s == p.server {
			p.respond(id)
		}
	case Data:
		for i, c := range ev.Data {
			if want := pattern(id, s.sums[id]+i); c != want {
				p.t.Fatalf("stream %d: byte %d is %d, want %d", id, s.sums[id]+i, c, want)
			}
		}
		s.sums[id] += len(ev.Data)
		s.gets[id] += len(ev.Data)
	case Reset:
		s.resets[id] = true
		p.release(s, id)
	case Writable, SettingsChanged:
		p.write(s)
	}
	if ev.End {
		s.ends[id] = true
	}
	p.stats[fmt.Sprint(ev.Kind)]++
}

func (p *pair) respond(id uint32) {
	s := p.server
	for p.r.IntN(5) == 0 && p.r.IntN(2) == 0 {
		s.c.Respond(id, 103, nil, false)
		if p.r.IntN(3) > 0 {
			break
		}
	}
	b := &body{size: p.size(), trailers: p.r.IntN(4) == 0}
	s.c.Respond(id, 200, p.fields(), b.size == 0 && !b.trailers)
	if b.size > 0 || b.trailers {
		s.sends[id] = b
		p.send(s, id)
	}
}

func (p *pair) fields() *field.List {
	var l field.List
	for range p.r.IntN(4) {
		name := fmt.Sprint("x-", p.r.IntN(5))
		field.Add(&l, field.Unknown, name, fmt.Sprint(p.r.IntN(1000)))
	}
	field.Add(&l, field.Server, "Server", fmt.Sprint("s", p.r.IntN(3)))
	return &l
}

func (p *pair) size() int { return []int{0, 1, 50, 1000, 70_000, 150_000}[p.r.IntN(p.sizes)] }

// request opens a stream, if that is possible.
func (p *pair) request() {
	if p.requests == 0 || !p.client.c.CanOpen() {
		return
	}
	p.requests--
	b := &body{size: p.size(), trailers: p.r.IntN(4) == 0}
	line := RequestLine{Method: []byte("POST"), Scheme: []byte("https"), Authority: []byte("a"), Path: []byte("/")}
	id, _, _ := p.client.c.Request(&line, p.fields(), b.size == 0 && !b.trailers)
	if b.size > 0 || b.trailers {
		p.client.sends[id] = b
		p.send(p.client, id)
	}
}

// send sends as much of a body as one call takes.
func (p *pair) send(s *peer, id uint32) {
	b := s.sends[id]
	chunk := make([]byte, min(b.size-b.at, 40_000))
	for i := range chunk {
		chunk[i] = pattern(id, b.at+i)
	}
	n, ok := s.c.WriteData(id, chunk, b.at+len(chunk) == b.size && !b.trailers, s.now)
	if !ok {
		delete(s.sends, id)
		return
	}
	if b.at += n; b.at == b.size {
		delete(s.sends, id)
		if b.trailers {
			var l field.List
			field.Add(&l, field.Unknown, "x-sum", "1")
			s.c.WriteTrailers(id, &l)
		}
	}
}

// write lets streams send whose turn it is. A stream whose program has no more bytes at the moment was sent whole by WriteData.
func (p *pair) write(s *peer) {
	for range 1 + p.r.IntN(50) {
		id, _, ok := s.c.NextWriter()
		if !ok {
			return
		}
		if s.sends[id] == nil {
			p.t.Fatalf("stream %d has nothing to send", id)
		}
		p.send(s, id)
	}
}

func (p *pair) release(s *peer, id uint32) {
	s.c.Release(id)
	delete(s.sends, id)
	delete(s.gets, id)
}

// deliver moves bytes from the outputs to the wire, and feeds a piece of the wire.
func (p *pair) deliver(s *peer) {
	out := s.c.Out()
	if n := p.r.IntN(len(out) + 1); n > 0 {
		to := p.other(s)
		to.wire = append(to.wire, out[:n]...)
		s.c.Sent(n)
	}
	if s.full {
		s.resume()
	}
	if n := p.r.IntN(len(s.wire) + 1); n > 0 {
		piece := bytes.Clone(s.wire[:n])
		s.wire = s.wire[n:]
		s.feed(piece)
	}
}

// act lets a program do something.
func (p *pair) act() {
	s := p.sides()[p.r.IntN(2)]
	switch p.r.IntN(12) {
	case 0, 1, 2:
		p.request()
	case 3, 4, 5, 6:
		for _, id := range sorted(s.gets) {
			n := s.gets[id]
			if k := p.r.IntN(n + 1); k > 0 {
				s.c.Consumed(id, k)
				s.gets[id] -= k
			}
		}
	case 7:
		p.write(s)
	case 8:
		if p.r.IntN(8) == 0 {
			p.change(s)
		}
	case 9:
		if ids := sorted(s.sends); len(ids) > 0 && p.r.IntN(20) == 0 {
			s.resets[ids[0]] = true
			s.c.Reset(ids[0], Cancel)
			p.release(s, ids[0])
		}
	case 10:
		s.c.Ping(1)
	case 11:
		p.finish(s)
	}
	s.now += 1e8
}

// change announces other settings.
func (p *pair) change(s *peer) {
	v := s.c.Announced()
	v.InitialWindowSize = 1 + p.r.Uint32N(100_000)
	v.HeaderTableSize = p.r.Uint32N(5000)
	v.MaxFrameSize = 16384 + p.r.Uint32N(10_000)
	if s.c.Announce(v) {
		p.stats["announced"]++
	}
}

// finish releases streams that are over.
func (p *pair) finish(s *peer) {
	for _, id := range sorted(s.ends) {
		if s.ends[id] && s.sends[id] == nil && (s == p.server || s.heads[id]) {
			s.c.Consumed(id, s.gets[id])
			p.release(s, id)
			delete(s.ends, id)
		}
	}
}

// isQuiet reports whether nothing is left to do.
func (p *pair) isQuiet() bool {
	for _, s := range p.sides() {
		if len(s.wire) > 0 || len(s.c.Out()) > 0 || s.c.Held() > 0 {
			return false
		}
	}
	return p.requests == 0
}

// converse runs a pair to its end, and checks that nothing is lost.
func converse(t testing.TB, r *rand.Rand, requests, sizes int) map[string]int {
	p := newPair(t, r, requests, sizes)
	for turn := 0; !p.isQuiet(); turn++ {
		p.act()
		for _, s := range p.sides() {
			p.deliver(s)
		}
		if turn > 300_000 {
			t.Fatalf("no end: client %d streams, %d to send, server %d streams, %d to send", p.client.c.Held(), len(p.client.sends), p.server.c.Held(), len(p.server.sends))
		}
		p.settle()
	}
	p.checkWindows()
	return p.stats
}

// settle consumes what would otherwise wait forever: a stream is over for its program after some time.
func (p *pair) settle() {
	for _, s := range p.sides() {
		if len(s.c.Out()) == 0 && len(s.wire) == 0 {
			for _, id := range sorted(s.gets) {
				if s.gets[id] > 0 {
					s.c.Consumed(id, s.gets[id])
					s.gets[id] = 0
				}
			}
			p.finish(s)
			p.write(s)
		}
	}
}

// checkWindows checks that both sides agree about the windows of the connection, and that no credit was lost.
func (p *pair) checkWindows() {
	for _, s := range p.sides() {
		w, sent := s.c.recv, p.other(s).c.send
		if int32(sent) != w.open || w.open+w.owed != w.size {
			p.t.Fatalf("window of the connection: %+v, the peer may send %d", w, sent)
		}
		if s.c.sched.filled != 0 || s.c.streams.live != 0 {
			p.t.Fatalf("%d streams, lists %b", s.c.streams.live, s.c.sched.filled)
		}
	}
}

func TestConversations(t *testing.T) {
	total := map[string]int{}
	for seed := range 12 {
		t.Run("", func(t *testing.T) {
			for what, n := range converse(t, rand.New(rand.NewPCG(uint64(seed), 0)), 40, 6) {
				total[what] += n
			}
		})
	}
	for k := Head; k < Failed; k++ {
		if k != GoingAway && total[fmt.Sprint(k)] == 0 {
			t.Errorf("there was no event of kind %d: %v", k, total)
		}
	}
	if total["announced"] == 0 {
		t.Error("settings never changed")
	}
}

// FuzzConversation lets the fuzzer choose what happens in a short conversation.
func FuzzConversation(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, tape []byte) {
		seed := [32]byte{}
		copy(seed[:], tape)
		converse(t, rand.New(&taped{tape, rand.NewChaCha8(seed)}), 8, 4)
	})
}

// taped is a random source that begins with the fuzzer's bytes.
type taped struct {
	tape []byte
	rest *rand.ChaCha8
}

func (s *taped) Uint64() uint64 {
	if len(s.tape) == 0 {
		return s.rest.Uint64()
	}
	n := uint64(s.tape[0]) * 0x0101010101010101
	s.tape = s.tape[1:]
	return n
}
