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

// checkRequest refuses what is well-formed but wrong, or not wanted here.
func (c *serverConn) checkRequest() error {
	head := &c.ctx.Request.Header.head
	form := target.Origin
	if !head.TargetChecked {
		var err error
		if form, err = target.Check(head.Fields.Bytes(head.Method), head.Fields.Bytes(head.Target)); err != nil {
			return refusing(StatusBadRequest, err.Error(), ErrInvalidURI)
		}
	}
	if i := head.Fields.FindID(field.Host); i >= 0 {
		if host := head.Fields.Value(i); !c.host.IsValid(host) && !(len(host) == 0 && form != target.Origin) {
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
		if head.MethodID == message.Trace && !c.srv.AllowTrace {
			return errTraceRefused
		}
	}
	if c.srv.GetOnly {
		return ErrGetOnly
	}
	return nil
}

// decideExpectation settles who says 100 (Continue) to a request with these expectations, and when.
func (c *serverConn) decideExpectation(expects message.Flags) error {
	if c.http10 {
		return nil
	}
	if expects&message.ExpectOther != 0 {
		return errExpectation
	}
	if c.body.ended() {
		return nil
	}
	status := StatusContinue
	switch s := c.srv; {
	case s.ExpectHandler != nil:
		c.close = true // so that a response that ExpectHandler writes itself says so
		status = s.ExpectHandler(&c.ctx)
		if c.ctx.stream.ex != nil || c.hijacked {
			return &refusal{status}
		}
		c.close = false
	case s.ContinueHandler != nil:
		if !s.ContinueHandler(&c.ctx.Request.Header) {
			status = StatusExpectationFailed
		}
	default:
		c.awaits100 = len(c.input.unread()) == 0
		return nil
	}
	if status != StatusContinue {
		c.ctx.Response.SetStatusCode(status)
		return &refusal{status}
	}
	if c.bodyTooLarge() { // it need not be sent
		return ErrBodyTooLarge
	}
	c.output.appendString("HTTP/1.1 100 Continue\r\n\r\n")
	c.limitWriting()
	return c.output.flush()
}

// refusal is the error for a request that ExpectHandler or ContinueHandler refused with this status.
type refusal struct{ status int }

func (r *refusal) Error() string { return "expectation refused" }
