package quota

import "testing"

func TestBytes(t *testing.T) {
	b := Bytes{Limit: 100}
	for i, step := range []struct {
		n, has int64
		ok     bool
	}{
		{60, 0, true},
		{41, 0, false},
		{40, 0, true},
		{1, 40, false},
		{-40, 40, true},
		{41, 60, true}, // nobody else has any
		{1, 0, false},
		{-101, 101, true},
		{1 << 62, 0, true}, // even more than the limit
		{1 << 62, 0, false},
	} {
		if step.n < 0 {
			b.Give(-step.n)
		} else if ok := b.Take(step.n, step.has); ok != step.ok {
			t.Errorf("step %d: %v, with %d taken", i, ok, b.Taken())
		}
	}
	b = Bytes{}
	if !b.Take(1<<40, 0) || !b.Take(1<<41, 0) {
		t.Error("no limit")
	}
}
