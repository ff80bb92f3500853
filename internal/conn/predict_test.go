package conn

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
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
		{"somewhat slow on the loop", []runs{{8, short}, {100, 2 * ShortRun}}, true},
		{"wrong too often", []runs{{8, short}, {1, slow}, {64 + RareTime - 1, short}, {1, slow}, {255, short}}, false},
		{"rarely wrong", []runs{{8, short}, {1, slow}, {64 + RareTime, short}, {1, slow}, {64, short}}, true},
		{"rarely wrong but not yet proven again", []runs{{8, short}, {1, slow}, {64 + RareTime, short}, {1, slow}, {63, short}}, false},
		{"wrong more rarely still", []runs{{8, short}, {1, slow}, {64 + 4*RareTime, short}, {1, slow}, {32, short}}, true},
		{"wrong more rarely still but not yet proven again", []runs{{8, short}, {1, slow}, {64 + 4*RareTime, short}, {1, slow}, {31, short}}, false},
		{"never takes less than at first", []runs{{8 + 4*RareTime, short}, {1, slow}, {7, short}}, false},
		{"made up for", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {256, short}, {1, slow}, {1024, short}, {1, slow}, {2000, short}, {1, slow}, {48 + SlowCost, short}}, true},
		{"not yet made up for", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {256, short}, {1, slow}, {1024, short}, {1, slow}, {2000, short}, {1, slow}, {47 + SlowCost, short}}, false},
		{"forgiven", []runs{{8, short}, {1, slow}, {64 + LongTime, short}, {1, slow}, {128, short}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var place atomic.Uint32
			for _, r := range tt.runs {
				for range r.n {
					ran(&place, r.took)
				}
			}
			if got := IsFast(place.Load()); got != tt.fast {
				t.Errorf("fast is %v in %#x", got, place.Load())
			}
		})
	}
}

// A handler that is slow in one run of a few hundred is hardly ever called on the loop; one that is interrupted in one of
// many thousands is called there nearly always, however long that goes on.
func TestPredictorSettles(t *testing.T) {
	for _, tt := range []struct {
		slow        int     // one run in so many, by chance
		least, most float64 // of the runs, on the loop
	}{
		{10, 0, .0001},
		{100, 0, .002},
		{300, 0, .01},
		{10_000, .9, 1},
		{30_000, .98, 1},
		{1_000_000, .999, 1},
	} {
		t.Run(fmt.Sprint(tt.slow), func(t *testing.T) {
			runs := 2_000_000
			if wiretest.Full() {
				runs = 10_000_000
			}
			random := rand.New(rand.NewPCG(1, uint64(tt.slow)))
			var place atomic.Uint32
			there, wrong := 0, 0
			for i := range runs {
				slow := random.IntN(tt.slow) == 0
				fast := IsFast(place.Load())
				if fast {
					there++
				}
				switch {
				case fast && slow:
					wrong++
					mispredicted(&place)
				case slow:
					ran(&place, time.Millisecond)
				case !fast || i%Sampled == 0:
					ran(&place, time.Microsecond)
				}
			}
			share := float64(there) / float64(runs)
			t.Logf("%.5f of the runs on the loop, wrong %d times", share, wrong)
			if share < tt.least || share > tt.most {
				t.Errorf("%.5f of the runs are on the loop, want %g to %g", share, tt.least, tt.most)
			}
		})
	}
}
