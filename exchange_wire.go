package gallop

import (
	"net"
	"time"
)

// This file has what an exchange needs of its wire, and what differs between the HTTP/1 wire and the HTTP/2 wire.

// netConn returns the connection as the program sees it.
func (x *exchange) netConn() net.Conn {
	if x.h2 != nil {
		return x.h2.c.visible()
	}
	return x.wire.NC
}

// connNumber returns the number of the connection.
func (x *exchange) connNumber() uint64 {
	if x.h2 != nil {
		return x.h2.c.id
	}
	return x.wire.ID
}

// connBegan returns when the connection began.
func (x *exchange) connBegan() time.Time {
	if x.h2 != nil {
		return h2Epoch.Add(time.Duration(x.h2.c.began))
	}
	began, _ := x.wire.Begun()
	return began
}

// isHTTP10 reports whether the client knows neither interim responses nor chunks.
func (x *exchange) isHTTP10() bool { return x.h2 == nil && x.wire.http10 }

// isTaken reports whether the handler has taken the connection, or the stream.
func (x *exchange) isTaken() bool {
	if x.h2 != nil {
		return x.h2.taken
	}
	return x.wire.hijacked
}

// panicked logs a panic with v.
func (x *exchange) panicked(text string, v any) {
	x.server.conns.Log.Panicked(x.netConn().RemoteAddr(), x.connNumber(), text, v)
}

// guard calls f, which is known as what. It logs it if that panics, and reports false.
func (x *exchange) guard(what string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			x.panicked("panic in "+what, v)
		}
	}()
	f()
	return true
}

// awaitsBody reports whether no byte of the body has arrived.
func (x *exchange) awaitsBody() bool {
	if x.h2 != nil {
		return x.h2.awaitsBody()
	}
	return len(x.wire.Input.Unread()) == 0
}

// targetMethod returns the method that decides what a target looks like. An extended CONNECT has a path (RFC 8441 §4).
func (x *exchange) targetMethod() []byte {
	head := &x.ctx.Request.Header.head
	if x.h2 != nil && x.h2.protocol != "" {
		return nil
	}
	return head.Fields.Bytes(head.Method)
}

// closeAfter makes this the last response on an HTTP/1 connection.
func (x *exchange) closeAfter() {
	if x.h2 == nil {
		x.wire.close = true
	}
}

// writeInterim writes an interim response with the headers of the response.
func (x *exchange) writeInterim(status int) error {
	if x.h2 != nil {
		return x.h2.writeInterim(status)
	}
	return x.wire.writeInterim(status)
}

// beginStream writes the head of a response whose body is going to be written to the sink.
func (x *exchange) beginStream(none bool) streamSink {
	if x.h2 != nil {
		return x.h2.beginStream(none)
	}
	return x.wire.beginStream(none)
}

// flushOutput sends what there is to send.
func (x *exchange) flushOutput() {
	if x.h2 != nil {
		x.h2.flush()
	} else {
		x.wire.Output.Flush()
	}
}

// cutWriting interrupts a write that waits for the client, and then calls lock. Nothing can be written afterwards.
func (x *exchange) cutWriting(lock func()) {
	if x.h2 != nil {
		x.h2.cutWriting()
		lock()
		return
	}
	c, past := x.wire, time.Unix(1, 0)
	c.Output.Cut.Store(true)
	c.NC.SetWriteDeadline(past)
	lock()
	c.Output.Cut.Store(false)
	c.Output.Deadline = past
}

// resetDeadlines puts the server's own settings in force again.
func (x *exchange) resetDeadlines() {
	if x.h2 == nil {
		x.wire.ResetDeadlines()
	} else if !x.ctx.streams() && x.h2.writeBy.Load() != nil { // a response that has begun must end in time
		x.h2.writeBy.Store(nil)
	}
}

// setReadDeadline sets the deadline for reads of the request body. The lifetime of the request is locked, so a goroutine that waits on a
// stream is woken by after, which needs the lock of the connection.
func (x *exchange) setReadDeadline(t time.Time) (after func(), err error) {
	if x.h2 != nil {
		x.h2.readBy.Store(&t)
		return x.h2.poker(), nil
	}
	c := x.wire
	c.Input.ByHand.Store(&t)
	return func() {}, c.NC.SetReadDeadline(t)
}

// setWriteDeadline sets the deadline for writes of the response. See setReadDeadline for after.
func (x *exchange) setWriteDeadline(t time.Time) (after func(), err error) {
	if x.h2 != nil {
		x.h2.writeBy.Store(&t)
		return x.h2.poker(), nil
	}
	c := x.wire
	c.Output.ByHand.Store(&t)
	err = c.NC.SetWriteDeadline(t)
	if c.Output.Cut.Load() { // the server is interrupting a write, see ResponseStream.leave
		c.NC.SetWriteDeadline(time.Unix(1, 0))
	}
	return func() {}, err
}

// leftBehind notes that handlers keep x, which points to its wire. The wire is not used for anything else then: without the
// mark of a serverConn, TestLateHandlers and the case "context" of TestKeptByHandlers fail.
func (x *exchange) leftBehind() {
	x.shared = true
	if x.h2 == nil {
		x.wire.shared = true
	}
}

// leaveBytes leaves the bytes that the request shows to its handlers.
func (x *exchange) leaveBytes() {
	if x.h2 != nil {
		x.h2.leaveBytes()
		return
	}
	x.wire.Input.Abandon()
	x.wire.exchange = nil
}

// another returns an exchange for the same request on the same wire.
func (x *exchange) another() *exchange {
	if x.h2 != nil {
		return x.h2.another()
	}
	n := x.wire.newExchange()
	n.begin(&x.wire.Conn)
	n.settle(&x.wire.Conn)
	return n
}

// watch begins to watch the connection, if somebody wants to know and if what comes
// next on it is not part of this request. l is locked.
func (x *exchange) watch(l *lifetime) {
	if x.h2 != nil {
		x.h2.watch(l)
		return
	}
	if l.done == nil && l.gone == nil || l.watcher != nil || !l.canWatch || l.err != nil {
		return
	}
	l.watcher = x.wire.Conn.Watch(l.lost)
}

// bodyRead tells that the connection may be watched from now on.
func (x *exchange) bodyRead() {
	l := &x.ctx.life
	l.mu.Lock()
	l.canWatch = true
	x.watch(l)
	l.mu.Unlock()
}
