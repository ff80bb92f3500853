package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// DefaultMaxPendingRequests is the default of PipelineClient.MaxPendingRequests.
const DefaultMaxPendingRequests = 1024

// PipelineClient sends requests to one host without waiting for earlier responses. A PipelineClient uses few
// connections. On each connection, responses arrive in the order of the requests (RFC 9112 §9.3.2). Use a
// PipelineClient for many small requests to a nearby server. In a pipeline, a slow response delays all later responses
// on its connection. For requests with slow responses, use a HostClient. A PipelineClient always uses HTTP/1.1.
//
// Bodies are kept in memory. If a request body is a stream, the client reads the whole stream before it sends the
// request. A request that is not idempotent delays later requests until its response has arrived; see
// PipelineNonIdempotent. CONNECT and upgrade requests are refused.
//
// When a connection closes, calls that wait for a response on this connection fail with a *ClosedError. Unless
// DetailedErrors is set, the first waiting call fails with io.EOF instead of a *ClosedError. After a connection has
// closed, the client retries a call over another connection in two cases:
//
//   - A call is always retried if the server cannot have acted on its request. For example, the client did not send the
//     request, or an earlier response said that the connection would be closed.
//   - An idempotent request (RFC 9110 §9.2.2) is retried once if its connection had already delivered a response. A
//     request with an Idempotency-Key counts as idempotent.
//
// If a dial fails, the calls that wait for the new connection move to another open connection. If no open connection
// has room for a call, the call fails with the dial's error. An unreachable host is dialed at most ten times a second.
// Between dials, calls that need a new connection fail at once with the last dial's error.
//
// A call that has timed out is never retried. If the next response on a connection belongs to a timed-out call, the
// client waits up to one second for the response. The client discards the response. If the response does not arrive
// within one second, the client closes the connection.
//
// Each connection has two goroutines, one for writing and one for reading. The goroutines of a connection end when the
// connection breaks or has been idle for MaxIdleConnDuration. These goroutines also call functions that you have set,
// such as the functions of Trace. If such a function panics, all calls on the connection return a *PanicError.
//
// Addr must be set. The zero value of every other field is a safe default. All methods may be called
// concurrently. Do not change fields after the first call, and do not copy a PipelineClient.
type PipelineClient struct {
	_ noCopy

	// Addr is the address to connect to, as host:port. Addr can list several addresses, separated by commas. Each new
	// connection uses the next address in the list. The default port is 80. If IsTLS is set, the default port is 443. For
	// a unix socket, use "unix:" followed by the path; see TCPDialer.
	Addr string

	// IsTLS makes the client use TLS for its connections. If IsTLS is set, requests with an http URI fail.
	IsTLS bool

	// TLSConfig configures TLS. Nil means the default configuration. The client uses a clone of the configuration. If
	// ServerName is empty, the client uses the host in the server's address as the server name. Do not change the
	// configuration after its first use, because the client can resume TLS sessions from before the change.
	//
	// If ClientSessionCache is nil, the client has its own cache of TLS sessions for each configuration. The client caches
	// no sessions if VerifyPeerCertificate is set without VerifyConnection: crypto/tls does not call VerifyPeerCertificate
	// for resumed sessions.
	TLSConfig *tls.Config

	// Name is the User-Agent header of requests that do not set a User-Agent. The default is "gallop".
	Name string

	// NoDefaultUserAgentHeader turns off the default User-Agent. A User-Agent from Name or from the request is still
	// sent.
	NoDefaultUserAgentHeader bool

	// DialContext opens connections. The function's network argument is always "tcp". DialContext takes precedence over
	// Dial. If DialContext and Dial are both nil, the client uses a TCPDialer that the whole process shares.
	//
	// DialContext runs on its own goroutine. Calls share connections, so the context does not belong to a single call. The
	// context is done ten seconds after the client has started to open the connection.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Dial opens connections. The function has no timeout argument. If Dial takes longer than ten seconds, the client
	// gives up. When Dial returns a connection later, the client closes the connection.
	//
	// If Dial is set, Addr may also be empty or the path of a socket. Dial gets Addr unchanged, without a default port. If
	// IsTLS is set, Dial may return a connection that already uses TLS. If the connection has a method Handshake() error,
	// the client assumes that the connection uses TLS. A function that returns a TLS connection must verify the server's
	// certificate itself.
	Dial DialFunc

	// MaxResponseHeaderBytes is the maximum size of a response's status line and headers, in bytes. Zero or a negative
	// value means the value of ReadBufferSize, as in fasthttp. If ReadBufferSize is not set either, the maximum is 4096.
	// If a response exceeds the maximum, the call fails with an *ErrSmallBuffer that names the limit.
	MaxResponseHeaderBytes int

	// MaxResponseBodySize is the maximum size of a response body that is read into memory, in bytes. Zero means
	// DefaultMaxResponseBodySize. A negative value means no limit. If a body exceeds the maximum, the call fails with
	// ErrBodyTooLarge. A PipelineClient reads every response body into memory.
	MaxResponseBodySize int

	// ReadBufferSize is the initial size of the buffer for responses, in bytes. Zero or a negative value means 4096. If
	// response headers do not fit, the buffer grows up to MaxResponseHeaderBytes. If MaxResponseHeaderBytes is not set,
	// ReadBufferSize is also the limit for response headers.
	ReadBufferSize int

	// DisablePathNormalizing makes the client send paths unchanged, including dot segments.
	DisablePathNormalizing bool

	// DisableHeaderNamesNormalizing makes iterators over response headers, such as ResponseHeader.All, yield the names
	// exactly as the server sent them. DisableHeaderNamesNormalizing does not affect requests; see
	// [RequestHeader.DisableNormalizing].
	DisableHeaderNamesNormalizing bool

	// MaxConns limits the open connections. Zero or a negative value means one connection. A new connection is opened when
	// every open connection has calls in flight.
	MaxConns int

	// MaxPendingRequests limits the calls in flight on each connection. Zero or a negative value means
	// DefaultMaxPendingRequests. The maximum is 1,048,576. When the limit is reached, a new call waits if it has a
	// deadline or a context that can be cancelled. A call without a deadline and without a cancellable context fails with
	// ErrPipelineOverflow.
	MaxPendingRequests int

	// MaxBatchDelay is how long a request waits so that it can be written together with later requests. Zero or a
	// negative value means no wait. Requests that arrive during a write are always combined into the next write.
	MaxBatchDelay time.Duration

	// MaxIdleConnDuration is how long an idle connection is kept. Zero means DefaultMaxIdleConnDuration. A
	// negative value means no limit.
	MaxIdleConnDuration time.Duration

	// WriteBufferSize limits how many bytes the client combines into a single write. A request that is larger than
	// WriteBufferSize is still written as a whole. Zero or a negative value means 64 KiB.
	WriteBufferSize int

	// ReadTimeout limits the time for a response. The time starts when the client starts to send the request. If earlier
	// responses on the connection are outstanding, the time starts when all of them have arrived. The time ends with the
	// last byte of the response. Zero or a negative value means no limit.
	ReadTimeout time.Duration

	// WriteTimeout limits the time of each write to a connection. Zero or a negative value means no limit.
	WriteTimeout time.Duration

	// PipelineNonIdempotent lets the client send further requests before the response to a non-idempotent request has
	// arrived. If the connection breaks, you cannot know which of the requests in flight the server has executed.
	PipelineNonIdempotent bool

	// DetailedErrors makes every error contain the method, the URL and the phase of the call. Most errors are of type
	// *CallError. For example, a timeout returns a *CallError that wraps ErrTimeout. When a connection closes, the first
	// waiting call returns a *ClosedError. Without DetailedErrors, errors that fasthttp programs compare with ==, such as
	// ErrTimeout, are returned unwrapped. Without DetailedErrors, the first waiting call returns io.EOF instead of a
	// *ClosedError.
	DetailedErrors bool

	// Trace contains functions that the client calls for events on its connections. Calls share connections, so
	// WithClientTrace has no effect on a PipelineClient. The client calls the functions for lookups, dials and handshakes.
	// GotConn is called for each new connection. CallFailed is called for each failed call. WroteRequest is called for
	// each write, which can contain several requests. GotFirstByte and GotInterim are called for responses. The client
	// does not call GetConn, PutIdleConn or WroteHeaders. While a function in Trace runs, all calls on the connection
	// wait. If Trace is nil, connections are not traced.
	Trace *ClientTrace

	// Logger has no effect.
	//
	// Deprecated: failed calls return their errors.
	Logger Logger

	// DialDualStack makes the default dialer use IPv4 and IPv6. Without DialDualStack, the default dialer uses IPv4 only,
	// as in fasthttp, and refuses IPv6 addresses. DialDualStack has no effect on DialContext and Dial.
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
		pipelineOptions().copy(host, c)
		host.trace, host.only1 = c.Trace, true
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

// Do sends req and reads the response into resp, which may be nil. Do does not follow redirects. The call's time limits
// are req.SetTimeout and ReadTimeout.
func (c *PipelineClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), time.Time{}, req, resp)
}

// DoContext does the same as Do, but cancels the call when ctx is done. If a deadline has passed, the error is
// ErrTimeout. After any other cancellation, the error wraps ctx.Err().
func (c *PipelineClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, time.Time{}, req, resp)
}

// DoTimeout does the same as Do, but fails with ErrTimeout if the call takes longer than timeout.
func (c *PipelineClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return c.do(context.Background(), time.Now().Add(timeout), req, resp)
}

// DoDeadline does the same as Do, but fails with ErrTimeout if the call has not ended by the deadline. The zero time
// means no deadline.
func (c *PipelineClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.do(context.Background(), deadline, req, resp)
}

// PendingRequests returns the number of calls in flight.
func (c *PipelineClient) PendingRequests() int { return int(c.pending.Load()) }

// CloseIdleConnections closes the connections that have no call in flight.
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
	if resp != nil { // it may hold an earlier response
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
		deadline = clock.Earlier(deadline, time.Now().Add(req.timeout))
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
