package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/gallop-http/gallop"
)

// Programs look at the type of the error in a *url.Error, often without errors.As. For example, they do not retry after a
// *tls.CertificateVerificationError. The Op of a *net.OpError distinguishes a server that is down from a proxy that is
// down. So errors of dials and handshakes have the types that net/http returns.

// dialFailure marks an error of Transport.DialContext.
type dialFailure struct{ error }

// Unwrap returns what DialContext returned.
func (e *dialFailure) Unwrap() error { return e.error }

// marked returns dial with errors that are dialFailures.
func marked(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	if dial == nil {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		if err != nil {
			err = &dialFailure{err}
		}
		return nc, err
	}
}

// explain converts an error of the HostClient into the error that the caller gets.
func (c *call) explain(err error) error {
	r := c.r
	_, limited := r.Context().Deadline()
	switch {
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	case context.Cause(c.ctx) == errHeadTimeout:
		return errHeadTimeout
	case limited && errors.Is(err, gallop.ErrTimeout):
		return context.DeadlineExceeded
	case c.ctx.Err() != nil:
		return errCanceled
	}
	text := textOf(err)
	var failed *gallop.CallError
	if errors.As(err, &failed) {
		switch err.(type) {
		case *gallop.CallError, *gallop.ErrDialWithUpstream:
			err = failed.Err
		}
	}
	if err, ok := c.connectError(err); ok {
		return err
	}
	if err == io.ErrUnexpectedEOF || failed != nil && failed.Phase == readingBody { // which programs compare
		return err
	}
	var n net.Error
	return &netError{err, errors.As(err, &n) && n.Timeout(), text}
}

// schemeError returns the error for a URL whose scheme is neither http nor https. http.Client puts the URL in front.
func schemeError(u *url.URL) error {
	text := u.Path
	if u.Opaque != "" {
		text = u.Scheme + ":" + u.Opaque
	}
	port := u.Opaque != "" && '0' <= u.Opaque[0] && u.Opaque[0] <= '9' // the "scheme" is a host
	if (u.Scheme == "" && u.Host == "" && text != "" && text[0] != '/' || port) && !strings.Contains(text, "@") {
		return fmt.Errorf("nethttp: unsupported protocol scheme %q; use %q", u.Scheme, "http://"+text)
	}
	return fmt.Errorf("nethttp: unsupported protocol scheme %q", u.Scheme) // net/http's text
}

// readingBody is the phase of an error that the body of the request returned.
const readingBody = "reading the request body"

// textOf returns the text for an error of the HostClient: the phase, the address of the server and the cause. The method
// and the URL are left out, because http.Client puts both in front.
func textOf(err error) string {
	if closed, ok := err.(*gallop.ClosedError); ok {
		unnamed := *closed
		unnamed.Method, unnamed.URL = "", ""
		return ownText(&unnamed)
	}
	var failed *gallop.CallError
	if !errors.As(err, &failed) {
		return ownText(err)
	}
	unnamed := *failed
	unnamed.Method, unnamed.URL = "", ""
	text := ownText(&unnamed)
	if _, ok := failed.Err.(*gallop.StreamError); ok {
		return resetText(text)
	}
	return text
}

// resetText gives the text about a stream that the server has reset the beginning and the end that net/http's text has. connect-go
// looks for both, and for the error code between them.
func resetText(text string) string {
	what, code, ok := strings.Cut(text, " the HTTP/2 stream: ")
	if !ok {
		return text
	}
	return "stream error: " + what + " the HTTP/2 stream; " + code + "; received from peer"
}

// ownText returns the text of err with the prefix of this package.
func ownText(err error) string { return "nethttp: " + strings.TrimPrefix(err.Error(), "gallop: ") }

// connectError converts err into the error that net/http returns, and reports whether err is about a dial or a handshake.
func (c *call) connectError(err error) (error, bool) {
	proxied := c.host.asked != nil // then the dial was to the proxy
	var hook *hookFailure
	if errors.As(err, &hook) {
		return hook.error, true
	}
	var refused *gallop.ProxyError
	if errors.As(err, &refused) {
		if refused.Err == nil {
			return refused, true // it has the status
		}
		err, proxied = refused.Err, isOfDial(refused.Err)
		if !proxied {
			return refused, true
		}
	}
	if errors.Is(err, gallop.ErrTLSHandshakeTimeout) {
		return asProxys(&netError{err, true, "nethttp: TLS handshake timeout: the server at " + c.host.leadsTo + " did not complete it in time; see TLSHandshakeTimeout"}, proxied), true
	}
	var dialed *gallop.ErrDialWithUpstream
	var failed *dialFailure
	switch {
	case errors.As(err, &failed):
		err = failed.error
		if errors.As(err, &dialed) { // it was a gallop dialer's
			err = asDials(dialed.Unwrap())
		}
	case errors.As(err, &dialed):
		err = asDials(dialed.Unwrap())
	case refused != nil:
		err = asDials(err)
	default:
		return err, false
	}
	return asProxys(err, proxied), true
}

// isOfDial reports whether err is about reaching the proxy, and not about its response.
func isOfDial(err error) bool {
	var dialed *gallop.ErrDialWithUpstream
	var failed *dialFailure
	return errors.As(err, &dialed) || errors.As(err, &failed) || errors.Is(err, gallop.ErrTLSHandshakeTimeout) ||
		err == gallop.ErrDialTimeout
}

// asDials puts an error of finding or reaching an address into a *net.OpError, as net.Dialer does. Errors of TLS stay
// as they are.
func asDials(err error) error {
	switch err.(type) {
	case *net.DNSError, *net.AddrError:
	default:
		if err != gallop.ErrDialTimeout {
			return err
		}
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

// asProxys puts err into a *net.OpError about the proxy if the dial was to a proxy.
func asProxys(err error, proxied bool) error {
	if !proxied {
		return err
	}
	return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
}

// netError is a net.Error with a text of its own around another error.
type netError struct {
	error
	timeout bool
	text    string
}

// Error implements error.
func (e *netError) Error() string { return e.text }

// Unwrap returns the error of the client.
func (e *netError) Unwrap() error { return e.error }

// Timeout implements net.Error.
func (e *netError) Timeout() bool { return e.timeout }

// Temporary implements net.Error.
func (e *netError) Temporary() bool { return e.timeout }
