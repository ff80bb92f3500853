package gallop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/target"
)

// How errors of calls get a method, a URL and a phase.
//
// While a call is made, its errors stay as the connection, the dialer or the parser returned them. RetryIfErr and
// RoundTrippers see them in this form. Only the phase travels along, as a *phased around the error. When the call
// fails for good, failed puts method, URL and phase around the cause. Calls that succeed run none of this code.

// phased marks an error of an attempt with the phase and the address of the server.
type phased struct {
	error
	phase, addr string
}

// Unwrap returns the error without the mark.
func (e *phased) Unwrap() error { return e.error }

// inPhase marks err, unless it already has a mark.
func inPhase(err error, phase, addr string) error {
	switch err.(type) {
	case requestError, *phased:
		return err
	}
	return &phased{err, phase, addr}
}

// phaseOf returns the phase in which the exchange on cc failed with err.
func (cc *ClientConn) phaseOf(err error) string {
	unsent := cc.unsent
	cc.unsent = false
	switch err.(type) {
	case writeFailure:
		return phaseWrite
	case bodyFailure:
		return phaseSource
	}
	switch {
	case cc.body.trailers != nil:
		return phaseBody
	case cc.answered:
		return phaseHead
	case unsent:
		return phaseWrite
	}
	return phaseWait
}

// failed returns the error that the caller of a call gets for err, and reports the call to the trace.
func (c *HostClient) failed(ctx context.Context, req *Request, err error) error {
	call := describe(req, c.scheme(), err)
	c.set.traceOf(ctx).callFailed(call)
	return call.returned(c.set.bare(err), c.set.detailed)
}

// failed returns the error for a call that got no further than c itself.
func (c *Client) failed(ctx context.Context, req *Request, err error, phase string) error {
	call := describe(req, "http", inPhase(err, phase, ""))
	traceFrom(ctx).callFailed(call)
	return call.returned(call.Err, c.DetailedErrors)
}

// describe returns a new CallError for req and err, which may carry marks.
func describe(req *Request, scheme string, err error) *CallError {
	call := &CallError{}
	if req != nil { // LBClient does not look at requests
		call.Method, call.URL = string(req.Header.Method()), string(req.appendURL(nil, scheme))
	}
	switch e := err.(type) {
	case *phased:
		call.Phase, call.Addr = e.phase, e.addr
	case requestError:
		call.Phase = phasePrepare
	}
	call.Err = unmarked(err)
	var dial *ErrDialWithUpstream
	var proxy *ProxyError
	switch {
	case call.Err == errNoHost, call.Err == errScheme, call.Err == ErrInvalidURI:
		call.Phase = phasePrepare
		call.Err = explainURL(req, call.Err)
	case errors.As(call.Err, &proxy):
		call.Phase = phaseProxy
	case errors.As(call.Err, &dial):
		call.Phase, call.Addr = phaseDial, dial.Upstream
		if dial.phase != "" {
			call.Phase = dial.phase
		}
	case call.Err == ErrTLSHandshakeTimeout:
		call.Phase = phaseTLS
	case call.Err == ErrNoFreeConns:
		call.Phase = phaseConn
	}
	return call
}

// returned returns e around err, or err itself if programs for fasthttp compare it or look at its type.
func (e *CallError) returned(err error, detailed bool) error {
	if !detailed && isCompared(err) {
		return err
	}
	switch err := err.(type) {
	case *CallError: // of a client below this one
		return err
	case *ClosedError:
		named := *err
		named.Method, named.URL = e.Method, e.URL
		return &named
	case *ErrSmallBuffer:
		e.Err = err.error
		return &ErrSmallBuffer{e}
	case *ErrDialWithUpstream:
		e.Err = err
		return &ErrDialWithUpstream{Upstream: err.Upstream, wrapErr: e, phase: err.phase}
	case ErrBrokenChunk:
		e.Err = err.error
		return ErrBrokenChunk{e}
	}
	if !isURLError(e.Err) {
		e.Err = err
	}
	return e
}

// isCompared reports whether programs for fasthttp compare err with ==.
func isCompared(err error) bool {
	switch err {
	case ErrTimeout, ErrNoFreeConns, ErrConnectionClosed, ErrConnPoolStrategyNotImpl, ErrDialTimeout, ErrTLSHandshakeTimeout,
		ErrBodyTooLarge, ErrContentEncodingUnsupported, ErrPipelineOverflow, ErrNoAvailableClients, ErrTooManyRedirects,
		ErrMissingLocation, ErrRedirectBodyStream, ErrHostClientRedirectToDifferentScheme, ErrHostClientRedirectToDifferentHost,
		ErrBodyClosed, io.EOF, io.ErrUnexpectedEOF:
		return true
	}
	return false
}

// appendURL appends the URL of req, without user information. scheme is used if req has none.
func (req *Request) appendURL(dst []byte, scheme string) []byte {
	raw := req.Header.RequestURI()
	switch {
	case req.uriParsed && req.uriErr == nil && len(req.uri.host) > 0:
		return req.uri.AppendBytes(dst)
	case len(req.Header.Host()) > 0 && len(raw) > 0 && raw[0] == '/':
		dst = append(append(dst, scheme...), "://"...)
		dst = target.AppendSafeHost(dst, req.Header.Host())
		return appendVisible(dst, raw)
	}
	return appendVisible(dst, withoutUserinfo(raw))
}

// appendVisible appends raw, whose characters that a log must not contain are escaped.
func appendVisible(dst, raw []byte) []byte {
	path, query, found := bytes.Cut(raw, []byte("?"))
	dst = target.AppendVisible(dst, path)
	if found {
		dst = target.AppendSafeQuery(append(dst, '?'), query)
	}
	return dst
}

// withoutUserinfo removes the user information from a URL that may be malformed or have no scheme.
func withoutUserinfo(raw []byte) []byte {
	start := 0
	if i := bytes.Index(raw, []byte("//")); i >= 0 && !bytes.ContainsAny(raw[:i], "/?#") {
		start = i + 2
	}
	end := len(raw)
	if i := bytes.IndexAny(raw[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if at := bytes.LastIndexByte(raw[start:end], '@'); at >= 0 {
		return append(raw[:start:start], raw[start+at+1:]...)
	}
	return raw
}

// urlError says what is wrong with the URL of a request, and what to write instead.
type urlError struct {
	error
	text string
}

// Error returns a text with the remedy.
func (e *urlError) Error() string { return e.text }

// Unwrap returns the error without the remedy.
func (e *urlError) Unwrap() error { return e.error }

func isURLError(err error) bool { _, ok := err.(*urlError); return ok }

// explainURL returns err, which is why the URL of req is refused, with a remedy.
func explainURL(req *Request, err error) error {
	raw := string(withoutUserinfo(req.Header.RequestURI()))
	scheme, rest, found := strings.Cut(raw, ":")
	switch {
	case looksLikeHost(raw):
		return &urlError{err, "the URL has no scheme; use " + strconv.Quote("http://"+raw)}
	case err == errScheme && found && strings.HasPrefix(rest, "/"):
		return &urlError{err, "unsupported scheme " + strconv.Quote(scheme) + "; use http or https"}
	}
	return err
}

// looksLikeHost reports whether raw begins with a host, which has a dot or a port or is localhost.
func looksLikeHost(raw string) bool {
	if i := strings.IndexAny(raw, "/?#"); i >= 0 {
		raw = raw[:i]
	}
	if raw == "" || !target.ValidHost([]byte(raw)) {
		return false
	}
	host, port, err := net.SplitHostPort(raw)
	if err != nil {
		return strings.Contains(strings.Trim(raw, "."), ".") || raw == "localhost"
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && host != ""
}

// maxKeptName is how much memory a connection keeps for the method and the URL of a call.
const maxKeptName = 1 << 10

// keepName keeps the method and the URL of req for errors of the response body, which is read after the call. Nothing
// but a stream needs them, because req is at hand until the call returns.
func (cc *ClientConn) keepName(req *Request) {
	if cap(cc.name) > maxKeptName {
		cc.name = nil
	}
	cc.name = append(append(cc.name[:0], req.Header.Method()...), ' ')
	cc.name = req.appendURL(cc.name, cc.owner.scheme())
}

// streamFailed returns the error that a Read of the response body gets for err.
func (cc *ClientConn) streamFailed(err error, phase string) error {
	method, url, _ := strings.Cut(string(cc.name), " ")
	call := &CallError{Method: method, URL: url, Addr: cc.addr, Phase: phase, Err: err}
	cc.set.trace.callFailed(call)
	return call.returned(err, cc.set.detailed)
}

// requestError is why a request was not sent at all.
type requestError struct{ error }

// writeFailure is why a request could not be written. No response came instead.
type writeFailure struct{ error }

// explain turns the error of a connection into the error of a call.
func (cc *ClientConn) explain(ctx context.Context, err error) error {
	unwritten, writing := err.(writeFailure)
	if writing {
		err = unwritten.error
	}
	if err == errStale {
		return err
	}
	if e, ok := err.(requestError); ok { // for wantsRetry to see
		return e
	}
	if e, ok := err.(bodyFailure); ok && ctx.Err() == nil {
		return e.error
	}
	if ended := ctx.Err(); ended != nil {
		return endedBy(ctx)
	}
	switch {
	case timedOut(err):
		return ErrTimeout
	case !cc.answered && isConnError(err):
		return &ClosedError{Addr: cc.addr, Reused: cc.member.Uses > 1, Written: cc.wrote, Err: err, writing: writing}
	}
	return err
}

// isConnError reports whether err is what a connection says, and not a parser.
func isConnError(err error) bool {
	var parse *ParseError
	return !errors.As(err, &parse) && err != errInterim && err != ErrBodyTooLarge
}

// endedBy returns why ctx has ended, as the error of a call.
func endedBy(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ErrTimeout
	case cause == err:
		return fmt.Errorf("gallop: the call was ended: %w", err)
	}
	return fmt.Errorf("gallop: the call was ended: %w (%w)", cause, err)
}
