package gallop

import (
	"io"
	"net"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// Why a well-formed head is refused.
var (
	errBadHost      = refusing(StatusBadRequest, "Host is invalid, RFC 9112 §3.2", ErrInvalidURI)
	errExpectation  = refusing(StatusExpectationFailed, "unknown expectation, RFC 9110 §10.1.1")
	errTraceBody    = refusing(StatusBadRequest, "TRACE or CONNECT with content, RFC 9110 §9.3.6 and §9.3.8")
	errTraceRefused = refusing(StatusMethodNotAllowed, "TRACE is not allowed, RFC 9110 §9.3.8")
	errSlowBody     = tooSlow("the request body arrives too slowly, RFC 9110 §15.5.9")
	errSlowHead     = tooSlow("the request head arrives too slowly, RFC 9110 §15.5.9")
	errCutOff       = refusing(StatusBadRequest, "the connection ended in the middle of the request, RFC 9112 §8", io.ErrUnexpectedEOF)
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
		if form, err = target.Check(head.Fields.Bytes(head.Method), head.Fields.Bytes(head.Target)); err != nil {
			return refusing(StatusBadRequest, err.Error(), ErrInvalidURI)
		}
	}
	if i := head.Fields.FindID(field.Host); i >= 0 {
		if host := head.Fields.Value(i); !known.IsValid(host) && !(len(host) == 0 && form != target.Origin) {
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
		x.awaits100 = len(x.wire.input.unread()) == 0
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
	c := x.wire
	c.close = true // so that a response that ExpectHandler writes itself says so
	status = x.server.ExpectHandler(&x.ctx)
	if x.ctx.stream.ex != nil || c.hijacked {
		return status, &refusal{status}
	}
	c.close = false
	return status, nil
}

// sayContinue sends 100 (Continue).
func (c *serverConn) sayContinue() error {
	c.output.appendString(continueResponse)
	c.limitWriting()
	return c.output.flush()
}

// refusal is the error for a request that ExpectHandler or ContinueHandler refused with this status.
type refusal struct{ status int }

func (r *refusal) Error() string { return "expectation refused" }
