package gallop

import (
	"net"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/dial"
)

// HijackHandler takes over a connection after the response has been written. If the RequestHandler has not read a
// streamed request body completely, c.Read first returns the rest of the body. The rest of a chunked body is still in
// chunked form. After the body, c.Read returns the bytes that follow the request. When the HijackHandler returns, the
// server closes c unless Server.KeepHijackedConns is set.
//
// If writing the response fails, the HijackHandler is not called.
type HijackHandler func(c net.Conn)

// hijack is a connection on its way to a HijackHandler.
type hijack struct {
	handler HijackHandler
	conn    net.Conn
}

// hijack sends the output, and takes the connection from the server for the handler that was passed to Hijack.
func (c *serverConn) hijack() conn.Next {
	h := &hijack{handler: c.ctx.hijackHandler}
	if err := c.Output.Flush(); err != nil {
		return c.EndedBy(err)
	}
	c.NC.SetDeadline(time.Time{})
	nc, err := c.LeaveLoop()
	if err != nil {
		return c.EndedBy(err)
	}
	h.conn = c.withRest(nc)
	c.reportHijacked()
	c.handed = h
	return conn.Taken
}

// reportHijacked tells the ConnState hook that the connection was hijacked. If the hook panics, the
// new owner still gets the connection, because the server would not close it.
func (c *serverConn) reportHijacked() {
	c.Guard("ConnState", func() { c.Report(conn.StateTaken) })
}

// startHijack runs the handler on a goroutine of its own: the connection does not
// count any longer and Shutdown does not wait for it.
func (c *serverConn) startHijack(h *hijack) {
	keep, logTo, id := c.srv.KeepHijackedConns, &c.Server.Log, c.ID
	go func() {
		defer func() {
			if v := recover(); v != nil {
				logTo.Panicked(h.conn.RemoteAddr(), id, "panic in a hijack handler", v)
			}
			if !keep {
				h.conn.Close()
			}
		}()
		h.handler(h.conn)
	}()
}

// HijackConn returns the connection, which the handler may use at once. In contrast, [RequestCtx.Hijack] hands the
// connection over after the handler has returned. HijackConn first sends the response header, unless
// HijackSetNoResponse was called. If a streamed request body has unread bytes, the connection's Read method first
// returns the unread bytes. The rest of a chunked body is still in chunked form. After the body, the connection's Read
// method returns the bytes that follow the request.
//
// After HijackConn, the server neither uses nor counts the connection, so the program must close the connection. After
// HijackConn, ctx is still valid only until the handler returns.
//
// HijackConn fails if the request has timed out, or if the handler has already hijacked the connection. If the request
// arrived over HTTP/2 or is not served by a Server, HijackConn returns an error that wraps errors.ErrUnsupported. Over
// HTTP/2, use AcceptStream.
func (ctx *RequestCtx) HijackConn() (net.Conn, error) {
	if ctx.ex == nil {
		return nil, errNotServed
	}
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := ctx.ownedConn(s)
	if err != nil {
		return nil, err
	}
	ctx.life.used.Store(true) // so that nobody begins to watch it later
	c := x.wire
	c.body.sever()
	c.stopWatching()
	if s.ex == nil && !ctx.hijackNoResponse {
		c.writeTakenHead()
	}
	return c.take()
}

// writeTakenHead writes the head of a response behind which the connection is the
// handler's.
func (c *serverConn) writeTakenHead() {
	ctx := &c.ctx
	ctx.hijackHandler = func(net.Conn) {}
	c.limitWriting()
	out := c.outgoing(time.Now())
	out.length = lengthNone
	if ctx.Response.mayHaveBody() && !c.opensTunnel() {
		out.length, out.close = lengthUntilClose, true
	}
	c.writeHead(&out)
}

// take writes what there is to write and leaves the connection to the handler.
func (c *serverConn) take() (net.Conn, error) {
	s := c.ctx.output()
	if s.ex != nil {
		s.emit()
	}
	if err := c.Output.Flush(); err != nil {
		return nil, err
	}
	c.EndAbrupt()
	c.hijacked, c.exchange.shared = true, true
	s.end()
	c.NC.SetDeadline(time.Time{})
	nc, err := c.LeaveLoop()
	if err != nil {
		c.Report(conn.StateClosed)
		return nil, err
	}
	c.reportHijacked()
	c.srv.conns.Table.Drop(c.Entry)
	return c.withRest(nc), nil
}

// withRest returns nc, from which what was read behind the head is read first.
func (c *serverConn) withRest(nc net.Conn) net.Conn {
	if rest := slices.Concat(c.body.leave(), c.Input.Unread()); len(rest) > 0 {
		return &dial.RestConn{Conn: nc, Rest: rest}
	}
	return nc
}
