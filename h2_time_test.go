package gallop

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Connections have their ticks in the order in which they were added, h2Tick later, unless they were removed meanwhile. An
// empty queue has no timer.
func TestH2Ticker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rang atomic.Int32
		q := h2Ticker{timer: time.AfterFunc(time.Hour, func() { rang.Add(1) })}
		conns := make([]h2Conn, 5)
		for i := range conns {
			q.add(&conns[i])
			time.Sleep(h2Tick / 10)
		}
		for _, i := range []int{0, 2, 4, 2} { // the first, one in the middle, the last, and one that is not there
			q.remove(&conns[i])
		}
		if c := q.next(); c != nil {
			t.Fatalf("connection %d is due too early", c.times.due)
		}
		for _, i := range []int{1, 3} {
			time.Sleep(h2Tick * 6 / 10)
			synctest.Wait()
			if c := q.next(); rang.Load() == 0 || c != &conns[i] {
				t.Errorf("%d rings, then it was not the turn of connection %d", rang.Load(), i)
			}
			if c := q.next(); c != nil {
				t.Errorf("there was another one after connection %d", i)
			}
			rang.Store(0)
			q.add(&conns[i])
			q.remove(&conns[i])
		}
		if q.first != nil || q.last != nil || q.timer != nil {
			t.Error("the queue is not empty, or its timer is still set")
		}
	})
}

// A timer of an earlier request leaves alone the lock of the connection that has got the stream.
func TestPokerOfAnEarlierRequest(t *testing.T) {
	var earlier, now sync.Mutex
	var st h2Stream
	st.change.L = &earlier
	poke := st.poker()
	st.change.L = &now
	now.Lock()
	defer now.Unlock()
	poked := make(chan struct{})
	go func() {
		poke()
		close(poked)
	}()
	select {
	case <-poked:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the lock")
	}
}
