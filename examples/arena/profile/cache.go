package profile

import (
	"sync"
	"time"
)

// Lifetime is how long a document stays in the cache.
const Lifetime = 200 * time.Millisecond

// Cache keeps the encoded documents of items for Lifetime. The zero value is an empty cache. It may be used by several
// goroutines at the same time.
type Cache struct {
	mu        sync.RWMutex
	documents map[int]document
	changes   map[int]uint64 // by ID; so that Put does not bring back what Drop has removed
}

type document struct {
	body    []byte
	expires time.Time
}

// Get returns the document of an item if the cache has it. Otherwise it returns a ticket for Put. The caller must not change
// the document.
func (c *Cache) Get(id int) (body []byte, ticket uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if d, ok := c.documents[id]; ok && time.Now().Before(d.expires) {
		return d.body, 0
	}
	return nil, c.changes[id]
}

// Put stores a document that was made after Get returned this ticket, unless the item has changed since.
func (c *Cache) Put(id int, ticket uint64, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[id] != ticket {
		return
	}
	if c.documents == nil {
		c.documents = map[int]document{}
	}
	c.documents[id] = document{body, time.Now().Add(Lifetime)}
}

// Drop removes the document of an item that has changed.
func (c *Cache) Drop(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		c.changes = map[int]uint64{}
	}
	delete(c.documents, id)
	c.changes[id]++
}
