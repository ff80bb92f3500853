package conn

import (
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// waking lets other goroutines wake the one that waits in WaitMore.
type waking struct {
	mu    sync.Mutex
	waits bool
	woken bool // since the last WaitMore
}

// WaitMore waits for more input in the middle of a turn, and leaves the output alone. The connection stays active, so
// Shutdown does not end it. A wire that serves several things at once calls WaitMore while there is any, and WaitIdle
// otherwise.
//
// On a loop, WaitMore returns Park if nothing has arrived. A parked connection is served again after Kick of its LoopConn.
// On another goroutine, WaitMore waits. It returns Step without input after Wake.
func (c *Conn) WaitMore() Next {
	if c.Loop.Conn != nil {
		return c.moreOnLoop()
	}
	c.Input.ArmExactly(time.Time{}) // WaitIdle has left one
	if c.waking.begin() {
		return Step
	}
	return c.EndedBy(c.endWakeable(c.Input.Read()))
}

// endWakeable ends a wait that Wake may have ended. err is the result of the wait, which is nil if Wake is the reason.
func (c *Conn) endWakeable(err error) error {
	if c.waking.end() {
		c.Input.Deadline = time.Unix(1, 0) // as Wake has set it
		c.Input.ArmExactly(time.Time{})
		if clock.IsTimeout(err) {
			return nil
		}
	}
	return err
}

// begin begins a wait. It reports false if there is no need to wait.
func (w *waking) begin() (woken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken, w.woken = w.woken, false
	w.waits = !woken
	return woken
}

// end ends a wait, and reports whether Wake was called.
func (w *waking) end() (woken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken, w.woken, w.waits = w.woken, false, false
	return woken
}

// Wake makes WaitMore return, or its next call if it is not running, and the same for WaitIdle if the connection is Wakeable. Wake is for connections that belong to no loop, and any
// goroutine may call it.
func (c *Conn) Wake() {
	w := &c.waking
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits && !w.woken {
		c.NC.SetReadDeadline(time.Unix(1, 0))
	}
	w.woken = true
}
