package conn

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// certStore holds the certificates of AppendCert.
type certStore struct {
	mu    sync.RWMutex
	files []*CertFiles
	rest  []tls.Certificate // of TLSConfig
	log   *Log
}

func (s *certStore) Add(f *CertFiles) {
	s.mu.Lock()
	s.files = append(s.files, f)
	s.mu.Unlock()
}

func (s *certStore) Empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.files) == 0
}

// Serve makes rest, of TLSConfig, certificates to be chosen after all others.
func (s *certStore) Serve(rest []tls.Certificate, log *Log) {
	s.mu.Lock()
	s.rest, s.log = rest, log
	s.mu.Unlock()
}

// Behind is choose where ask, which is TLSConfig's, has none. As crypto/tls has it with certificates
// and GetCertificate, clients that name no server are not asked about.
func (s *certStore) Behind(ask func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if ask == nil {
		return s.choose
	}
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName != "" {
			if c, err := ask(hello); c != nil || err != nil {
				return c, err
			}
		}
		return s.choose(hello)
	}
}

// choose is a tls.Config.GetCertificate.
func (s *certStore) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var first *tls.Certificate
	for _, f := range s.files {
		c := f.current(s.log)
		if first == nil {
			first = c
		}
		if hello.SupportsCertificate(c) == nil {
			return c, nil
		}
	}
	for i := range s.rest {
		if hello.SupportsCertificate(&s.rest[i]) == nil {
			return &s.rest[i], nil
		}
	}
	return first, nil
}

// CertFiles is a certificate and the files it comes from, if it does.
type CertFiles struct {
	Cert, Key string

	mu      sync.Mutex
	Pair    *tls.Certificate
	checked time.Time
	stamp   [2]fileStamp
	missing bool // the last look did not find a file
}

// fileStamp tells whether a file is still the one that was read.
type fileStamp struct {
	modified time.Time
	size     int64
}

// certCheck is how often files are looked at for changes, at most.
const certCheck = time.Second

// current returns the certificate, read anew if its files have changed.
func (f *CertFiles) current(log *Log) *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Cert == "" || time.Since(f.checked) < certCheck {
		return f.Pair
	}
	f.checked = time.Now()
	stamp, err := f.stat()
	wasMissing := f.missing
	switch f.missing = err != nil; {
	case f.missing && !wasMissing:
		log.printf("a file of the TLS certificate in %s is missing, the certificate stays in use: %v", f.Cert, err)
	case f.missing, stamp == f.stamp:
	default:
		if err := f.Load(); err != nil {
			log.printf("the TLS certificate in %s has changed and cannot be used, the old one stays in use: %v", f.Cert, err)
		}
	}
	return f.Pair
}

func (f *CertFiles) Load() error {
	stamp, err := f.stat()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return err
	}
	f.Pair, f.stamp, f.checked = &pair, stamp, time.Now()
	return nil
}

func (f *CertFiles) stat() (stamp [2]fileStamp, err error) {
	for i, name := range [...]string{f.Cert, f.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return stamp, nil
}
