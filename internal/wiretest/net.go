package wiretest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Net is a network for dialers: names with addresses, and addresses that respond after a while. Addresses that are not
// in Hosts refuse connections.
type Net struct {
	Names map[string]string // addresses, separated by spaces; the lookup of "fail" fails
	Slow  time.Duration     // of a lookup
	Hosts map[string]Host   // by IP address

	Begun time.Time // when the times below begin

	mu      sync.Mutex
	Lookups []string // "name@time"
	Dialed  []string // "address@time"
	Open    int      // connections that are not closed
	Dialing int      // connections that are being made
	Most    int      // of Dialing
}

// Host says what becomes of connecting to an address.
type Host struct {
	After time.Duration
	Err   error // nil is a connection
}

// ErrRefused is the error of a ClosedHost.
var ErrRefused = errors.New("refused")

var (
	DeafHost   = Host{After: time.Hour}
	ClosedHost = Host{Err: ErrRefused}
)

// Resolver is a function that looks up names.
type Resolver func(ctx context.Context, name string) ([]net.IPAddr, error)

// LookupIPAddr calls f.
func (f Resolver) LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error) {
	return f(ctx, name)
}

// LookupIPAddr looks up a name.
func (n *Net) LookupIPAddr(ctx context.Context, name string) (found []net.IPAddr, err error) {
	n.mu.Lock()
	n.Lookups = append(n.Lookups, fmt.Sprintf("%s@%v", name, time.Since(n.Begun)))
	n.mu.Unlock()
	if err := sleep(ctx, n.Slow); err != nil {
		return nil, err
	}
	addrs, ok := n.Names[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if addrs == "fail" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	for _, s := range strings.Fields(addrs) {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			return nil, err
		}
		found = append(found, net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
	}
	return found, nil
}

// Connect connects to an address, which is host:port.
func (n *Net) Connect(ctx context.Context, network, addr string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.Dialed = append(n.Dialed, fmt.Sprintf("%s@%v", at.Addr(), time.Since(n.Begun)))
	n.Dialing++
	n.Most = max(n.Most, n.Dialing)
	n.mu.Unlock()
	host, ok := n.Hosts[at.Addr().String()]
	if !ok {
		host = ClosedHost
	}
	err = sleep(ctx, host.After)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Dialing--
	if err != nil || host.Err != nil {
		return nil, errors.Join(err, host.Err)
	}
	n.Open++
	return &netConn{net: n, addr: at}, nil
}

// sleep sleeps as long as ctx allows.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// netConn is a connection that nobody uses.
type netConn struct {
	net.Conn
	net  *Net
	addr netip.AddrPort
}

func (c *netConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.addr) }

func (c *netConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.Open--
	return nil
}
