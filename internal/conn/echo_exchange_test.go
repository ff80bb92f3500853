package conn_test

import (
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
)

// exchange is a name and two bodies. Its handler may use it as long as it likes, also after the exchange has ended. The
// lock of the wire guards the fields from body on.
type exchange struct {
	c    *echoWire
	id   uint16
	name string
	what uint32        // its place, for the predictor
	done chan struct{} // closed when the exchange has ended

	body     []byte // what the handler has not read yet
	complete bool   // no more follows
	ended    bool
	err      error  // why the handler can do nothing more
	left     bool   // its handler was left behind
	leave    func() // called before the handler waits, unless it is nil
	timers   []*time.Timer
}

// newExchange returns the exchange that a frame opens. A word that ends in @ is preceded by a deadline, such as 20ms@.
func (c *echoWire) newExchange(f frame) *exchange {
	x := &exchange{c: c, id: f.id, name: f.payload, done: make(chan struct{})}
	word, _ := command(f.payload)
	x.what = crc32.ChecksumIEEE([]byte(word)) % conn.PredictPlaces
	if within, _, ok := strings.Cut(word, "@"); ok {
		if d, err := time.ParseDuration(within); err == nil {
			x.timers = append(x.timers, time.AfterFunc(d, func() { x.endLocked(frameReset, reasonDeadline) }))
		}
	}
	if limit := c.s.limit; limit > 0 {
		x.timers = append(x.timers, time.AfterFunc(limit, x.leaveBehind))
	}
	return x
}

// run calls the handler.
func (x *exchange) run() {
	kind, text := byte(frameReset), reasonPanic
	defer func() {
		v := recover()
		if v != nil && v != panicOnPurpose {
			x.c.s.wrong("%s: panic: %v", x.name, v)
		}
		x.returned(kind, text)
	}()
	text = echoProgram(x)
	kind = frameEnd
}

// returned is called when the handler has returned.
func (x *exchange) returned(kind byte, text string) {
	c := x.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range x.timers {
		t.Stop()
	}
	x.end(kind, text)
	if x.left {
		c.s.late.Add(-1)
		return
	}
	c.running--
	c.settled()
	c.drop()
}

// leaveBehind ends the exchange, and does not wait for its handler any more.
func (x *exchange) leaveBehind() {
	c := x.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !x.ended {
		x.left = true
		c.s.late.Add(1)
		c.running--
		x.end(frameReset, reasonLate)
		c.settled()
		c.drop()
	}
}

func (x *exchange) endLocked(kind byte, text string) {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	x.end(kind, text)
}

// end sends the last frame, unless that was sent. c is locked.
func (x *exchange) end(kind byte, text string) {
	if !x.ended {
		x.cancel(errors.New(text))
		x.c.append(x.id, kind, text)
	}
}

// cancel ends the exchange, without telling the client. c is locked.
func (x *exchange) cancel(err error) {
	if !x.ended {
		x.ended, x.err = true, err
		close(x.done)
		delete(x.c.open, x.id)
		x.c.change.Broadcast()
	}
}

// wait waits for a change. c is locked.
func (x *exchange) wait() {
	if x.leave != nil {
		x.leave()
	}
	x.c.change.Wait()
}

// Read reads the body.
func (x *exchange) Read(p []byte) (n int, err error) {
	c := x.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(x.body) == 0 && !x.complete && x.err == nil {
		x.wait()
	}
	switch {
	case x.err != nil:
		return 0, x.err
	case len(x.body) == 0:
		return 0, io.EOF
	}
	n = copy(p, x.body)
	x.body = x.body[n:]
	return n, nil
}

// mostUnsent is how much a connection gathers before its handlers have to wait.
const mostUnsent = 16 << 10

// send sends a frame of the exchange.
func (x *exchange) send(kind byte, payload string) error {
	c := x.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.unsent) >= mostUnsent && x.err == nil {
		x.wait()
	}
	if x.err != nil {
		return x.err
	}
	c.append(x.id, kind, payload)
	return nil
}

// Write sends a piece of the other body.
func (x *exchange) Write(p []byte) (int, error) {
	if err := x.send(frameData, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Err returns why the exchange has ended, nil if it has not.
func (x *exchange) Err() error {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	return x.err
}
