package gallop

import "testing"

// While streams wait for a worker, one is about to start, and there is never a second one.
func TestH2Ready(t *testing.T) {
	var q h2Ready
	streams := make([]h2Stream, 4)
	push := func(i int, want bool) {
		t.Helper()
		if got := q.push(&streams[i]); got != want {
			t.Errorf("push of stream %d: start a worker: %v", i, got)
		}
	}
	pop := func(i int, want bool) {
		t.Helper()
		if st, got := q.pop(); st != &streams[i] || got != want {
			t.Errorf("not stream %d, or start another worker: %v", i, got)
		}
	}
	push(0, true)
	push(1, false)
	push(2, false)
	q.started()
	pop(0, true)
	pop(1, false)
	q.started()
	pop(2, false)
	push(3, true)
	pop(3, false)
	q.started()
	if st, start := q.pop(); st != nil || start {
		t.Error("the queue is not empty, or another worker is to start for nothing")
	}
	push(0, true)
}

// A queue that has become empty keeps no stream, whether it was popped or removed. It would keep it for as long as the connection
// is open.
func TestH2QueueKeepsNothing(t *testing.T) {
	var q h2Queue
	streams := make([]h2Stream, 3)
	for i := range streams {
		q.push(&streams[i])
	}
	q.remove(&streams[2])
	if q.last != &streams[1] {
		t.Error("the last stream is not the one before the removed one")
	}
	for q.pop() != nil {
	}
	if q.first != nil || q.last != nil {
		t.Errorf("the queue keeps %p, %p", q.first, q.last)
	}
	q.push(&streams[0])
	if q.pop() != &streams[0] || q.pop() != nil {
		t.Error("the queue does not work after it was empty")
	}
}
