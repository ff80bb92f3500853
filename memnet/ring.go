package memnet

// firstBuffer is the least that a ring allocates; every ring is a power of two.
const firstBuffer = 512

// ring is a queue of at most bound bytes, or BufferSize if that is 0. It allocates as they arrive:
//
//	buf:  [ ... third part | free | first part, second part ... ]
//	                              ^ start
//
// 0 ≤ n ≤ len(buf), and start is an index into buf, 0 while n == 0.
type ring struct {
	buf      []byte
	start, n int
	bound    int
}

func (r *ring) size() int {
	if r.bound > 0 {
		return r.bound
	}
	return BufferSize
}

// write puts as much of p behind the queued bytes as there is room for and
// returns how much that was.
func (r *ring) write(p []byte) int {
	p = p[:min(len(p), r.size()-r.n)]
	if r.n+len(p) > len(r.buf) {
		r.grow(r.n + len(p))
	}
	end := r.start + r.n
	if end >= len(r.buf) {
		end -= len(r.buf)
	}
	first := copy(r.buf[end:], p)
	copy(r.buf, p[first:])
	r.n += len(p)
	return len(p)
}

// read takes bytes out of the queue, up to len(p), and returns how many.
func (r *ring) read(p []byte) int {
	head := r.buf[r.start:min(r.start+r.n, len(r.buf))]
	n := copy(p, head)
	n += copy(p[n:], r.buf[:r.n-len(head)])
	r.n -= n
	r.start += n
	if r.start >= len(r.buf) {
		r.start -= len(r.buf)
	}
	if r.n == 0 {
		r.start = 0
	}
	return n
}

// grow moves the queue to a buffer for that many bytes.
func (r *ring) grow(size int) {
	capacity := max(firstBuffer, len(r.buf))
	for capacity < size {
		capacity *= 2
	}
	buf := make([]byte, capacity)
	first := copy(buf, r.buf[r.start:min(r.start+r.n, len(r.buf))])
	copy(buf[first:], r.buf[:r.n-first])
	r.buf, r.start = buf, 0
}
