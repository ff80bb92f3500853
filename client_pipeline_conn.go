package gallop

import (
	"cmp"
	"context"
	"io"
	"net"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/clock"
)

// lateAnswer is how long a connection waits for the next response if the call has given up or the connection is
// retired.
const lateAnswer = time.Second

// pipelineConn is a connection of a PipelineClient. It holds the calls that wait to be sent and those that wait
// for their responses. The writer goroutine dials, writes and cleans up at the end. The reader goroutine reads.
//
//	callers → queue → writer → sent → reader → callers
type pipelineConn struct {
	client *PipelineClient
	wake   chan struct{} // to the writer, with room for one: look again
	dead   chan struct{} // closed when isShut

	conn ClientConn // the reader's, but for nc

	// Guarded by client.mu.
	queue, sent callQueue
	opened      bool // conn.nc is there
	isShut      bool // no longer among client.conns
	err         error
	answered    int  // how many calls
	saidClose   bool // the last response announced that the server closes the connection
	hungUp      bool // the server closed the connection between two responses
	timeout     time.Time
}

func newPipelineConn(c *PipelineClient) *pipelineConn {
	return &pipelineConn{client: c, wake: make(chan struct{}, 1), dead: make(chan struct{})}
}

func (pc *pipelineConn) calls() int { return pc.queue.len() + pc.sent.len() }

// enqueue gives the call to the connection. client.mu is held.
func (pc *pipelineConn) enqueue(call *pipelineCall) {
	call.conn = pc
	pc.queue.push(call)
	pc.wakeWriter()
}

// isIdle reports whether the connection has nothing to do.
func (pc *pipelineConn) isIdle() bool { return pc.opened && pc.calls() == 0 }

func (pc *pipelineConn) wakeWriter() {
	select {
	case pc.wake <- struct{}{}:
	default:
	}
}

// retire makes the connection take no more calls. client.mu is held.
func (pc *pipelineConn) retire(err error) {
	if pc.isShut {
		return
	}
	pc.isShut, pc.err = true, err
	c := pc.client
	if i := slices.Index(c.conns, pc); i >= 0 {
		c.conns = slices.Delete(c.conns, i, i+1)
	}
	close(pc.dead)
}

// shut retires the connection and makes both goroutines end. client.mu is held.
func (pc *pipelineConn) shut(err error) {
	pc.retire(err)
	if pc.opened {
		pc.conn.nc.Close()
	}
}

func (pc *pipelineConn) fail(err error) {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	pc.shut(err)
}

// stopWriting retires the connection when the writer has stopped. Responses that the server sent earlier still
// count, and one may announce that the server closes the connection. So the reader continues, and waits at most
// lateAnswer for each response.
func (pc *pipelineConn) stopWriting(err error) {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	pc.retire(err)
	pc.hurry()
}

// run starts the writer, and with it the reader when the connection is there.
func (pc *pipelineConn) run() {
	var err error
	callback.Go(func() { err = pc.open() }, func(failure error) {
		err = cmp.Or(shownPanic(failure), err)
		if pc.dialed(err); err != nil {
			return
		}
		read := make(chan struct{})
		pc.runReader(read)
		pc.runWriter(read)
	})
}

// runReader closes over when the reader has ended.
func (pc *pipelineConn) runReader(over chan<- struct{}) {
	var err error
	callback.Go(func() { err = pc.read() }, func(failure error) {
		defer close(over)
		pc.fail(cmp.Or(shownPanic(failure), err))
	})
}

// runWriter is the rest of the writer's life, the clearing up included, which waits for
// the reader.
func (pc *pipelineConn) runWriter(read <-chan struct{}) {
	var err error
	callback.Go(func() { err = pc.write() }, func(failure error) {
		pc.stopWriting(cmp.Or(shownPanic(failure), err))
		<-read
		pc.end()
	})
}

// open dials.
func (pc *pipelineConn) open() error {
	c := pc.client
	nc, addr, err := c.host.dialAny(context.Background(), time.Now().Add(maxClientHandshake))
	if err != nil {
		return inPhase(err, phaseDial, addr)
	}
	pc.use(nc, addr)
	c.host.set.trace.gotConn(&pc.conn)
	return nil
}

// use makes nc the connection.
func (pc *pipelineConn) use(nc net.Conn, addr string) {
	c := pc.client
	c.mu.Lock()
	defer c.mu.Unlock()
	pc.conn = ClientConn{nc: nc, addr: addr, remote: nc.RemoteAddr(), local: nc.LocalAddr(), tls: tlsStateOf(nc), id: lastClientConn.Add(1)}
	pc.conn.set, pc.conn.buf = c.host.set, bufpool.Get(c.host.set.readBuf)
	pc.conn.answered, pc.opened = true, true // first bytes are told of in read
}

// write writes what is to be sent until the connection ends, and returns why.
func (pc *pipelineConn) write() error {
	idle := time.NewTimer(time.Hour)
	defer idle.Stop()
	for {
		idle.Reset(pc.client.idleTime())
		select {
		case <-pc.wake:
			pc.gather()
			if err := pc.writeAll(); err != nil {
				return err
			}
		case <-pc.dead:
			return errPipelineIdle
		case <-idle.C:
			if pc.shutIfIdle() {
				return errPipelineIdle
			}
		}
	}
}

// writeAll writes what may be written now.
func (pc *pipelineConn) writeAll() error {
	c := pc.client
	size := orDefault(c.WriteBufferSize, defaultPipelineWrite)
	for {
		batch := pc.take(size)
		if len(batch) == 0 {
			return nil
		}
		if c.WriteTimeout > 0 {
			pc.conn.nc.SetWriteDeadline(time.Now().Add(c.WriteTimeout))
		}
		_, err := pc.conn.nc.Write(batch)
		bufpool.Put(batch)
		if c.host.set.trace.wroteRequest(err); err != nil {
			return err
		}
	}
}

func (c *PipelineClient) idleTime() time.Duration {
	if t := c.host.set.maxIdleTime; t > 0 {
		return t
	}
	return 1 << 62
}

// gather lets others come that can be written together.
func (pc *pipelineConn) gather() {
	if delay := pc.client.MaxBatchDelay; delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-pc.dead:
		}
	}
}

func (pc *pipelineConn) shutIfIdle() bool {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	if pc.isIdle() {
		pc.shut(errPipelineIdle)
	}
	return pc.isShut
}

// take moves calls from queue to sent and returns their requests in one buffer of about size bytes. If nothing
// was in flight before, it sets the deadline of the first response.
func (pc *pipelineConn) take(size int) []byte {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	var batch []byte
	for pc.mayTake() && (len(batch) == 0 || len(batch)+len(pc.queue.first().out) <= size) {
		call := pc.queue.pop()
		if batch == nil {
			batch = bufpool.Get(min(size, len(call.out)*(1+pc.queue.len())))
		}
		batch = append(bufpool.Grow(batch, len(call.out)), call.out...)
		if pc.sent.push(call); pc.sent.len() == 1 {
			pc.expect()
		}
	}
	return batch
}

// mayTake reports whether the next call may be sent now.
func (pc *pipelineConn) mayTake() bool {
	last := pc.sent.last()
	switch {
	case pc.isShut || pc.queue.len() == 0:
		return false
	case last == nil:
		return true
	case last.closes || !last.idempotent && !pc.client.PipelineNonIdempotent:
		return false
	}
	return pc.sent.len() < max(pc.client.window, pc.answered)
}

// expect sets the deadline of the next response.
func (pc *pipelineConn) expect() {
	at := time.Time{}
	if next := pc.sent.first(); next != nil {
		if t := pc.client.ReadTimeout; t > 0 {
			at = time.Now().Add(t)
		}
		if next.left || pc.isShut {
			at = clock.Earlier(at, time.Now().Add(lateAnswer))
		}
	}
	pc.setDeadline(at)
}

// hurry shortens the deadline of the next response to at most lateAnswer from now.
func (pc *pipelineConn) hurry() {
	pc.setDeadline(clock.Earlier(pc.timeout, time.Now().Add(lateAnswer)))
}

func (pc *pipelineConn) setDeadline(at time.Time) {
	if !at.Equal(pc.timeout) {
		pc.timeout = at
		pc.conn.nc.SetReadDeadline(at)
	}
}

// read reads responses until the connection ends, and returns the reason.
func (pc *pipelineConn) read() error {
	cc := &pc.conn
	defer func() { bufpool.Put(cc.buf) }()
	for {
		if len(cc.unread()) == 0 {
			if err := cc.fill(); err != nil {
				pc.hangUp()
				return err
			}
		}
		call := pc.next()
		if call == nil {
			return errPipelineUnasked
		}
		cc.set.trace.gotFirstByte()
		cc.long, cc.answered, cc.body.trailers = false, true, nil
		err := cc.readAnswer(&answer{resp: &call.resp, method: call.method, close: call.closes}, nil)
		if err != nil {
			phase := cc.phaseOf(err)
			err = inPhase(cc.explain(context.Background(), err), phase, cc.addr)
		}
		call.resp.remote, call.resp.local, call.resp.tls = cc.remote, cc.local, cc.tls
		if pc.answer(call, err, !cc.long); err != nil {
			return errPipelineBefore
		}
		if !cc.long || cc.broken {
			return io.EOF
		}
	}
}

// hangUp notes that the server has ended the connection, unless it was ended here.
func (pc *pipelineConn) hangUp() {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	pc.hungUp = !pc.isShut
}

// next returns the call that the next response belongs to, or nil if no call waits for one.
func (pc *pipelineConn) next() *pipelineCall {
	pc.client.mu.Lock()
	defer pc.client.mu.Unlock()
	return pc.sent.first()
}

// answer ends a call whose response was read, or failed with err. last says that no response follows on the
// connection.
func (pc *pipelineConn) answer(call *pipelineCall, err error, last bool) {
	c := pc.client
	c.mu.Lock()
	defer c.mu.Unlock()
	pc.sent.pop()
	if err == nil {
		pc.answered++
		c.outages.answered()
		pc.saidClose = last
	}
	c.finish(call, err)
	if pc.expect(); pc.queue.len() > 0 {
		pc.wakeWriter()
	}
}

// end retries or fails the calls that got no response. It runs when the reader and the writer no longer use
// them.
func (pc *pipelineConn) end() {
	c := pc.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if pc.saidClose && pc.sent.len() > 0 {
		c.window = pc.answered
	}
	c.outages.ended(pc.answered, pc.err)
	late := timedOut(pc.err)
	for first := true; pc.sent.len() > 0; first = false {
		call := pc.sent.pop()
		switch again := pc.saidClose || pc.answered > 0 && call.idempotent && !call.resent; {
		case late && first:
			c.finish(call, ErrTimeout)
		case again && !call.left:
			call.resent = call.resent || !pc.saidClose
			c.assign(call)
		case first && pc.hungUp && !c.DetailedErrors:
			c.finish(call, io.EOF)
		default:
			c.finish(call, &ClosedError{
				Addr: pc.conn.addr, Reused: pc.answered > 0, Written: int64(len(call.out)), Err: pc.err,
			})
		}
	}
	for pc.queue.len() > 0 {
		c.assign(pc.queue.pop())
	}
}
