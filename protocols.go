package gallop

import (
	"fmt"
	"strings"
	"time"
)

// Protocols is a set of HTTP protocols. It has the methods of net/http.Protocols. The zero value is the empty set.
// Protocols values may be compared with ==.
//
// Server.Protocols, Client.Protocols and HostClient.Protocols are pointers: nil means the protocols that this version
// of the module recommends. At present this is HTTP/1, which means HTTP/1.1 and HTTP/1.0. A later version that
// supports HTTP/2 over TLS will recommend HTTP/2 too. If a program must use only HTTP/1, set the field.
//
// This version supports HTTP/1 only. A Server or client whose set contains any other protocol or lacks HTTP/1 returns
// an error that wraps ErrProtocols.
type Protocols struct{ bits uint8 }

const (
	protoHTTP1 = 1 << iota
	protoHTTP2
	protoUnencryptedHTTP2
)

// HTTP1 reports whether p includes HTTP/1: HTTP/1.1 and HTTP/1.0, with and without TLS.
func (p Protocols) HTTP1() bool { return p.bits&protoHTTP1 != 0 }

// SetHTTP1 adds HTTP/1 to p or removes it.
func (p *Protocols) SetHTTP1(ok bool) { p.set(protoHTTP1, ok) }

// HTTP2 reports whether p includes HTTP/2 over TLS.
func (p Protocols) HTTP2() bool { return p.bits&protoHTTP2 != 0 }

// SetHTTP2 adds HTTP/2 over TLS to p or removes it.
func (p *Protocols) SetHTTP2(ok bool) { p.set(protoHTTP2, ok) }

// UnencryptedHTTP2 reports whether p includes HTTP/2 without TLS (RFC 9113 §3.3).
func (p Protocols) UnencryptedHTTP2() bool { return p.bits&protoUnencryptedHTTP2 != 0 }

// SetUnencryptedHTTP2 adds HTTP/2 without TLS to p or removes it.
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

// check returns an error that wraps ErrProtocols unless this version supports exactly the protocols in p, or p is nil.
func (p *Protocols) check() error {
	if p == nil || p.bits == protoHTTP1 {
		return nil
	}
	return fmt.Errorf("%w: got %v, want {HTTP1}", ErrProtocols, *p)
}

// HTTP2Config configures HTTP/2. Its fields have the same names and meanings as in net/http.HTTP2Config. In each
// field, zero means the default. Some fields apply only to clients or only to servers, as their comments say.
//
// This version does not support HTTP/2 (see Protocols), so the fields have no effect yet. Do not change an
// HTTP2Config once a Server or client that points to it is in use.
type HTTP2Config struct {
	// MaxConcurrentStreams limits how many streams a client may have open at the same time on one connection to a
	// Server. Server.Concurrency limits connections, not streams. The default is at least 100.
	MaxConcurrentStreams int

	// StrictMaxConcurrentRequests makes a client wait when a connection has reached the server's limit for streams.
	// By default the client opens another connection, up to its MaxConns or MaxConnsPerHost.
	StrictMaxConcurrentRequests bool

	// MaxDecoderHeaderTableSize limits the table that decompresses headers from the peer, in bytes (RFC 7541
	// §4.2). It must be less than 4 MiB; other values mean the default.
	MaxDecoderHeaderTableSize int

	// MaxEncoderHeaderTableSize limits the table that compresses headers to the peer, in bytes (RFC 7541 §4.2).
	// It must be less than 4 MiB; other values mean the default.
	MaxEncoderHeaderTableSize int

	// MaxReadFrameSize is the size of the largest frame that is accepted, in bytes. It must be from 16 KiB to 16 MiB;
	// other values mean the default.
	MaxReadFrameSize int

	// MaxReceiveBufferPerConnection is the size of a connection's flow-control window for received data, in bytes. It must be at
	// least 64 KiB and less than 4 MiB; other values mean the default.
	MaxReceiveBufferPerConnection int

	// MaxReceiveBufferPerStream is the size of a stream's flow-control window for received data, in bytes. It must be less than
	// 4 MiB; other values mean the default.
	MaxReceiveBufferPerStream int

	// SendPingTimeout is how long a connection may receive nothing before a PING frame is sent to check whether the
	// peer is still there. Zero means no checks.
	SendPingTimeout time.Duration

	// PingTimeout is how long the peer may take to respond to a PING frame before the connection is closed. The
	// default is 15 seconds.
	PingTimeout time.Duration

	// WriteByteTimeout is how long a connection with data to send may fail to write a single byte before it is
	// closed. Zero means no timeout. A Server's write limits apply in addition.
	WriteByteTimeout time.Duration

	// PermitProhibitedCipherSuites allows the TLS cipher suites that RFC 9113 Appendix A prohibits.
	PermitProhibitedCipherSuites bool

	// CountError is called for each HTTP/2 error, for metrics. errType consists of lowercase letters, digits and
	// underscores. CountError may be called by several goroutines at once. It may be nil.
	CountError func(errType string)
}
