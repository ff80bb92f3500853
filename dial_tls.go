package gallop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
)

// clientTLS does the TLS handshakes of one client, which resume sessions of earlier ones. The zero value is ready for
// use. Its methods may be called concurrently.
type clientTLS struct{ sessions tlsSessions }

// handshake returns a TLS connection over nc to addr. It takes at most timeout if that is positive, and ends when ctx
// does. The certificate must be valid for cfg.ServerName. If ServerName is empty, it must be valid for the host of addr.
// The argument cfg may be nil, and is not changed. The argument protos has the protocols to offer by ALPN. If protos is nil,
// those of spokenProtos are offered. If the handshake fails, nc is closed.
func (c *clientTLS) handshake(ctx context.Context, nc net.Conn, addr string, cfg *tls.Config, protos []string, timeout time.Duration) (net.Conn, error) {
	done := false
	defer func() {
		if !done { // also if a callback panics
			nc.Close()
		}
	}()
	tc, err := c.shake(ctx, nc, addr, cfg, protos, timeout)
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

// shake does the handshake itself. It leaves nc open.
func (c *clientTLS) shake(ctx context.Context, nc net.Conn, addr string, cfg *tls.Config, protos []string, timeout time.Duration) (*tls.Conn, error) {
	cfg, err := c.config(cfg, addr)
	if err != nil {
		return nil, err
	}
	if protos != nil {
		cfg.NextProtos = protos
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	trace := dial.TraceOf(ctx)
	trace.OnTLSStart()
	tc := tls.Client(&tlsCarrier{Conn: nc}, cfg)
	if err = tc.HandshakeContext(ctx); err != nil {
		if err = dialError(ctx, err); err == ErrDialTimeout {
			err = ErrTLSHandshakeTimeout
		}
	}
	trace.OnTLSDone(tc.ConnectionState(), err)
	return tc, err
}

// tlsCarrier is the connection below a TLS connection. It notes that a read found the end of the input. TLS reads that
// far only if the peer has not sent close_notify.
type tlsCarrier struct {
	net.Conn
	ended bool // a read found the end of the input
}

// Read implements io.Reader.
func (c *tlsCarrier) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && err == io.EOF {
		c.ended = true
	}
	return n, err
}

// NetConn returns the underlying connection.
func (c *tlsCarrier) NetConn() net.Conn { return c.Conn }

// isOurTLS reports whether nc is a connection that handshake has returned, and not one of the program.
func isOurTLS(nc net.Conn) bool {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return false
	}
	_, ok = tc.NetConn().(*tlsCarrier)
	return ok
}

// wasCutOff reports whether nc, whose input has ended, is a TLS connection without close_notify from the peer. Anyone on
// the path may have ended such a connection (RFC 9112 §9.8).
func wasCutOff(nc net.Conn) bool {
	if t, ok := nc.(*dial.TunnelConn); ok {
		nc = t.Conn
	}
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return false
	}
	carrier, ok := tc.NetConn().(*tlsCarrier)
	return ok && carrier.ended
}

// config returns the configuration for connections to addr, a changed copy of cfg. It never turns off a check. If
// neither cfg nor addr has a name for the certificate, it returns an error.
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

// spokenProtos returns the protocols to offer by ALPN: those in asked except HTTP/2, or HTTP/1.1 if none is left. An
// HTTP/1 client must not agree to HTTP/2 by mistake (RFC 7301 §3.2).
func spokenProtos(asked []string) []string {
	spoken := slices.DeleteFunc(slices.Clone(asked), func(proto string) bool { return proto == "h2" })
	if len(spoken) == 0 {
		return []string{"http/1.1"}
	}
	return spoken
}

// tlsServerName returns the name that the certificate of addr must be valid for: its host, without the zone of an IPv6
// address and without a trailing dot.
func tlsServerName(addr string) (string, error) {
	host, _, err := dial.SplitAddr(addr)
	if _, isPath := dial.UnixPath(addr); err != nil || isPath {
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

// tlsSessions remembers TLS sessions to resume (RFC 8446 §2.2), separately for each configuration. When a session is
// resumed, neither side sends its certificate or checks the other one again. Under another configuration, a session
// could stand for the wrong client certificate, or for a server certificate that was never checked. The zero value is
// ready to use. The methods may be called concurrently.
type tlsSessions struct {
	mu     sync.Mutex
	caches map[tlsIdentity]tls.ClientSessionCache
}

const (
	// tlsSessionsEach is how many sessions are remembered for a configuration.
	tlsSessionsEach = 64

	// tlsConfigs is for how many configurations sessions are remembered. A client that makes a new configuration
	// for each connection resumes nothing, and has to hold a bounded number.
	tlsConfigs = 64
)

// tlsIdentity tells configurations apart. It notices most changes of a configuration in place, too, but functions cannot be compared.
type tlsIdentity struct {
	config       *tls.Config
	certificates [sha256.Size]byte // over the leaf of each
	roots        *x509.CertPool
	serverName   string
	insecure     bool
}

func tlsIdentityOf(cfg *tls.Config) tlsIdentity {
	if cfg == nil {
		return tlsIdentity{}
	}
	id := tlsIdentity{config: cfg, roots: cfg.RootCAs, serverName: cfg.ServerName, insecure: cfg.InsecureSkipVerify}
	if len(cfg.Certificates) > 0 {
		id.certificates = leavesOf(cfg.Certificates)
	}
	return id
}

// leavesOf returns a hash of the leaves of the certificates, in their order.
func leavesOf(certificates []tls.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for i := range certificates {
		var leaf []byte
		if chain := certificates[i].Certificate; len(chain) > 0 {
			leaf = chain[0]
		}
		_ = binary.Write(h, binary.BigEndian, int64(len(leaf)))
		h.Write(leaf)
	}
	h.Sum(sum[:0])
	return sum
}

// of returns the sessions of a configuration, which may be nil. It returns nil if the configuration has its own cache.
// It also returns nil if only VerifyPeerCertificate checks certificates, because resuming a session does not call it.
func (s *tlsSessions) of(cfg *tls.Config) tls.ClientSessionCache {
	if cfg != nil && (cfg.ClientSessionCache != nil || cfg.VerifyPeerCertificate != nil && cfg.VerifyConnection == nil) {
		return nil
	}
	id := tlsIdentityOf(cfg)
	s.mu.Lock()
	defer s.mu.Unlock()
	cache := s.caches[id]
	if cache == nil {
		if s.caches == nil {
			s.caches = map[tlsIdentity]tls.ClientSessionCache{}
		}
		for old := range s.caches { // any
			if len(s.caches) < tlsConfigs {
				break
			}
			delete(s.caches, old)
		}
		cache = tls.NewLRUClientSessionCache(tlsSessionsEach)
		s.caches[id] = cache
	}
	return cache
}

// GenerateTestCertificate returns a self-signed certificate for host and its private key, for tests and experiments.
// The argument host is a name or an IP address. The certificate and the key are in PEM form, ready for
// tls.X509KeyPair. The certificate is valid from one hour ago for a year. The private key is an ECDSA key on the
// curve P-256.
func GenerateTestCertificate(host string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"gallop test"}, CommonName: host},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // so that a pool of roots can hold it
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER})
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return cert, key, nil
}
