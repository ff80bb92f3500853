package gallop

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// secured is a TLS connection: a *tls.Conn, or what embeds one.
type secured interface {
	net.Conn
	Handshake() error
	ConnectionState() tls.ConnectionState
}

// handshake does the TLS handshake, if c is a TLS connection, and returns the name of the protocol that it ended in.
func (c *connection) handshake() (proto string, err error) {
	tc, ok := c.nc.(secured)
	if !ok {
		return "", nil
	}
	c.tls = tc
	c.beginHandshake()
	if err := tc.Handshake(); err != nil {
		return "", err
	}
	c.endHandshake()
	c.now = time.Now()
	return tc.ConnectionState().NegotiatedProtocol, nil
}

// beginHandshake bounds the time of the handshake, also if Shutdown has begun or begins.
func (c *connection) beginHandshake() {
	if d := c.set.handshake; d > 0 {
		c.tls.SetDeadline(c.now.Add(d))
	}
	c.entry.state.Store(phaseShaking)
	if c.hub.ending.Load() && c.entry.state.CompareAndSwap(phaseShaking, phaseEnding) {
		c.tls.SetDeadline(clock.Earlier(clock.After(c.now, c.set.handshake), time.Now().Add(newConnGrace)))
	}
}

// endHandshake ends the time of the handshake.
func (c *connection) endHandshake() {
	if !c.entry.state.CompareAndSwap(phaseShaking, phaseActive) {
		c.hub.table.isClosing() // waits for warnIdle, which is setting the deadline
		c.entry.state.Store(phaseActive)
	}
	c.tls.SetDeadline(time.Time{})
}

// closeWithoutHandshake closes the connection below TLS.
func closeWithoutHandshake(c secured) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		below.NetConn().Close()
		return
	}
	c.Close()
}
