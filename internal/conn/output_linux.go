package conn

import (
	"os"
	"time"
)

// writeOnLoop writes what was gathered and then p, at once as far as that goes.
func (o *Output) writeOnLoop(p []byte) error {
	if !o.Limit.IsZero() && !o.hasDeadline() && !time.Now().Before(o.Limit) {
		return os.ErrDeadlineExceeded // which a write that does not wait would not notice
	}
	if o.C.TLS != nil {
		if err := o.writeAll(o.Buf); err != nil || len(p) == 0 {
			return err
		}
		return o.writeAll(p)
	}
	lc, head := o.C.Loop.Conn, o.Buf
	var n int
	var err error
	if o.ByHand.Load() != nil || o.Cut.Load() {
		// A write that does not wait knows no deadline.
	} else if len(p) == 0 && !o.More {
		n, err = lc.TryWrite(head)
	} else {
		n, err = lc.TryWriteBoth(head, p, o.More)
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
