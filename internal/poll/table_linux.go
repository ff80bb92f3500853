package poll

import (
	"sync"
	"sync/atomic"
)

// table finds connections by their descriptors.
type table struct {
	mu     sync.Mutex
	chunks atomic.Pointer[[]*chunk]
}

const chunkSize = 1024

type chunk [chunkSize]atomic.Pointer[Conn]

func (t *table) get(fd int) *Conn {
	chunks := t.chunks.Load()
	if chunks == nil || fd/chunkSize >= len(*chunks) {
		return nil
	}
	return (*chunks)[fd/chunkSize][fd%chunkSize].Load()
}

func (t *table) put(fd int, c *Conn) {
	chunks := t.chunks.Load()
	if chunks == nil || fd/chunkSize >= len(*chunks) {
		chunks = t.grow(fd/chunkSize + 1)
	}
	(*chunks)[fd/chunkSize][fd%chunkSize].Store(c)
}

func (t *table) clear(fd int) { (*t.chunks.Load())[fd/chunkSize][fd%chunkSize].Store(nil) }

func (t *table) grow(n int) *[]*chunk {
	t.mu.Lock()
	defer t.mu.Unlock()
	var more []*chunk
	if old := t.chunks.Load(); old != nil {
		more = append(more, *old...)
	}
	for len(more) < n {
		more = append(more, new(chunk))
	}
	t.chunks.Store(&more)
	return &more
}
