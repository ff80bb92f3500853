package middleware

import (
	"context"
	"errors"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// ProxyError reports that a target did not respond properly. A [Proxy] returns a ProxyError as the cause of a web.Error. The text
// can contain the address of the target, so do not send it to clients.
type ProxyError struct {
	Method string // Method is the method of the request.
	Path   string // Path is the path and the query that the target got, without the path of the target's URL.
	Err    error  // Err says what went wrong. Err is never nil.
}

// Error implements error. The text does not contain the query, which may have secrets.
func (e *ProxyError) Error() string {
	path, _ := splitTarget(e.Path)
	text := "middleware: proxy: " + e.Method + " " + path + ": "
	var closed *gallop.ClosedError
	var call *gallop.CallError
	switch { // their own texts contain the URL with its query
	case errors.As(e.Err, &closed):
		return text + closed.Addr + " closed the connection before it responded: " + closed.Err.Error()
	case errors.As(e.Err, &call) && call.Addr != "":
		return text + call.Phase + ", " + call.Addr + ": " + call.Err.Error()
	case errors.As(e.Err, &call):
		return text + call.Phase + ": " + call.Err.Error()
	}
	return text + e.Err.Error()
}

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// statusClientGone is the status, known from nginx, for a request whose client has gone away. No client ever sees it.
const statusClientGone = 499

// clientBodyError is an error of the client's request body. It is no fault of the target.
type clientBodyError struct{ error }

func (e clientBodyError) Unwrap() error { return e.error }

var (
	errProxyTooLarge = errors.New("middleware: the target's response body is larger than MaxResponseBody")
	errProxySwitch   = errors.New("middleware: the target switched to a protocol that the client has not asked for")
	errProxyHops     = errors.New("middleware: Max-Forwards does not allow another hop")
	errProxyStatus   = errors.New("middleware: the target's status is not a final status")
)

// explain returns the web.Error for a call that failed with err before the response began.
func (x *proxyCall) explain(err error) error {
	failed := &ProxyError{Method: string(x.to.Header.Method()), Path: x.path, Err: err}
	var body clientBodyError
	switch {
	case errors.As(err, &body):
		return x.explainBody(body.error)
	case context.Cause(x.ctx) == slowTarget{}:
		failed.Err = slowTarget{}
		return proxyFailure(gallop.StatusGatewayTimeout, failed)
	case x.c.Err() == context.DeadlineExceeded: // by middleware.Timeout, which makes a response of it
		failed.Err = context.DeadlineExceeded
		return proxyFailure(gallop.StatusGatewayTimeout, failed)
	case x.c.Err() != nil:
		return &web.Error{Status: statusClientGone, Message: "Client Closed Request", Err: failed}
	case errors.Is(err, gallop.ErrNoFreeConns) || errors.Is(err, gallop.ErrNoAvailableClients):
		x.c.SetHeader(gallop.HeaderRetryAfter, "1")
		return proxyFailure(gallop.StatusServiceUnavailable, failed)
	case isTimeout(err):
		return proxyFailure(gallop.StatusGatewayTimeout, failed)
	}
	return proxyFailure(gallop.StatusBadGateway, failed)
}

// explainBody returns the error for a call whose request body could not be read.
func (x *proxyCall) explainBody(err error) error {
	switch {
	case errors.Is(err, gallop.ErrBodyTooLarge):
		return tooLarge()
	case x.c.Err() != nil:
		return &web.Error{Status: statusClientGone, Message: "Client Closed Request", Err: err}
	case isTimeout(err):
		return &web.Error{Status: gallop.StatusRequestTimeout, Err: err}
	}
	return &web.Error{Status: gallop.StatusBadRequest, Message: gallop.StatusMessage(gallop.StatusBadRequest), Err: err}
}

func proxyFailure(status int, err error) error {
	return &web.Error{Status: status, Message: gallop.StatusMessage(status), Err: err}
}
