package gallop

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// pipelineCall is a call of a PipelineClient. Until it is over it belongs to the
// connection, and the caller waits for done or abandons it; then it is the caller's, or, if that has
// left, goes back to the pool. So whatever comes late reaches nobody.
type pipelineCall struct {
	out        []byte // the request as it is sent
	method     message.Method
	idempotent bool
	closes     bool // the connection ends with it
	resp       Response
	done       chan struct{} // with room for one
	timer      *time.Timer

	conn   *pipelineConn // guarded by PipelineClient.mu, as is what follows
	resent bool          // it was sent before
	left   bool          // nobody waits for it
	over   bool
	err    error // when it is over
}

// acquireCall returns an empty call.
func (c *PipelineClient) acquireCall() *pipelineCall {
	if call, ok := c.calls.Get().(*pipelineCall); ok {
		return call
	}
	return &pipelineCall{done: make(chan struct{}, 1)}
}

// newCall makes a call of req, which may be used again at once.
func (c *PipelineClient) newCall(req *Request) (*pipelineCall, error) {
	if req.Header.IsConnect() || req.Header.ConnectionUpgrade() {
		return nil, errPipelineUpgrade
	}
	if err := c.host.checkURI(req); err != nil {
		return nil, err
	}
	if req.IsBodyStream() {
		if req.Body(); req.BodyErr() != nil {
			return nil, req.BodyErr()
		}
	}
	out := req.Header.asStored()
	out.agent = c.host.set.agent
	content, err := req.prepare(&out)
	if err != nil {
		return nil, err
	}
	if !target.ValidHost(req.Header.Host()) {
		return nil, errSentHost
	}
	if err = req.checkTarget(); err != nil {
		return nil, err
	}
	call := c.acquireCall()
	call.out = req.Header.appendHead(bufpool.Get(defaultClientBuffer), &out)
	call.out = append(bufpool.Grow(call.out, len(content)), content...)
	call.method = req.Header.methodID()
	call.idempotent, call.closes = isIdempotent(req), out.close
	return call, nil
}

// startTimer returns a channel that tells when the deadline has come, nil if there is none.
func (call *pipelineCall) startTimer(deadline time.Time) <-chan time.Time {
	if deadline.IsZero() {
		return nil
	}
	if call.timer == nil {
		call.timer = time.NewTimer(time.Until(deadline))
	} else {
		call.timer.Reset(time.Until(deadline))
	}
	return call.timer.C
}

// handOver moves the response of the call to resp.
func (call *pipelineCall) handOver(resp *Response) {
	skip := resp.SkipBody
	resp.Header.Reset()
	resp.resetSkipHeader()
	call.resp.Header.CopyTo(&resp.Header)
	resp.remote, resp.local, resp.tls = call.resp.remote, call.resp.local, call.resp.tls
	switch {
	case skip:
	case resp.StreamBody: // of what is there
		whole := call.resp.body.buf
		call.resp.body.buf = nil
		resp.setStream(bytes.NewReader(whole), len(whole))
	default:
		resp.body.buf, call.resp.body.buf = call.resp.body.buf, resp.body.buf
	}
}

// releaseCall returns the call to the pool.
func (c *PipelineClient) releaseCall(call *pipelineCall) {
	if call.timer != nil {
		call.timer.Stop()
	}
	bufpool.Put(call.out)
	call.resp.Reset()
	call.out, call.conn, call.err = nil, nil, nil
	call.resent, call.left, call.over = false, false, false
	c.calls.Put(call)
}

// callQueue is calls in their order. The zero value is empty.
type callQueue struct {
	list []*pipelineCall
	head int // those before it have left: 0 ≤ head ≤ len(list)
}

func (q *callQueue) len() int { return len(q.list) - q.head }

func (q *callQueue) push(call *pipelineCall) {
	if q.head > len(q.list)/2 {
		q.list = slices.Delete(q.list, 0, q.head)
		q.head = 0
	}
	q.list = append(q.list, call)
}

// first returns the first call, nil without one.
func (q *callQueue) first() *pipelineCall {
	if q.len() == 0 {
		return nil
	}
	return q.list[q.head]
}

// last returns the last call, nil without one.
func (q *callQueue) last() *pipelineCall {
	if q.len() == 0 {
		return nil
	}
	return q.list[len(q.list)-1]
}

// pop removes the first call and returns it, nil without one.
func (q *callQueue) pop() *pipelineCall {
	call := q.first()
	if call != nil {
		q.list[q.head] = nil
		q.head++
	}
	return call
}

// remove removes call and reports whether it was there.
func (q *callQueue) remove(call *pipelineCall) bool {
	i := slices.Index(q.list[q.head:], call)
	if i >= 0 {
		q.list = slices.Delete(q.list, q.head+i, q.head+i+1)
	}
	return i >= 0
}

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
