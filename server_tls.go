package gallop

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"
)

var errNoCertOrKey = errors.New("gallop: no TLS certificate: set Server.TLSConfig, call AppendCert, or name files")

// NextProto registers a handler for a protocol. The argument key is the protocol's ALPN name (RFC 7301). The server calls the handler for
// each TLS connection for which ALPN selects this protocol. Call NextProto before the server starts. If a later version of this module
// supports HTTP/2, a handler for "h2" will replace the built-in support.
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
func (c *connection) handshake() (ServeHandler, error) {
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
func (c *connection) beginHandshake() {
	if d := c.set.handshake; d > 0 {
		c.tls.SetDeadline(c.now.Add(d))
	}
	c.entry.state.Store(phaseShaking)
	if c.srv.ending.Load() && c.entry.state.CompareAndSwap(phaseShaking, phaseEnding) {
		c.tls.SetDeadline(earlier(after(c.now, c.set.handshake), time.Now().Add(newConnGrace)))
	}
}

// endHandshake ends the time of the handshake.
func (c *connection) endHandshake() {
	if !c.entry.state.CompareAndSwap(phaseShaking, phaseActive) {
		c.srv.conns.isClosing() // waits for warnIdle, which is setting the deadline
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

// tlsListener is tls.NewListener that keeps the deadline of the listener below.
type tlsListener struct {
	net.Listener
	config *tls.Config
}

func (l *tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(c, l.config), nil
}

// SetDeadline bounds Accept, if the listener below can do that.
func (l *tlsListener) SetDeadline(t time.Time) error {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return errors.ErrUnsupported
	}
	return d.SetDeadline(t)
}

// withTLS returns a listener of crypto/tls as a tlsListener, and any other listener as it is. A tlsListener can be served on event loops,
// and it does not offer HTTP/2 unless a handler serves that.
func (s *Server) withTLS(ln net.Listener) net.Listener {
	below, config, ok := partsOfTLSListener(ln)
	if !ok {
		return ln
	}
	if slices.ContainsFunc(config.NextProtos, s.isUnservedHTTP2) {
		config = config.Clone()
		config.NextProtos = s.offeredProtos(config.NextProtos)
	}
	if config.GetConfigForClient != nil {
		config = config.Clone()
		s.watchChosen(config)
	}
	return &tlsListener{Listener: below, config: config}
}

// watchChosen takes HTTP/2 out of the configurations that GetConfigForClient returns, unless a handler serves it.
func (s *Server) watchChosen(cfg *tls.Config) {
	ask := cfg.GetConfigForClient
	if ask == nil {
		return
	}
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		chosen, err := ask(hello)
		if chosen != nil && slices.ContainsFunc(chosen.NextProtos, s.isUnservedHTTP2) {
			chosen = chosen.Clone() // it has the same ticket keys
			chosen.NextProtos = s.offeredProtos(chosen.NextProtos)
		}
		return chosen, err
	}
}

// stdTLSListener is the type of what tls.NewListener and tls.Listen return.
var stdTLSListener = sync.OnceValue(func() reflect.Type { return reflect.TypeOf(tls.NewListener(nil, nil)) })

// partsOfTLSListener returns what a listener of crypto/tls consists of. It reports false for any other listener, and for all of
// them if a release of Go has another layout: then crypto/tls accepts the connections itself.
func partsOfTLSListener(ln net.Listener) (below net.Listener, config *tls.Config, ok bool) {
	typ := reflect.TypeOf(ln)
	if typ != stdTLSListener() || !isTLSListenerLayout(typ) || reflect.ValueOf(ln).IsNil() {
		return nil, nil, false
	}
	parts := reflect.ValueOf(ln).Elem()
	below, _ = parts.FieldByName("Listener").Interface().(net.Listener)
	config = tlsConfigIn(parts.FieldByName("config"))
	return below, config, below != nil && config != nil
}

// isTLSListenerLayout reports whether typ is a pointer to a struct that consists of a listener and its configuration.
func isTLSListenerLayout(typ reflect.Type) bool {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct || typ.Elem().NumField() != 2 {
		return false
	}
	listener, ok := typ.Elem().FieldByName("Listener")
	config, also := typ.Elem().FieldByName("config")
	return ok && also && listener.Type == reflect.TypeFor[net.Listener]() && config.Type == reflect.TypeFor[*tls.Config]()
}
