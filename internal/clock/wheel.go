package clock

import (
	"math/bits"
	"time"
)

// Wheel holds the timers of one event loop: thousands of connections with a
// deadline each, most of which move before they are reached. It is coarse, so
// that a deadline that moves by less than a tick costs nothing at all.
//
// Time is an int64 of nanoseconds ≥ 0 on a clock that the caller reads and that
// does not go back. A timer fires in the first Advance that reaches the end of
// the tick its deadline is in: never early, and late by one tick at most.
//
// All operations take constant time and allocate nothing. There is no lock: a
// wheel and its timers belong to one goroutine.
//
// The wheel is a ring of lists. A timer waits in the list of its tick, modulo
// the number of slots, along with those that are due one or more turns later;
// these are looked at once in every turn, so a turn should be as long as most
// deadlines are far.
type Wheel[T any] struct {
	tick    int64      // nanoseconds
	current int64      // the last tick that was advanced to
	slots   []Timer[T] // heads of circular lists; their number is a power of two
	used    []uint64   // a bit for each slot: its list is not empty
	due     Timer[T]   // head of the list of what Advance is about to fire
}

// Timer is a place in a [Wheel], to be embedded in what it is the timer of. The
// zero value belongs to no wheel. It must not be copied while it is pending.
type Timer[T any] struct {
	Owner T // the caller's; how fire gets from a timer to what it is about

	next, prev *Timer[T] // nil: not pending
	at         int64     // the tick to fire in
}

// Pending reports whether t is in a wheel.
func (t *Timer[T]) Pending() bool { return t.next != nil }

// NewWheel returns a wheel that counts in ticks from the time now and whose turn
// is slots ticks, with slots rounded up to a power of two of at least 64.
// It panics if tick is not positive.
func NewWheel[T any](tick time.Duration, slots int, now int64) *Wheel[T] {
	if tick <= 0 {
		panic("clock: NewWheel: the tick is not positive")
	}
	slots = 1 << bits.Len(uint(max(64, slots)-1))
	w := &Wheel[T]{
		tick:    int64(tick),
		current: now / int64(tick),
		slots:   make([]Timer[T], slots),
		used:    make([]uint64, slots/64),
	}
	for i := range w.slots {
		w.slots[i].reset()
	}
	w.due.reset()
	return w
}

// Add has t fire at the deadline. A timer that is pending is moved. A deadline
// that has passed is that of the next tick, also when Advance is calling.
func (w *Wheel[T]) Add(t *Timer[T], deadline int64) {
	at := deadline / w.tick
	if deadline%w.tick > 0 {
		at++
	}
	at = max(at, w.current+1)
	if t.next != nil {
		if t.at == at {
			return
		}
		w.Del(t)
	}
	t.at = at
	slot := w.slot(at)
	w.slots[slot].push(t)
	w.used[slot/64] |= 1 << (slot % 64)
}

// Del takes t out of the wheel; it will not fire. A timer that is not pending
// stays so.
func (w *Wheel[T]) Del(t *Timer[T]) {
	if t.next == nil {
		return
	}
	t.remove()
	w.forget(w.slot(t.at))
}

// Advance goes on to the time now and calls fire for every timer that is due, in
// no particular order. A timer that fires is no longer pending; fire may Add it
// again, and may Add and Del any other, which counts at once.
func (w *Wheel[T]) Advance(now int64, fire func(*Timer[T])) {
	target := now / w.tick
	passed := min(target-w.current, int64(len(w.slots)))
	for i := int64(1); i <= passed; i++ {
		w.collect(w.slot(w.current+i), target)
	}
	w.current = max(w.current, target)
	for w.due.next != &w.due {
		t := w.due.next
		t.remove()
		fire(t)
	}
}

// collect moves what is due at the tick target from a slot to w.due.
func (w *Wheel[T]) collect(slot int, target int64) {
	head := &w.slots[slot]
	for t := head.next; t != head; {
		next := t.next
		if t.at <= target {
			t.remove()
			w.due.push(t)
		}
		t = next
	}
	w.forget(slot)
}

// Next returns the time to call Advance at: no timer fires before it. While timers
// are pending that are due a turn or more ahead, it may be a time within a turn
// at which none fires. It reports false if none is pending.
func (w *Wheel[T]) Next() (at int64, ok bool) {
	if w.due.next != &w.due { // in a call from fire
		return w.current * w.tick, true
	}
	first := w.slot(w.current + 1)
	for i := range len(w.used) + 1 { // the word of the first slot is the last one, too
		word := (first/64 + i) % len(w.used)
		set := w.used[word]
		if i == 0 {
			set &= ^uint64(0) << (first % 64)
		}
		if set != 0 {
			distance := w.slot(int64(word*64 + bits.TrailingZeros64(set) - first))
			return (w.current + 1 + int64(distance)) * w.tick, true
		}
	}
	return 0, false
}

// slot returns the index of the list for a tick.
func (w *Wheel[T]) slot(tick int64) int { return int(tick & int64(len(w.slots)-1)) }

// forget clears the bit of a slot if its list is empty.
func (w *Wheel[T]) forget(slot int) {
	if head := &w.slots[slot]; head.next == head {
		w.used[slot/64] &^= 1 << (slot % 64)
	}
}

// reset makes t the head of an empty list.
func (t *Timer[T]) reset() { t.next, t.prev = t, t }

// push puts u at the end of the list with the head t.
func (t *Timer[T]) push(u *Timer[T]) {
	u.next, u.prev = t, t.prev
	t.prev.next, t.prev = u, u
}

// remove takes t out of its list.
func (t *Timer[T]) remove() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}
