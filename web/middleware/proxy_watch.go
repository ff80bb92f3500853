package middleware

import (
	"context"
	"sync"
	"time"
)

// watch ends a call if the target makes it wait for too long.
type watch struct {
	mu     sync.Mutex
	limit  time.Duration // ≤ 0 for none
	timer  *time.Timer   // nil until it is needed
	end    func()
	closed bool
}

// slowTarget is the cause with which a watch cancels a call.
type slowTarget struct{}

func (slowTarget) Error() string   { return "middleware: the target of the proxy took too long" }
func (slowTarget) Timeout() bool   { return true }
func (slowTarget) Temporary() bool { return false }
func (slowTarget) Unwrap() error   { return context.DeadlineExceeded }

// wait begins or restarts the time.
func (w *watch) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.limit <= 0 || w.closed:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.limit, w.end)
	default:
		w.timer.Reset(w.limit)
	}
}

// pause stops the time until the next call of wait.
func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// close stops the time forever.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
