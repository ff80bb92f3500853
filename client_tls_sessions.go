package gallop

import (
	"crypto/tls"
	"crypto/x509"
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

// tlsIdentity tells configurations apart, also one from itself after it was changed in place. Functions cannot be compared.
type tlsIdentity struct {
	config       *tls.Config
	certificates *tls.Certificate // the first of
	count        int              // so many
	leaf         *byte            // of the first one
	roots        *x509.CertPool
	serverName   string
	insecure     bool
}

func tlsIdentityOf(cfg *tls.Config) tlsIdentity {
	if cfg == nil {
		return tlsIdentity{}
	}
	id := tlsIdentity{config: cfg, count: len(cfg.Certificates), roots: cfg.RootCAs, serverName: cfg.ServerName, insecure: cfg.InsecureSkipVerify}
	if id.count > 0 {
		id.certificates = &cfg.Certificates[0]
		if chain := id.certificates.Certificate; len(chain) > 0 && len(chain[0]) > 0 {
			id.leaf = &chain[0][0]
		}
	}
	return id
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
