package gallop

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Protocols is a set of HTTP protocols. Protocols has the same methods as net/http.Protocols. The zero value is the
// empty set. You may compare Protocols values with ==.
//
// In the field Server.Protocols, nil means HTTP/1, and HTTP/2 over TLS. HTTP/1 includes HTTP/1.1 and HTTP/1.0. To turn
// HTTP/2 off, use a set that contains only HTTP/1:
//
//	var p gallop.Protocols
//	p.SetHTTP1(true)
//	s.Protocols = &p
//
// If the set contains UnencryptedHTTP2, the server also accepts HTTP/2 without TLS, on the same port as HTTP/1. The
// server recognizes HTTP/2 by the first bytes of a connection (RFC 9113 §3.3). The server ignores the header
// Upgrade: h2c. If the set lacks HTTP/1, the server closes the connections of HTTP/1 clients.
//
// See Client.Protocols for what a set means to a client.
type Protocols struct{ bits uint8 }

const (
	protoHTTP1 = 1 << iota
	protoHTTP2
	protoUnencryptedHTTP2
)

// HTTP1 reports whether p includes HTTP/1. HTTP/1 means HTTP/1.1 and HTTP/1.0, with and without TLS.
func (p Protocols) HTTP1() bool { return p.bits&protoHTTP1 != 0 }

// SetHTTP1 adds HTTP/1 to p if ok is true. If ok is false, SetHTTP1 removes HTTP/1 from p.
func (p *Protocols) SetHTTP1(ok bool) { p.set(protoHTTP1, ok) }

// HTTP2 reports whether p includes HTTP/2 over TLS.
func (p Protocols) HTTP2() bool { return p.bits&protoHTTP2 != 0 }

// SetHTTP2 adds HTTP/2 over TLS to p if ok is true. If ok is false, SetHTTP2 removes HTTP/2 over TLS from p.
func (p *Protocols) SetHTTP2(ok bool) { p.set(protoHTTP2, ok) }

// UnencryptedHTTP2 reports whether p includes HTTP/2 without TLS (RFC 9113 §3.3).
func (p Protocols) UnencryptedHTTP2() bool { return p.bits&protoUnencryptedHTTP2 != 0 }

// SetUnencryptedHTTP2 adds HTTP/2 without TLS to p if ok is true. If ok is false, SetUnencryptedHTTP2 removes HTTP/2
// without TLS from p.
func (p *Protocols) SetUnencryptedHTTP2(ok bool) { p.set(protoUnencryptedHTTP2, ok) }

func (p *Protocols) set(bit uint8, ok bool) {
	if ok {
		p.bits |= bit
	} else {
		p.bits &^= bit
	}
}

// String returns the set in braces, for example "{HTTP1,HTTP2}".
func (p Protocols) String() string {
	var names []string
	if p.HTTP1() {
		names = append(names, "HTTP1")
	}
	if p.HTTP2() {
		names = append(names, "HTTP2")
	}
	if p.UnencryptedHTTP2() {
		names = append(names, "UnencryptedHTTP2")
	}
	return "{" + strings.Join(names, ",") + "}"
}

// checkServer returns an error that wraps ErrProtocols if p is empty.
func (p *Protocols) checkServer() error {
	if p == nil || p.bits != 0 {
		return nil
	}
	return fmt.Errorf("%w: got %v, want at least one protocol", ErrProtocols, *p)
}

// HTTP2Config configures HTTP/2. The fields of an HTTP2Config have the same names and meanings as in
// net/http.HTTP2Config. In each field, zero means the default. If a field applies only to clients or only to servers,
// the comment on the field says so.
//
// Do not change an HTTP2Config that a Server or client already uses.
type HTTP2Config struct {
	// MaxConcurrentStreams limits how many streams a client may have open at the same time on one connection to a Server. The
	// server refuses additional streams with the error code REFUSED_STREAM. Clients can safely repeat refused requests. The
	// default is 100. Server.Concurrency limits connections, but not streams.
	MaxConcurrentStreams int

	// StrictMaxConcurrentRequests makes a client's calls wait when a connection has reached the server's limit on streams.
	// A call waits until another call ends, until its deadline passes, or until its context is done. By default, the client
	// opens another connection instead, until it reaches the limit MaxConns or MaxConnsPerHost.
	StrictMaxConcurrentRequests bool

	// MaxDecoderHeaderTableSize limits the size of the table for decompressing received headers, in bytes (RFC 7541 §4.2).
	// The default is 4 KiB. Values of 4 MiB or more mean the default.
	MaxDecoderHeaderTableSize int

	// MaxEncoderHeaderTableSize limits the size of the table for compressing sent headers, in bytes (RFC 7541 §4.2).
	// The default is 512 bytes for servers and 4 KiB for clients. Values of 4 MiB or more mean the default.
	MaxEncoderHeaderTableSize int

	// MaxReadFrameSize limits the size of received frames, in bytes. The default is 16 KiB. Values below 16 KiB or above
	// 16 MiB mean the default.
	MaxReadFrameSize int

	// MaxReceiveBufferPerConnection is the size of a connection's flow-control window for received data, in bytes.
	// The default is 1 MiB for servers and 4 MiB for clients. Values below 64 KiB and values of 4 MiB or more mean the
	// default.
	MaxReceiveBufferPerConnection int

	// MaxReceiveBufferPerStream is the size of a stream's flow-control window for received data, in bytes. The default
	// is 64 KiB for servers and 1 MiB for clients. Values of 4 MiB or more mean the default. For a large request body, a
	// server enlarges the window up to 1 MiB if there is enough memory (see Server.MaxRequestBodyMemory).
	MaxReceiveBufferPerStream int

	// SendPingTimeout is how long a connection waits for data from the peer before it sends a PING frame. The PING frame
	// checks whether the peer still responds. Zero or a negative value turns these PING frames off.
	//
	// On a Server, PING frames do not extend Server.IdleTimeout. Every connection has a timer if SendPingTimeout is set, so
	// idle connections use more memory. A client sends these PING frames only while calls are in flight. Regardless of
	// SendPingTimeout, a client sends a PING frame if a call has reached its deadline after a second or more, and nothing
	// has arrived on the connection meanwhile.
	SendPingTimeout time.Duration

	// PingTimeout is how long the peer may take to respond to a PING frame before the connection is closed. For a Server,
	// other frames do not count as a response, and the connection is closed a second late, after a last look at what has
	// arrived. Zero or a negative value means 15 seconds.
	PingTimeout time.Duration

	// WriteByteTimeout limits how long a connection waits until it can write at least one byte of its pending data. After
	// that time, the connection is closed, up to two seconds late. Zero or a negative value means no timeout. The write
	// timeouts of a Server also apply. A client writes at most 16 KiB at a time, and closes the connection if that takes
	// longer than WriteByteTimeout.
	WriteByteTimeout time.Duration

	// PermitProhibitedCipherSuites allows the TLS cipher suites that RFC 9113 Appendix A prohibits. By default, the server
	// closes an HTTP/2 connection with such a cipher suite and sends the error code INADEQUATE_SECURITY.
	PermitProhibitedCipherSuites bool

	// CountError is called for each error of an HTTP/2 peer, for metrics. The argument errType consists of lowercase
	// letters, digits and underscores. It begins with "conn_" if the error ends a connection or with "stream_" if it resets
	// a stream. The code of RFC 9113 §7 and a short name follow, as in "conn_protocol_error_preface". If a peer does not
	// respond to a PING frame, errType is "conn_close_lost_ping". The number of different values is small.
	//
	// CountError must be safe for concurrent calls, and must not block: the connection waits for it. If CountError panics,
	// gallop logs the panic. CountError may be nil.
	CountError func(errType string)
}

// Defaults of HTTP2Config that servers and clients share.
const (
	defaultH2Frame      = 16 << 10
	defaultDecoderTable = 4 << 10
	maxH2Setting        = 4 << 20 // values from here on mean the default, as in net/http
	defaultPingTimeout  = 15 * time.Second
)

// permitsH2 reports whether HTTP/2 may be used with the version and the cipher suite of a TLS connection (RFC 9113 §9.2).
func permitsH2(state *tls.ConnectionState, anyCipher bool) bool {
	return state.Version >= tls.VersionTLS13 ||
		state.Version == tls.VersionTLS12 && (anyCipher || slices.Contains(h2Ciphers, state.CipherSuite))
}

// h2Ciphers are the cipher suites of TLS 1.2 that HTTP/2 permits and Go has: all others are in RFC 9113 Appendix A.
var h2Ciphers = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}
