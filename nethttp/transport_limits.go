package nethttp

import (
	"context"
	"sync"
	"time"
)

// errHeadTimeout is why a call failed whose response took longer than ResponseHeaderTimeout to begin.
var errHeadTimeout error = &headTimeout{}

type headTimeout struct{}

// Error implements error.
func (*headTimeout) Error() string { return "nethttp: timeout awaiting response headers" }

// Timeout implements net.Error.
func (*headTimeout) Timeout() bool { return true }

// Temporary implements net.Error.
func (*headTimeout) Temporary() bool { return true }

// Is reports whether target is context.DeadlineExceeded.
func (*headTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// headTimer ends a call whose response does not begin in time after the request was written.
type headTimer struct {
	limit  time.Duration
	cancel context.CancelCauseFunc // ends the call

	mu    sync.Mutex
	timer *time.Timer
	over  bool // the response is there, or the call has failed
}

// limitHead limits how long the response to c may take to begin.
func (c *call) limitHead(limit time.Duration) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.ctx, c.head = ctx, &headTimer{limit: limit, cancel: cancel}
}

// start is called when the request was written, once for each time it is sent.
func (t *headTimer) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
	case t.timer == nil:
		t.timer = time.AfterFunc(t.limit, func() { t.cancel(errHeadTimeout) })
	default:
		t.timer.Reset(t.limit)
	}
}

func (t *headTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; t.timer != nil {
		t.timer.Stop()
	}
}

// limitIdle closes idle connections beyond MaxIdleConns, of the hosts that were used least recently.
func (t *Transport) limitIdle() {
	if t.MaxIdleConns <= 0 {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for {
		idle, oldest := t.idleConns()
		if idle <= t.MaxIdleConns {
			return
		}
		oldest.client.CloseIdleConnections()
	}
}

// idleConns returns how many connections are idle, and the host that was used least recently among those that have
// any. t is locked.
func (t *Transport) idleConns() (idle int, oldest *host) {
	var used time.Time
	for _, h := range t.hosts {
		n := h.client.IdleConnsCount()
		if idle += n; n == 0 {
			continue
		}
		if at := h.client.LastUseTime(); oldest == nil || at.Before(used) {
			oldest, used = h, at
		}
	}
	return idle, oldest
}
