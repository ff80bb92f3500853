package conn

import (
	"context"
	"net"
	"sync"
	"time"
)

// A client beyond the limits gets last words, which say why, and its connection is closed in stages (RFC 9112 §9.6). If the
// connection was closed at once, a client that still sends could get a reset instead of the last words.
//
// At most turnedAwayMost such connections are kept at a time, for turnedAwayTime at most. Further ones are closed at once.
// None of them counts for the limits. The last words wait for the client's first byte, for turnedAwayPatience at most.
const (
	turnedAwayMost     = 512
	turnedAwayTime     = time.Second
	turnedAwayPatience = 100 * time.Millisecond
)

// TurnAway sends last words to a client whose connection is not going to be served, and closes the connection. It waits for
// the client, on another goroutine if aside is set.
func (s *Server) TurnAway(c net.Conn, reason error, aside bool) {
	lastWords := s.noteRejection(c.RemoteAddr(), reason)
	if tc, ok := c.(secured); ok { // last words would have to wait for the handshake
		closeWithoutHandshake(tc)
		return
	}
	leaving := s.Away.enter(c)
	switch {
	case leaving == nil:
		sendLast(c, lastWords)
		c.Close()
	case aside:
		go s.seeOff(leaving, lastWords)
	default:
		s.seeOff(leaving, lastWords)
	}
}

// noteRejection counts and logs a connection that is not going to be served, and returns its last words.
func (s *Server) noteRejection(from net.Addr, reason error) (lastWords []byte) {
	if reason == ErrTooManyOfClient {
		s.Table.RejectedPerIP.Add(1)
	} else {
		s.Table.RejectedFull.Add(1)
	}
	status, lastWords := s.hooks.Reject(reason)
	s.Log.rejection(from, status, reason)
	return lastWords
}

// sendLast sends lastWords, and that nothing follows. It reports whether that worked.
func sendLast(c net.Conn, lastWords []byte) bool {
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Write(lastWords); err != nil {
		return false
	}
	CloseWrite(c)
	return true
}

// seeOff sends lastWords, waits until the client has closed its side as well, and closes the connection.
func (s *Server) seeOff(leaving *leaving, lastWords []byte) {
	defer s.Away.leave(leaving)
	c := leaving.conn
	defer c.Close()
	end := time.Now().Add(turnedAwayTime)
	if err := c.SetReadDeadline(time.Now().Add(turnedAwayPatience)); err == nil && !s.Away.isEnded() {
		c.Read(make([]byte, 1)) // some clients do not expect anything before they have sent something
	}
	if sendLast(c, lastWords) && s.Away.told(leaving) {
		lingerOn(c, end, s.Table.isClosing)
	}
}

// leaving are the connections that were turned away and that their clients have not
// closed yet. The zero value holds none.
type turnedAway struct {
	mu    sync.Mutex
	all   map[*leaving]struct{}
	ended bool
	wait  sync.WaitGroup
}

type leaving struct {
	conn net.Conn
	told bool // guarded by the lock of turnedAway
}

// enter adds a connection. It returns nil if there are too many, or after end.
func (t *turnedAway) enter(c net.Conn) *leaving {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || len(t.all) >= turnedAwayMost {
		return nil
	}
	if t.all == nil {
		t.all = map[*leaving]struct{}{}
	}
	leaving := &leaving{conn: c}
	t.all[leaving] = struct{}{}
	t.wait.Add(1)
	return leaving
}

func (t *turnedAway) leave(leaving *leaving) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, leaving)
	t.wait.Done()
}

func (t *turnedAway) isEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// told notes that a client has got its last words. It reports false after end.
func (t *turnedAway) told(leaving *leaving) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	leaving.told = true
	return !t.ended
}

// End sends last words to clients that have not got them, and closes all connections. It waits
// until that is done or ctx ends.
func (t *turnedAway) End(ctx context.Context) {
	for _, c := range t.begin() {
		go c.Close() // which may block
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.wait.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// begin begins the end. It returns the connections that only wait for their clients.
func (t *turnedAway) begin() (told []net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for leaving := range t.all {
		if leaving.told {
			told = append(told, leaving.conn)
		} else {
			leaving.conn.SetReadDeadline(time.Unix(1, 0))
		}
	}
	return told
}
