package http2

import "math/bits"

// scheduler decides which stream sends next. It has the streams that have bytes to send and a window to send them. Each turn
// sends one DATA frame.
//
// Lower urgencies go first (RFC 9218 §4.1). Within an urgency, streams take turns. If a client has asked for a response that is
// not incremental, the client needs the response as a whole. Such a stream keeps its turn for up to keepsTurn frames.
// A client that says nothing about priorities gets plain round robin. Every fairEvery-th turn goes to the least urgent
// stream, so none starves (RFC 9218 §10).
//
// Each urgency has a circular list through stream.next. Lists have the slots of streams plus 1; last is the end of the list,
// and the stream after it is the front.
type scheduler struct {
	last   [urgencies]uint16
	filled uint8 // bit u says that the list of urgency u is not empty
	turn   uint8
}

const (
	keepsTurn = 8
	fairEvery = 32
)

// add appends a stream to the list of its urgency.
func (s *scheduler) add(t *streamTable, slot int) {
	st := &t.slots[slot]
	st.waiting, st.turns = forTurn, 0
	u := st.priority.Urgency
	if last := s.last[u]; last == 0 {
		st.next = uint16(slot + 1)
	} else {
		end := &t.slots[last-1]
		st.next, end.next = end.next, uint16(slot+1)
	}
	s.last[u] = uint16(slot + 1)
	s.filled |= 1 << u
}

// remove takes a stream out of its list.
func (s *scheduler) remove(t *streamTable, slot int) {
	st := &t.slots[slot]
	u := st.priority.Urgency
	before := s.last[u]
	for t.slots[before-1].next != uint16(slot+1) {
		before = t.slots[before-1].next
	}
	s.unlink(t, u, before)
	st.waiting = forCaller
}

// unlink removes the stream after before from the list of urgency u.
func (s *scheduler) unlink(t *streamTable, u uint8, before uint16) {
	prev := &t.slots[before-1]
	gone := prev.next
	switch {
	case gone == before:
		s.last[u] = 0
		s.filled &^= 1 << u
		return
	case gone == s.last[u]:
		s.last[u] = before
	}
	prev.next = t.slots[gone-1].next
}

// pick returns the slot of the stream whose turn it is, or noSlot. The stream stays in its list.
func (s *scheduler) pick(t *streamTable) int {
	if s.filled == 0 {
		return noSlot
	}
	s.turn++
	u := bits.TrailingZeros8(s.filled)
	if s.turn%fairEvery == 0 {
		u = bits.Len8(s.filled) - 1
	}
	return int(t.slots[s.last[u]-1].next) - 1
}

// sent says that the stream has used its turn and still has bytes to send.
func (s *scheduler) sent(t *streamTable, slot int) {
	st := &t.slots[slot]
	u := st.priority.Urgency
	if t.slots[s.last[u]-1].next != uint16(slot+1) {
		return // it was not its turn
	}
	if st.turns++; st.explicit && !st.priority.Incremental && st.turns < keepsTurn {
		return
	}
	st.turns = 0
	s.last[u] = uint16(slot + 1)
}
