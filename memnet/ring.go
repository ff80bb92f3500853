package memnet

// firstBuffer is the size of a ring's first buffer, in bytes. Buffers grow by doubling.
const firstBuffer = 512

// ring is a queue of at most bound bytes, or BufferSize if bound is 0 or less. Its buffer grows as bytes arrive:
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

// write appends p to the queue, up to the bound, and returns the number of bytes that it appended.
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

// read moves up to len(p) bytes from the queue into p and returns their number.
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

// grow moves the queue to a buffer of at least size bytes.
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
