package gallop

import (
	"bytes"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
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
