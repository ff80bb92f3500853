package filetree

import (
	"os"
	"sync/atomic"
)

// Shared is an open file that many requests read at offsets of their own. It is closed when its last user leaves.
type Shared struct {
	File  *os.File
	users atomic.Int64
	of    *account
}

// Enter adds a user. It reports false if the file is closed.
func (s *Shared) Enter() bool { return enter(&s.users) }

// Close removes a user. It implements io.Closer for the response that sends the file.
func (s *Shared) Close() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	s.of.release(0, 1)
	return s.File.Close()
}

// enter adds a user to a count, unless the count is 0.
func enter(users *atomic.Int64) bool {
	for {
		n := users.Load()
		if n == 0 {
			return false
		}
		if users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
