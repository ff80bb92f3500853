package nethttp_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// keyOf is the type of a key for values of contexts.
type keyOf struct{}

// Contexts that are derived from the context of a request start no goroutines, whether or not it was wrapped before. They end with the
// handler.
func TestDerivedContexts(t *testing.T) {
	created := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(created)
	counts := created[0].Value.Kind() == metrics.KindUint64 // since Go 1.26
	const calls = 200
	var derived []context.Context
	var started uint64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		derived = nil
		r.Context().Done() // makes the server watch the connection
		if counts {
			metrics.Read(created)
			started = created[0].Value.Uint64()
		}
		for range calls / 2 {
			plain, cancel := context.WithCancel(r.Context())
			defer time.AfterFunc(time.Hour, cancel).Stop() // not before the handler returns
			wrapped, cancelWrapped := context.WithTimeout(context.WithValue(r.Context(), keyOf{}, "value"), time.Hour)
			defer time.AfterFunc(time.Hour, cancelWrapped).Stop()
			derived = append(derived, plain, wrapped)
		}
		if counts {
			metrics.Read(created)
			started = created[0].Value.Uint64() - started
		}
		if v := derived[1].Value(http.ServerContextKey); v == nil || derived[1].Value(keyOf{}) != "value" || derived[0].Value(keyOf{}) != nil {
			t.Error("values are missing, or come from elsewhere")
		}
		for _, ctx := range derived {
			if err := ctx.Err(); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprint(w, "done")
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		if got := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil))); got != "done" {
			t.Errorf("got %q", got)
		}
		if started > calls/10 { // other goroutines of the process may have started some
			t.Errorf("%d goroutines were started", started)
		}
		for _, ctx := range derived {
			<-ctx.Done()
			if err := ctx.Err(); err != context.Canceled {
				t.Errorf("a derived context has ended because of %v", err)
			}
		}
	}, "gallop in net/http")
}

// A derived context ends for the same reason as the context of its request.
func TestDerivedContextOfATimeout(t *testing.T) {
	ends := make(chan string, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		derived, cancel := context.WithCancel(context.WithValue(r.Context(), keyOf{}, "value"))
		defer cancel()
		<-derived.Done()
		late, cancelLate := context.WithCancel(r.Context())
		defer cancelLate()
		ends <- fmt.Sprint(r.Context().Err(), "; ", derived.Err(), "; ", context.Cause(derived), "; ", late.Err())
	})
	s := nethttp.NewServer(h)
	s.Handler = gallop.TimeoutHandler(nethttp.FromHTTP(h), 20*time.Millisecond, "too late")
	url, client := startGallopOverH2(t, s, false)
	if got := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil))); got != "too late" {
		t.Errorf("got %q", got)
	}
	const late = "context deadline exceeded"
	if got := <-ends; got != late+"; "+late+"; "+late+"; "+late {
		t.Errorf("got %q", got)
	}
}
