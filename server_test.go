package gallop

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

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
			if placeOf(&key, one)%conn.PredictPlaces == placeOf(&key, other)%conn.PredictPlaces {
				same++
			}
		}
		if want := keys / conn.PredictPlaces; same > 3*want {
			t.Errorf("%s and %s have the same place with %d of %d keys, by chance it would be %d", pair[0], pair[1], same, keys, want)
		}
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
