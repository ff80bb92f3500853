package gallop

import (
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// lingerTime, lingerIdle and lingerSize limit how long and how much a client may go on sending
// after the last response on a connection. Most clients read the response only after they have
// sent the whole upload. A client that sends more than lingerSize gets lingerPause to read the
// response. Nothing is read from the connection in that time, so the client's sends block; if
// the connection was closed at once, they would fail.
const (
	lingerTime  = 5 * time.Second
	lingerIdle  = time.Second
	lingerSize  = 16 << 20
	lingerPause = 500 * time.Millisecond
	lingerStep  = 20 * time.Millisecond // in which Server.Close is noticed
)

// guard calls f, which is known as what. It logs it if that panics, and reports false.
func (c *connection) guard(what string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.srv.log.panicked(c.nc.RemoteAddr(), c.id, "panic in "+what, v)
		}
	}()
	f()
	return true
}

// endIdle ends a connection between two requests. Should one be on its way all the
// same, then the client sees the end of the connection and not a reset.
func (c *connection) endIdle() {
	if c.output.flush() == nil && c.srv.stopping.Load() {
		closeWrite(c.nc)
	}
}

// linger closes the connection for writing and reads on until the client has
// closed it too (RFC 9112 §9.6): closing it while bytes are unread would reset it
// and take the response from the client.
func (c *connection) linger() {
	if !closeWrite(c.nc) {
		return
	}
	lingerOn(c.nc, time.Now().Add(lingerTime), c.srv.conns.isCut)
}

// lingerOn reads what the client still sends on a connection that is closed for writing. It
// returns when the client has closed it as well, when nothing comes for a while, and at end.
// The function over is asked now and then whether to stop earlier.
func lingerOn(nc net.Conn, end time.Time, over func() bool) {
	buf := bufpool.Get(4 << 10)
	defer bufpool.Put(buf)
	for total := 0; total < lingerSize; {
		nc.SetReadDeadline(earlier(end, time.Now().Add(lingerIdle)))
		n, err := nc.Read(buf[:cap(buf)])
		if err != nil {
			return
		}
		total += n
	}
	end = earlier(end, time.Now().Add(lingerPause))
	for time.Now().Before(end) && !over() {
		time.Sleep(lingerStep)
	}
}

// isCut reports whether closeAll was called.
func (t *connTable) isCut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}

// closeWrite tells the client that nothing more comes, and reports whether that is
// possible without closing the connection.
func closeWrite(nc net.Conn) bool {
	w, ok := nc.(interface{ CloseWrite() error })
	return ok && w.CloseWrite() == nil
}
