package gallop

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func TestPredictor(t *testing.T) {
	// Each step is a number of runs that take so long.
	type runs struct {
		n    int
		took time.Duration
	}
	const short, slow = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		name string
		runs []runs
		fast bool
	}{
		{"unknown", nil, false},
		{"not proven", []runs{{7, short}}, false},
		{"proven", []runs{{8, short}}, true},
		{"slow", []runs{{100, slow}}, false},
		{"slow and then fast", []runs{{100, slow}, {8, short}}, true},
		{"not in a row", []runs{{7, short}, {1, slow}, {7, short}}, false},
		{"wrong once", []runs{{8, short}, {1, slow}, {63, short}}, false},
		{"wrong once and proven again", []runs{{8, short}, {1, slow}, {64, short}}, true},
		{"wrong twice", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {255, short}}, false},
		{"wrong twice and proven again", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {256, short}}, true},
		{"somewhat slow on the loop", []runs{{8, short}, {100, 2 * shortRun}}, true},
		{"wrong too often", []runs{{8, short}, {1, slow}, {64 + rareTime - 1, short}, {1, slow}, {255, short}}, false},
		{"rarely wrong", []runs{{8, short}, {1, slow}, {64 + rareTime, short}, {1, slow}, {64, short}}, true},
		{"rarely wrong but not yet proven again", []runs{{8, short}, {1, slow}, {64 + rareTime, short}, {1, slow}, {63, short}}, false},
		{"forgiven", []runs{{8, short}, {1, slow}, {64 + longTime, short}, {1, slow}, {128, short}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var place atomic.Uint32
			for _, r := range tt.runs {
				for range r.n {
					ran(&place, r.took)
				}
			}
			if got := isFast(place.Load()); got != tt.fast {
				t.Errorf("fast is %v in %#x", got, place.Load())
			}
		})
	}
}

// One slow run in a hundred, as it comes: that has to be wrong ever more seldom.
func TestPredictorAndARareSlowRun(t *testing.T) {
	var place atomic.Uint32
	wrong := 0
	for i := range 1_000_000 {
		took := time.Microsecond
		if int64(i)*2654435761%100 == 0 {
			took = time.Millisecond
		}
		if isFast(place.Load()) && took == time.Millisecond {
			wrong++
		}
		ran(&place, took)
	}
	if wrong > 30 {
		t.Errorf("wrong %d times", wrong)
	}
}

func TestPredictorTellsPathsApart(t *testing.T) {
	var p predictor
	seen := map[*atomic.Uint32]int{}
	for i := range 100 {
		seen[p.at([]byte("GET"), fmt.Appendf(nil, "/path/%d", i))]++
	}
	if len(seen) < 85 {
		t.Errorf("100 paths have %d places", len(seen))
	}
	if p.at([]byte("GET"), []byte("/a?b")) != p.at([]byte("GET"), []byte("/a?c")) {
		t.Error("the query makes a difference")
	}
	if p.at([]byte("GET"), []byte("/a")) == p.at([]byte("POST"), []byte("/a")) {
		t.Error("the method makes none")
	}
}
