package conn

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
)

// Pusher sends on a connection of a loop, and never waits for the client. It is for wires that serve several things at once.
// See Conn.StartPushing.
type Pusher struct {
	lc  *LoopConn
	tls *tlsPush // nil unless the connection uses TLS
}

// StartPushing returns the Pusher of a connection of a loop. The wire sends with it from now on, and uses neither Output nor
// LeaveLoop. The worker that serves c calls StartPushing once, after the TLS handshake.
func (c *Conn) StartPushing() Pusher {
	lc := c.Loop.Conn
	t := lc.TLS()
	if t == nil {
		return Pusher{lc: lc}
	}
	t.push, t.rare = &tlsPush{lc: lc, conn: t.conn}, true
	return Pusher{lc, t.push}
}

// Push sends bytes of p, or takes them to be sent later, and returns their number. It never waits. If Push does not take all
// of p, or has to send some bytes later, the connection is served when the socket has room. If the connection is being served
// already, Park reports false then. Either way, the goroutine that serves it calls Push again.
//
// Any goroutine may call Push, whether the connection is parked, being served or closed. Calls for the same connection must
// not overlap, so a wire guards them with a lock. The goroutine that serves the connection calls Push before each Park, with
// an empty p if the wire has nothing to send: reads can leave TLS records to be sent. After an error, nothing can be sent any
// more.
func (p Pusher) Push(b []byte) (n int, err error) {
	switch {
	case p.tls != nil:
		return p.tls.push(b)
	case len(b) == 0:
		return 0, nil
	}
	return p.lc.Conn.Push(b)
}

// Unsent returns how many bytes Push has taken, in TLS records, that the socket has not accepted. It is 0 without TLS. While
// Unsent is not 0, Push takes nothing more.
func (p Pusher) Unsent() int {
	if p.tls == nil {
		return 0
	}
	return p.tls.size()
}

const (
	// pushPiece is how many bytes Push encrypts before it sends them. Their records fit into a buffer of 64 KiB, even if
	// crypto/tls makes many short ones.
	pushPiece = 3 * tlsPiece

	// mostRecords is how many bytes of records may be unsent. A Push leaves less than half of that. Reads can add short
	// records, without an end if the client asks for key updates and does not read the responses.
	mostRecords = 128 << 10
)

// errTakesNothing ends a connection whose client makes crypto/tls write, and does not read.
var errTakesNothing = errors.New("the client does not read the TLS records that it asks for")

// tlsPush is the sending side of a loopTLS whose wire pushes. crypto/tls writes records into the buffer, so its writes never
// wait, and never fail while the connection is usable.
//
//	Pusher.Push ──▶ tls.Conn.Write ──┐
//	                                 ├──▶ write ──▶ unsent ──▶ poll.Conn.Push
//	                tls.Conn.Read ───┘
//
// Locks are taken in this order: the lock of the wire, the lock of tls.Conn for writing, mu. Read takes the lock of
// tls.Conn for reading instead of the first one.
type tlsPush struct {
	lc   *LoopConn
	conn *tls.Conn

	mu      sync.Mutex
	unsent  []byte // records; nil if there are none
	gathers bool   // a push is writing records, which it sends together
	err     error  // why nothing can be sent any more
}

// push is Pusher.Push.
func (p *tlsPush) push(b []byte) (n int, err error) {
	empty, err := p.begin(len(b) > 0)
	for empty && err == nil && n < len(b) {
		m, werr := p.conn.Write(b[n:min(len(b), n+pushPiece)])
		n += m
		if empty, err = p.begin(werr == nil && n < len(b)); err == nil {
			err = werr
		}
	}
	return n, err
}

// begin sends all unsent records. If none are left, and if more is true, it has write gather the next ones.
func (p *tlsPush) begin(more bool) (empty bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send()
	p.gathers = more && len(p.unsent) == 0 && p.err == nil
	return len(p.unsent) == 0, p.err
}

// write takes records from crypto/tls, and sends what the socket accepts, unless there are unsent records before them. Those are
// left to the next push, for which the connection is served when there is room. If a read sent them, nobody would push the bytes
// that an earlier push did not take.
func (p *tlsPush) write(records []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && len(p.unsent)+len(records) > mostRecords {
		p.fail(errTakesNothing)
	}
	if p.err == nil {
		alone := len(p.unsent) == 0 && !p.gathers
		p.unsent = append(bufpool.Grow(p.unsent, len(records)), records...)
		if alone {
			p.send()
		}
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(records), nil
}

// send sends what the socket accepts. p is locked.
func (p *tlsPush) send() {
	if len(p.unsent) == 0 {
		return
	}
	n, err := p.lc.Conn.Push(p.unsent)
	if err != nil {
		p.fail(err)
	} else if n == len(p.unsent) {
		bufpool.Release(&p.unsent)
	} else {
		p.unsent = p.unsent[:copy(p.unsent, p.unsent[n:])]
	}
}

// fail makes all further calls fail. p is locked.
func (p *tlsPush) fail(err error) {
	p.err = err
	bufpool.Release(&p.unsent)
}

func (p *tlsPush) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.unsent)
}

// close sends the records that are left, and that nothing follows. It waits for the client, but not for long, see lingerIdle.
func (p *tlsPush) close() {
	_ = p.conn.CloseWrite()
	p.mu.Lock()
	records := p.unsent
	p.unsent, p.err = nil, net.ErrClosed
	p.mu.Unlock()
	defer bufpool.Put(records)
	end := time.Now().Add(lingerTime)
	for rest := records; len(rest) > 0; {
		_ = p.lc.SetWriteDeadline(clock.Earlier(end, time.Now().Add(lingerIdle)))
		n, err := p.lc.Write(rest)
		if rest = rest[n:]; n == 0 || err != nil && !clock.IsTimeout(err) {
			return
		}
	}
}
