package plainjson

import "sync"

// whole is a text that is needed in one piece and comes in several. They are kept in chunks, which are used again, until its
// length is known. So it is copied once, and nothing is allocated for what might come.
type whole struct {
	chunks []*[chunkSize]byte
	size   int
	all    []byte // if it is there already: see expect
	unsure bool   // whether expect has been wrong
	made   []byte // what join returned last
}

const chunkSize = 64 << 10

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// add adds b. left is how many bytes follow at most, and likely how many do if they are like those before. Both are -1 if that is unknown.
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

// expect makes room for the rest of the body once a sixteenth of it is there. If one string is nearly all of the
// body, it takes hardly more memory than its size. It is not tried again after the string was much shorter.
func (w *whole) expect(more int, left int64) {
	const least, share = 2 * chunkSize, 16
	if w.all != nil || w.unsure || w.size < least || left < 0 || left > share*int64(w.size) {
		return
	}
	w.all = w.appendTo(make([]byte, 0, w.size+more+chunkSize+int(left)))
}

// join returns the text, and forgets it.
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

// appendTo appends what is in the chunks, and gives them back.
func (w *whole) appendTo(b []byte) []byte {
	for _, c := range w.chunks {
		b = append(b, c[:min(chunkSize, w.size-len(b))]...)
		chunks.Put(c)
	}
	clear(w.chunks)
	w.chunks = w.chunks[:0]
	return b
}

// gives reports whether b is what join returned last. It is the caller's then.
func (w *whole) gives(b []byte) bool {
	if len(b) == 0 || len(w.made) == 0 || &b[0] != &w.made[0] {
		return false
	}
	w.made = nil
	return true
}

// spill puts what there is of a long string there, and returns what b is then. The string begins at from. It is
// expected to go on with as many escapes, which are longer in the text than in the string.
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

// joined returns what was put there, and b, which is behind it.
func (d *decoder) joined(b []byte) []byte {
	if d.whole.size == 0 {
		return b
	}
	d.whole.add(b, -1, -1)
	return d.whole.join()
}

// left returns how many bytes the text is said to have left behind the data, or in it if that is all, -1 if it is not said.
func (d *decoder) left() int64 {
	if d.s == nil {
		return int64(len(d.data) - d.at)
	}
	if src, ok := d.s.src.(interface{ Left() int64 }); ok {
		return src.Left()
	}
	return -1
}
