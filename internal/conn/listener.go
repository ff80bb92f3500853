package conn

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

// AcceptGrace is how long Shutdown still accepts what waits in a listener's queue.
const AcceptGrace = 20 * time.Millisecond

// Listener is a listener of a server. It is closed once. Its address identifies it,
// because the listener itself need not be comparable.
type Listener struct {
	net.Listener
	table  *Table
	number uint64          // of the listener among those that were ever added
	Base   context.Context // see Server.BaseContext; nil if the server has no contexts for connections
	closed atomic.Bool     // Close was called
	ended  chan struct{}   // closed when Close has ended

	watching sync.Mutex // held while loops begin to watch the listener
	silence  func()     // has them no longer watch it; nil if they do not. Guarded by watching
}

// AddListener returns nil if the server is closing.
func (t *Table) AddListener(ln net.Listener) *Listener {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.closing {
		return nil
	}
	t.added++
	served := &Listener{Listener: ln, table: t, number: t.added, ended: make(chan struct{})}
	t.listeners[served] = struct{}{}
	return served
}

// watch calls begin, which has the loops watch the listener and returns how they stop. If the listener is being closed, either the loops stop
// or begin finds it closed.
func (l *Listener) watch(begin func() (silence func())) {
	l.watching.Lock()
	defer l.watching.Unlock()
	l.silence = begin()
}

// Close closes the listener, unless that was done or begun already: then it does not wait. Loops that watch the listener
// stop watching first. Shutdown and Close return the error.
func (l *Listener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	defer close(l.ended)
	l.watching.Lock()
	silence := l.silence
	l.watching.Unlock()
	if silence != nil {
		silence()
	}
	err := l.Listener.Close()
	t := l.table
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.closing && err != nil && !isClosedListener(err) {
		t.closeErrs = append(t.closeErrs, err)
	}
	return nil
}

// Drop closes the listener, which is no longer served. If another goroutine closes it already, Drop waits for that.
func (l *Listener) Drop() {
	l.Close()
	select {
	case <-l.ended:
	case <-time.After(ClosePatience):
	}
	t := l.table
	t.Mu.Lock()
	defer t.Mu.Unlock()
	delete(t.listeners, l)
	t.ended.Broadcast()
}

// expire makes Accept fail after grace. It reports false if the listener cannot do that.
func (l *Listener) expire(grace time.Duration) bool {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	return ok && grace > 0 && d.SetDeadline(time.Now().Add(grace)) == nil
}

// isClosedListener reports whether err is what listeners return after Close. Some of them
// say so only in the text, or return io.EOF.
func isClosedListener(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), net.ErrClosed.Error())
}

// CloseListeners ends the accept loops and waits for them until ctx is done. If listeners can
// time out, they first accept for the time of grace what clients believe to be connected.
func (t *Table) CloseListeners(ctx context.Context, grace time.Duration) {
	for _, l := range t.startClosing() {
		if !l.expire(grace) {
			go l.Close() // which may block
		}
	}
	// A listener that wraps another one may not notice that its time is over.
	late := time.AfterFunc(10*grace, t.closeLate)
	defer late.Stop()
	unhook := context.AfterFunc(ctx, t.Wake)
	defer unhook()
	if !t.WaitUntil(ctx, func() bool { return len(t.listeners) == 0 }) {
		t.closeLate()
	}
}

// startClosing has no more listeners added, and returns those that there are.
func (t *Table) startClosing() []*Listener {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.closing {
		t.closing = true
		close(t.closingC)
	}
	return t.AllListeners()
}

// AllListeners returns the listeners in the order in which they were added. t is locked.
func (t *Table) AllListeners() []*Listener {
	all := slices.Collect(maps.Keys(t.listeners))
	slices.SortFunc(all, func(a, b *Listener) int { return cmp.Compare(a.number, b.number) })
	return all
}

// closeLate closes the listeners that are left, and does not wait for that.
func (t *Table) closeLate() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	for _, l := range t.AllListeners() {
		go l.Close()
	}
}

// CloseError returns what went wrong when listeners were closed, joined with err.
func (t *Table) CloseError(err error) error {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	switch {
	case len(t.closeErrs) == 0:
		return err
	case err == nil && len(t.closeErrs) == 1:
		return t.closeErrs[0]
	}
	return errors.Join(append([]error{err}, t.closeErrs...)...)
}

// IsServed reports whether a listener is left.
func (t *Table) IsServed() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return len(t.listeners) > 0
}

// isClosing reports whether CloseListeners was called.
func (t *Table) isClosing() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.closing
}
