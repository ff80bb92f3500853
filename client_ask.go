package gallop

import "errors"

// On a plain socket, a small request costs less if it is sent in one turn of the runtime's poller. The poller
// is first told that a read will follow. Then the socket is checked for staleness, the request is written, and
// the call waits for the response. Separate calls would check, write, and try a read that finds nothing before
// they wait.

// errStale means that nothing was sent, because the idle connection has become stale.
var errStale = errors.New("gallop: the idle connection has ended")

// mayAsk reports whether a request with that much content can be sent by ask.
func (cc *ClientConn) mayAsk(content int) bool {
	return cc.asker.ok() && cc.set.trace == nil && len(cc.buf)+content <= smallBody
}

// ask sends the buffer and then content, and reads the first bytes of the response. It sends nothing if the
// connection turns out to be stale. The returned error is about sending; the next read returns an error of
// reading.
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
