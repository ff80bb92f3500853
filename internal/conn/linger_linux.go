package conn

import (
	"syscall"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/poll"
)

// Lingering is a connection of a loop that was sent its last bytes, see [Conn.LingerOnLoop]. It is the Data of the poll.Conn until
// the connection is closed. No goroutine waits meanwhile.
type Lingering struct {
	lc     *LoopConn
	server *Server
	end    poll.Moment // when it is closed at the latest
	total  int         // how many bytes were read
	paused bool        // nothing is read any more, see lingerPause
	queued bool        // Requeue was called

	// Closed is called when the connection is closed, and takes its entry out of the table. It is set before Serve is called. If it
	// is nil, Close does that.
	Closed func()
}

const lingerBuffer = 16 << 10

// LingerOnLoop is like Linger, but it does not wait: CloseOnLoop leaves the connection to its loop. It reports false if the caller has
// to call Linger.
func (c *Conn) LingerOnLoop() bool {
	if c.Loop.Conn == nil {
		return false
	}
	c.lingers = CloseWrite(c.NC)
	return true
}

// startLingering ends what c has to do with lc. Serve leaves lc to its loop.
func (c *Conn) startLingering(lc *LoopConn) *Lingering {
	c.lingers = false
	l := &Lingering{lc: lc, server: c.Server, end: poll.Now().Add(lingerTime)}
	lc.Data, lc.Away, lc.Ahead = l, false, false
	lc.EndPush()
	return l
}

// Serve reads what the client has sent. The goroutine that serves the connection calls it, and does not use the connection any more.
func (l *Lingering) Serve() {
	switch now := poll.Now(); {
	case now >= l.end, l.paused && l.server.Table.isCut():
		l.Close()
	case l.paused:
		l.wait(l.end)
	case !l.queued:
		l.requeue()
	default:
		l.read(now)
	}
}

// requeue leaves the connection to its loop, which serves it again after the connections that have events. Many clients may go on
// sending, and other clients do not wait for what nobody needs.
func (l *Lingering) requeue() {
	l.queued = true
	l.lc.Requeue()
}

func (l *Lingering) read(now poll.Moment) {
	l.queued = false
	buf := bufpool.Get(lingerBuffer)
	defer bufpool.Put(buf)
	switch n, err := l.lc.TryRead(buf[:cap(buf)]); {
	case err == syscall.EAGAIN:
		if !l.lc.Park(min(l.end, now.Add(lingerIdle))) {
			l.requeue()
		}
	case err != nil:
		l.Close()
	default:
		if l.total += n; l.total < lingerSize {
			l.requeue()
			return
		}
		l.paused, l.end = true, min(l.end, now.Add(lingerPause))
		l.wait(l.end)
	}
}

// wait leaves the connection to its loop without reading from it.
func (l *Lingering) wait(by poll.Moment) {
	for !l.lc.Park(by) {
	}
}

// Close closes the connection. The goroutine that serves it calls Close, also when the time of the connection is over.
func (l *Lingering) Close() {
	lc, s := l.lc, l.server
	if l.Closed != nil {
		defer l.Closed()
	} else {
		defer s.Table.Drop(&lc.Entry)
	}
	lc.Finish()
	s.reportClosed(lc.Visible(), lc.ID)
}
