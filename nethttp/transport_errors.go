package nethttp

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/gallop-http/gallop"
)

// Programs look at the type of the error in a *url.Error, often without errors.As. They do not retry after a
// *tls.CertificateVerificationError, and by the Op of a *net.OpError they tell a server that is down from a proxy
// that is down. So errors of connecting are returned as net/http returns them.

// dialFailure is an error of Transport.DialContext.
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

// explain returns the error of the call for an error of its HostClient, as net/http would return it.
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
	if err, ok := c.connectError(err); ok {
		return err
	}
	var n net.Error
	if _, direct := err.(net.Error); !direct && errors.As(err, &n) {
		return &netError{err, n.Timeout()}
	}
	return err
}

// connectError returns what net/http returns for err, if that is why there is no connection.
func (c *call) connectError(err error) (error, bool) {
	proxied := c.host.asked != nil // what fails then concerns the proxy
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
		return asProxys(&netError{fmt.Errorf("nethttp: TLS handshake timeout: %w", err), true}, proxied), true
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

// isOfDial reports whether err is why a proxy was not reached, and not what it said.
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

// asProxys puts err into a *net.OpError that says that the proxy was not reached, if it was to be.
func asProxys(err error, proxied bool) error {
	if !proxied {
		return err
	}
	return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
}

// netError is a net.Error that has another one inside.
type netError struct {
	error
	timeout bool
}

// Unwrap returns what the client said.
func (e *netError) Unwrap() error { return e.error }

// Timeout implements net.Error.
func (e *netError) Timeout() bool { return e.timeout }

// Temporary implements net.Error.
func (e *netError) Temporary() bool { return e.timeout }
