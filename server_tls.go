package gallop

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"slices"

	"github.com/gallop-http/gallop/internal/conn"
)

var errNoPair = errors.New("gallop: TLS needs a certFile and a keyFile, but one of the names is empty; they may name the same file")

var errNoCertOrKey = errors.New("gallop: no TLS certificate: set Server.TLSConfig, call AppendCert, or name files")

// NextProto registers a handler for a protocol. The argument key is the protocol's ALPN name (RFC 7301). The server
// calls the handler for each TLS connection for which ALPN selects this protocol. Call NextProto before the server
// starts. A handler for "h2" replaces the server's own HTTP/2 support on TLS connections.
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
	if certFile == "" || keyFile == "" {
		return errNoPair
	}
	f := &conn.CertFiles{Cert: certFile, Key: keyFile}
	if err := f.Load(); err != nil {
		return err
	}
	s.conns.Certs.Add(f)
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
	s.conns.Certs.Add(&conn.CertFiles{Pair: &pair})
	return nil
}

func (s *Server) serveTLS(ln net.Listener) error {
	s.prepare()
	cfg, err := s.tlsConfig()
	if err != nil {
		ln.Close()
		return err
	}
	return s.Serve(&conn.TLSListener{Listener: ln, Config: cfg})
}

// tlsConfig is TLSConfig with the server's certificates and protocols.
func (s *Server) tlsConfig() (*tls.Config, error) {
	cfg := s.TLSConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	if !s.conns.Certs.Empty() {
		s.conns.Certs.Serve(cfg.Certificates, &s.conns.Log)
		cfg.Certificates = nil
		cfg.GetCertificate = s.conns.Certs.Behind(cfg.GetCertificate)
	}
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
		return nil, errNoCertOrKey
	}
	protos := cfg.NextProtos
	if s.speaksH2() && !slices.Contains(protos, "h2") {
		protos = slices.Concat([]string{"h2"}, protos)
	}
	cfg.NextProtos = s.offeredProtos(protos, slices.Sorted(maps.Keys(s.protos))...)
	s.watchChosen(cfg)
	return cfg, nil
}

// offeredProtos returns the protocols that the server offers by ALPN, in a new slice:
// protos, then more, then HTTP/1.1, each once, but no version of HTTP that nobody serves.
func (s *Server) offeredProtos(protos []string, more ...string) (offered []string) {
	if s.speaksH1() {
		more = append(more, "http/1.1")
	}
	for _, proto := range slices.Concat(protos, more) {
		if !slices.Contains(offered, proto) && !s.isUnserved(proto) {
			offered = append(offered, proto)
		}
	}
	return offered
}

// isUnserved reports whether proto is a version of HTTP that neither the server nor a handler of NextProto serves. A client
// that agreed on it would get nothing that it can read.
func (s *Server) isUnserved(proto string) bool {
	switch proto {
	case "h2":
		return s.protos[proto] == nil && !s.speaksH2()
	case "http/1.1":
		return s.protos[proto] == nil && !s.speaksH1()
	}
	return false
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
		conn.CloseWrite(e.Conn)
	}
}

// withTLS returns a listener of crypto/tls as a TLSListener, and any other listener as it is. A TLSListener can be served on event loops,
// and it offers no version of HTTP that nobody serves.
func (s *Server) withTLS(ln net.Listener) net.Listener {
	below, config, ok := conn.PartsOfTLSListener(ln)
	if !ok {
		return ln
	}
	if slices.ContainsFunc(config.NextProtos, s.isUnserved) {
		config = config.Clone()
		config.NextProtos = s.offeredProtos(config.NextProtos)
	}
	if config.GetConfigForClient != nil {
		config = config.Clone()
		s.watchChosen(config)
	}
	return &conn.TLSListener{Listener: below, Config: config}
}

// watchChosen takes versions of HTTP that nobody serves out of the configurations that GetConfigForClient returns.
func (s *Server) watchChosen(cfg *tls.Config) {
	ask := cfg.GetConfigForClient
	if ask == nil {
		return
	}
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		chosen, err := ask(hello)
		if chosen != nil && slices.ContainsFunc(chosen.NextProtos, s.isUnserved) {
			chosen = chosen.Clone() // it has the same ticket keys
			chosen.NextProtos = s.offeredProtos(chosen.NextProtos)
		}
		return chosen, err
	}
}
