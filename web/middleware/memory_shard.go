package middleware

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
)

// memoryShard is a part of a MemoryStore: a map of values, and a ring of the same values in the order of their last use.
//
//	recent ⇄ used last ⇄ … ⇄ not used for the longest time ⇄ recent
type memoryShard struct {
	mu     sync.Mutex
	values map[string]*memoryValue
	recent memoryValue   // the sentinel of the ring, before the first and after the last value
	size   *atomic.Int64 // the size of the whole store
}

// memoryValue is a value in a MemoryStore. Its bytes are never shared with callers.
type memoryValue struct {
	key        string
	value      []byte // empty if the value is a number
	number     int64
	isNumber   bool
	expires    int64 // on the store's clock; never if it does not expire
	prev, next *memoryValue
}

const (
	maxDigits      = 20  // the longest number, with its sign
	memoryOverhead = 128 // bytes for each value: its struct, its map entry and the rounding of the allocator
	memorySlack    = 32  // bytes that a value may leave unused when it reuses the memory of the previous one
)

// costOf returns how much room a value takes up.
func costOf(key string, size int) int64 { return int64(len(key)) + int64(size) + memoryOverhead }

func (h *memoryShard) init(size *atomic.Int64) {
	h.values, h.size = map[string]*memoryValue{}, size
	h.recent.prev, h.recent.next = &h.recent, &h.recent
}

// find returns the value of a key and marks it as the one used last. It returns nil if the key is missing or has expired.
func (h *memoryShard) find(key string, now int64) *memoryValue { return h.live(h.values[key], now) }

// live returns v and marks it as the value used last. It returns nil if v is nil or has expired.
func (h *memoryShard) live(v *memoryValue, now int64) *memoryValue {
	switch {
	case v == nil:
		return nil
	case v.expires <= now:
		h.remove(v)
		return nil
	}
	h.use(v)
	return v
}

// use makes v the value that was used last.
func (h *memoryShard) use(v *memoryValue) {
	if h.recent.next == v {
		return
	}
	v.unlink()
	v.prev, v.next = &h.recent, h.recent.next
	v.prev.next, v.next.prev = v, v
}

// unlink takes v out of the ring, unless v is new.
func (v *memoryValue) unlink() {
	if v.next != nil {
		v.prev.next, v.next.prev = v.next, v.prev
	}
}

// set gives a key a copy of a value.
func (h *memoryShard) set(key string, value []byte, expires int64) {
	h.fill(h.entry(key, expires), value)
}

// fill gives v a copy of a value.
func (h *memoryShard) fill(v *memoryValue, value []byte) {
	before := len(v.value)
	if n := cap(v.value); n >= len(value) && n <= len(value)+memorySlack {
		v.value = append(v.value[:0], value...)
	} else {
		v.value = bytes.Clone(value)
	}
	v.isNumber = false
	h.size.Add(int64(len(v.value) - before))
}

// setNumber gives a key a number as its value.
func (h *memoryShard) setNumber(key string, n, expires int64) {
	h.fillNumber(h.entry(key, expires), n)
}

// fillNumber gives v a number as its value.
func (h *memoryShard) fillNumber(v *memoryValue, n int64) {
	if len(v.value) > 0 {
		h.size.Add(-int64(len(v.value)))
		v.value = nil
	}
	v.number, v.isNumber = n, true
}

// copied returns a copy of the value, as a text if it is a number.
func (v *memoryValue) copied() []byte {
	if v.isNumber {
		return strconv.AppendInt(nil, v.number, 10)
	}
	return bytes.Clone(v.value)
}

// appendTo appends what copied returns to b.
func (v *memoryValue) appendTo(b []byte) []byte {
	if v.isNumber {
		return strconv.AppendInt(b, v.number, 10)
	}
	return append(b, v.value...)
}

// equals reports whether the value is b.
func (v *memoryValue) equals(b []byte) bool {
	if v.isNumber {
		var digits [maxDigits]byte
		return bytes.Equal(strconv.AppendInt(digits[:0], v.number, 10), b)
	}
	return bytes.Equal(v.value, b)
}

// entry returns the value of a key and marks it as the one used last. If the key is missing, entry makes an empty value.
func (h *memoryShard) entry(key string, expires int64) *memoryValue {
	v := h.values[key]
	if v == nil {
		v = &memoryValue{key: key}
		h.values[key] = v
		h.size.Add(costOf(key, 0))
	}
	v.expires = expires
	h.use(v)
	return v
}

// toNumber returns the value as a number. ok is false if the value is a text that is not a number in its usual form.
func (v *memoryValue) toNumber() (n int64, ok bool) {
	if v.isNumber {
		return v.number, true
	}
	n, err := strconv.ParseInt(string(v.value), 10, 64)
	if err != nil || v.value[0] == '+' {
		return 0, false
	}
	digits := bytes.TrimPrefix(v.value, []byte("-"))
	return n, digits[0] != '0' || len(v.value) == 1
}

// remove removes a value. It does nothing if v is nil.
func (h *memoryShard) remove(v *memoryValue) {
	if v != nil {
		v.unlink()
		delete(h.values, v.key)
		h.size.Add(-costOf(v.key, len(v.value)))
	}
}

// drop removes the least recently used values until the size of the store is at most limit. It keeps the value that was used last.
func (h *memoryShard) drop(limit int64) {
	for h.size.Load() > limit && h.recent.prev != h.recent.next {
		h.remove(h.recent.prev)
	}
}

// dropOne removes the least recently used value. It returns false if there is none.
func (h *memoryShard) dropOne() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recent.prev == &h.recent {
		return false
	}
	h.remove(h.recent.prev)
	return true
}
