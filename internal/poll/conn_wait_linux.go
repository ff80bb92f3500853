package poll

import (
	"net"
	"os"
	"sync"
	"time"
)

// view holds the state that is needed to wait for a connection.
type view struct {
	mu     sync.Mutex
	change sync.Cond
	read   limit
	write  limit
	over   bool   // waiting is not possible any more
	watch  func() // nil unless Watch was called; nil again after it was called
}

// limit is a deadline and the timer that wakes the goroutines that wait for it.
type limit struct {
	at    int64 // 0: none
	timer *time.Timer
	fires int64 // when the timer fires; 0 while it is stopped
}

// expired returns an error if the read deadline (bit readable) or the write deadline has passed.
func (c *Conn) expired(bit uint32) error {
	v := c.view.Load()
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.limitFor(bit); l.at != 0 && (l.at == past || int64(Now()) >= l.at) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// AwaitBreak blocks until the client accepts no more bytes. It respects the read deadline. A nil error means that the
// client is gone.
func (c *Conn) AwaitBreak() error { return c.named("read", c.await(broken)) }

// await blocks until c may be readable (or writable, according to bit) or is broken.
func (c *Conn) await(bit uint32) error {
	c.leave()
	enough := bit | broken | closed
	switch bit {
	case readable:
		enough |= hungUp
	case writable:
		if err := c.wantWritable(); err != nil {
			return err
		}
	}
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		if s := c.state.Load(); s&closed != 0 {
			return net.ErrClosed
		} else if s&enough != 0 {
			c.state.And(^(bit &^ broken))
			return nil
		} else if v.over {
			return net.ErrClosed
		}
		l := v.limitFor(bit)
		if l.at != 0 {
			left := l.at - int64(Now())
			if l.at == past || left <= 0 {
				return os.ErrDeadlineExceeded
			}
			l.wind(v, time.Duration(left))
		}
		v.change.Wait()
	}
}

// wantWritable makes the loop watch for room to write to c.
func (c *Conn) wantWritable() error {
	if c.out.Load() {
		return nil
	}
	if !c.use() {
		return net.ErrClosed
	}
	defer c.done()
	c.out.Store(true)
	return c.loop.modify(c, eventsBoth)
}

// waiting returns the view of c, creating it if necessary.
func (c *Conn) waiting() *view {
	for {
		if v := c.view.Load(); v != nil {
			return v
		}
		v := &view{}
		v.change.L = &v.mu
		c.view.CompareAndSwap(nil, v)
	}
}

func (v *view) limitFor(bit uint32) *limit {
	if bit == writable {
		return &v.write
	}
	return &v.read
}

// wind starts the timer that wakes waiting goroutines after left. A running timer that fires earlier is left alone:
// the goroutines that it wakes call wind again.
func (l *limit) wind(v *view, left time.Duration) {
	if l.fires != 0 && l.fires <= l.at {
		return
	}
	l.fires = l.at
	if l.timer == nil {
		l.timer = time.AfterFunc(left, func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			l.fires = 0
			v.change.Broadcast()
		})
		return
	}
	l.timer.Reset(left)
}

// stop stops the timers and wakes all waiting goroutines.
func (v *view) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	v.change.Broadcast()
	for _, l := range []*limit{&v.read, &v.write} {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.setLimit(t, readable)
	c.setLimit(t, writable)
	return c.openError()
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.setLimit(t, readable)
	return c.openError()
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.setLimit(t, writable)
	return c.openError()
}

func (c *Conn) openError() error {
	if c.state.Load()&closed != 0 {
		return net.ErrClosed
	}
	return nil
}

func (c *Conn) setLimit(t time.Time, bit uint32) {
	if t.IsZero() && c.view.Load() == nil {
		return
	}
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limitFor(bit).at = momentOf(t)
	v.change.Broadcast()
}
