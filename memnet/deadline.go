package memnet

import (
	"sync"
	"time"
)

// deadline is when Read or Write has to give up. All but fire are called with
// the stream locked.
//
// Servers set one before every message, each a little later than the last, so a
// timer that is running is left alone unless it would fire too late: when it
// fires too early it is wound up again for the rest.
type deadline struct {
	wake    *sync.Cond // its locker is the stream's
	expired bool
	at      time.Time // zero: none
	timer   *time.Timer
	fires   time.Time // when timer fires; zero while it does not run
}

// set makes t the deadline, in place of the one before.
func (d *deadline) set(t time.Time) {
	d.at, d.expired = t, false
	if t.IsZero() {
		return
	}
	now := time.Now()
	left := t.Sub(now)
	if left <= 0 {
		d.expire()
		return
	}
	d.at = now.Add(left) // the same with a monotonic reading, which timers go by
	if d.fires.IsZero() || d.fires.After(d.at) {
		d.start(left)
	}
}

func (d *deadline) start(left time.Duration) {
	d.fires = d.at
	if d.timer == nil {
		d.timer = time.AfterFunc(left, d.fire)
		return
	}
	d.timer.Reset(left)
}

// fire runs on the timer's goroutine, and perhaps after set has moved the deadline.
func (d *deadline) fire() {
	d.wake.L.Lock()
	defer d.wake.L.Unlock()
	d.fires = time.Time{}
	if d.at.IsZero() {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.start(left)
		return
	}
	d.expire()
}

func (d *deadline) expire() {
	d.expired = true
	d.wake.Broadcast()
}

// stop removes the deadline and its timer for good.
func (d *deadline) stop() {
	d.at, d.fires = time.Time{}, time.Time{}
	if d.timer != nil {
		d.timer.Stop()
	}
}
