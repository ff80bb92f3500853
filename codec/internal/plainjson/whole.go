package plainjson

import "sync"

// whole collects a text that is needed in one piece but arrives in several. The pieces are kept in reusable chunks
// until the length is known. So the text is copied once, and no memory is allocated for text that may never arrive.
type whole struct {
	chunks []*[chunkSize]byte
	size   int
	all    []byte // the text itself, once its size was guessed; see expect
	unsure bool   // expect guessed wrong before
	made   []byte // last result of join
}

const chunkSize = 64 << 10

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// add adds b. left is the maximum number of bytes that follow, and likely is their number if they are like the
// previous ones. Both are -1 if they are unknown.
func (w *whole) add(b []byte, left, likely int64) {
	w.expect(len(b), likely)
	if w.all != nil {
		if len(b) > cap(w.all)-len(w.all) && left >= 0 {
			w.all = append(make([]byte, 0, len(w.all)+len(b)+int(left)), w.all...)
		}
		w.all = append(w.all, b...)
		w.size = len(w.all)
		return
	}
	for len(b) > 0 {
		at := w.size % chunkSize
		if at == 0 {
			w.chunks = append(w.chunks, chunks.Get().(*[chunkSize]byte))
		}
		n := copy(w.chunks[len(w.chunks)-1][at:], b)
		b = b[n:]
		w.size += n
	}
}

// expect makes room for the rest of the body once a sixteenth of it has arrived. A string that makes up nearly the
// whole body then needs hardly more memory than its size. expect does not try again after a string was much shorter
// than guessed.
func (w *whole) expect(more int, left int64) {
	const least, share = 2 * chunkSize, 16
	if w.all != nil || w.unsure || w.size < least || left < 0 || left > share*int64(w.size) {
		return
	}
	w.all = w.appendTo(make([]byte, 0, w.size+more+chunkSize+int(left)))
}

// join returns the text and resets w.
func (w *whole) join() []byte {
	if w.made = w.all; w.all == nil {
		w.made = w.appendTo(make([]byte, 0, w.size))
	} else if slack := cap(w.all) - len(w.all); slack > chunkSize && slack > len(w.all)/16 {
		w.made = append(make([]byte, 0, w.size), w.all...)
		w.unsure = true
	}
	w.all, w.size = nil, 0
	return w.made
}

// appendTo appends the contents of the chunks and releases them.
func (w *whole) appendTo(b []byte) []byte {
	for _, c := range w.chunks {
		b = append(b, c[:min(chunkSize, w.size-len(b))]...)
		chunks.Put(c)
	}
	clear(w.chunks)
	w.chunks = w.chunks[:0]
	return b
}

// gives reports whether b is the last result of join, which then belongs to the caller.
func (w *whole) gives(b []byte) bool {
	if len(b) == 0 || len(w.made) == 0 || &b[0] != &w.made[0] {
		return false
	}
	w.made = nil
	return true
}

// spill moves the beginning of a long string to d.whole, and returns the new b. The string begins at from. The rest
// is expected to have as many escapes as the beginning; an escape is longer in the text than in the string.
func (d *decoder) spill(b []byte, from int64) []byte {
	if len(b) < chunkSize {
		return b
	}
	left := d.left()
	if left < 0 {
		d.whole.add(b, left, left)
		return b[:0]
	}
	if d.s != nil {
		left += int64(len(d.data) - d.at)
	}
	likely := float64(left) * float64(d.whole.size+len(b)) / float64(d.offset()-from)
	d.whole.add(b, left, min(int64(likely*1.02), left))
	return b[:0]
}

// joined returns the string that spill has collected, followed by b.
func (d *decoder) joined(b []byte) []byte {
	if d.whole.size == 0 {
		return b
	}
	d.whole.add(b, -1, -1)
	return d.whole.join()
}

// left returns how many bytes of the text follow the data, or the rest of the data if that is the whole text. It is
// -1 if unknown.
func (d *decoder) left() int64 {
	if d.s == nil {
		return int64(len(d.data) - d.at)
	}
	if src, ok := d.s.src.(interface{ Left() int64 }); ok {
		return src.Left()
	}
	return -1
}
