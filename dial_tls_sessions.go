package gallop

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"sync"
)

// tlsSessions remembers TLS sessions to resume (RFC 8446 §2.2), for each configuration by itself. A session that is resumed stands
// for the certificates of both sides, which are neither sent nor checked again: under another configuration that could be
// the wrong client's certificate, or a server's that was never checked. The zero value is ready; it may be used
// concurrently.
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

// of returns the sessions of a configuration, which may be nil. It returns nil if sessions are not ours to remember: if the
// configuration has a cache of its own, or if it checks certificates with VerifyPeerCertificate alone, which is not called for a
// session that is resumed.
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
