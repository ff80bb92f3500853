package gallop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
)

const (
	defaultMaxStreams   = 100
	defaultStreamWindow = 64 << 10
	defaultConnWindow   = 1 << 20
	defaultEncoderTable = 512
)

// errShared is what methods of a connection return that serves several requests.
var errShared = fmt.Errorf("gallop: the connection serves other requests, too: %w", errors.ErrUnsupported)

// resolve sets the configuration of HTTP/2 connections.
func (l *h2Conns) resolve(s *Server) {
	from := s.HTTP2
	if from == nil {
		from = &HTTP2Config{}
	}
	list := s.set.head.Head
	l.anyCipher = from.PermitProhibitedCipherSuites
	l.config = http2.Config{
		Role:                 http2.Server,
		MaxConcurrentStreams: uint32(orDefault(from.MaxConcurrentStreams, defaultMaxStreams)),
		StreamWindow:         uint32(within(from.MaxReceiveBufferPerStream, 1, maxH2Setting, defaultStreamWindow)),
		ConnWindow:           uint32(within(from.MaxReceiveBufferPerConnection, 64<<10, maxH2Setting, defaultConnWindow)),
		MaxFrameSize:         uint32(within(from.MaxReadFrameSize, 16<<10, 16<<20, defaultH2Frame)),
		MaxSendFrame:         64 << 10,
		HeaderTableSize:      within(from.MaxDecoderHeaderTableSize, 1, maxH2Setting, defaultDecoderTable),
		EncoderTableSize:     within(from.MaxEncoderHeaderTableSize, 1, maxH2Setting, defaultEncoderTable),
		MaxBlock:             2*list + 1,
		Header:               hpack.Limits{List: list, Fields: s.set.head.Fields, String: list},
	}
}

// speaksH2 reports whether the server itself serves HTTP/2 on TLS connections.
func (s *Server) speaksH2() bool {
	return s.protos["h2"] == nil && (s.Protocols == nil || s.Protocols.HTTP2())
}

// speaksH1 reports whether the server serves HTTP/1.
func (s *Server) speaksH1() bool { return s.Protocols == nil || s.Protocols.HTTP1() }

// speaksH2C reports whether the server serves HTTP/2 without TLS.
func (s *Server) speaksH2C() bool { return s.Protocols != nil && s.Protocols.UnencryptedHTTP2() }

// endsAfter reports whether a connection ends after the response to its latest request, which has this number.
func (s *Server) endsAfter(turns uint64) bool {
	return s.DisableKeepalive || s.conns.Stopping.Load() || s.MaxRequestsPerConn > 0 && turns >= uint64(s.MaxRequestsPerConn)
}

// permitsCipher reports whether HTTP/2 may be used with the cipher suite of a connection.
func (l *h2Conns) permitsCipher(t interface{ ConnectionState() tls.ConnectionState }) bool {
	state := t.ConnectionState()
	return permitsH2(&state, l.anyCipher)
}

// errPreface ends HTTP/1 on a connection whose client has begun HTTP/2 without TLS. The bytes are still in the input.
var errPreface = errors.New("the client uses HTTP/2")

// isPreface reports whether a connection that could not be read as HTTP/1 uses HTTP/2 without TLS. Bytes that begin neither
// count as a wrong preface, so that their sender gets a GOAWAY.
func (c *serverConn) isPreface() bool {
	if c.Turns > 0 || c.TLS != nil || !c.srv.speaksH2C() {
		return false
	}
	line, _, _ := bytes.Cut(c.Input.Unread(), []byte("\n"))
	return !bytes.Contains(line, []byte(" HTTP/1."))
}

// usesH2 reports whether a new connection uses HTTP/2. proto is what a TLS handshake has chosen.
func (s *Server) usesH2(c *conn.Conn, proto string) bool {
	if c.TLS != nil {
		return proto == "h2" && s.speaksH2()
	}
	return s.speaksH2C() && !s.speaksH1()
}
