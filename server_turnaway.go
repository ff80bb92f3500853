package gallop

import (
	"context"
	"net"
	"sync"
	"time"
)

// A connection beyond the limits is answered and closed in stages (RFC 9112 §9.6). If it was
// closed at once, a client that still sends could get a reset in place of the response.
// turnedAwayMost such connections are kept at a time, for turnedAwayTime at most. Further ones
// are closed at once. None of them counts for the limits. The response waits for the first
// byte of a request, for turnedAwayPatience at most.
const (
	turnedAwayMost     = 512
	turnedAwayTime     = time.Second
	turnedAwayPatience = 100 * time.Millisecond
)

// turnAway answers a connection that is not going to be served, and closes it. It waits for
// the client unless it is to do so aside, on another goroutine.
func (s *Server) turnAway(c net.Conn, status int, reason error, aside bool) {
	if reason == ErrPerIPConnLimit {
		s.conns.rejectedPerIP.Add(1)
	} else {
		s.conns.rejectedFull.Add(1)
	}
	s.log.rejection(c.RemoteAddr(), status, reason)
	if tc, ok := c.(secured); ok { // a response would have to wait for the handshake
		closeWithoutHandshake(tc)
		return
	}
	leaving := s.away.enter(c)
	switch {
	case leaving == nil:
		sendLast(c, status)
		c.Close()
	case aside:
		go s.seeOff(leaving, status)
	default:
		s.seeOff(leaving, status)
	}
}

// closeWithoutHandshake closes the connection below TLS.
func closeWithoutHandshake(c secured) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		below.NetConn().Close()
		return
	}
	c.Close()
}

// lastResponse returns a response with this status behind which the connection is closed.
func lastResponse(status int) []byte {
	var h ResponseHeader
	h.SetStatusCode(status)
	h.SetContentType("text/plain; charset=utf-8")
	body := StatusMessage(status)
	out := outgoing{length: int64(len(body)), close: true, date: time.Now()}
	return append(h.appendHead(nil, &out), body...)
}

// sendLast sends a response with this status, and that nothing follows. It reports whether
// the response was sent.
func sendLast(c net.Conn, status int) bool {
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Write(lastResponse(status)); err != nil {
		return false
	}
	closeWrite(c)
	return true
}

// seeOff answers, waits until the client has closed its connection as well, and closes it.
func (s *Server) seeOff(leaving *turnedAway, status int) {
	defer s.away.leave(leaving)
	c := leaving.conn
	defer c.Close()
	end := time.Now().Add(turnedAwayTime)
	if err := c.SetReadDeadline(time.Now().Add(turnedAwayPatience)); err == nil && !s.away.isEnded() {
		c.Read(make([]byte, 1)) // some clients take a response for a mistake if they have sent nothing
	}
	if sendLast(c, status) && s.away.answered(leaving) {
		lingerOn(c, end, s.conns.isClosing)
	}
}

// turnedAwayConns are the connections that were turned away and that their clients have not
// closed yet. The zero value holds none.
type turnedAwayConns struct {
	mu    sync.Mutex
	all   map[*turnedAway]struct{}
	ended bool
	wait  sync.WaitGroup
}

type turnedAway struct {
	conn     net.Conn
	answered bool // guarded by the lock of turnedAwayConns
}

// enter adds a connection. It returns nil if there are too many, or after end.
func (t *turnedAwayConns) enter(c net.Conn) *turnedAway {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || len(t.all) >= turnedAwayMost {
		return nil
	}
	if t.all == nil {
		t.all = map[*turnedAway]struct{}{}
	}
	leaving := &turnedAway{conn: c}
	t.all[leaving] = struct{}{}
	t.wait.Add(1)
	return leaving
}

func (t *turnedAwayConns) leave(leaving *turnedAway) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, leaving)
	t.wait.Done()
}

func (t *turnedAwayConns) isEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// answered notes that a connection was answered. It reports false after end.
func (t *turnedAwayConns) answered(leaving *turnedAway) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	leaving.answered = true
	return !t.ended
}

// end has connections that wait for a request answered, and closes all of them. It waits
// until that is done or ctx ends.
func (t *turnedAwayConns) end(ctx context.Context) {
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
func (t *turnedAwayConns) begin() (answered []net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for leaving := range t.all {
		if leaving.answered {
			answered = append(answered, leaving.conn)
		} else {
			leaving.conn.SetReadDeadline(time.Unix(1, 0))
		}
	}
	return answered
}
