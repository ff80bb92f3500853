package gallop

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
)

// The files of dialing:
//
//   - dial.go: the dialer and its settings
//   - dial_dns.go: looking up names, and the cache for them
//   - dial_happy.go: choosing among several addresses (RFC 8305)
//   - dial_trace.go: reporting what a dial does
//   - dial_tls*.go: TLS on a connection that was dialed
//   - dial_probe*.go: whether an idle connection is still usable
//   - proxy*.go: dialing through a proxy

// DefaultDialTimeout limits a dial for which no other timeout is set.
const DefaultDialTimeout = 3 * time.Second

// DialFunc connects to addr, which has the form host:port, for a client.
type DialFunc func(addr string) (net.Conn, error)

// DialFuncWithTimeout connects to addr, which has the form host:port, within timeout.
type DialFuncWithTimeout func(addr string, timeout time.Duration) (net.Conn, error)

// TCPDialer opens TCP connections for clients. The dialer caches DNS lookups. If a name has several addresses, the
// dialer uses the first address that accepts a connection (RFC 8305). Dial and DialTimeout use IPv4 only, as in
// fasthttp. DialContext, DialDualStack and DialDualStackTimeout use IPv4 and IPv6. The zero value is ready to use.
//
// An address has the form "host:port", with an IPv6 address in brackets and a numeric port. For a unix socket, the
// address is "unix:" followed by the path. A path that starts with '@' is in Linux's abstract namespace. Put "./" in
// front of a path that consists only of digits, because "unix:80" means port 80 of the host unix.
//
// All methods may be called concurrently. Do not change fields after the first call. If a dial fails, the error is an
// *ErrDialWithUpstream, which wraps the reason: ErrDialTimeout, the context's error, or the network error.
type TCPDialer struct {
	// Concurrency limits how many dials can connect at the same time. Additional dials wait. DNS lookups do not count
	// towards the limit. Zero or a negative value means no limit.
	Concurrency int

	// LocalAddr is the local address of connections. The dialer dials only addresses of the same family (IPv4 or IPv6)
	// as LocalAddr. If LocalAddr is nil, the system chooses the local address.
	LocalAddr *net.TCPAddr

	// Resolver looks up names. Nil means net.DefaultResolver. The first address that the Resolver returns decides
	// whether IPv4 or IPv6 is tried first.
	Resolver Resolver

	// DNSCacheDuration is how long the addresses of a name are cached. Zero means DefaultDNSCacheDuration. A
	// negative value turns the cache off, but concurrent dials still share a lookup.
	DNSCacheDuration time.Duration

	// DisableDNSResolution makes package net look up names. Such lookups use neither the cache nor Resolver.
	DisableDNSResolution bool

	// Timeout limits a dial, including the lookup and the wait for Concurrency. Zero means DefaultDialTimeout. With a
	// negative value, only the context limits a dial. DialTimeout and DialDualStackTimeout use their timeout argument
	// instead of Timeout.
	Timeout time.Duration

	names nameCache
	turns turnstile

	connect connectFunc // for tests; nil is net.Dialer
}

// connectFunc connects to one address.
type connectFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial connects to addr over IPv4 within Timeout. Dial fails for IPv6 addresses, and for names that have only IPv6
// addresses.
func (d *TCPDialer) Dial(addr string) (net.Conn, error) {
	return d.dialContext(context.Background(), "tcp4", addr)
}

// DialTimeout connects to addr over IPv4 within timeout. If timeout is zero or negative, DialTimeout fails with
// ErrDialTimeout. See [TCPDialer.Dial].
func (d *TCPDialer) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialWithin(context.Background(), timeout, "tcp4", addr)
}

// DialDualStack connects to addr over IPv4 or IPv6 within Timeout.
func (d *TCPDialer) DialDualStack(addr string) (net.Conn, error) {
	return d.dialContext(context.Background(), "tcp", addr)
}

// DialDualStackTimeout connects to addr over IPv4 or IPv6 within timeout. If timeout is zero or negative,
// DialDualStackTimeout fails with ErrDialTimeout.
func (d *TCPDialer) DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return d.dialWithin(context.Background(), timeout, "tcp", addr)
}

// DialContext connects to addr within Timeout, and gives up when ctx is done. network is "tcp", "tcp4", "tcp6"
// or "unix". The method can be used as HostClient.DialContext and http.Transport.DialContext.
func (d *TCPDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.dialContext(ctx, network, addr)
}

// FlushDNSCache removes all names from the dialer's cache.
func (d *TCPDialer) FlushDNSCache() { d.names.flush() }

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

// FlushDNSCache empties the DNS cache that Dial, DialTimeout and all clients without a dial function share.
// You may call FlushDNSCache at any time, but it affects all packages of the program. To flush only your own cache, use
// a separate TCPDialer.
func FlushDNSCache() { defaultDialer.FlushDNSCache() }

func (d *TCPDialer) dialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case d.Timeout < 0:
		return d.dial(ctx, network, addr)
	case d.Timeout == 0:
		return d.dialWithin(ctx, DefaultDialTimeout, network, addr)
	}
	return d.dialWithin(ctx, d.Timeout, network, addr)
}

func (d *TCPDialer) dialWithin(ctx context.Context, timeout time.Duration, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return d.dial(ctx, network, addr)
}

// dial connects to addr as long as ctx allows.
func (d *TCPDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := d.dialAny(ctx, network, addr)
	if err == nil {
		return nc, nil
	}
	return nil, &ErrDialWithUpstream{Upstream: addr, wrapErr: dialError(ctx, err)}
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

func (d *TCPDialer) dialAny(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if path, ok := unixPath(addr); ok || network == "unix" {
		return d.dialOne(ctx, "unix", path)
	}
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, net.UnknownNetworkError(network)
	}
	host, port, err := splitDialAddr(addr)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if network == "tcp4" && !ip.Unmap().Is4() {
			return nil, errIPv4Only
		}
		return d.dialOne(ctx, network, netip.AddrPortFrom(ip, port).String())
	}
	if host, err = asciiHost(host); err != nil {
		return nil, err
	}
	if d.DisableDNSResolution {
		return d.dialOne(ctx, network, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	return d.dialName(ctx, network, host, port)
}

// dialName connects to one of the addresses of a name.
func (d *TCPDialer) dialName(ctx context.Context, network, host string, port uint16) (net.Conn, error) {
	known, err := d.names.lookup(ctx, d, host)
	if err != nil {
		return nil, err
	}
	addrs := d.usable(known.inTurn(), network)
	switch {
	case len(addrs) > 0:
	case network == "tcp4":
		return nil, errIPv4Only
	default:
		return nil, errNoAddress
	}
	release, err := d.turns.enter(ctx, d.Concurrency)
	if err != nil {
		return nil, err
	}
	defer release()
	nc, winner, err := d.race(ctx, addrs, port)
	if err == nil && winner.Is4() != addrs[0].Is4() {
		known.won(winner)
	}
	return nc, err
}

// usable returns those of the addresses that can be dialed on the network, and from
// LocalAddr.
func (d *TCPDialer) usable(addrs []netip.Addr, network string) []netip.Addr {
	v4, v6 := network != "tcp6", network != "tcp4"
	if d.LocalAddr != nil && len(d.LocalAddr.IP) > 0 {
		local4 := d.LocalAddr.IP.To4() != nil
		v4, v6 = v4 && local4, v6 && !local4
	}
	kept := addrs[:0]
	for _, addr := range addrs {
		if addr.Is4() && v4 || addr.Is6() && v6 {
			kept = append(kept, addr)
		}
	}
	return kept
}

// dialOne connects to a single address when the turnstile lets the dial through.
func (d *TCPDialer) dialOne(ctx context.Context, network, addr string) (net.Conn, error) {
	release, err := d.turns.enter(ctx, d.Concurrency)
	if err != nil {
		return nil, err
	}
	defer release()
	return d.connectTo(ctx, network, addr)
}

// connectTo makes one connection.
func (d *TCPDialer) connectTo(ctx context.Context, network, addr string) (net.Conn, error) {
	trace := dialTraceOf(ctx)
	trace.onConnectStart(network, addr)
	connect := d.connect
	if connect == nil {
		connect = d.fromLocalAddr(network)
	}
	nc, err := connect(ctx, network, addr)
	told := false
	defer func() {
		if !told && nc != nil { // a callback has panicked
			nc.Close()
		}
	}()
	trace.onConnectDone(network, addr, err)
	told = true
	return nc, err
}

// fromLocalAddr connects with package net, from LocalAddr.
func (d *TCPDialer) fromLocalAddr(network string) connectFunc {
	var dialer net.Dialer
	if d.LocalAddr != nil && network != "unix" {
		dialer.LocalAddr = d.LocalAddr
	}
	return dialer.DialContext
}

// unixPath returns the path of a unix socket, and whether addr is one. Otherwise it returns addr.
func unixPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, "unix:")
	if _, isPort := ascii.ParseUint(path); ok && isPort {
		return addr, false
	}
	return path, ok
}

// splitDialAddr cuts host:port. Neither part may be missing.
func splitDialAddr(addr string) (host string, port uint16, err error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, errDialAddr
	}
	n, ok := ascii.ParseUint(portText)
	if !ok || n == 0 || n > 65535 || host == "" {
		return "", 0, errDialAddr
	}
	return host, uint16(n), nil
}

// turnstile limits how many dials run at the same time. Further dials wait their turn in order of arrival.
type turnstile struct {
	once  sync.Once
	slots chan struct{}
}

// enter waits until fewer than limit dials are inside. The caller must call leave when its dial has ended. A
// limit of zero or less means unlimited.
func (t *turnstile) enter(ctx context.Context, limit int) (leave func(), err error) {
	if limit <= 0 {
		return func() {}, nil
	}
	t.once.Do(func() { t.slots = make(chan struct{}, limit) })
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
