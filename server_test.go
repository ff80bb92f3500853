package gallop

import (
	"crypto/tls"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
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
		{"wrong more rarely still", []runs{{8, short}, {1, slow}, {64 + 4*rareTime, short}, {1, slow}, {32, short}}, true},
		{"wrong more rarely still but not yet proven again", []runs{{8, short}, {1, slow}, {64 + 4*rareTime, short}, {1, slow}, {31, short}}, false},
		{"never takes less than at first", []runs{{8 + 4*rareTime, short}, {1, slow}, {7, short}}, false},
		{"made up for", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {256, short}, {1, slow}, {1024, short}, {1, slow}, {2000, short}, {1, slow}, {48 + slowCost, short}}, true},
		{"not yet made up for", []runs{{8, short}, {1, slow}, {64, short}, {1, slow}, {256, short}, {1, slow}, {1024, short}, {1, slow}, {2000, short}, {1, slow}, {47 + slowCost, short}}, false},
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
			const runs = 10_000_000
			random := rand.New(rand.NewPCG(1, uint64(tt.slow)))
			var place atomic.Uint32
			there, wrong := 0, 0
			for i := range runs {
				slow := random.IntN(tt.slow) == 0
				fast := isFast(place.Load())
				if fast {
					there++
				}
				switch {
				case fast && slow:
					wrong++
					mispredicted(&place)
				case slow:
					ran(&place, time.Millisecond)
				case !fast || i%sampled == 0:
					ran(&place, time.Microsecond)
				}
			}
			share := float64(there) / runs
			t.Logf("%.5f of the runs on the loop, wrong %d times", share, wrong)
			if share < tt.least || share > tt.most {
				t.Errorf("%.5f of the runs are on the loop, want %g to %g", share, tt.least, tt.most)
			}
		})
	}
}

// headOf parses a request with that method and target.
func headOf(t testing.TB, method, target string) *message.Head {
	t.Helper()
	var h message.Head
	b := []byte(method + " " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
	if n, err := new(http1.Parser).ParseRequest(&h, b, &http1.Limits{Target: 1 << 10, Head: 1 << 12, Fields: 10}); n != len(b) {
		t.Fatalf("%s %s: %d of %d bytes, %v", method, target, n, len(b), err)
	}
	return &h
}

func TestPredictorTellsPathsApart(t *testing.T) {
	seen := map[uint32]int{}
	for i := range 100 {
		seen[placeIndex(headOf(t, "GET", fmt.Sprintf("/path/%d", i)))]++
	}
	if len(seen) < 85 {
		t.Errorf("100 paths have %d places", len(seen))
	}
	for _, path := range []string{"/a", "/seven.7", "/eight.88", "/fifteen-long.15", "/sixteen-long.-16"} {
		place := placeIndex(headOf(t, "GET", path))
		for _, query := range []string{"?", "?b", "?b=longer/than-a-word", "??"} {
			if place != placeIndex(headOf(t, "GET", path+query)) {
				t.Errorf("the query %s makes a difference to %s", query, path)
			}
		}
		for _, other := range []string{path + "b", path[:len(path)-1], "/" + path, "/A" + path[2:]} {
			if placeOf(&placeKey, headOf(t, "GET", path)) == placeOf(&placeKey, headOf(t, "GET", other+"?")) && other != path {
				t.Errorf("%s and %s are the same", path, other)
			}
		}
		for _, method := range []string{"POST", "PUT", "PURGE", "LOCK", "LINK-IT"} {
			if place == placeIndex(headOf(t, method, path)) {
				t.Errorf("%s makes no difference to %s", method, path)
			}
		}
	}
}

// Two targets have the same place by chance, with one key and not with another: nobody can
// say which ones do without knowing the key.
func TestPlacesDependOnTheKey(t *testing.T) {
	const keys = 20000
	for _, pair := range [][2]string{
		{"/a", "/b"},
		{"/login", "/logio"},
		{"/login", "/nigol"},
		{"/aaaaaaa", "/aaaaaab"},
		{"/aaaaaaa/aaaaaaa", "/aaaaaaA/aaaaaaA"},
		{"/aaaaaaa/aaaaaaa", "/aaaaaa!/aaaaaa!"},
		{"/aaaaaaa/bbbbbbb", "/bbbbbbb/aaaaaaa"},
		{"/aaaaaaa/aaaaaaa/x", "/aaaaaaa/aaaaaaa/p"},
	} {
		one, other := headOf(t, "GET", pair[0]), headOf(t, "GET", pair[1])
		random := rand.New(rand.NewPCG(1, 2))
		same := 0
		for range keys {
			key := [2]uint64{random.Uint64(), random.Uint64() | 1}
			if placeOf(&key, one)%predictPlaces == placeOf(&key, other)%predictPlaces {
				same++
			}
		}
		if want := keys / predictPlaces; same > 3*want {
			t.Errorf("%s and %s have the same place with %d of %d keys, by chance it would be %d", pair[0], pair[1], same, keys, want)
		}
	}
}

// A listener of crypto/tls is taken apart, also in the present release of Go. Any other type is left alone.
func TestPartsOfTLSListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	config := &tls.Config{}
	type lookalike struct {
		net.Listener
		config *tls.Config
	}
	for _, row := range []struct {
		name string
		ln   net.Listener
		ok   bool
	}{
		{"of crypto/tls", tls.NewListener(ln, config), true},
		{"without a listener", tls.NewListener(nil, config), false},
		{"without a configuration", tls.NewListener(ln, nil), false},
		{"another type with the same fields", &lookalike{ln, config}, false},
		{"around one of crypto/tls", &lookalike{tls.NewListener(ln, config), config}, false},
		{"TCP", ln, false},
		{"nil", nil, false},
	} {
		below, of, ok := partsOfTLSListener(row.ln)
		if ok != row.ok || ok && (below != ln || of != config) {
			t.Errorf("%s: %v, %v, %v", row.name, below, of, ok)
		}
	}
}

func TestTLSListenerLayout(t *testing.T) {
	for name, row := range map[string]struct {
		typ  reflect.Type
		want bool
	}{
		"as expected": {reflect.TypeFor[*struct {
			net.Listener
			config *tls.Config
		}](), true},
		"no pointer": {reflect.TypeFor[struct {
			net.Listener
			config *tls.Config
		}](), false},
		"a value": {reflect.TypeFor[*struct {
			net.Listener
			config uintptr
		}](), false},
		"another name": {reflect.TypeFor[*struct {
			net.Listener
			settings *tls.Config
		}](), false},
		"another listener": {reflect.TypeFor[*struct {
			Listener *net.TCPListener
			config   *tls.Config
		}](), false},
		"one field more": {reflect.TypeFor[*struct {
			net.Listener
			config *tls.Config
			more   int
		}](), false},
		"no struct": {reflect.TypeFor[*int](), false},
	} {
		if got := isTLSListenerLayout(row.typ); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if tlsConfigIn(reflect.ValueOf(new(int))) != nil {
		t.Error("another pointer is taken for a configuration")
	}
}

// The time for a body grows with it, whatever its size.
func TestBodyBudget(t *testing.T) {
	for _, tt := range []struct {
		got, rate int64
		want      time.Duration
	}{
		{0, 240, bodyRateGrace},
		{120, 240, bodyRateGrace + time.Second/2},
		{240 * 60, 240, bodyRateGrace + time.Minute},
		{10 << 30, 1 << 20, bodyRateGrace + 10<<10*time.Second},
		{240 << 40, 240, bodyRateGrace + math.MaxInt64/time.Second/2*time.Second},
	} {
		if got := bodyBudget(tt.got, tt.rate); got != tt.want {
			t.Errorf("%d bytes at %d: %v, want %v", tt.got, tt.rate, got, tt.want)
		}
	}
	for _, rate := range []int64{1, 240, 1 << 40, math.MaxInt64} {
		if got := bodyBudget(math.MaxInt64, rate); got < bodyRateGrace {
			t.Errorf("at %d: %v", rate, got)
		}
	}
}

func TestTimersFireOnceAndOnTime(t *testing.T) {
	for timers.Get() != nil { // those that were made outside of the bubble
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		first := AcquireTimer(time.Second)
		time.Sleep(2 * time.Second) // it fires, and nobody takes what it sent
		ReleaseTimer(first)

		second := AcquireTimer(time.Minute)
		<-second.C
		if took := time.Since(begun); took != time.Minute+2*time.Second {
			t.Errorf("a timer of a minute fired after %v", took-2*time.Second)
		}
		ReleaseTimer(second)
		select {
		case <-second.C:
			t.Error("a released timer fired")
		default:
		}
		for timers.Get() != nil { // those of this bubble end with it
		}
	})
}
