package gallop

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// acceptGrace is how long Shutdown still accepts what waits in a listener's queue.
const acceptGrace = 20 * time.Millisecond

// servedListener is a listener of a server. It is closed once. Its address identifies it,
// because the listener itself need not be comparable.
type servedListener struct {
	net.Listener
	table  *connTable
	number uint64          // of the listener among those that were ever added
	base   context.Context // see Server.BaseContext; nil if the server has no contexts for connections
	closed atomic.Bool

	watching sync.Mutex // held while loops begin to watch the listener
	silence  func()     // has them no longer watch it; nil if they do not. Guarded by watching
}

// addListener returns nil if the server is closing.
func (t *connTable) addListener(ln net.Listener) *servedListener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil
	}
	t.added++
	served := &servedListener{Listener: ln, table: t, number: t.added}
	t.listeners[served] = struct{}{}
	return served
}

// watch calls begin, which has the loops watch the listener and returns how they stop. If the listener is being closed, either the loops stop
// or begin finds it closed.
func (l *servedListener) watch(begin func() (silence func())) {
	l.watching.Lock()
	defer l.watching.Unlock()
	l.silence = begin()
}

// Close closes the listener, unless that was done or begun already: then it does not wait. Loops that watch the listener
// stop watching first. Shutdown and Close return the error.
func (l *servedListener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.watching.Lock()
	silence := l.silence
	l.watching.Unlock()
	if silence != nil {
		silence()
	}
	err := l.Listener.Close()
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing && err != nil && !isClosedListener(err) {
		t.closeErrs = append(t.closeErrs, err)
	}
	return nil
}

// drop closes the listener, which is no longer served.
func (l *servedListener) drop() {
	l.Close()
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listeners, l)
	t.ended.Broadcast()
}

// expire makes Accept fail after grace. It reports false if the listener cannot do that.
func (l *servedListener) expire(grace time.Duration) bool {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	return ok && grace > 0 && d.SetDeadline(time.Now().Add(grace)) == nil
}

// isClosedListener reports whether err is what listeners return after Close. Some of them
// say so only in the text, or return io.EOF.
func isClosedListener(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), net.ErrClosed.Error())
}

// closeListeners ends the accept loops and waits for them until ctx is done. If listeners can
// time out, they first accept for the time of grace what clients believe to be connected.
func (t *connTable) closeListeners(ctx context.Context, grace time.Duration) {
	for _, l := range t.startClosing() {
		if !l.expire(grace) {
			go l.Close() // which may block
		}
	}
	// A listener that wraps another one may not notice that its time is over.
	late := time.AfterFunc(10*grace, t.closeLate)
	defer late.Stop()
	unhook := context.AfterFunc(ctx, t.wake)
	defer unhook()
	if !t.waitUntil(ctx, func() bool { return len(t.listeners) == 0 }) {
		t.closeLate()
	}
}

// startClosing has no more listeners added, and returns those that there are.
func (t *connTable) startClosing() []*servedListener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.closing = true
		close(t.closingC)
	}
	return t.allListeners()
}

// allListeners returns the listeners in the order in which they were added. t is locked.
func (t *connTable) allListeners() []*servedListener {
	all := slices.Collect(maps.Keys(t.listeners))
	slices.SortFunc(all, func(a, b *servedListener) int { return cmp.Compare(a.number, b.number) })
	return all
}

// closeLate closes the listeners that are left, and does not wait for that.
func (t *connTable) closeLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.allListeners() {
		go l.Close()
	}
}

// closeError returns what went wrong when listeners were closed, joined with err.
func (t *connTable) closeError(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.closeErrs) == 0:
		return err
	case err == nil && len(t.closeErrs) == 1:
		return t.closeErrs[0]
	}
	return errors.Join(append([]error{err}, t.closeErrs...)...)
}

// isServed reports whether a listener is left.
func (t *connTable) isServed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.listeners) > 0
}

// isClosing reports whether closeListeners was called.
func (t *connTable) isClosing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}
