package clock

import (
	"math/bits"
	"time"
)

// Wheel holds the timers of one event loop: thousands of connections with a deadline each, most of which move before
// they are reached. It is coarse, so moving a deadline within a tick costs nothing.
//
// A time is an int64 of nanoseconds ≥ 0 on a clock that the caller reads and that does not go back. A timer fires in
// the first Advance that reaches the end of the tick of its deadline: never early, and at most one tick late.
//
// All operations take constant time and do not allocate. There is no lock: a wheel and its timers belong to one
// goroutine.
//
// The wheel is a ring of lists. A timer waits in the list of its tick, modulo the number of slots. The list also has
// timers that are due one or more turns later, which are looked at once per turn. So a turn should be as long as most
// deadlines are ahead.
type Wheel[T any] struct {
	tick    int64      // nanoseconds
	current int64      // the tick of the last Advance
	slots   []Timer[T] // heads of circular lists, or zero; their number is a power of two
	used    []uint64   // one bit per slot: its list is not empty
	due     Timer[T]   // head of the list of timers that Advance is about to fire
}

// Timer is an entry of a [Wheel]. Embed it in the struct that it belongs to. The zero value is not in any wheel. A
// pending Timer must not be copied.
type Timer[T any] struct {
	Owner T // set by the caller, so that fire finds the owner of a timer

	next, prev *Timer[T] // nil: not pending
	at         int64     // the tick in which it fires
}

// Pending reports whether t is in a wheel.
func (t *Timer[T]) Pending() bool { return t.next != nil }

// NewWheel returns a wheel with the given tick that starts at the time now. A turn of the wheel has slots ticks;
// slots is rounded up to a power of two of at least 64. NewWheel panics if tick is not positive.
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
	w.due.reset()
	return w
}

// Add makes t fire at the deadline. A pending timer is moved. A deadline that has passed fires in the next tick, even
// if Add is called by Advance.
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

// Del removes t from the wheel, so it does not fire. Nothing happens if t is not pending.
func (w *Wheel[T]) Del(t *Timer[T]) {
	if t.next == nil {
		return
	}
	t.remove()
	w.forget(w.slot(t.at))
}

// Advance moves the wheel to the time now and calls fire for every timer that is due, in no particular order. A timer
// that fires is no longer pending. fire may Add it again, and may Add and Del other timers with immediate effect.
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

// collect moves the timers that are due at the tick target from a slot to w.due.
func (w *Wheel[T]) collect(slot int, target int64) {
	head := &w.slots[slot]
	if head.next == nil {
		return
	}
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

// Next returns the time at which to call Advance. No timer fires before. If timers are due a turn or more ahead, Next
// may return a time at which none fires. It reports false if no timer is pending.
func (w *Wheel[T]) Next() (at int64, ok bool) {
	if w.due.next != &w.due { // called by fire
		return w.current * w.tick, true
	}
	first := w.slot(w.current + 1)
	for i := range len(w.used) + 1 { // the word of the first slot is visited again at the end
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

// push appends u to the list with the head t. A zero head is that of an empty list.
func (t *Timer[T]) push(u *Timer[T]) {
	if t.next == nil {
		t.reset()
	}
	u.next, u.prev = t, t.prev
	t.prev.next, t.prev = u, u
}

// remove removes t from its list.
func (t *Timer[T]) remove() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}
