package middleware

import (
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// The time of day is exact, however long ago it was read, and also if other goroutines use another clock.
func TestTimeOfDay(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			for _, pause := range []time.Duration{0, time.Nanosecond, 999 * time.Millisecond, time.Second, time.Hour} {
				time.Sleep(pause)
				now, got := time.Now(), timeOfDay(time.Since(logEpoch))
				if !got.Equal(now.Round(0)) {
					t.Errorf("after a pause of %v: %v, want %v", pause, got, now)
				}
			}
		})
		before := time.Now()
		if got := timeOfDay(time.Since(logEpoch)); got.Before(before.Round(0)) || got.Round(0).Sub(before.Round(0)) > time.Minute {
			t.Errorf("%v, want %v", got, before)
		}
	}
}

// dropping is a log handler that drops the attributes of WithAttrs.
type dropping struct{ slog.Handler }

func (d *dropping) WithAttrs([]slog.Attr) slog.Handler { return d }

// Two requests may be the first at the same time.
func TestLogHandlersAddedTwice(t *testing.T) {
	for handler, want := range map[slog.Handler]bool{slog.DiscardHandler: false, &dropping{}: false, slog.NewTextHandler(io.Discard, nil): true} {
		l, log := new(logHandlers), slog.New(handler)
		for range 2 {
			if h, named := l.add(log, nil, "GET"); named != want || h == nil || !named && h != handler {
				t.Errorf("%T: %v, want %v", handler, named, want)
			}
		}
		if n := len(l.known.Load().of[nil]); n != 1 {
			t.Errorf("%T: %d handlers, want 1", handler, n)
		}
	}
}
