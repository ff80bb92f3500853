package gallop

import (
	"io"
	"log"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/gallop-http/gallop/memnet"
)

// The allocator rounds sizes up. With one more byte, each connection takes 128 bytes more.
func TestSizeOfH2Conn(t *testing.T) {
	if n := reflect.TypeFor[h2Conn]().Size(); n > 888 {
		t.Errorf("an h2Conn has %d bytes, want at most 888", n)
	}
}

// While streams wait for a worker, one is about to start, and there is never a second one.
func TestH2Ready(t *testing.T) {
	var q h2Ready
	streams := make([]h2Stream, 4)
	push := func(i int, want bool) {
		t.Helper()
		if got := q.push(&streams[i]); got != want {
			t.Errorf("push of stream %d: start a worker: %v", i, got)
		}
	}
	pop := func(i int, want bool) {
		t.Helper()
		if st, got, yield := q.pop(); st != &streams[i] || got != want || yield {
			t.Errorf("not stream %d, or start another worker: %v, yield: %v", i, got, yield)
		}
	}
	push(0, true)
	push(1, false)
	push(2, false)
	q.started()
	pop(0, true)
	pop(1, false)
	q.started()
	pop(2, false)
	push(3, true)
	pop(3, false)
	q.started()
	if st, start, yield := q.pop(); st != nil || start || yield {
		t.Error("the queue is not empty, or another worker is to start for nothing")
	}
	push(0, true)
}

// Workers yield the processor again and again while there are more streams.
func TestH2ReadyYields(t *testing.T) {
	var q h2Ready
	streams := make([]h2Stream, 5*mostInRow/2)
	for range 2 { // the count begins again when the queue is empty
		for i := range streams {
			q.push(&streams[i])
		}
		for i := range streams {
			if st, _, yield := q.pop(); st != &streams[i] || yield != (i%mostInRow == mostInRow-1) {
				t.Errorf("stream %d: yield: %v", i, yield)
			}
		}
	}
}

// A queue that has become empty keeps no stream, whether it was popped or removed. It would keep it for as long as the connection
// is open.
func TestH2QueueKeepsNothing(t *testing.T) {
	var q h2Queue
	streams := make([]h2Stream, 3)
	for i := range streams {
		q.push(&streams[i])
	}
	q.remove(&streams[2])
	if q.last != &streams[1] {
		t.Error("the last stream is not the one before the removed one")
	}
	for q.pop() != nil {
	}
	if q.first != nil || q.last != nil {
		t.Errorf("the queue keeps %p, %p", q.first, q.last)
	}
	q.push(&streams[0])
	if q.pop() != &streams[0] || q.pop() != nil {
		t.Error("the queue does not work after it was empty")
	}
}

// h2Frames are the preface, SETTINGS, and a request for / on stream 1.
const h2Frames = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
	"\x00\x00\x06\x01\x05\x00\x00\x00\x01" + "\x82\x86\x84\x41\x01a"

// serveH2 serves HTTP/2 with s on loops, and on goroutines. The test dials.
func serveH2(t *testing.T, s func() *Server, test func(t *testing.T, s *Server, dial func() net.Conn)) {
	for _, on := range []string{"loop", "goroutine"} {
		t.Run(on, func(t *testing.T) {
			s := s()
			s.Protocols = new(Protocols)
			s.Protocols.SetUnencryptedHTTP2(true)
			mem := memnet.NewListener()
			ln, dial := net.Listener(mem), mem.Dial
			if on == "loop" {
				tcp, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				ln, dial = tcp, func() (net.Conn, error) { return net.Dial("tcp", tcp.Addr().String()) }
			}
			go s.Serve(ln)
			t.Cleanup(func() { s.Close() })
			test(t, s, func() net.Conn {
				nc, err := dial()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { nc.Close() })
				nc.SetDeadline(time.Now().Add(time.Minute))
				return nc
			})
		})
	}
}

// only returns the only connection of s.
func (l *h2Conns) only() *h2Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// All streams of a connection are lost when a write fails, on whatever goroutine that is. Then it matters whether a stream was judged,
// which happens on another goroutine. The race detector shows whether both use the lock.
func TestH2LostWhileJudged(t *testing.T) {
	lost := make(chan *Server)
	serveH2(t, func() *Server {
		s := &Server{Handler: func(ctx *RequestCtx) {}, Logger: log.New(io.Discard, "", 0)}
		s.ConnState = func(_ net.Conn, state ConnState) {
			if state == StateActive {
				lost <- s // and nothing comes back, which would order what follows
				time.Sleep(20 * time.Millisecond)
			}
		}
		return s
	}, func(t *testing.T, s *Server, dial func() net.Conn) {
		nc := dial()
		for s.h2.only() == nil { // a connection that begins with bytes is active from the start
			time.Sleep(time.Millisecond)
		}
		if _, err := nc.Write([]byte(h2Frames)); err != nil {
			t.Fatal(err)
		}
		c := (<-lost).h2.only()
		c.mu.Lock()
		for _, st := range c.streams {
			st.lost(io.ErrClosedPipe)
		}
		c.mu.Unlock()
	})
}
