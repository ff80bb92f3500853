package gallop

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

var errNoCertOrKey = errors.New("gallop: no TLS certificate: set Server.TLSConfig, call AppendCert, or name files")

// NextProto registers a handler for the protocol whose ALPN name is key (RFC 7301). The server calls the handler for
// each TLS connection on which ALPN selects the handler's protocol. Call NextProto before the server starts. If a later
// version of this module supports HTTP/2, a handler for "h2" will replace the built-in support.
func (s *Server) NextProto(key string, handler ServeHandler) {
	if s.protos == nil {
		s.protos = map[string]ServeHandler{}
	}
	s.protos[key] = handler
}

// AppendCert adds a certificate and its private key from PEM files. In each TLS handshake, the server uses a
// certificate that is valid for the requested host name. If no certificate is valid for the host name, the server uses
// the certificate that was added first. When the files change, the server loads the new certificate. If loading fails,
// the server continues to use the old certificate.
func (s *Server) AppendCert(certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return errNoCertOrKey
	}
	f := &certFiles{cert: certFile, key: keyFile}
	if err := f.load(); err != nil {
		return err
	}
	s.certs.add(f)
	return nil
}

// AppendCertEmbed adds a certificate and its private key from PEM data. See [Server.AppendCert].
func (s *Server) AppendCertEmbed(certData, keyData []byte) error {
	if len(certData) == 0 && len(keyData) == 0 {
		return errNoCertOrKey
	}
	pair, err := tls.X509KeyPair(certData, keyData)
	if err != nil {
		return err
	}
	s.certs.add(&certFiles{pair: &pair})
	return nil
}

func (s *Server) serveTLS(ln net.Listener) error {
	s.prepare()
	cfg, err := s.tlsConfig()
	if err != nil {
		ln.Close()
		return err
	}
	return s.Serve(&tlsListener{Listener: ln, config: cfg})
}

// tlsConfig is TLSConfig with the server's certificates and protocols.
func (s *Server) tlsConfig() (*tls.Config, error) {
	cfg := s.TLSConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	if !s.certs.empty() {
		s.certs.serve(cfg.Certificates, &s.log)
		cfg.Certificates = nil
		cfg.GetCertificate = s.certs.behind(cfg.GetCertificate)
	}
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
		return nil, errNoCertOrKey
	}
	cfg.NextProtos = s.offeredProtos(cfg.NextProtos, slices.Sorted(maps.Keys(s.protos))...)
	s.watchChosen(cfg)
	return cfg, nil
}

// offeredProtos returns the protocols that the server offers by ALPN, in a new slice:
// protos, then more, then HTTP/1.1, each once, but no HTTP/2 that nobody serves.
func (s *Server) offeredProtos(protos []string, more ...string) (offered []string) {
	for _, proto := range slices.Concat(protos, more, []string{"http/1.1"}) {
		if !slices.Contains(offered, proto) && !s.isUnservedHTTP2(proto) {
			offered = append(offered, proto)
		}
	}
	return offered
}

// isUnservedHTTP2 reports whether proto is HTTP/2 and no handler of NextProto serves
// that. A client that agreed on HTTP/2 would get HTTP/1.1 that it cannot read.
func (s *Server) isUnservedHTTP2(proto string) bool {
	return proto == "h2" && s.protos[proto] == nil
}

// certStore holds the certificates of AppendCert.
type certStore struct {
	mu    sync.RWMutex
	files []*certFiles
	rest  []tls.Certificate // of TLSConfig
	log   *limitedLog
}

func (s *certStore) add(f *certFiles) {
	s.mu.Lock()
	s.files = append(s.files, f)
	s.mu.Unlock()
}

func (s *certStore) empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.files) == 0
}

// serve makes rest, of TLSConfig, certificates to be chosen after all others.
func (s *certStore) serve(rest []tls.Certificate, log *limitedLog) {
	s.mu.Lock()
	s.rest, s.log = rest, log
	s.mu.Unlock()
}

// behind is choose where ask, which is TLSConfig's, has none. As crypto/tls has it with certificates
// and GetCertificate, clients that name no server are not asked about.
func (s *certStore) behind(ask func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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

// certFiles is a certificate and the files it comes from, if it does.
type certFiles struct {
	cert, key string

	mu      sync.Mutex
	pair    *tls.Certificate
	checked time.Time
	stamp   [2]fileStamp
}

// fileStamp tells whether a file is still the one that was read.
type fileStamp struct {
	modified time.Time
	size     int64
}

// certCheck is how often files are looked at for changes, at most.
const certCheck = time.Second

// current returns the certificate, read anew if its files have changed.
func (f *certFiles) current(log *limitedLog) *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cert == "" || time.Since(f.checked) < certCheck {
		return f.pair
	}
	f.checked = time.Now()
	if stamp, err := f.stat(); err != nil || stamp == f.stamp {
		return f.pair
	}
	if err := f.load(); err != nil {
		log.printf("the TLS certificate in %s has changed and cannot be read, the old one stays: %v", f.cert, err)
	}
	return f.pair
}

func (f *certFiles) load() error {
	stamp, err := f.stat()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	f.pair, f.stamp, f.checked = &pair, stamp, time.Now()
	return nil
}

func (f *certFiles) stat() (stamp [2]fileStamp, err error) {
	for i, name := range [...]string{f.cert, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return stamp, nil
}

// secured is a TLS connection: a *tls.Conn, or what embeds one.
type secured interface {
	net.Conn
	Handshake() error
	ConnectionState() tls.ConnectionState
}

// handshake does the TLS handshake, if c is a TLS connection, and returns the handler
// of the protocol that it ended in, nil for HTTP/1.
func (c *serverConn) handshake() (ServeHandler, error) {
	tc, ok := c.nc.(secured)
	if !ok {
		return nil, nil
	}
	c.tls = tc
	c.beginHandshake()
	if err := tc.Handshake(); err != nil {
		answerPlainHTTP(err)
		return nil, err
	}
	c.endHandshake()
	c.now = time.Now()
	return c.srv.protos[tc.ConnectionState().NegotiatedProtocol], nil
}

// beginHandshake bounds the time of the handshake, also if Shutdown has begun or begins.
func (c *serverConn) beginHandshake() {
	if d := c.set.handshake; d > 0 {
		c.tls.SetDeadline(c.now.Add(d))
	}
	c.entry.state.Store(phaseShaking)
	if c.srv.ending.Load() && c.entry.state.CompareAndSwap(phaseShaking, phaseEnding) {
		c.tls.SetDeadline(earlier(after(c.now, c.set.handshake), time.Now().Add(newConnGrace)))
	}
}

// endHandshake ends the time of the handshake.
func (c *serverConn) endHandshake() {
	if !c.entry.state.CompareAndSwap(phaseShaking, phaseActive) {
		c.srv.conns.isClosing() // waits for wakeIdle, which is setting the deadline
		c.entry.state.Store(phaseActive)
	}
	c.tls.SetDeadline(time.Time{})
}

// answerPlainHTTP tells a client that speaks HTTP where TLS is spoken what is wrong.
func answerPlainHTTP(err error) {
	var e tls.RecordHeaderError
	if !errors.As(err, &e) || e.Conn == nil {
		return
	}
	switch string(e.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		io.WriteString(e.Conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\nThis is an HTTPS server.\n")
		closeWrite(e.Conn)
	}
}
