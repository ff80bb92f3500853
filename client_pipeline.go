package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMaxPendingRequests is PipelineClient.MaxPendingRequests if that is not set.
const DefaultMaxPendingRequests = 1024

// PipelineClient sends requests to one host one behind the other over few connections,
// without waiting for the answers, which come in the same order (RFC 9112 §9.3.2). It
// suits many small requests to a server nearby. One slow answer holds up all behind it:
// HostClient is for everything else. A PipelineClient always uses HTTP/1.1.
//
// Requests and answers are whole: a body that is a stream is read into memory first. A
// request that is not idempotent holds back those behind it until it is answered, see
// PipelineNonIdempotent. CONNECT and requests for an upgrade are refused.
//
// When a connection ends, its calls without a response fail with a *ClosedError, or the first of them with io.EOF;
// see DetailedErrors. Calls are sent again over another connection instead
//   - always, if the server cannot have acted on them, because they were not sent or it
//     had said in an answer that it closes the connection;
//   - once, if they are idempotent (RFC 9110 §9.2.2, or with an Idempotency-Key) and the
//     connection had answered others before.
//
// If a dial fails, its calls fail with the same error, unless an open connection can take them.
// A host that cannot be dialed is dialed at most ten times a second. In between, calls
// without a connection fail at once with the error of the last dial.
//
// A call that has timed out is never sent again. Its answer, when nothing else stands
// before it, is awaited for a second longer and thrown away; then the connection is closed.
//
// A connection has a goroutine that writes and one that reads, which end with it: when it
// breaks, or was not used for MaxIdleConnDuration. If a function that is set here panics
// there, that is a *PanicError of the calls on the connection.
//
// Addr has to be set; the zero value of every other field is the default. A
// PipelineClient must not be copied, its fields not be changed after the first call, and
// its methods may be called by several goroutines at once.
type PipelineClient struct {
	_ noCopy

	// Addr, IsTLS, TLSConfig, Name, NoDefaultUserAgentHeader, DialContext, Dial,
	// MaxResponseHeaderBytes, MaxResponseBodySize, ReadBufferSize, DisablePathNormalizing and DisableHeaderNamesNormalizing are as in HostClient.
	Addr                          string
	IsTLS                         bool
	TLSConfig                     *tls.Config
	Name                          string
	NoDefaultUserAgentHeader      bool
	DialContext                   func(ctx context.Context, network, addr string) (net.Conn, error)
	Dial                          DialFunc
	MaxResponseHeaderBytes        int
	MaxResponseBodySize           int
	ReadBufferSize                int
	DisablePathNormalizing        bool
	DisableHeaderNamesNormalizing bool

	// MaxConns is how many connections there may be; one by default. A new one is made
	// when all have something to do.
	MaxConns int

	// MaxPendingRequests is how many calls there may be for each connection;
	// DefaultMaxPendingRequests by default. Beyond that Do fails with
	// ErrPipelineOverflow, and calls with a deadline or a context that can end wait.
	MaxPendingRequests int

	// MaxBatchDelay is how long a request waits for others to be written together with
	// it. By default it does not; what comes while others are written goes out together
	// anyhow.
	MaxBatchDelay time.Duration

	// MaxIdleConnDuration is how long a connection is kept that nobody uses;
	// DefaultMaxIdleConnDuration by default, for ever if negative.
	MaxIdleConnDuration time.Duration

	// WriteBufferSize is how many bytes are written at once, unless a single request
	// has more; 64 KiB by default.
	WriteBufferSize int

	// ReadTimeout is how long an answer may take from when it is the next one to come
	// to its end. WriteTimeout is how long one write may take. There is no limit by
	// default.
	ReadTimeout  time.Duration
	WriteTimeout time.Duration

	// PipelineNonIdempotent sends requests behind one that is not idempotent before that
	// is answered. If the connection breaks then, nobody knows which of them were acted on.
	PipelineNonIdempotent bool

	// DetailedErrors makes every error name the method, the URL and the phase of the call; see HostClient.DetailedErrors.
	// If the connection closes when the response of a call is the next one to arrive, the call returns a *ClosedError. By
	// default this call returns io.EOF, like in fasthttp.
	DetailedErrors bool

	// Trace is for connections, which all calls share: WithClientTrace has no effect here. Its functions for lookups,
	// dials and handshakes are called. GotConn is called for each new connection, WroteRequest for each write of one or
	// more requests, GotFirstByte and GotInterim for responses, and CallFailed for each call that fails. The other
	// functions are not called. All calls on the connection wait while a function runs.
	Trace *ClientTrace

	// Logger has no effect.
	//
	// Deprecated: failures are returned by calls.
	Logger Logger

	// DialDualStack has no effect.
	//
	// Deprecated: IPv4 and IPv6 are always both used.
	DialDualStack bool

	once    sync.Once
	initErr error
	host    HostClient    // never called; it dials and has the settings
	slots   chan struct{} // one for each call that is being made
	pending atomic.Int64
	calls   sync.Pool // of *pipelineCall; not shared, as they have channels

	mu      sync.Mutex
	conns   []*pipelineConn
	window  int // how many requests may be unanswered on a new connection
	outages pipelineOutages
}

const defaultPipelineWrite = 64 << 10

func (c *PipelineClient) init() error {
	c.once.Do(func() {
		host := &c.host
		host.Addr, host.IsTLS, host.TLSConfig = c.Addr, c.IsTLS, c.TLSConfig
		host.Name, host.NoDefaultUserAgentHeader = c.Name, c.NoDefaultUserAgentHeader
		host.DialContext, host.Dial, host.DialDualStack = c.DialContext, c.Dial, c.DialDualStack
		host.MaxResponseHeaderBytes, host.MaxResponseBodySize = c.MaxResponseHeaderBytes, c.MaxResponseBodySize
		host.ReadBufferSize, host.DisablePathNormalizing = c.ReadBufferSize, c.DisablePathNormalizing
		host.DisableHeaderNamesNormalizing = c.DisableHeaderNamesNormalizing
		host.MaxIdleConnDuration, host.trace = c.MaxIdleConnDuration, c.Trace
		host.DetailedErrors = c.DetailedErrors
		c.initErr = host.init()
		c.window = c.perConn()
		c.slots = make(chan struct{}, c.maxConns()*c.perConn())
	})
	return c.initErr
}

func (c *PipelineClient) maxConns() int { return orDefault(c.MaxConns, 1) }

func (c *PipelineClient) perConn() int {
	return min(orDefault(c.MaxPendingRequests, DefaultMaxPendingRequests), 1<<20)
}

// Do sends req and reads the answer to it into resp, which may be nil. It takes as long as
// req.SetTimeout and ReadTimeout allow. Redirects are not followed.
func (c *PipelineClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext is Do that ends when ctx does. The error is ErrTimeout for a deadline, and
// otherwise wraps what ctx says.
func (c *PipelineClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout is Do that fails with ErrTimeout after timeout.
func (c *PipelineClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return c.do(context.Background(), time.Now().Add(timeout), req, resp)
}

// DoDeadline is Do that fails with ErrTimeout at the deadline. The zero time means no deadline.
func (c *PipelineClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

// PendingRequests returns how many calls are being made.
func (c *PipelineClient) PendingRequests() int { return int(c.pending.Load()) }

// CloseIdleConnections closes the connections without a call.
func (c *PipelineClient) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.conns) - 1; i >= 0; i-- {
		if pc := c.conns[i]; pc.isIdle() {
			pc.shut(errPipelineIdle)
		}
	}
}

func (c *PipelineClient) do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	err := c.call(ctx, deadline, req, resp)
	if err == nil {
		return nil
	}
	call := describe(req, c.host.scheme(), err)
	c.host.set.trace.callFailed(call)
	return call.returned(unmarked(err), c.DetailedErrors)
}

// call makes a call. Its errors have marks.
func (c *PipelineClient) call(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	if resp != nil { // an answer of before is none to this request
		resp.resetSkipHeader()
		resp.Header.Reset()
	}
	if err := c.init(); err != nil {
		return requestError{err}
	}
	if err := ctx.Err(); err != nil {
		return inPhase(endedBy(ctx), phaseConn, "")
	}
	if req.timeout > 0 {
		deadline = earlier(deadline, time.Now().Add(req.timeout))
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return ErrTimeout
	}
	call, err := c.newCall(req)
	if err != nil {
		return requestError{err}
	}
	c.pending.Add(1)
	defer c.pending.Add(-1)
	over := call.startTimer(deadline)
	if err := c.enter(ctx, over); err != nil {
		c.releaseCall(call)
		return inPhase(err, phaseConn, "")
	}
	c.mu.Lock()
	c.assign(call)
	c.mu.Unlock()
	return c.await(ctx, over, call, resp)
}

// enter waits for a slot, if the call can end by itself.
func (c *PipelineClient) enter(ctx context.Context, over <-chan time.Time) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	if over == nil && ctx.Done() == nil {
		return ErrPipelineOverflow
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-over:
		return ErrTimeout
	case <-ctx.Done():
		return endedBy(ctx)
	}
}

// await waits for the end of the call, and gives up if it has to.
func (c *PipelineClient) await(ctx context.Context, over <-chan time.Time,
	call *pipelineCall, resp *Response) error {
	select {
	case <-call.done:
	case <-over:
		if c.abandon(call) {
			return inPhase(ErrTimeout, phaseWait, "")
		}
		<-call.done
	case <-ctx.Done():
		if c.abandon(call) {
			return inPhase(endedBy(ctx), phaseWait, "")
		}
		<-call.done
	}
	err := call.err
	if err == nil && resp != nil {
		call.handOver(resp)
	}
	c.releaseCall(call)
	return err
}

// assign gives the call to the connection with the fewest calls. If that one is busy, it makes
// another connection where MaxConns and the outages allow that. Without a connection
// the call fails. c.mu is held.
func (c *PipelineClient) assign(call *pipelineCall) {
	least := c.leastBusy(false)
	if least == nil || least.calls() > 0 && len(c.conns) < c.maxConns() {
		err := c.outages.check()
		if err != nil && least == nil {
			c.finish(call, err)
			return
		}
		if err == nil {
			least = c.newConn()
		}
	}
	least.enqueue(call)
}

// leastBusy returns the connection with the fewest calls, or nil without connections. With opened
// set it leaves out connections that are still being dialed. c.mu is held.
func (c *PipelineClient) leastBusy(opened bool) (least *pipelineConn) {
	for _, pc := range c.conns {
		if opened && !pc.opened {
			continue
		}
		if least == nil || pc.calls() < least.calls() {
			least = pc
		}
	}
	return least
}

func (c *PipelineClient) newConn() *pipelineConn {
	pc := newPipelineConn(c)
	c.conns = append(c.conns, pc)
	c.outages.running++
	pc.run()
	return pc
}

// abandon gives up the call, which the caller must not touch any more. It reports
// false if the call has just ended.
func (c *PipelineClient) abandon(call *pipelineCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.over {
		return false
	}
	call.left = true
	switch pc := call.conn; {
	case pc.queue.remove(call):
		c.finish(call, ErrTimeout)
	case pc.sent.first() == call:
		pc.hurry()
	}
	return true
}

// finish ends the call, which is in no queue any more. c.mu is held.
func (c *PipelineClient) finish(call *pipelineCall, err error) {
	<-c.slots
	call.over, call.err = true, err
	if call.left {
		c.releaseCall(call)
	} else {
		call.done <- struct{}{}
	}
}
