package client

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"

	"github.com/gallop-http/gallop/internal/load/engine"
)

// manyConns is the limit on connections if the options have none: a connection per user.
const manyConns = 1 << 30

// newClient creates the client of a run.
func (r *run) newClient() (*gallop.Client, error) {
	o := r.options
	dial, err := r.dialer()
	if err != nil {
		return nil, err
	}
	c := &gallop.Client{
		DialContext: dial, TLSConfig: o.TLS, Protocols: protocols(o), NoDefaultUserAgentHeader: true,
		MaxConnsPerHost: manyConns, MaxConnWaitTimeout: -1, MaxIdleConnDuration: -1,
		MaxResponseBodySize: -1, MaxResponseHeaderBytes: 1 << 20, MaxRedirects: o.Redirects, AllowRedirectToPlain: true,
		DisablePathNormalizing: true, DisableHeaderNamesNormalizing: true, DetailedErrors: true,
	}
	if o.Conns > 0 {
		c.MaxConnsPerHost = o.Conns
	}
	if o.Proto != engine.HTTP1 && o.Conns == 0 && (o.Proto == engine.HTTP2 || o.Scheme == "https") {
		c.HTTP2 = &gallop.HTTP2Config{StrictMaxConcurrentRequests: true}
	}
	if o.Proxy != nil {
		c.Proxy = func(context.Context, *url.URL) (*url.URL, error) { return o.Proxy, nil }
	}
	return c, nil
}

// protocols returns the protocols of the options; nil means HTTP/1, and HTTP/2 over TLS.
func protocols(o *engine.Options) *gallop.Protocols {
	var p gallop.Protocols
	switch o.Proto {
	case engine.HTTP1:
		p.SetHTTP1(true)
	case engine.HTTP2:
		p.SetHTTP2(true)
		p.SetUnencryptedHTTP2(true)
	default:
		return nil
	}
	return &p
}

const defaultDialTimeout = 10 * time.Second

// dialer returns the function that opens connections. Connections to the target's authority go to the address of the options.
func (r *run) dialer() (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	o := r.options
	timeout := o.DialTimeout
	if timeout == 0 {
		timeout = defaultDialTimeout
	}
	dialers := []*net.Dialer{{Timeout: timeout}}
	for i, local := range o.Local {
		ip := net.ParseIP(local)
		if ip == nil {
			return nil, fmt.Errorf("%q is no local address", local)
		}
		if i > 0 {
			dialers = append(dialers, &net.Dialer{Timeout: timeout})
		}
		dialers[i].LocalAddr = &net.TCPAddr{IP: ip}
	}
	target := withPort(o.Authority, o.Scheme)
	var turn atomic.Uint64
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == target && o.Proxy == nil {
			network, address = o.Network, o.Address
		}
		if network == "" {
			network = "tcp"
		}
		nc, err := dialers[(turn.Add(1)-1)%uint64(len(dialers))].DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		r.conns.Add(1)
		return &conn{Conn: nc, run: r}, nil
	}, nil
}

func withPort(authority, scheme string) string {
	if _, _, err := net.SplitHostPort(authority); err == nil {
		return authority
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	if n := len(authority); n > 1 && authority[0] == '[' {
		return authority + ":" + port
	}
	return net.JoinHostPort(authority, port)
}

// conn counts itself as open until it is closed.
type conn struct {
	net.Conn
	run    *run
	closed atomic.Bool
}

func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.run.conns.Add(-1)
	}
	return c.Conn.Close()
}

// held are connections that are idle during the run.
type held []net.Conn

func (h held) close() {
	for _, c := range h {
		c.Close()
	}
}

// hold opens the idle connections.
func (r *run) hold(ctx context.Context) (all held, err error) {
	if r.options.Hold == 0 {
		return nil, nil
	}
	dial, err := r.dialer()
	if err != nil {
		return nil, err
	}
	target := withPort(r.options.Authority, r.options.Scheme)
	for i := range r.options.Hold {
		c, err := dial(ctx, "tcp", target)
		if err != nil {
			return all, fmt.Errorf("idle connection %d of %d: %w", i+1, r.options.Hold, err)
		}
		all = append(all, c)
	}
	return all, nil
}
