package gallop

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/target"
)

// maxClientHandshake is how long a TLS handshake may take if no other limit is set.
const maxClientHandshake = 10 * time.Second

// splitAddrs returns the addresses in Addr, in ASCII and with a port. Dial and DialTimeout get those without a port as
// they are, be they paths of sockets, names that only they know, or nothing at all.
func (c *HostClient) splitAddrs() (addrs []string, err error) {
	anything := c.dialsSimply()
	for addr := range strings.SplitSeq(c.Addr, ",") {
		if addr = strings.TrimSpace(addr); addr == "" && !anything {
			continue
		}
		if _, isPath := dial.UnixPath(addr); !isPath && !(anything && strings.Contains(addr, "/")) {
			if addr, err = target.ASCIIHost(addr); err != nil {
				return nil, err
			}
		}
		if !anything {
			addr = AddMissingPort(addr, c.IsTLS)
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == 0 {
		err = errNoAddr
	}
	return addrs, err
}

// dialAny makes a connection to the next address, or, if that fails while there is
// time, to one of the others.
func (c *HostClient) dialAny(ctx context.Context, deadline time.Time) (nc net.Conn, addr string, err error) {
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	ctx = c.set.traceOf(ctx).dialing(ctx)
	next := c.nextAdr.Add(1) - 1
	for i := range c.addrs { // each of them once, whatever others dial meanwhile
		addr = c.addrs[(uint64(next)+uint64(i))%uint64(len(c.addrs))]
		if nc, err = c.dialOne(ctx, addr); err == nil {
			return nc, addr, nil
		}
		if ctx.Err() != nil {
			return nil, addr, endedBy(ctx)
		}
	}
	return nil, addr, err
}

// dialOne makes a connection to addr, TLS included.
func (c *HostClient) dialOne(ctx context.Context, addr string) (net.Conn, error) {
	nc, err := c.reach(ctx, addr)
	if err == nil && nc == nil {
		err = errDialNothing
	}
	if err != nil || !c.IsTLS || c.isSecured(nc) {
		return nc, err
	}
	return c.tls.handshake(ctx, nc, AddMissingPort(addr, true), c.TLSConfig, c.alpn(ctx), c.set.handshake)
}

// isSecured reports whether Dial or DialTimeout have shaken hands themselves, as those do that
// bring a TLS of their own: what they return can then do that.
func (c *HostClient) isSecured(nc net.Conn) bool {
	_, can := nc.(interface{ Handshake() error })
	return can && c.dialsSimply()
}

// dialsSimply reports whether connections are made by Dial or DialTimeout.
func (c *HostClient) dialsSimply() bool { return c.Proxy == nil && c.dialFuncs().takeNoContext() }

func (c *HostClient) dialFuncs() dialFuncs {
	return dialFuncs{context: c.DialContext, timeout: c.DialTimeout, plain: c.Dial, dualStack: c.DialDualStack}
}

// reach connects to addr, through a proxy if there is one for it.
func (c *HostClient) reach(ctx context.Context, addr string) (net.Conn, error) {
	funcs := c.dialFuncs()
	if c.Proxy == nil {
		return funcs.dial(ctx, "tcp", addr)
	}
	proxy, err := c.Proxy(ctx, proxyTarget(c.scheme(), addr))
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return funcs.dial(ctx, "tcp", addr)
	}
	through := ProxyDialer{URL: proxy, Connect: funcs.withContext().dial, shared: c.tls,
		TLSHandshakeTimeout: c.set.handshake}
	if proxy.Scheme == "https" && c.TLSConfig != nil {
		through.TLSConfig = c.TLSConfig.Clone()
		through.TLSConfig.ServerName = "" // is that of the server
		if sessions := c.tls.sessions.of(c.TLSConfig); sessions != nil {
			through.TLSConfig.ClientSessionCache = sessions // the copy would have its own
		}
	}
	return through.DialContext(ctx, "tcp", addr)
}

// scheme returns the scheme of the requests that can be sent to this host.
func (c *HostClient) scheme() string {
	if c.IsTLS {
		return "https"
	}
	return "http"
}
