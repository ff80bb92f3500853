package gallop

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// clientTLS does the TLS handshakes of one client. The zero value is ready; it
// may be used concurrently. See tlsSessions.
type clientTLS struct{ sessions tlsSessions }

// handshake makes a TLS connection to addr of nc, within timeout if that is positive,
// and as long as ctx allows. The certificate has to be valid for the host of addr, or for
// cfg.ServerName if that is set; cfg may be nil, and is not changed. nc is closed if there
// is an error.
func (c *clientTLS) handshake(ctx context.Context, nc net.Conn, addr string, cfg *tls.Config, timeout time.Duration) (net.Conn, error) {
	done := false
	defer func() {
		if !done { // also if a callback panics
			nc.Close()
		}
	}()
	tc, err := c.shake(ctx, nc, addr, cfg, timeout)
	switch err {
	case nil:
	case ErrTLSHandshakeTimeout:
		return nil, err
	default:
		return nil, &ErrDialWithUpstream{Upstream: addr, wrapErr: err, phase: phaseTLS}
	}
	done = true
	return tc, nil
}

func (c *clientTLS) shake(ctx context.Context, nc net.Conn, addr string, cfg *tls.Config, timeout time.Duration) (*tls.Conn, error) {
	cfg, err := c.config(cfg, addr)
	if err != nil {
		return nil, err
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	trace := dialTraceOf(ctx)
	trace.onTLSStart()
	tc := tls.Client(&tlsCarrier{Conn: nc}, cfg)
	if err = tc.HandshakeContext(ctx); err != nil {
		if err = dialError(ctx, err); err == ErrDialTimeout {
			err = ErrTLSHandshakeTimeout
		}
	}
	trace.onTLSDone(tc.ConnectionState(), err)
	return tc, err
}

// tlsCarrier is the connection below one of TLS. It notes what that does not tell: that it
// ended without the goodbye of TLS, a close_notify.
type tlsCarrier struct {
	net.Conn
	ended bool // a read has found nothing but the end
}

func (c *tlsCarrier) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && err == io.EOF {
		c.ended = true
	}
	return n, err
}

// NetConn returns the connection.
func (c *tlsCarrier) NetConn() net.Conn { return c.Conn }

// wasCutOff reports whether nc, which has ended, is one of TLS whose peer has not said that it
// would: anybody on the way may have ended it (RFC 9112 §9.8).
func wasCutOff(nc net.Conn) bool {
	if t, ok := nc.(*tunnelConn); ok {
		nc = t.Conn
	}
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return false
	}
	carrier, ok := tc.NetConn().(*tlsCarrier)
	return ok && carrier.ended
}

// config is cfg for connections to addr. It never turns off a check: an address that
// does not say whom to expect is an error.
func (c *clientTLS) config(cfg *tls.Config, addr string) (*tls.Config, error) {
	sessions := c.sessions.of(cfg)
	if cfg = cfg.Clone(); cfg == nil {
		cfg = &tls.Config{}
	}
	if cfg.ServerName == "" {
		name, err := tlsServerName(addr)
		if err != nil && !cfg.InsecureSkipVerify {
			return nil, err
		}
		cfg.ServerName = name
	}
	if cfg.MinVersion == 0 {
		cfg.MinVersion = tls.VersionTLS12
	}
	if sessions != nil {
		cfg.ClientSessionCache = sessions
	}
	cfg.NextProtos = spokenProtos(cfg.NextProtos)
	return cfg, nil
}

// spokenProtos is what ALPN offers: what was asked for but HTTP/2, which a client of
// HTTP/1 must not agree to by mistake (RFC 7301 §3.2), and else HTTP/1.1.
func spokenProtos(asked []string) []string {
	spoken := slices.DeleteFunc(slices.Clone(asked), func(proto string) bool { return proto == "h2" })
	if len(spoken) == 0 {
		return []string{"http/1.1"}
	}
	return spoken
}

// tlsServerName is the name that the certificate of addr has to be for: its host,
// without the zone of an IPv6 address and without the dot at the end of a name.
func tlsServerName(addr string) (string, error) {
	host, _, err := splitDialAddr(addr)
	if _, isPath := unixPath(addr); err != nil || isPath {
		return "", errNoTLSName
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.WithZone("").String(), nil
	}
	if host = strings.TrimSuffix(host, "."); host == "" {
		return "", errNoTLSName
	}
	return host, nil
}
