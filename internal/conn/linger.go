package conn

import (
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/poll"
)

// lingerTime, lingerIdle and lingerSize limit how long and how much a client may go on sending after it was sent the last
// bytes. Most clients read those only when they have sent everything. A client that sends more than lingerSize gets
// lingerPause to read them. Nothing is read from the connection in that time, so the client's sends block. If the connection
// was closed at once, they would fail.
const (
	lingerTime  = 5 * time.Second
	lingerIdle  = time.Second
	lingerSize  = 16 << 20
	lingerPause = 500 * time.Millisecond
	lingerStep  = 20 * time.Millisecond // in which Server.Close is noticed

	lingerLittle = 4 << 10   // how many bytes are read at a time
	lingerMuch   = 64 << 10  // the same when more has arrived
	lingerTurn   = 256 << 10 // how many bytes are read before others have their turn
)

// EndIdle ends a connection between two turns. If the client has begun another one all the same, then it sees the end of the
// connection and not a reset.
func (c *Conn) EndIdle() {
	if c.Output.Flush() == nil && c.Server.Stopping.Load() {
		CloseWrite(c.NC)
	}
}

// Linger closes the connection for writing and reads on until the client has
// closed it too (RFC 9112 §9.6): closing it while bytes are unread would reset it
// and take the last bytes from the client.
func (c *Conn) Linger() {
	if !CloseWrite(c.NC) {
		return
	}
	lingerOn(c.NC, time.Now().Add(lingerTime), c.Server.Table.isCut)
}

// lingerOn reads what the client still sends on a connection that is closed for writing. It
// returns when the client has closed it as well, when nothing comes for a while, and at end.
// The function over is asked now and then whether to stop earlier.
func lingerOn(nc net.Conn, end time.Time, over func() bool) {
	buf := bufpool.Get(lingerLittle)
	defer func() { bufpool.Put(buf) }()
	for total, turn := 0, 0; total < lingerSize; {
		nc.SetReadDeadline(clock.Earlier(end, time.Now().Add(lingerIdle)))
		n, err := nc.Read(buf[:cap(buf)])
		if err != nil {
			return
		}
		total += n
		if turn += n; turn >= lingerTurn {
			turn = 0
			poll.Yield()
		}
		if n == lingerLittle {
			bufpool.Put(buf)
			buf = bufpool.Get(lingerMuch)
		}
	}
	end = clock.Earlier(end, time.Now().Add(lingerPause))
	for time.Now().Before(end) && !over() {
		time.Sleep(lingerStep)
	}
}

// CloseWrite tells the client that nothing more comes, and reports whether that is
// possible without closing the connection.
func CloseWrite(nc net.Conn) bool {
	w, ok := nc.(interface{ CloseWrite() error })
	return ok && w.CloseWrite() == nil
}
