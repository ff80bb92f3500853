package conn

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

// Handshake does the TLS handshake, if c is a TLS connection, and returns the name of the protocol that it ended in.
func (c *Conn) Handshake() (proto string, err error) {
	tc, ok := c.NC.(secured)
	if !ok {
		return "", nil
	}
	c.TLS = tc
	c.beginHandshake()
	if err := tc.Handshake(); err != nil {
		return "", err
	}
	c.endHandshake()
	c.Now = time.Now()
	return tc.ConnectionState().NegotiatedProtocol, nil
}

// beginHandshake bounds the time of the handshake, also if Shutdown has begun or begins.
func (c *Conn) beginHandshake() {
	if d := c.Set.Handshake; d > 0 {
		c.TLS.SetDeadline(c.Now.Add(d))
	}
	c.Entry.move(phaseNew, phaseShaking)
	if c.Server.Ending.Load() && c.Entry.move(phaseShaking, phaseEnding) {
		c.TLS.SetDeadline(clock.Earlier(clock.After(c.Now, c.Set.Handshake), time.Now().Add(newConnGrace)))
	}
}

// endHandshake ends the time of the handshake.
func (c *Conn) endHandshake() {
	if !c.Entry.move(phaseShaking, phaseActive) {
		c.Server.Table.isClosing() // waits for WarnIdle, which is setting the deadline
		c.Entry.move(phaseEnding, phaseActive)
	}
	c.TLS.SetDeadline(time.Time{})
}

// closeWithoutHandshake closes the connection below TLS.
func closeWithoutHandshake(c secured) {
	if below, ok := c.(interface{ NetConn() net.Conn }); ok {
		below.NetConn().Close()
		return
	}
	c.Close()
}
