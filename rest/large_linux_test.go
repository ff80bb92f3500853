package rest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/rest"
)

// cpuTime returns the processor time that the process has taken, the collector's included.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// perMB returns the processor time that f takes for each MB of size bytes, the least of so many rounds of at least 8 MB.
func perMB(t testing.TB, rounds, size int, f func()) time.Duration {
	t.Helper()
	n := max((8<<20)/size, 1)
	least := time.Duration(math.MaxInt64)
	for range rounds {
		runtime.GC()
		from := cpuTime(t)
		for range n {
			f()
		}
		least = min(least, cpuTime(t)-from)
	}
	return time.Duration(float64(least) / float64(n*size) * (1 << 20))
}

// A body of any shape takes at most 0.4 times the processor time that io.ReadAll and json.Unmarshal take. The time grows linearly:
// a MB of 63 takes at most 1.3 times as long as a single MB. A body that is one map of 190,000 members may take 0.5 and 1.7 times as long
// at 63 MB, because the map itself, which encoding/json needs too, takes four times as long for each member as at 1 MB.
//
// The short form measures two shapes of 1 MB and allows 0.5 times the time of encoding/json, because other programs share the caches.
// A measurement over the limit is repeated twice.
func TestLargeBodiesTime(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds take longer")
	}
	if !wiretest.Beside(t) {
		return
	}
	long := os.Getenv("GALLOP_LARGE") != ""
	rounds, sizes := 3, []int{1 << 20}
	if long {
		rounds, sizes = 5, []int{1 << 20, 16 << 20, 63 << 20}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // or the collector takes idle processors, and time that depends on them
	for _, shape := range largeShapes {
		if !long && shape.name != "search result" && shape.name != "any" {
			continue
		}
		t.Run(shape.name, func(t *testing.T) {
			ownTime := func(text []byte) time.Duration {
				c := overLength(t, text, true)
				return perMB(t, rounds, len(text), func() {
					if _, err := c.Request().Get("a", shape.value()); err != nil {
						t.Fatal(err)
					}
				})
			}
			stdTime := func(text []byte) time.Duration {
				return perMB(t, rounds, len(text), func() {
					all, err := io.ReadAll(bytes.NewReader(text))
					if err != nil || json.Unmarshal(all, shape.value()) != nil {
						t.Fatal(err)
					}
				})
			}
			smallText := []byte(shape.text(sizes[0]))
			for _, size := range sizes {
				most, growth := 0.4, 1.3
				if !long {
					most = 0.5
				}
				if (shape.name == "map" || shape.name == "nested objects") && size > 16<<20 {
					most, growth = 0.5, 1.7
				}
				text := []byte(shape.text(size))
				var small, own, std time.Duration
				ok := false
				for try := 0; try < 3 && !ok; try++ {
					own, std = ownTime(text), stdTime(text)
					if small = own; size != sizes[0] {
						small = ownTime(smallText)
					}
					ok = float64(own) <= most*float64(std) && float64(own) <= growth*float64(small)
				}
				ratio, grown := float64(own)/float64(std), float64(own)/float64(small)
				t.Logf("%2d MB: %v per MB, %.2f of encoding/json's %v, %.2f of that at 1 MB", size>>20, own, ratio, std, grown)
				if !ok {
					t.Errorf("%d MB: %.2f of the time of encoding/json, want at most %v; %.2f of the time per MB at 1 MB, want at most %v", size>>20, ratio, most, grown, growth)
				}
			}
		})
	}
}
