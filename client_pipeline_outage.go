package gallop

import (
	"errors"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
)

// pipelineOutages keeps a client whose server is down from dialing for each call. While all is well, up to
// maxPipelineDials may run at once. During an outage, one at a time may.
// Each failure puts off the next dial by pipelineRetry, so that failed dials take turns even if they began together.
//
// PipelineClient.mu guards it.
type pipelineOutages struct {
	err     error // of the last failed dial, or of connections that ended without a response; nil if there is no outage
	retry   time.Time
	barren  int // connections that ended without a response, since the last response
	running int // dials in flight

	unreachable bool // the last dial failed, so responses on older connections do not end the outage
}

const (
	// pipelineRetry is how long calls fail after a failure, without another dial.
	pipelineRetry = 100 * time.Millisecond

	// maxPipelineDials is how many dials may run at once: as many as pipelineRetry allows in a second, because all may fail.
	maxPipelineDials = int(time.Second / pipelineRetry)

	// maxBarren is how many connections in a row must end without a response to count as a failure. A single
	// one may be an accident.
	maxBarren = 2
)

// errPipelineDialing is never returned by a call: while dials run, their connections take calls.
var errPipelineDialing = errors.New("gallop: enough connections are being dialed")

// check returns nil if a connection may be made now, and otherwise why the last one failed.
func (o *pipelineOutages) check() error {
	switch {
	case o.err != nil && (o.running > 0 || time.Now().Before(o.retry)):
		return o.err
	case o.running >= maxPipelineDials:
		return errPipelineDialing
	}
	return nil
}

func (o *pipelineOutages) failed(err error) {
	now := time.Now()
	if o.retry.Before(now) {
		o.retry = now
	}
	o.err, o.retry = err, o.retry.Add(pipelineRetry)
}

// answered records that a response has arrived.
func (o *pipelineOutages) answered() {
	o.barren = 0
	if !o.unreachable {
		o.err = nil
	}
}

// dialed records that a dial has ended. If maxBarren connections in a row brought no response, a new connection
// alone does not end the outage.
func (o *pipelineOutages) dialed(err error) {
	o.running--
	if isPanic(err) { // it is the program that has failed
		return
	}
	o.unreachable = err != nil
	switch {
	case err != nil:
		o.failed(err)
	case o.barren < maxBarren:
		o.err = nil
	}
}

// ended records that an open connection has ended with err after so many responses.
func (o *pipelineOutages) ended(answered int, err error) {
	switch {
	case isPanic(err), answered > 0:
	case err != errPipelineIdle && !timedOut(err):
		if o.barren++; o.barren >= maxBarren {
			o.failed(err)
		}
	}
}

// isPanic reports whether a function of the program panicked, or ended its goroutine.
func isPanic(err error) bool {
	var panicked *PanicError
	return errors.Is(err, callback.ErrGoexit) || errors.As(err, &panicked)
}

// dialed ends the dial of the connection. If it failed, open connections take its calls,
// and without one the calls fail.
func (pc *pipelineConn) dialed(err error) {
	c := pc.client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outages.dialed(err)
	if err == nil {
		pc.spread()
		return
	}
	pc.shut(err)
	for pc.queue.len() > 0 {
		call := pc.queue.pop()
		if other := c.leastBusy(true); other != nil {
			other.enqueue(call)
		} else {
			c.finish(call, err)
		}
	}
}

// spread shares the calls that waited for this connection with further connections, which could not
// be dialed beside it. client.mu is held.
func (pc *pipelineConn) spread() {
	c := pc.client
	if pc.queue.len() < 2 || len(c.conns) >= c.maxConns() {
		return
	}
	waiting := pc.queue
	pc.queue = callQueue{}
	for waiting.len() > 0 {
		c.assign(waiting.pop())
	}
}
