package clock

import (
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAppendHTTPDate(t *testing.T) {
	for _, tc := range []struct {
		name string
		t    time.Time
		want string
	}{
		{"the example of the RFC", time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC), "Sun, 06 Nov 1994 08:49:37 GMT"},
		{"fraction is dropped", time.Date(1994, 11, 6, 8, 49, 37, 999999999, time.UTC), "Sun, 06 Nov 1994 08:49:37 GMT"},
		{"other zone", time.Date(2024, 3, 1, 0, 30, 0, 0, time.FixedZone("X", 3600)), "Thu, 29 Feb 2024 23:30:00 GMT"},
		{"epoch", time.Unix(0, 0), "Thu, 01 Jan 1970 00:00:00 GMT"},
		{"before the epoch", time.Unix(0, -1), "Wed, 31 Dec 1969 23:59:59 GMT"},
		{"zero time", time.Time{}, "Mon, 01 Jan 0001 00:00:00 GMT"},
		{"first", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "Sat, 01 Jan 0000 00:00:00 GMT"},
		{"before the first", time.Date(-1, 12, 31, 23, 59, 59, 0, time.UTC), "Sat, 01 Jan 0000 00:00:00 GMT"},
		{"last", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "Fri, 31 Dec 9999 23:59:59 GMT"},
		{"after the last", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "Fri, 31 Dec 9999 23:59:59 GMT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(AppendHTTPDate([]byte("> "), tc.t)); got != "> "+tc.want {
				t.Errorf("AppendHTTPDate: %q, want %q", got, tc.want)
			}
			if got := string(AppendDate(nil, tc.t)); got != tc.want {
				t.Errorf("AppendDate: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAppendDateFollowsTheSecond(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []time.Duration{0, 999 * time.Millisecond, time.Millisecond, time.Hour, -2 * time.Hour, 0} {
		at = at.Add(step)
		if got, want := string(AppendDate(nil, at)), at.Format(http.TimeFormat); got != want {
			t.Errorf("%v: got %q, want %q", at, got, want)
		}
	}
}

func TestAppendDateConcurrentlyForDifferentSeconds(t *testing.T) {
	var wg sync.WaitGroup
	for id := range 4 {
		wg.Go(func() {
			buf := make([]byte, 0, DateLen)
			for round := range 3000 {
				at := time.Unix(int64(1e9+round/100+id), 0).UTC()
				buf = AppendDate(buf[:0], at)
				if want := at.Format(http.TimeFormat); string(buf) != want {
					t.Errorf("got %q, want %q", buf, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestAppendDateInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := string(AppendDate(nil, time.Now())); got != "Sat, 01 Jan 2000 00:00:00 GMT" {
			t.Errorf("at first: %q", got)
		}
		time.Sleep(36 * time.Hour)
		if got := string(AppendDate(nil, time.Now())); got != "Sun, 02 Jan 2000 12:00:00 GMT" {
			t.Errorf("36 hours later: %q", got)
		}
	})
}

func TestDatesDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, DateLen)
	now := time.Unix(1e9, 0)
	for name, f := range map[string]func(){
		"AppendDate":     func() { buf = AppendDate(buf[:0], now) },
		"AppendHTTPDate": func() { buf = AppendHTTPDate(buf[:0], now) },
		"ParseHTTPDate":  func() { _, _ = ParseHTTPDate(buf) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzAppendHTTPDate(f *testing.F) {
	for _, second := range []int64{0, -1, 784111777, 951782400, firstSecond, lastSecond, math.MinInt64, math.MaxInt64} {
		f.Add(second)
	}
	f.Fuzz(func(t *testing.T, second int64) {
		second = min(max(second, firstSecond), lastSecond)
		at := time.Unix(second, 0).UTC()
		got := AppendHTTPDate(nil, at)
		if want := at.Format(http.TimeFormat); string(got) != want {
			t.Fatalf("%d: got %q, want %q", second, got, want)
		}
		if back, err := ParseHTTPDate(got); err != nil || !back.Equal(at) {
			t.Fatalf("%q is read as %v, %v", got, back, err)
		}
	})
}

func BenchmarkAppendDate(b *testing.B) {
	b.ReportAllocs()
	now := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		buf := make([]byte, 0, DateLen)
		for pb.Next() {
			buf = AppendDate(buf[:0], now)
		}
	})
}

func BenchmarkAppendHTTPDate(b *testing.B) {
	b.ReportAllocs()
	buf, now := make([]byte, 0, DateLen), time.Now()
	for b.Loop() {
		buf = AppendHTTPDate(buf[:0], now)
	}
}
