package gallop

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// Why a well-formed head is refused.
var (
	errBadHost      = refusing(StatusBadRequest, "Host is invalid (RFC 9112 §3.2)", ErrInvalidURI)
	errExpectation  = refusing(StatusExpectationFailed, "unknown expectation (RFC 9110 §10.1.1)")
	errTraceBody    = refusing(StatusBadRequest, "TRACE or CONNECT with content (RFC 9110 §9.3.6 and §9.3.8)")
	errTraceRefused = refusing(StatusMethodNotAllowed, "TRACE is not allowed (RFC 9110 §9.3.8)")
	errSlowBody     = tooSlow("the request body arrives too slowly (RFC 9110 §15.5.9)")
	errSlowHead     = tooSlow("the request head arrives too slowly (RFC 9110 §15.5.9)")
	errCutOff       = refusing(StatusBadRequest, "the connection ended in the middle of the request (RFC 9112 §8)", io.ErrUnexpectedEOF)
)

func refusing(status int, reason string, also ...error) *ParseError {
	return &ParseError{StatusCode: status, Reason: reason, also: also}
}

// tooSlow returns a *net.OpError, because ErrorHandlers written for fasthttp look for that type to
// answer 408.
func tooSlow(reason string) error {
	return &net.OpError{Op: "read", Net: "tcp", Err: slowError{refusing(StatusRequestTimeout, reason)}}
}

// checkRequest refuses what is well-formed but wrong, or not wanted here. known remembers valid hosts.
func (x *exchange) checkRequest(known *target.KnownHost) error {
	head := &x.ctx.Request.Header.head
	form := target.Origin
	if !head.TargetChecked {
		var err error
		if form, err = target.Check(x.targetMethod(), head.Fields.Bytes(head.Target)); err != nil {
			return refusing(StatusBadRequest, err.Error(), ErrInvalidURI)
		}
	}
	if i := head.Fields.FindID(field.Host); i >= 0 {
		mayBeEmpty := form != target.Origin && x.h2 == nil // over HTTP/2, the scheme is http or https (RFC 9110 §4.2.1)
		if host := head.Fields.Value(i); !known.IsValid(host) && !(len(host) == 0 && mayBeEmpty) {
			return errBadHost
		}
	}
	switch head.MethodID {
	case message.Get, message.HeadMethod:
		return nil
	case message.Trace, message.Connect:
		if head.Body != message.NoBody {
			return errTraceBody
		}
		if head.MethodID == message.Trace && !x.server.AllowTrace {
			return errTraceRefused
		}
	}
	if x.server.GetOnly {
		return ErrGetOnly
	}
	return nil
}

// decideExpectation settles who says 100 (Continue) to a request with these expectations. now reports whether the wire has
// to say so at once.
func (x *exchange) decideExpectation(expects message.Flags) (now bool, err error) {
	if expects&message.ExpectOther != 0 {
		return false, errExpectation
	}
	if x.body.ended() {
		return false, nil
	}
	status := StatusContinue
	switch s := x.server; {
	case s.ExpectHandler != nil:
		if status, err = x.askExpectHandler(); err != nil {
			return false, err
		}
	case s.ContinueHandler != nil:
		if !s.ContinueHandler(&x.ctx.Request.Header) {
			status = StatusExpectationFailed
		}
	default:
		x.awaits100 = x.awaitsBody()
		return false, nil
	}
	if status != StatusContinue {
		x.ctx.Response.SetStatusCode(status)
		return false, &refusal{status}
	}
	if x.bodyTooLarge() { // it need not be sent
		return false, ErrBodyTooLarge
	}
	return true, nil
}

// askExpectHandler returns the status that the ExpectHandler wants. If the ExpectHandler has sent the response itself, the
// error is a *refusal.
func (x *exchange) askExpectHandler() (status int, err error) {
	if x.h2 == nil {
		x.wire.close = true // so that a response that ExpectHandler writes itself says so
	}
	status = x.server.ExpectHandler(&x.ctx)
	if x.ctx.streams() || x.isTaken() {
		return status, &refusal{status}
	}
	if x.h2 == nil {
		x.wire.close = false
	}
	return status, nil
}

// refusal is the error for a request that ExpectHandler or ContinueHandler refused with this status.
type refusal struct{ status int }

func (r *refusal) Error() string { return "expectation refused" }

// limitWriting gives what is written from now on the time that a response has.
func (x *exchange) limitWriting() {
	if x.h2 != nil {
		x.h2.limitWriting()
	} else {
		x.wire.Output.LimitTo(x.writeLimit)
	}
}

// correct sees to it that the client does not take what follows the response for
// something else than it is, and reports whether that took another response.
func (x *exchange) correct() (replaced bool) {
	ctx := &x.ctx
	resp := &ctx.Response
	if ctx.hijackHandler == nil {
		switch status := resp.StatusCode(); {
		case x.method == message.Connect && status/100 == 2:
			// It would tell the client that a tunnel begins, RFC 9110 §9.3.6.
			ctx.Error(StatusMessage(StatusNotImplemented), StatusNotImplemented)
			replaced = true
		case status < StatusOK:
			// It would go on waiting, RFC 9110 §15.2, or speak another protocol.
			x.server.conns.Log.Write(&conn.Event{Level: slog.LevelError, Text: "the handler answered with a status that is not final",
				Remote: x.netConn().RemoteAddr(), Conn: x.connNumber(), Status: status}, "the handler answered %d, which is not final", status)
			ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
			replaced = true
		}
		if resp.SkipBody && x.method != message.HeadMethod {
			resp.ResetBody()
			resp.SkipBody = false
		}
	}
	resp.SkipBody = resp.SkipBody || x.method == message.HeadMethod
	return replaced
}

// opensTunnel reports whether what follows the head of the response is a tunnel.
func (x *exchange) opensTunnel() bool {
	return x.method == message.Connect && x.ctx.Response.StatusCode()/100 == 2
}

// outgoing is what the server adds to every head that is sent now.
func (x *exchange) outgoing(now time.Time) outgoing {
	s := x.server
	out := outgoing{
		server:             s.set.server,
		defaultContentType: !s.NoDefaultContentType,
	}
	if !s.NoDefaultDate {
		out.date = now
	}
	return out
}

// refuse makes ctx.Response the response to a request that is refused because of err. It reports false if the response was
// started by an ErrorHandler that then panicked.
func (x *exchange) refuse(status int, err error) bool {
	ctx, s := &x.ctx, x.server
	ctx.Response.Reset()
	ctx.Error(StatusMessage(status), status)
	if status == StatusMethodNotAllowed {
		ctx.Response.Header.Set(HeaderAllow, s.allowed())
	}
	if s.ErrorHandler == nil {
		return true
	}
	return x.guard("the error handler", func() { s.ErrorHandler(ctx, err) }) || !ctx.streams()
}

// refuseExpectation makes ctx.Response the response to a request whose expectation was refused.
func (x *exchange) refuseExpectation(status int) {
	resp := &x.ctx.Response
	resp.SetStatusCode(status)
	if len(resp.body.bytes()) == 0 && !resp.IsBodyStream() {
		x.ctx.SetContentType("text/plain; charset=utf-8")
		resp.SetBodyString(StatusMessage(status))
	}
}

// refusalStatus returns the status of the response to a request that is refused because of err.
func refusalStatus(err error) int {
	var p *ParseError
	switch {
	case errors.As(err, &p):
		return p.StatusCode
	case err == ErrBodyTooLarge:
		return StatusRequestEntityTooLarge
	case err == ErrGetOnly:
		return StatusMethodNotAllowed
	}
	return StatusBadRequest
}

// logRefusal logs that a request was refused.
func (x *exchange) logRefusal(status int, reason error) {
	from, reason := x.netConn().RemoteAddr(), withRemedy(reason)
	x.server.conns.Log.Write(&conn.Event{Level: slog.LevelWarn, Text: "request refused", Remote: from, Conn: x.connNumber(), Status: status, Err: reason},
		"request from %v refused with %d: %v", from, status, reason)
}

// remedies say to the operator what to do about a refusal. They are keyed by ParseError.Reason, and are only logged: a client that
// sees the reason has no use for the name of a setting.
var remedies = map[string]string{
	http1.ErrTLS.Reason:           "the client uses https for a server that serves http",
	http1.ErrHTTP2.Reason:         "see Server.Protocols",
	http1.ErrTargetTooLong.Reason: "see Server.MaxRequestLineBytes",
	http1.ErrHeadTooLarge.Reason:  "see Server.MaxHeaderBytes",
	http1.ErrTooManyFields.Reason: "see Server.MaxHeaderFields",
	errExpectation.Reason:         "see Server.ExpectHandler",
	errTraceRefused.Reason:        "see Server.AllowTrace",
	slowReason(errSlowHead):       "see Server.ReadHeaderTimeout",
	slowReason(errSlowBody):       "see Server.MinBodyRate and Server.ReadTimeout",
}

func slowReason(err error) string { return err.(*net.OpError).Err.(slowError).Reason }

// withRemedy returns err with a remedy, if there is one.
func withRemedy(err error) error {
	remedy := ""
	var p *ParseError
	switch {
	case err == ErrBodyTooLarge:
		remedy = "see Server.MaxRequestBodySize"
	case err == ErrGetOnly:
		remedy = "see Server.GetOnly"
	case errors.As(err, &p):
		remedy = remedies[p.Reason]
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}

func (s *Server) allowed() string {
	if s.GetOnly {
		return "GET, HEAD"
	}
	return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
}
