package poll

import (
	"bytes"
	"time"
)

// A loop sends the responses of several connections in a row. The kernel's long send path, and then the server's
// code, stay in the processor's caches that way. A client on another processor is woken once for several responses.

// answer is a response that is sent to a connection before the connection is parked.
type answer struct {
	c   *Conn
	by  Moment // deadline for Park
	end int    // end of its bytes in Loop.bytes
}

// MaxLater is the maximum number of bytes that Later accepts.
const MaxLater = 4 << 10

const (
	// mostAnswers is the maximum number of responses that are collected before they are sent; answersRoom limits
	// their total size in bytes.
	mostAnswers = 16
	answersRoom = 16 << 10

	// longestWait is about how long the first response waits for the others.
	longestWait = 50 * time.Microsecond
)

// MayLater reports whether w serves a connection on the loop, so that Later may be called.
func (w *Worker) MayLater() bool { return w.one && w.Leads() }

// Later makes the worker send p to c and then park c until by, as Park does. Only the worker that serves c may call
// Later, and it stops serving c with this call. p may be reused once Handler.Serve has returned.
func (w *Worker) Later(c *Conn, p []byte, by Moment) { w.later, w.laterBy, w.laterBytes = c, by, p }

// Pace tells the loop that w leads, or led, how long a run took. The handler calls it now and then. The longer runs
// take, the fewer responses are collected before they are sent.
func (w *Worker) Pace(took time.Duration) {
	if w.Leads() {
		w.pace = max(took, w.pace-w.pace/4)
	}
}

// settle sends the response that w was told to send later, or adds it to the collected ones if w still leads.
func (w *Worker) settle(leads bool) {
	l, c, p := w.loop, w.later, w.laterBytes
	w.later = nil
	if !leads {
		if l.deliver(c, p, w.laterBy) {
			c.HandOver()
		}
		return
	}
	if len(l.bytes)+len(p) > cap(l.bytes) {
		l.makeRoom()
	}
	n := len(l.bytes)
	l.bytes = l.bytes[:n+copy(l.bytes[n:cap(l.bytes)], p)]
	a := &l.answers[l.waiting%mostAnswers]
	a.c, a.by, a.end = c, w.laterBy, len(l.bytes)
	if l.waiting++; l.waiting == mostAnswers || time.Duration(l.waiting)*w.pace >= longestWait {
		l.sendAll()
	}
}

// makeRoom makes room for another response.
func (l *Loop) makeRoom() {
	l.send()
	if l.bytes == nil {
		l.bytes = make([]byte, 0, answersRoom)
	}
}

// send sends the collected responses. Only the leader may call it.
func (l *Loop) send() {
	if l.waiting > 0 {
		l.sendAll()
	}
}

func (l *Loop) sendAll() {
	from := 0
	answers := l.answers[:l.waiting]
	for i := range answers {
		a := &answers[i]
		if l.deliver(a.c, l.bytes[from:a.end], a.by) {
			l.again.push(a.c)
		}
		from = a.end
	}
	clear(answers)
	l.waiting, l.bytes = 0, l.bytes[:0]
}

// deliver sends a response and parks its connection. It reports true if the connection must be served instead. Bytes
// that the socket does not accept are sent by a worker off the loops, which also runs into the error if there was
// one.
func (l *Loop) deliver(c *Conn, p []byte, by Moment) (again bool) {
	n, _ := l.write(int(c.fd), p)
	if n == len(p) {
		return !l.g.h.Sent(c) || !c.Park(by)
	}
	c.run.Store(0)
	l.g.Hand(unsent{c, bytes.Clone(p[n:])})
	return false
}

// unsent is a connection, still being served, and the unsent rest of its response.
type unsent struct {
	c    *Conn
	rest []byte
}
