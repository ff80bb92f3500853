package gallop

import (
	"crypto/tls"
	"net"
)

// StaleConn is a connection that can report whether it has become unusable. Before a client reuses an idle connection
// that is not a socket, the client calls Stale. Connections of package memnet have a Stale method. The client assumes
// that an idle connection without a Stale method is usable. If the connection turns out to be closed, the client
// retries requests that are safe to repeat.
type StaleConn interface {
	net.Conn

	// Stale reports, without waiting, whether a Read would return at once with data or an error. Stale may be called
	// concurrently with other methods.
	Stale() bool
}

// probe reports whether an idle connection is still usable. Before a request is sent, only three things can
// arrive: the end of the stream, an error, or an unsolicited response. Each of them makes the connection
// unusable (RFC 9112 §9.3.1 and §9.5).
//
// probe looks at sockets itself. It asks a StaleConn. If a connection has a method NetConn() net.Conn, probe
// looks at the connection that NetConn returns. Any other connection counts as usable.
type probe struct {
	socket   socketProbe
	isSocket bool
	secured  *tls.Conn
	asked    StaleConn
}

// init prepares the probe for nc.
func (p *probe) init(nc net.Conn) {
	p.secured, _ = nc.(*tls.Conn)
	if t, ok := nc.(*tunnelConn); ok {
		p.secured = t.probe.secured
	}
	for {
		if p.asked, _ = nc.(StaleConn); p.asked != nil {
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

// heard reports whether input has arrived, as far as that is known without reading.
func (p *probe) heard() bool {
	return p.isSocket && !p.socket.isQuiet() || p.asked != nil && p.asked.Stale()
}
