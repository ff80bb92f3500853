package raw

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
)

// onHTTP2 runs a test on the transports with HTTP/2.
func onHTTP2(t *testing.T, test func(t *testing.T, tr transport)) {
	for _, tr := range transports {
		if tr.http2 {
			t.Run(tr.name, func(t *testing.T) { test(t, tr) })
		}
	}
}

// TestStreamsLimit shows that the limit of the server is kept, and that requests wait for a stream.
func TestStreamsLimit(t *testing.T) {
	for _, tr := range transports[2:4] {
		var at, most atomic.Int64
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := at.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(2 * time.Millisecond)
			at.Add(-1)
			ok(w, r)
		}))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 5}
		s.Start()
		defer s.Close()
		o := &engine.Options{Scheme: "http", Proto: engine.HTTP2, Address: s.Listener.Addr().String()}
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(200, 20)))
		// Requests that were sent before the server's SETTINGS had arrived are refused and repeated.
		if got := sum.series[0]; got.Done != 200 || sum.opened != 1 || most.Load() > 5 || got.Raced > 20 {
			t.Errorf("%s: %d done, %d raced, %d at a time on %d connections, %v", tr.name, got.Done, got.Raced, most.Load(), sum.opened, got.Errors)
		}
	}
}

func TestStreamReset(t *testing.T) {
	onHTTP2(t, func(t *testing.T, tr transport) {
		var n atomic.Int64
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%10 == 0 {
				panic(http.ErrAbortHandler)
			}
			ok(w, r)
		})
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(100, 4)))
		if s := sum.series[0]; s.Done != 90 || sum.kinds()["reset"] != 10 || sum.opened != 1 {
			t.Errorf("%d done on %d connections, %v", s.Done, sum.opened, s.Errors)
		}
	})
}

// TestGoAway has a server that announces the end of the connection again and again.
func TestGoAway(t *testing.T) {
	onHTTP2(t, func(t *testing.T, tr transport) {
		var n atomic.Int64
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%50 == 0 {
				w.Header().Set("Connection", "close") // makes net/http send GOAWAY
			}
			ok(w, r)
		})
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(300, 8)))
		if s := sum.series[0]; s.Done != 300 || sum.opened < 4 {
			t.Errorf("%d done, %d raced on %d connections, %v", s.Done, s.Raced, sum.opened, s.Errors)
		}
	})
}

// TestNotHTTP2 has a server that speaks only HTTP/1.1.
func TestNotHTTP2(t *testing.T) {
	for _, tr := range transports[2:4] {
		o := transports[0].serve(t, ok)
		o.Proto = engine.HTTP2
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(3, 1)))
		if sum.kinds()["protocol"] != 3 {
			t.Errorf("%s: %v", tr.name, sum.series[0].Errors)
		}
	}
}
