package gallop

// A handler may want to know whether its client is still there. Then the connection is watched while the handler runs.

// watch begins to watch the connection, if somebody wants to know and if what comes
// next on it is not part of this request. l is locked.
func (c *serverConn) watch(l *lifetime) {
	if l.done == nil && l.gone == nil || l.watcher != nil || !l.canWatch || l.err != nil {
		return
	}
	l.watcher = c.Conn.Watch(l.lost)
}

// bodyRead tells that the connection may be watched from now on.
func (c *serverConn) bodyRead(ctx *RequestCtx) {
	l := &ctx.life
	l.mu.Lock()
	l.canWatch = true
	c.watch(l)
	l.mu.Unlock()
}

// stopWatching ends the watching and keeps what it has read.
func (x *exchange) stopWatching() {
	if x.ctx.life.used.Load() {
		x.endWatching()
	}
}

func (x *exchange) endWatching() {
	l, c := &x.ctx.life, x.wire
	l.mu.Lock()
	l.canWatch = false
	watcher := l.watcher
	l.mu.Unlock()
	if watcher == nil {
		return
	}
	c.EndWatch(watcher)
	l.watcher = nil
}
