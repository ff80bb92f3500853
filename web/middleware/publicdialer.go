package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// PublicDialer connects only to public addresses. Use it for requests to URLs that users give to the server, for example
// webhooks and link previews. Without it, a user could make the server send requests to machines in the private network (SSRF):
//
//	client := &gallop.Client{DialContext: middleware.PublicDialer{}.DialContext, MaxRedirects: 3}
//
// PublicDialer checks the address of each connection after names were resolved and just before it connects. A name
// whose address changes between a check and the connection (DNS rebinding) is therefore no danger, and neither are redirects
// or unusual spellings of an address.
//
// Loopback, private, link-local, shared, multicast, reserved and documentation addresses are refused, and so are the metadata
// services of clouds. IPv6 addresses that carry an IPv4 address are refused as well (NAT64, 6to4, Teredo, SIIT), because
// a gateway would connect to that IPv4 address. An IPv4-mapped address counts as the IPv4 address.
//
// If a gallop.Client also has a Proxy, PublicDialer only sees the address of the proxy. Then the proxy must check the target.
//
// The zero value allows all public addresses on the ports 80 and 443. The methods may be called concurrently.
type PublicDialer struct {
	// Allow lists networks that are allowed even though they are not public, for example a single host of your own. To allow the IPv4
	// Internet through NAT64, add 64:ff9b::/96 only if the gateway itself refuses private addresses.
	Allow []netip.Prefix

	// Ports are the ports that are allowed. Nil means 80 and 443.
	Ports []uint16

	// Timeout limits the time to resolve the name and to connect. Zero means 5 seconds. With a negative value, only the context limits
	// the time.
	Timeout time.Duration

	// Resolver resolves names. Nil means net.DefaultResolver.
	Resolver *net.Resolver
}

// ErrNotPublic is the error of a [PublicDialer] for an address or a port that is not allowed.
var ErrNotPublic = errors.New("middleware: the address is not public, or its port is not allowed")

// DialContext connects to addr, which has the form host:port. If the address is refused, errors.Is(err, ErrNotPublic) is true. If a
// name has several addresses, DialContext uses the allowed ones.
func (d PublicDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, fmt.Errorf("%w: network %q", ErrNotPublic, network)
	}
	dialer := net.Dialer{
		Timeout:  max(cmp.Or(d.Timeout, 5*time.Second), 0),
		Resolver: d.Resolver,
		Control:  func(_, address string, _ syscall.RawConn) error { return d.check(address) },
	}
	return dialer.DialContext(ctx, network, addr)
}

// check returns an error if the address, an IP address with a port, is not allowed.
func (d *PublicDialer) check(address string) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrNotPublic, address)
	}
	ports := d.Ports
	if ports == nil {
		ports = []uint16{80, 443}
	}
	if !slices.Contains(ports, a.Port()) || !isPublic(a.Addr()) && !containsAddr(d.Allow, a.Addr().Unmap().WithZone("")) {
		return fmt.Errorf("%w: %s", ErrNotPublic, address)
	}
	return nil
}

// isPublic reports whether an address belongs to one machine on the Internet.
func isPublic(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); a.Is4() {
		return !containsAddr(special4, a)
	}
	return global6.Contains(a) && !containsAddr(special6, a)
}

func containsAddr(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// special4 are the IPv4 addresses that are not public (IANA's registry of special-purpose addresses, RFC 6890).
var special4 = prefixes(
	"0.0.0.0/8",        // this host (RFC 791)
	"10.0.0.0/8",       // private (RFC 1918)
	"100.64.0.0/10",    // shared, behind the NAT of a provider (RFC 6598); 100.100.100.200 is Alibaba's metadata service
	"127.0.0.0/8",      // loopback
	"169.254.0.0/16",   // link-local; 169.254.169.254 is the metadata service of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocols (RFC 6890); 192.0.0.192 is Oracle's metadata service
	"192.0.2.0/24",     // documentation (RFC 5737)
	"192.31.196.0/24",  // AS112 (RFC 7535)
	"192.52.193.0/24",  // AMT (RFC 7450)
	"192.88.99.0/24",   // relays of 6to4 (RFC 7526)
	"192.168.0.0/16",   // private
	"192.175.48.0/24",  // AS112 (RFC 7534)
	"198.18.0.0/15",    // benchmarks (RFC 2544)
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
	"168.63.129.16/32", // Azure's services for its virtual machines
)

// global6 are the IPv6 addresses that are assigned to machines on the Internet (RFC 4291 §2.4). All other addresses have a special
// meaning, for example NAT64 (64:ff9b::/96, 64:ff9b:1::/48), SIIT (::ffff:0:0:0/96), private (fc00::/7) and link-local (fe80::/10).
var global6 = netip.MustParsePrefix("2000::/3")

// special6 are the exceptions in global6.
var special6 = prefixes(
	"2001::/23",         // protocols (RFC 2928), among them Teredo (2001::/32) and ORCHID
	"2001:db8::/32",     // documentation (RFC 3849)
	"2002::/16",         // 6to4 (RFC 3056)
	"2620:4f:8000::/48", // AS112 (RFC 7534)
	"3ffe::/16",         // the former 6bone (RFC 3701)
	"3fff::/20",         // documentation (RFC 9637)
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
