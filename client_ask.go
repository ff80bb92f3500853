package gallop

import "errors"

// Most requests are small, and on a plain socket they can be sent more cheaply than by
// a look whether the connection is still good, a write, and a read that finds nothing
// and has to wait: all three happen in one turn of the runtime's poller. It is told
// first that somebody will read, then the socket is looked at and written to, and only
// what comes after that is waited for, without the read in vain.

// errStale is why nothing was sent on an idle connection: it is no good any more.
var errStale = errors.New("gallop: the idle connection has ended")

// mayAsk reports whether a request with that much content can be sent by ask.
func (cc *ClientConn) mayAsk(content int) bool {
	return cc.asker.ok() && cc.set.trace == nil && len(cc.buf)+content <= smallBody
}

// ask sends what is in the buffer and then content, and reads the first bytes of the
// answer, unless the connection turns out to be stale. The error is that of sending; one
// of reading is what the next read returns.
func (cc *ClientConn) ask(content []byte) error {
	out := append(cc.buf, content...)
	sent, got, err := cc.asker.exchange(out, out[:cap(out)], cc.unproven)
	cc.wrote += int64(sent)
	cc.buf, cc.r = out[:0], 0
	switch {
	case err != nil && sent < len(out):
		cc.broken = true
		return err
	case err != nil:
		cc.failed = err
	case sent < len(out): // the socket takes no more for now
		return cc.writeRest(out, sent)
	default:
		cc.buf, cc.answered = out[:got], true
	}
	return nil
}

func (cc *ClientConn) writeRest(out []byte, sent int) error {
	n, err := cc.nc.Write(out[sent:])
	cc.wrote += int64(n)
	cc.broken = cc.broken || err != nil
	return err
}
