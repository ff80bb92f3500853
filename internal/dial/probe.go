package dial

import (
	"crypto/tls"
	"net"
)

// Probe reports whether an idle connection is still usable. Before a request is sent, only three things can
// arrive: the end of the stream, an error, or an unsolicited response. Each of them makes the connection
// unusable (RFC 9112 §9.3.1 and §9.5).
//
// Probe looks at sockets itself. If a connection has a method Stale() bool, Probe calls that method. If a connection
// has a method NetConn() net.Conn, Probe looks at the connection that NetConn returns. Any other connection counts as
// usable.
type Probe struct {
	socket   socketProbe
	isSocket bool

	// Secured is the TLS connection, or nil. For a tunnel, it is the TLS connection to the proxy.
	Secured *tls.Conn

	asked interface{ Stale() bool }
}

// Init prepares the probe for nc.
func (p *Probe) Init(nc net.Conn) {
	p.Secured, _ = nc.(*tls.Conn)
	if t, ok := nc.(*TunnelConn); ok {
		p.Secured = t.probe.Secured
	}
	for {
		if p.asked, _ = nc.(interface{ Stale() bool }); p.asked != nil {
			return
		}
		above, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			p.isSocket = p.socket.init(nc)
			return
		}
		nc = above.NetConn()
	}
}

// Heard reports whether input has arrived. It does not read the input, so it notices no input inside a TLS connection.
func (p *Probe) Heard() bool {
	return p.isSocket && !p.socket.isQuiet() || p.asked != nil && p.asked.Stale()
}
