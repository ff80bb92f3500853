package rest

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// lent is memory that a request shares with the readers of its body. The last user returns it to the pool. A
// transport may still read after it has returned a response, but not after it has closed the body. If it never
// closes the body, the memory is not reused.
type lent struct {
	*buffer
	users atomic.Int32
}

func (l *lent) release() {
	if l.users.Add(-1) == 0 {
		l.buffer.release()
	}
}

// reader returns a body of the memory.
func (l *lent) reader() io.ReadCloser {
	l.users.Add(1)
	return &lentReader{from: l}
}

// lentReader reads lent memory. It may be closed concurrently with a Read, and more than once.
type lentReader struct {
	mu   sync.Mutex
	from *lent // nil when it is closed
	at   int
}

// Read implements io.Reader.
func (r *lentReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.from == nil:
		return 0, gallop.ErrBodyClosed
	case r.at == len(r.from.b):
		return 0, io.EOF
	}
	n := copy(p, r.from.b[r.at:])
	r.at += n
	return n, nil
}

// Close implements io.Closer.
func (r *lentReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from != nil {
		r.from.release()
		r.from = nil
	}
	return nil
}
