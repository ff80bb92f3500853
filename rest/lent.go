package rest

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// lent is memory that a request and the readers of its body have together. Who is last gives it back. A transport
// may read when it has answered, but not when it has closed the body; one that never does so keeps the memory.
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

// lentReader may be closed while it is read, by others and more than once.
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
