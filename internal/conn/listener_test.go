package conn

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// slowListener takes a while to close.
type slowListener struct {
	net.Listener
	closed bool
}

func (l *slowListener) Close() error {
	time.Sleep(100 * time.Millisecond)
	l.closed = true
	return nil
}

// A listener that another goroutine closes counts as open until it is closed.
func TestDropWaitsForClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := Table{listeners: map[*Listener]struct{}{}}
		table.ended.L = &table.Mu
		inner := &slowListener{}
		l := table.AddListener(inner)
		go l.Close()
		synctest.Wait()
		if l.Drop(); !inner.closed || table.IsServed() {
			t.Errorf("closed: %v, counts as open: %v", inner.closed, table.IsServed())
		}
	})
}
