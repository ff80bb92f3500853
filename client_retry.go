package gallop

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/message"
)

// RetryIfFunc reports whether a failed request is sent again.
//
// Deprecated: use RetryIfErrFunc, which gets the error.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc decides whether a failed request is sent again. The argument attempts is the number of attempts so far,
// and err is the error of the last attempt. If resetTimeout is true, the request's timeout starts again before the next
// attempt. [SafeToRetry] reports whether a request can safely be repeated. request.Context() returns the context of the
// call.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout bool, retry bool)

// RetryIfErrUpstreamFunc decides whether a failed request is sent again. The argument upstream is the address of the
// server, or "" if there was no connection. See [RetryIfErrFunc] for the other parameters.
//
// Deprecated: use RetryIfErrFunc. ClosedError and ErrDialWithUpstream contain the server's address.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout bool, retry bool)

// do makes a call.
func (c *HostClient) do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	if resp == nil {
		resp = AcquireResponse()
		defer ReleaseResponse(resp)
	}
	if err := c.init(); err != nil {
		return c.failed(ctx, req, requestError{err})
	}
	if err := c.checkURI(req); err != nil {
		return c.failed(ctx, req, requestError{err})
	}
	if at, ok := ctx.Deadline(); ok {
		deadline = clock.Earlier(deadline, at)
	}
	limit := deadline
	if req.timeout > 0 {
		deadline = clock.Earlier(limit, time.Now().Add(req.timeout))
	}
	c.pending.Add(1)
	defer c.pending.Add(-1)
	replayable := !req.IsBodyStream() || req.size == 0 // nothing of it has to be sent again
	err := c.attempt(ctx, deadline, c.Transport, req, resp, false)
	if err != nil {
		err = c.again(ctx, deadline, limit, req, resp, replayable, err)
	}
	if err != nil {
		return c.failed(ctx, req, err)
	}
	return nil
}

// limit makes timeout that of req, which may begin anew with another attempt, unless that has
// a shorter one. A timeout that is over already is returned as a deadline.
func (req *Request) limit(timeout time.Duration) (deadline time.Time) {
	if timeout <= 0 {
		return time.Now()
	}
	if req.timeout <= 0 || timeout < req.timeout {
		req.timeout = timeout
	}
	return time.Time{}
}

// checkURI reports whether req can be sent to this host.
func (c *HostClient) checkURI(req *Request) error {
	if c.sendsVerbatim(req) {
		return nil
	}
	if c.DisablePathNormalizing {
		req.URI().DisablePathNormalizing = true
	}
	if !req.uriParsed && len(req.Header.Host()) > 0 && req.Header.RequestURI()[0] == '/' {
		return nil
	}
	if err := req.settleURI(); err != nil {
		return err
	}
	if len(req.uri.scheme) > 0 && req.uri.isHTTPS() != c.IsTLS {
		return ErrHostClientRedirectToDifferentScheme
	}
	return nil
}

// sendsVerbatim reports whether target and Host of req are sent as they are in its header,
// because the host is a proxy.
func (c *HostClient) sendsVerbatim(req *Request) bool {
	return c.IsProxy && len(req.Header.Host()) > 0 && req.Header.RequestURI()[0] != '/'
}

// again sends req, of which an attempt has failed with err, until that has worked, or it
// makes no sense to send it again. The deadline moves with a timeout that begins anew, up to limit.
func (c *HostClient) again(ctx context.Context, deadline, limit time.Time, req *Request, resp *Response, replayable bool, err error) error {
	for n := 1; err != nil; n++ {
		resetTimeout, retry := false, false
		untouched := c.Transport == nil && req.IsBodyStream() // an upload would have taken it
		r := h2VerdictOf(err)
		switch {
		case !(replayable || untouched) || n >= c.set.attempts || ctx.Err() != nil:
		case r.unprocessed && r.wants1:
			retry, ctx = c.mayUseH1(), withOnly1(ctx)
		case r.unprocessed:
			retry = r.pauseBefore(ctx, deadline, n)
		default:
			resetTimeout, retry = c.wantsRetry(ctx, req, resp, n, err)
		}
		if retry && resetTimeout && req.timeout > 0 {
			deadline = clock.Earlier(limit, time.Now().Add(req.timeout))
		}
		if !retry || !deadline.IsZero() && !time.Now().Before(deadline) {
			return err
		}
		err = c.attempt(ctx, deadline, c.Transport, req, resp, !r.over2)
	}
	return nil
}

// bare returns the error of a call. Programs for fasthttp compare it with ErrConnectionClosed.
func (s *clientSettings) bare(err error) error {
	if err = s.undetailed(err); err == io.EOF && !s.detailed {
		return ErrConnectionClosed
	}
	return err
}

// undetailed returns the error of an attempt: io.EOF if the server hung up before it responded, in the TLS handshake too,
// unless details are wanted. A failed write stays a *ClosedError, since fasthttp returns what the connection says then.
func (s *clientSettings) undetailed(err error) error {
	err = unmarked(err)
	if s.detailed {
		return err
	}
	switch e := err.(type) {
	case *ClosedError:
		if !e.writing || e.Err == io.EOF {
			return io.EOF
		}
	case *ErrDialWithUpstream:
		if e.wrapErr == io.EOF {
			return io.EOF
		}
	}
	return err
}

// unmarked returns err without the marks that only clients see.
func unmarked(err error) error {
	for {
		switch e := err.(type) {
		case requestError:
			err = e.error
		case bodyFailure:
			err = e.error
		case *phased:
			err = e.error
		default:
			return err
		}
	}
}

// attempt sends req once: by way of t, or, if that is nil, on the first connection that is
// good.
func (c *HostClient) attempt(ctx context.Context, deadline time.Time, t RoundTripper, req *Request, resp *Response, fresh bool) error {
	resp.resetSkipHeader()
	resp.Header.Reset()
	if t != nil {
		return c.transport(ctx, deadline, t, req, resp)
	}
	if ctx.Err() != nil {
		return inPhase(endedBy(ctx), phaseConn, "")
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return inPhase(ErrTimeout, phaseConn, "")
	}
	if c.sendsVerbatim(req) { // also if somebody has looked at its URI
		req.uriParsed, req.uriProof = false, uriUnproven
	}
	again421 := !fresh && c.set.attempts > 1 && !req.IsBodyStream()
	for set := c.set.of(ctx); ; {
		cc, over2, err := c.connFor(ctx, deadline, req, set.trace, fresh)
		switch {
		case err != nil:
			return inPhase(err, phaseConn, "")
		case over2 != nil:
			resp.remote, resp.local, resp.tls = over2.remote, over2.local, over2.tls
			err = over2.roundTrip(ctx, deadline, req, resp, set)
			if again421 && err == nil && resp.StatusCode() == StatusMisdirectedRequest && over2.uses.Load() > 1 {
				// The connection does not serve this host, but another one may (RFC 9110 §15.5.20).
				resp.resetSkipHeader()
				resp.Header.Reset()
				fresh, again421 = true, false
				continue
			}
		default:
			resp.remote, resp.local, resp.tls = cc.remote, cc.local, cc.tls
			err = cc.roundTrip(ctx, deadline, req, resp, set)
		}
		if err != errStale {
			return err
		}
	}
}

// connFor returns a connection for req, see getConn. HTTP/2 has no upgrades, so a request that asks for one needs HTTP/1. So
// does a request that a server has refused over HTTP/2 for that reason.
func (c *HostClient) connFor(ctx context.Context, deadline time.Time, req *Request, trace *ClientTrace, fresh bool) (*ClientConn, *h2ClientConn, error) {
	if !c.mayUseH2() || !req.Header.ConnectionUpgrade() && !isOnly1(ctx) {
		return c.getConn(ctx, deadline, trace, fresh, true)
	}
	if !c.mayUseH1() {
		return nil, nil, errNeedsHTTP1
	}
	cc, err := c.getHTTP1(ctx, deadline, trace, fresh, true)
	return cc, nil, err
}

// wantsRetry reports whether to send a request again that was sent n times.
func (c *HostClient) wantsRetry(ctx context.Context, req *Request, resp *Response, n int, err error) (resetTimeout, retry bool) {
	outer := req.ctx
	defer func() { req.ctx = outer }()
	req.ctx = ctx
	if _, ok := err.(requestError); ok {
		return false, false
	}
	switch {
	case c.RetryIfErrUpstream != nil:
		upstream := ""
		if resp.remote != nil {
			upstream = resp.remote.String()
		}
		return c.RetryIfErrUpstream(req, n, c.set.undetailed(err), upstream)
	case c.RetryIfErr != nil:
		return c.RetryIfErr(req, n, c.set.undetailed(err))
	}
	if c.RetryIf != nil {
		return false, c.RetryIf(req)
	}
	var closed *ClosedError
	return false, errors.As(err, &closed) && n == 1 && closed.Reused && (closed.NotProcessed() || isIdempotent(req))
}

// SafeToRetry reports whether req can be repeated safely after it has failed with err. SafeToRetry returns true in two
// cases:
//
//   - The server cannot have acted on the request. Either there was no connection, or err has a NotProcessed method
//     that returns true, such as [ClosedError.NotProcessed].
//   - The request is idempotent (RFC 9110 §9.2.2) or has an Idempotency-Key.
//
// If err is nil, SafeToRetry returns false. If the failed attempt has read from a body stream, SafeToRetry returns
// false too. Before you repeat a request with a body stream, set the body again.
//
// SafeToRetry does not predict whether another attempt will succeed. For example, the result can be true for a request
// that has timed out. If the server closes the connection, a Client or HostClient returns a *ClosedError only if
// DetailedErrors is set.
func SafeToRetry(req *Request, err error) bool {
	return err != nil && !req.spent && (notProcessed(err) || isIdempotent(req))
}

// notProcessed reports whether err says that no server has acted on the request.
func notProcessed(err error) bool {
	for _, e := range []error{ErrNoFreeConns, ErrPipelineOverflow, ErrNoAvailableClients, ErrDialTimeout, ErrTLSHandshakeTimeout} {
		if errors.Is(err, e) {
			return true
		}
	}
	var known interface{ NotProcessed() bool }
	var dial *ErrDialWithUpstream
	var op *net.OpError
	return errors.As(err, &known) && known.NotProcessed() || errors.As(err, &dial) || errors.As(err, &op) && op.Op == "dial"
}

// isIdempotent reports whether it makes no difference if a server gets req twice: by
// its method (RFC 9110 §9.2.2), or because it has a key by which the server can tell.
func isIdempotent(req *Request) bool {
	switch req.Header.methodID() {
	case message.Get, message.HeadMethod, message.Put, message.Delete, message.Options, message.Trace:
		return true
	}
	return req.Header.IsQuery() || len(req.Header.Peek("Idempotency-Key")) > 0
}
