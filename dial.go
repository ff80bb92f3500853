package gallop

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/dial"
)

// The files of dialing:
//
//   - dial.go: the dialer and its settings; the dialing itself is in internal/dial
//   - dial_tls.go: TLS on a connection that was dialed, and sessions to resume
//   - proxy.go: dialing through a proxy

// DefaultDialTimeout limits a dial for which no other timeout is set.
const DefaultDialTimeout = 3 * time.Second

// DefaultDNSCacheDuration is the default of TCPDialer.DNSCacheDuration.
const DefaultDNSCacheDuration = time.Minute

// DialFunc connects to addr, which has the form host:port, for a client.
type DialFunc func(addr string) (net.Conn, error)

// DialFuncWithTimeout connects to addr, which has the form host:port, within timeout.
type DialFuncWithTimeout func(addr string, timeout time.Duration) (net.Conn, error)

// TCPDialer opens TCP connections for clients. The dialer caches DNS lookups. If a name has several addresses, the
// dialer uses the first address that accepts a connection (RFC 8305). Dial and DialTimeout use IPv4 only, as in
// fasthttp. DialContext, DialDualStack and DialDualStackTimeout use IPv4 and IPv6. The zero value is ready to use.
//
// An address has the form "host:port", with an IPv6 address in brackets and a numeric port. For a unix socket, the
// address is "unix:" followed by the path. A path that starts with '@' is in Linux's abstract namespace. The address
// "unix:80" means port 80 of the host unix. To dial a socket at the path "80", write "unix:./80".
//
// All methods may be called concurrently. Do not change fields after the first call. If a dial fails, the error is an
// *ErrDialWithUpstream, which wraps the reason: ErrDialTimeout, the context's error, or the network error.
type TCPDialer struct {
	// Concurrency limits how many dials can connect at the same time. Additional dials wait. DNS lookups do not count
	// towards the limit. Zero or a negative value means no limit.
	Concurrency int

	// LocalAddr is the local address from which the dialer connects. The dialer dials only addresses of the same family
	// (IPv4 or IPv6) as LocalAddr. If LocalAddr is nil, the system chooses the local address.
	LocalAddr *net.TCPAddr

	// Resolver looks up names. Nil means net.DefaultResolver. The first address that the Resolver returns decides
	// whether IPv4 or IPv6 is tried first.
	Resolver Resolver

	// DNSCacheDuration is how long the addresses of a name are cached. Zero means DefaultDNSCacheDuration. A
	// negative value turns the cache off, but concurrent dials still share a lookup.
	DNSCacheDuration time.Duration

	// DisableDNSResolution leaves the lookup of names to package net. With DisableDNSResolution, the dialer uses neither
	// its cache nor Resolver.
	DisableDNSResolution bool

	// Timeout limits a dial, including the lookup and the wait for Concurrency. Zero means DefaultDialTimeout. With a
	// negative value, only the context limits a dial. DialTimeout and DialDualStackTimeout use their timeout argument
	// instead of Timeout.
	Timeout time.Duration

	dialer  dial.Dialer
	connect dial.ConnectFunc // for tests; nil is net.Dialer
}

// Dial connects to addr over IPv4 within Timeout. Dial fails for IPv6 addresses, and for names that have only IPv6
// addresses.
func (d *TCPDialer) Dial(addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), "tcp4", addr)
}

// DialTimeout connects to addr over IPv4 within timeout. If timeout is zero or negative, DialTimeout fails with
// ErrDialTimeout. See [TCPDialer.Dial].
func (d *TCPDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return contextDial(d.dial).within(context.Background(), timeout, "tcp4", addr)
}

// DialDualStack connects to addr over IPv4 or IPv6 within Timeout.
func (d *TCPDialer) DialDualStack(addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), "tcp", addr)
}

// DialDualStackTimeout connects to addr over IPv4 or IPv6 within timeout. If timeout is zero or negative,
// DialDualStackTimeout fails with ErrDialTimeout.
func (d *TCPDialer) DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return contextDial(d.dial).within(context.Background(), timeout, "tcp", addr)
}

// DialContext connects to addr within Timeout, and gives up when ctx is done. The argument network is "tcp", "tcp4",
// "tcp6" or "unix". The method can be used as HostClient.DialContext and http.Transport.DialContext.
func (d *TCPDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return contextDial(d.dial).limited(ctx, d.Timeout, DefaultDialTimeout, network, addr)
}

// FlushDNSCache removes all names from the dialer's cache.
func (d *TCPDialer) FlushDNSCache() { d.dialer.Flush() }

// Resolver looks up the addresses of names. *net.Resolver implements Resolver.
type Resolver interface {
	// LookupIPAddr returns the addresses of the name. LookupIPAddr may be called concurrently, but concurrent dials to the
	// same name share one call. The argument ctx has the context values of the first dial. When no dial waits for the
	// result any more, ctx is cancelled.
	LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error)
}

// StaleConn is a connection that can report whether it has become unusable. A client calls Stale before it reuses an
// idle connection that is not a socket. Connections of package memnet have a Stale method. The client assumes that an
// idle connection without a Stale method is usable. If the assumption is wrong, the client retries requests that are
// safe to repeat.
type StaleConn interface {
	net.Conn

	// Stale reports whether Read returns at once with data or an error. Stale must not wait. Stale may be called
	// concurrently with other methods.
	Stale() bool
}

var defaultDialer = &TCPDialer{Concurrency: 1000}

// Dial connects to addr over IPv4 within DefaultDialTimeout. Dial uses a TCPDialer that the whole process shares. The
// shared TCPDialer makes at most 1000 dials at a time. See [TCPDialer.Dial].
func Dial(addr string) (net.Conn, error) { return defaultDialer.Dial(addr) }

// DialTimeout connects to addr over IPv4 within timeout. See [Dial].
func DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialTimeout(addr, timeout)
}

// DialDualStack connects to addr over IPv4 or IPv6 within DefaultDialTimeout. See [Dial].
func DialDualStack(addr string) (net.Conn, error) { return defaultDialer.DialDualStack(addr) }

// DialDualStackTimeout connects to addr over IPv4 or IPv6 within timeout. See [Dial].
func DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return defaultDialer.DialDualStackTimeout(addr, timeout)
}

// FlushDNSCache empties the DNS cache that is shared by Dial, DialTimeout and all clients without a dial function. You
// may call FlushDNSCache at any time, but it affects all packages of the program. If you want to flush only your own
// cache, use a separate TCPDialer.
func FlushDNSCache() { defaultDialer.FlushDNSCache() }

// dial connects to addr as long as ctx allows.
func (d *TCPDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := d.dialer.Dial(ctx, d.options(), network, addr)
	if err == nil {
		return nc, nil
	}
	return nil, &ErrDialWithUpstream{Upstream: addr, wrapErr: dialError(ctx, shownPanic(err))}
}

// dialError returns the reason why a dial failed: the end of ctx, or else err. The dial may notice before ctx
// does that the time is up.
func dialError(ctx context.Context, err error) error {
	ended := ctx.Err()
	switch {
	case errors.Is(ended, context.Canceled):
		return ended
	case ended == nil && err == ErrTLSHandshakeTimeout: // with a proxy
		return err
	case ended != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ErrDialTimeout
	}
	return err
}

// options returns the settings of a dial, with defaults.
func (d *TCPDialer) options() *dial.Options {
	o := &dial.Options{
		Concurrency: d.Concurrency, LocalAddr: d.LocalAddr, Resolver: d.Resolver, Keep: d.DNSCacheDuration,
		SystemNames: d.DisableDNSResolution, Connect: d.connect,
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Keep == 0 {
		o.Keep = DefaultDNSCacheDuration
	}
	return o
}

// contextDial connects to addr as long as ctx allows.
type contextDial func(ctx context.Context, network, addr string) (net.Conn, error)

// within connects to addr within timeout. It fails if timeout is zero or negative.
func (dial contextDial) within(ctx context.Context, timeout time.Duration, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return dial(ctx, network, addr)
}

// limited connects to addr within timeout. Zero means byDefault. With a negative timeout, only ctx limits the dial.
func (dial contextDial) limited(ctx context.Context, timeout, byDefault time.Duration, network, addr string) (net.Conn, error) {
	switch {
	case timeout < 0:
		return dial(ctx, network, addr)
	case timeout == 0:
		timeout = byDefault
	}
	return dial.within(ctx, timeout, network, addr)
}

// dialFuncs are the functions with which a client or a ProxyDialer opens connections. The first one that is set is
// used. If none is set, the TCPDialer that the process shares is used.
type dialFuncs struct {
	context contextDial
	timeout DialFuncWithTimeout
	plain   DialFunc

	dualStack bool // the shared TCPDialer uses IPv6, too
}

// takeNoContext reports whether the function that is used takes no context.
func (f dialFuncs) takeNoContext() bool {
	return f.context == nil && (f.timeout != nil || f.plain != nil)
}

// withContext returns f without the functions that take no context.
func (f dialFuncs) withContext() dialFuncs {
	return dialFuncs{context: f.context, dualStack: f.dualStack}
}

// dial connects to addr. The functions that take no context may outlive ctx, but dial does not.
func (f dialFuncs) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case f.context != nil:
		return f.context(ctx, network, addr)
	case f.timeout != nil:
		timeout := DefaultDialTimeout
		if at, ok := ctx.Deadline(); ok {
			timeout = time.Until(at)
		}
		return dialAside(ctx, func() (net.Conn, error) { return f.timeout(addr, timeout) })
	case f.plain != nil:
		return dialAside(ctx, func() (net.Conn, error) { return f.plain(addr) })
	case network == "tcp" && !f.dualStack:
		network = "tcp4"
	}
	return defaultDialer.DialContext(ctx, network, addr)
}

// dialAside calls a function that takes no context, and waits for it until ctx is done. If the function connects after
// that, the connection is closed. If it panics after that, the panic is dropped.
func dialAside(ctx context.Context, call func() (net.Conn, error)) (net.Conn, error) {
	if ctx.Done() == nil {
		return call()
	}
	var nc net.Conn
	var err error
	dialed := make(chan error)
	callback.Go(func() { nc, err = call() }, func(failure error) {
		select {
		case dialed <- failure:
		case <-ctx.Done():
			if nc != nil {
				nc.Close()
			}
		}
	})
	select {
	case failure := <-dialed:
		if failure != nil {
			return nil, callback.Again(failure)
		}
		return nc, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
