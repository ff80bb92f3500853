// Package dial opens network connections for HTTP clients. A [Dialer] looks up names and caches their addresses, tries several
// addresses (RFC 8305), and limits how many dials run at the same time. A [Tunnel] asks a proxy to connect to another
// address. A [Probe] notices that an idle connection has become useless.
//
//	dial.go       the dialer and its options
//	addr.go       host:port and paths of sockets
//	names.go      looking up names, and the cache for them
//	race.go       choosing among several addresses (RFC 8305)
//	trace.go      reporting what a dial does
//	proxy.go      proxies, and the addresses that they are asked for
//	proxy_env.go  which proxy the environment chooses
//	tunnel.go     a connection to a proxy that becomes a tunnel
//	connect.go    asking HTTP proxies: CONNECT (RFC 9110 §9.3.6)
//	socks5.go     asking SOCKS proxies (RFC 1928, RFC 1929)
//	probe*.go     whether an idle connection is still usable
//	errors.go     the errors of addresses and proxies
package dial

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/target"
)

// Dialer opens connections. It caches the addresses of names and limits how many dials run at the same time. The zero
// value is ready to use. All methods may be called concurrently.
type Dialer struct {
	names nameCache
	turns turnstile
}

// Options are the settings of a dial. All dials of a Dialer must have the same Options.
type Options struct {
	Concurrency int           // how many dials may connect at the same time; no limit if not positive
	LocalAddr   *net.TCPAddr  // of TCP connections; nil leaves the choice to the system
	Resolver    Resolver      // looks up names
	Keep        time.Duration // how long addresses of a name are cached; not at all if not positive
	SystemNames bool          // package net looks up names, without Resolver and cache
	Connect     ConnectFunc   // makes connections; nil means package net
}

// ConnectFunc connects to one address.
type ConnectFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Flush removes all names from the cache.
func (d *Dialer) Flush() { d.names.flush() }

// Dial connects to addr, which has the form host:port, or is a unix socket: "unix:" and its path. network is tcp, tcp4,
// tcp6 or unix. Dial gives up when ctx is done.
func (d *Dialer) Dial(ctx context.Context, o *Options, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if path, ok := UnixPath(addr); ok || network == "unix" {
		return d.dialOne(ctx, o, "unix", path)
	}
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, net.UnknownNetworkError(network)
	}
	host, port, err := SplitAddr(addr)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if network == "tcp4" && !ip.Unmap().Is4() {
			return nil, ErrIPv4Only
		}
		return d.dialOne(ctx, o, network, netip.AddrPortFrom(ip, port).String())
	}
	if host, err = target.ASCIIHost(host); err != nil {
		return nil, err
	}
	if o.SystemNames {
		return d.dialOne(ctx, o, network, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	return d.dialName(ctx, o, network, host, port)
}

// dialName connects to one of the addresses of a name.
func (d *Dialer) dialName(ctx context.Context, o *Options, network, host string, port uint16) (net.Conn, error) {
	known, err := d.names.lookup(ctx, o, host)
	if err != nil {
		return nil, err
	}
	addrs := o.usable(known.inTurn(), network)
	switch {
	case len(addrs) > 0:
	case network == "tcp4":
		return nil, ErrIPv4Only
	default:
		return nil, ErrNoAddress
	}
	release, err := d.turns.enter(ctx, o.Concurrency)
	if err != nil {
		return nil, err
	}
	defer release()
	nc, winner, err := o.race(ctx, addrs, port)
	if err == nil && winner.Is4() != addrs[0].Is4() {
		known.won(winner)
	}
	return nc, err
}

// usable returns the addresses that can be dialed on the network and from LocalAddr. It reuses the slice.
func (o *Options) usable(addrs []netip.Addr, network string) []netip.Addr {
	v4, v6 := network != "tcp6", network != "tcp4"
	if o.LocalAddr != nil && len(o.LocalAddr.IP) > 0 {
		local4 := o.LocalAddr.IP.To4() != nil
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

// dialOne connects to a single address as soon as the turnstile lets the dial through.
func (d *Dialer) dialOne(ctx context.Context, o *Options, network, addr string) (net.Conn, error) {
	release, err := d.turns.enter(ctx, o.Concurrency)
	if err != nil {
		return nil, err
	}
	defer release()
	return o.connectTo(ctx, network, addr)
}

// connectTo makes one connection.
func (o *Options) connectTo(ctx context.Context, network, addr string) (net.Conn, error) {
	trace := TraceOf(ctx)
	trace.onConnectStart(network, addr)
	connect := o.Connect
	if connect == nil {
		connect = o.fromLocalAddr(network)
	}
	nc, err := connect(ctx, network, addr)
	reported := false
	defer func() {
		if !reported && nc != nil { // a callback has panicked
			nc.Close()
		}
	}()
	trace.onConnectDone(network, addr, err)
	reported = true
	return nc, err
}

// fromLocalAddr connects with package net, from LocalAddr.
func (o *Options) fromLocalAddr(network string) ConnectFunc {
	var dialer net.Dialer
	if o.LocalAddr != nil && network != "unix" {
		dialer.LocalAddr = o.LocalAddr
	}
	return dialer.DialContext
}

// turnstile limits how many dials run at the same time. Additional dials wait in order of arrival.
type turnstile struct {
	once  sync.Once
	slots chan struct{}
}

// enter waits until fewer than limit dials are inside. The caller must call leave when its dial has ended. Zero or a
// negative limit means no limit.
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
