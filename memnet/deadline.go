package memnet

import (
	"sync"
	"time"
)

// deadline is the time at which Read or Write gives up. All methods except fire are called with the stream locked.
//
// Servers set a deadline before every message, each a little later than the previous one. A running timer is therefore reset
// only if it would fire too late. If it fires too early, fire starts it again for the remaining time.
type deadline struct {
	wake    *sync.Cond // its locker is the stream's
	expired bool
	at      time.Time // zero if there is no deadline
	timer   *time.Timer
	fires   time.Time // when timer fires; zero while it does not run
}

// set replaces the deadline with t.
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
	d.at = now.Add(left) // the same time with a monotonic clock reading, which timers use
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

// fire runs on the timer's goroutine. The deadline may have been moved since the timer was started.
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
