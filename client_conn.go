package gallop

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/pool"
	"github.com/gallop-http/gallop/internal/target"
)

// The files of a call:
//
//   - client.go, client_host.go: the API
//   - client_retry.go: the attempts of a call
//   - client_pool.go: getting a connection from the pool
//   - client_conn.go: one exchange on one connection
//   - client_read.go: reading the response
//   - client_body.go: the response body as a stream
//   - client_upload.go: request bodies that are written while the client waits for the response

// ClientConn is an HTTP/1 connection of a HostClient. [HostClient.AcquireConn] returns a ClientConn. Only one call at a
// time may use a ClientConn.
//
// Deprecated: several calls share an HTTP/2 connection, so a ClientConn cannot represent an HTTP/2 connection. To
// observe calls, wrap [HostClient.DoContext] instead. To observe connections, set [HostClient.DialContext].
type ClientConn struct {
	// A ClientConn owns the bytes that have arrived and are not used yet. It knows where the response being
	// read ends. Nothing else reads from the connection.
	//
	//	buf: | used | of this response, or unsolicited |  free  |
	//	     0      r                                len(buf)  cap(buf)
	//
	// Between two calls there is no buffer, and any byte that arrives makes the connection unusable.

	nc      net.Conn
	owner   *HostClient
	addr    string // as it was dialed
	remote  net.Addr
	local   net.Addr
	tls     *tls.ConnectionState // nil without TLS
	created time.Time
	member  pool.Member // of owner.pool
	probe   dial.Probe  // whether it is still good
	asker   asker       // sends small requests, where it can
	id      uint64      // see GotConnInfo.ConnID
	host    target.KnownHost

	unproven bool // it may be stale, which nobody has looked for yet

	set      *clientSettings // of the present call, as is all that follows
	ctx      context.Context
	deadline time.Time
	buf      []byte
	r        int
	body     clientBody

	wrote    int64  // bytes of the request
	answered bool   // a byte of the response has arrived
	failed   error  // what the next read returns
	long     bool   // the response allows another one to follow on the connection
	broken   bool   // no other call may follow
	unsent   bool   // the call failed before the whole request was written
	name     []byte // method and URL of a call whose response body is a stream, see keepName

	readBy, writeBy time.Time             // deadlines, as set on the connection
	interrupted     atomic.Bool           // by interrupt, which may come from any goroutine
	reset           atomic.Pointer[error] // of a write that failed because of it, see noteReset
	interruptFunc   func()                // interrupt, made once
	stopWatch       func() bool           // ends the watch over the context
}

// lastClientConn is the ID of the last connection that a client made.
var lastClientConn atomic.Uint64

func newClientConn(c *HostClient, nc net.Conn, addr string) *ClientConn {
	cc := &ClientConn{nc: nc, owner: c, addr: addr, created: time.Now(), id: lastClientConn.Add(1)}
	cc.remote, cc.local, cc.tls = nc.RemoteAddr(), nc.LocalAddr(), tlsStateOf(nc)
	cc.probe.Init(nc)
	cc.asker.init(nc)
	cc.member.Init((*pooled)(cc))
	return cc
}

// tlsStateOf returns the state of a TLS connection, nil of another one.
func tlsStateOf(nc net.Conn) *tls.ConnectionState {
	tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	state := tc.ConnectionState()
	return &state
}

// Conn returns the network connection. Only the RoundTripper that acquired cc may use the network connection.
func (cc *ClientConn) Conn() net.Conn { return cc.nc }

// CreatedTime returns the time at which the connection became ready for use, after any TLS handshake was complete.
func (cc *ClientConn) CreatedTime() time.Time { return cc.created }

// LastUseTime returns the time at which the last call on the connection ended. If no call has ended yet, the result
// is the zero time.
func (cc *ClientConn) LastUseTime() time.Time { return cc.member.IdleAt().Time() }

// maxDirectBody is the largest body that is written in full before the client reads the response. It fits into
// the socket buffers between two peers. So if a server responds without reading the body, the two cannot block
// each other forever.
const maxDirectBody = 64 << 10

// roundTrip sends req and reads the response into resp, which owns its bytes afterwards. It returns cc to the
// pool or closes it. If the body of resp is a stream, that happens when the stream ends. errStale means that
// nothing was sent and that the caller should try another connection.
func (cc *ClientConn) roundTrip(ctx context.Context, deadline time.Time, req *Request, resp *Response, set *clientSettings) error {
	cc.begin(ctx, deadline, set)
	done := false
	defer func() {
		if !done {
			cc.abandon(resp)
		}
	}()
	a := answer{resp: resp}
	over, err := cc.send(req, &a)
	if !over {
		if err == nil && cc.failed == nil && len(cc.buf) == 0 {
			// This is where a call waits, few calls deep: a processor knows where to return
			// to only as long as nobody else has called in the meantime.
			cc.took(cc.nc.Read(cc.buf[:cap(cc.buf)]))
		}
		err = cc.readAnswer(&a, err)
	}
	done = true
	if err == nil && resp.IsBodyStream() {
		cc.keepName(req)
		return nil
	}
	if err != nil {
		phase := cc.phaseOf(err)
		resp.Header.Reset() // it may show the buffer
		resp.ResetBody()
		if err = cc.explain(ctx, err); err != errStale {
			err = inPhase(err, phase, cc.addr)
		}
	}
	cc.release()
	return err
}

// begin makes cc ready for a call.
func (cc *ClientConn) begin(ctx context.Context, deadline time.Time, set *clientSettings) {
	cc.set, cc.wrote, cc.answered, cc.failed, cc.long, cc.broken = set, 0, false, nil, false, false
	cc.ctx, cc.deadline = ctx, deadline
	cc.member.Uses++
	cc.arm(deadline)
	if ctx.Done() != nil {
		if cc.interruptFunc == nil {
			cc.interruptFunc = cc.interrupt
		}
		cc.stopWatch = context.AfterFunc(ctx, cc.interruptFunc)
	}
}

// arm sets the deadlines of a call. Those of the call itself are exact; those of the
// settings move with each call, and are left alone while they are near enough.
func (cc *ClientConn) arm(deadline time.Time) {
	set := cc.set
	if set.readTimeout == 0 && set.writeTimeout == 0 {
		cc.armRead(deadline)
		cc.armWrite(deadline)
		return
	}
	now := time.Now()
	cc.armRead(laterBy(cc.readBy, now, set.readTimeout, deadline))
	cc.armWrite(laterBy(cc.writeBy, now, set.writeTimeout, deadline))
}

// laterBy returns the deadline to set where current is set: timeout from now or a
// little later, but not after the deadline of the call.
func laterBy(current, now time.Time, timeout time.Duration, deadline time.Time) time.Time {
	if timeout == 0 {
		return deadline
	}
	at, late := now.Add(timeout), clock.Slack(timeout)
	if !deadline.IsZero() && deadline.Before(at) {
		return deadline
	}
	if current.Before(at) || current.After(at.Add(late)) {
		return at.Add(late)
	}
	return current
}

// unknownDeadline is what readBy is when somebody else may have set the deadline: equal
// to none that is ever set.
var unknownDeadline = time.Unix(2, 0)

func (cc *ClientConn) armRead(at time.Time) {
	if cc.readBy != at {
		cc.readBy = at
		cc.nc.SetReadDeadline(at)
		cc.heedInterrupt()
	}
}

func (cc *ClientConn) armWrite(at time.Time) {
	if cc.writeBy != at {
		cc.writeBy = at
		cc.nc.SetWriteDeadline(at)
		cc.heedInterrupt()
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// interrupt makes all reads and writes fail from now on. Any goroutine may call it at any time. It does not
// keep the connection from being reused; the code that ends the call does.
func (cc *ClientConn) interrupt() {
	cc.interrupted.Store(true)
	cc.nc.SetDeadline(longAgo)
}

// cutOff closes the connection under a Read that waits, also one that heeds no deadline.
func (cc *ClientConn) cutOff() {
	cc.interrupt()
	cc.close()
}

// heedInterrupt undoes a deadline that was set while somebody interrupted.
func (cc *ClientConn) heedInterrupt() {
	if cc.interrupted.Load() {
		cc.nc.SetDeadline(longAgo)
	}
}

// send sends req and stores in a how the response must be read. If over is false, the caller must still read
// the response. If over is true, the call has ended with err.
func (cc *ClientConn) send(req *Request, a *answer) (over bool, err error) {
	content, length, err := cc.putHead(req, a)
	if err != nil {
		cc.long = true // nothing was sent, and the connection is as it was
		return true, requestError{err}
	}
	a.method, a.upgrade = req.Header.methodID(), req.Header.ConnectionUpgrade()
	hasBody := length > 0 || length == lengthChunked
	large := req.IsBodyStream() || len(content) > maxDirectBody
	small := !large && !(hasBody && req.MayContinue())
	if small && cc.mayAsk(len(content)) {
		err := cc.ask(content)
		return err == errStale, err
	}
	if cc.unproven && cc.stale() {
		return true, errStale
	}
	if small {
		err := cc.write(content)
		cc.set.trace.wroteRequest(err)
		return false, err
	}
	return cc.sendApart(req, a, content, length)
}

// putHead puts the head of req, if that can be sent, into the buffer. It returns the body,
// if that is not a stream, and its length as an outgoing has it.
func (cc *ClientConn) putHead(req *Request, a *answer) (content []byte, length int64, err error) {
	buf := bufpool.Get(cc.set.readBuf)
	out := req.Header.asStored()
	out.agent = cc.set.agent
	out.close = out.close || cc.tooOld() && !req.Header.ConnectionUpgrade()
	if s := req.sentBefore(&out); s != nil {
		cc.buf, a.close = append(buf, s.text...), out.close
		return req.bytes(), s.out.length, nil
	}
	cc.buf = buf
	if content, err = req.prepare(&out); err != nil {
		return nil, 0, err
	}
	if !cc.host.IsValid(req.Header.Host()) {
		return nil, 0, errSentHost
	}
	if err = req.checkTarget(); err != nil {
		return nil, 0, err
	}
	cc.buf, a.close = req.Header.appendHead(buf, &out), out.close
	req.keepSent(cc.buf, &out)
	return content, out.length, nil
}

// sendApart sends the head of req, and then its body, if that is wanted.
func (cc *ClientConn) sendApart(req *Request, a *answer, content []byte, length int64) (over bool, err error) {
	if err := cc.write(nil); err != nil {
		cc.set.trace.wroteRequest(err)
		return false, err
	}
	if req.MayContinue() && cc.set.continueWait > 0 && length != 0 && length != lengthNone {
		if done, err := cc.awaitContinue(a); done || err != nil {
			return true, err
		}
	}
	if req.IsBodyStream() || len(content) > maxDirectBody {
		return true, cc.exchangeUploading(req, a, content, length)
	}
	n, err := cc.nc.Write(content)
	cc.wrote += int64(n)
	cc.broken = cc.broken || err != nil
	cc.set.trace.wroteRequest(err)
	return false, err
}

// write sends what is in the buffer and then content, in one piece if that is small.
func (cc *ClientConn) write(content []byte) error {
	if len(content) > 0 && len(content) <= smallBody {
		cc.buf = append(bufpool.Grow(cc.buf, len(content)), content...)
		content = nil
	}
	n, err := cc.writeBoth(cc.buf, content)
	cc.wrote += n
	cc.buf, cc.r = cc.buf[:0], 0
	if err != nil {
		cc.broken = true
		cc.noteReset(err)
		return err
	}
	cc.set.trace.wroteHeaders()
	return nil
}

func (cc *ClientConn) writeBoth(head, content []byte) (int64, error) {
	if len(content) > 0 {
		if tc, ok := cc.nc.(*net.TCPConn); ok {
			both := net.Buffers{head, content}
			return both.WriteTo(tc)
		}
	}
	n, err := cc.nc.Write(head)
	if err == nil && len(content) > 0 {
		m, werr := cc.nc.Write(content)
		return int64(n + m), werr
	}
	return int64(n), err
}

// release ends the call: cc goes back to its pool, if it can be used again, and is
// closed otherwise.
func (cc *ClientConn) release() {
	watched := cc.stopWatch == nil || cc.stopWatch() // false: interrupt runs, or has
	cc.stopWatch = nil
	good := cc.long && !cc.broken && watched && cc.r == len(cc.buf) && !cc.interrupted.Load()
	bufpool.Put(cc.buf)
	cc.buf, cc.r, cc.body, cc.ctx = nil, 0, clientBody{}, nil
	if !good {
		cc.owner.discardConn(cc)
		return
	}
	set := cc.set
	if cc.owner.pool.Put(&cc.member) { // as putConn does, without another call on the hot path
		set.trace.putIdle(cc.addr)
	}
}

// abandon ends a call of which a callback has panicked.
func (cc *ClientConn) abandon(resp *Response) {
	cc.broken = true
	streams := resp.IsBodyStream()
	resp.ResetBody()
	resp.Header.Reset()
	if !streams { // it has released cc otherwise
		cc.release()
	}
}

// close closes the connection. TLS says goodbye only where nothing was amiss: it would
// wait for a peer that does not read.
func (cc *ClientConn) close() {
	if tc := cc.probe.Secured; tc != nil && (cc.interrupted.Load() || cc.broken) {
		tc.NetConn().Close()
		return
	}
	cc.nc.Close()
}

// fill reads once, behind what is there.
func (cc *ClientConn) fill() error {
	switch {
	case cc.r == len(cc.buf):
		cc.buf, cc.r = cc.buf[:0], 0
	case len(cc.buf) < cap(cc.buf):
	case cc.r > 0:
		cc.buf, cc.r = cc.buf[:copy(cc.buf, cc.buf[cc.r:])], 0
	default:
		cc.buf = bufpool.Grow(cc.buf, 1)
	}
	n, err := cc.read(cc.buf[len(cc.buf):cap(cc.buf)])
	cc.buf = cc.buf[:len(cc.buf)+n]
	return err
}

// took notes what a read into the empty buffer returned.
func (cc *ClientConn) took(n int, err error) {
	switch {
	case n > 0:
		cc.buf = cc.buf[:n]
		cc.begun()
	case err != nil:
		cc.failed = err
	}
}

// begun notes that a byte of the response has arrived.
func (cc *ClientConn) begun() {
	if !cc.answered {
		cc.answered = true
		cc.set.trace.gotFirstByte()
	}
}

// read reads from the connection into p, which is not empty. It returns no bytes only
// with an error.
func (cc *ClientConn) read(p []byte) (int, error) {
	if err := cc.failed; err != nil {
		cc.failed, cc.broken = nil, true
		return 0, err
	}
	for range maxEmptyReads {
		n, err := cc.nc.Read(p)
		if n > 0 {
			cc.begun()
			return n, nil
		}
		if err != nil {
			cc.broken = true
			return 0, err
		}
	}
	cc.broken = true
	return 0, io.ErrNoProgress
}

func (cc *ClientConn) unread() []byte { return cc.buf[cc.r:] }

// mayFollow reports whether a response head allows another response to follow on the connection.
func mayFollow(head *message.Head) bool { return head.Flags&message.LongConnection != 0 }

// On a plain socket, a small request costs less if it is sent in one turn of the runtime's poller. The poller
// is first told that a read will follow. Then the socket is checked for staleness, the request is written, and
// the call waits for the response. Separate calls would check, write, and try a read that finds nothing before
// they wait. client_ask_unix.go has that turn.

// errStale means that nothing was sent, because the idle connection has become stale.
var errStale = errors.New("gallop: the idle connection has ended")

// mayAsk reports whether a request with that much content can be sent by ask.
func (cc *ClientConn) mayAsk(content int) bool {
	return cc.asker.ok() && cc.set.trace == nil && len(cc.buf)+content <= smallBody
}

// ask sends the buffer and then content, and reads the first bytes of the response. It sends nothing if the
// connection turns out to be stale. The returned error is about sending; the next read returns an error of
// reading.
func (cc *ClientConn) ask(content []byte) error {
	out := append(cc.buf, content...)
	sent, got, err := cc.asker.exchange(out, out[:cap(out)], cc.unproven)
	cc.wrote += int64(sent)
	cc.buf, cc.r = out[:0], 0
	switch {
	case err != nil && sent < len(out):
		cc.broken = true
		return err
	case err != nil:
		cc.failed = err
	case sent < len(out): // the socket takes no more for now
		return cc.writeRest(out, sent)
	default:
		cc.buf, cc.answered = out[:got], true
	}
	return nil
}

func (cc *ClientConn) writeRest(out []byte, sent int) error {
	n, err := cc.nc.Write(out[sent:])
	cc.wrote += int64(n)
	cc.broken = cc.broken || err != nil
	return err
}
