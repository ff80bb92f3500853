package poll

import (
	"bytes"
	"time"
)

// Answers of several connections are sent one behind the other: the kernel's way out, which
// is long, stays in the processor's caches, and so does the server's; and who waits for
// answers on another processor is woken up for several of them.

// answer is what a connection is to be sent before it is parked.
type answer struct {
	c   *Conn
	by  Moment // for Park
	end int    // of its bytes, among those of all
}

// MaxLater is how many bytes Later takes at most.
const MaxLater = 4 << 10

const (
	// mostAnswers is how many answers wait for each other at most, and answersRoom how many
	// bytes of them.
	mostAnswers = 16
	answersRoom = 16 << 10

	// longestWait is how long the first of them waits, about.
	longestWait = 50 * time.Microsecond
)

// MayLater reports whether w serves a connection on the loop, and Later may be called.
func (w *Worker) MayLater() bool { return w.one && w.Leads() }

// Later has p sent to c, and then c parked until the moment by, as by Park. It is for who
// serves c, and who does so no more by it. p may change once Handler.Serve has returned.
func (w *Worker) Later(c *Conn, p []byte, by Moment) { w.later, w.laterBy, w.laterBytes = c, by, p }

// Pace tells the loop that w leads, or led, how long a run took on it, now and then: if
// others take as long, fewer wait for each other.
func (w *Worker) Pace(took time.Duration) {
	if w.Leads() {
		w.pace = max(took, w.pace-w.pace/4)
	}
}

// settle sees to what w was told to send later, by now.
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

// makeRoom makes room for another answer.
func (l *Loop) makeRoom() {
	l.send()
	if l.bytes == nil {
		l.bytes = make([]byte, 0, answersRoom)
	}
}

// send sends what there is to be sent. It is for the leader.
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
			l.again = append(l.again, a.c)
		}
		from = a.end
	}
	clear(answers)
	l.waiting, l.bytes = 0, l.bytes[:0]
}

// deliver sends an answer and parks its connection. It reports true if that is to be
// served instead. What the socket does not take is sent off the loops; if an error was why, it
// comes again there.
func (l *Loop) deliver(c *Conn, p []byte, by Moment) (again bool) {
	n, _ := l.write(int(c.fd), p)
	if n == len(p) {
		return !l.g.h.Sent(c) || !c.Park(by)
	}
	c.run.Store(0)
	l.g.Hand(unsent{c, bytes.Clone(p[n:])})
	return false
}

// unsent is a connection, which is served, and what is left of its answer.
type unsent struct {
	c    *Conn
	rest []byte
}
