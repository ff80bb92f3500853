package raw

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// TestStanding keeps more connections open than its two users need. They use the connections in turn, and those that end are replaced.
// The run ends when 30 connections were used.
func TestStanding(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		conns := map[string]bool{}
		requests, closed := 0, 0
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if conns[r.RemoteAddr] = true; len(conns) == 30 {
				cancel()
			}
			if requests++; requests%10 == 0 {
				closed++
				w.Header().Set("Connection", "close")
			}
			ok(w, r)
		})
		o.Conns, o.Standing, o.Streams = 20, true, 1
		sum := tr.load(t, ctx, o, scenario1(get("/"), script.Load{VUs: 2, Duration: 30 * time.Second, Grace: time.Minute}))
		mu.Lock()
		defer mu.Unlock()
		if s := sum.series[0]; s.Failed > 0 || len(conns) < 30 || closed < 10 || sum.opened < 30 || sum.opened > 20+int64(closed) || sum.conns < 10 {
			t.Errorf("%d done, %d of %d connections used, %d closed, %d open at the end, %v", s.Done, len(conns), sum.opened, closed, sum.conns, s.Errors)
		}
	})
}

// TestStandingAgainstNobody shows that failures to connect are counted although no request waits for those connections.
func TestStandingAgainstNobody(t *testing.T) {
	o := transports[0].serve(t, ok)
	o.Address, o.Conns, o.Standing = "127.0.0.1:1", 4, true
	for _, l := range []script.Load{{VUs: 2, Duration: 100 * time.Millisecond, Grace: time.Minute}, {Executor: script.ConstantArrivalRate, Rate: 50, Duration: 100 * time.Millisecond}} {
		sum := transports[0].load(t, t.Context(), o, scenario1(get("/"), l))
		if s := sum.series[0]; s.Failed == 0 || s.Failed+s.Dropped != s.Due || sum.kinds()["refused"] != s.Failed {
			t.Errorf("%d due, %d failed, %d dropped, %v", s.Due, s.Failed, s.Dropped, s.Errors)
		}
	}
}
