package gallop

import (
	"os"
	"time"
)

// writeOnLoop writes what was gathered and then p, at once as far as that goes.
func (o *output) writeOnLoop(p []byte) error {
	if !o.limit.IsZero() && !o.hasDeadline() && !time.Now().Before(o.limit) {
		return os.ErrDeadlineExceeded // which a write that does not wait would not notice
	}
	if o.c.tls != nil {
		if err := o.writeAll(o.buf); err != nil || len(p) == 0 {
			return err
		}
		return o.writeAll(p)
	}
	lc, head := o.c.loop.conn, o.buf
	var n int
	var err error
	if o.byHand.Load() != nil || o.cut.Load() {
		// A write that does not wait knows no deadline.
	} else if len(p) == 0 {
		n, err = lc.TryWrite(head)
	} else {
		n, err = lc.TryWriteBoth(head, p, o.more)
	}
	o.count(int64(n))
	if err != nil {
		return err
	}
	if n < len(head) {
		if err := o.writeAll(head[n:]); err != nil {
			return err
		}
		n = len(head)
	}
	if n -= len(head); n < len(p) {
		return o.writeAll(p[n:])
	}
	return nil
}
