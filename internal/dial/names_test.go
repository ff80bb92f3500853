package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// The table says how long names are cached.
func TestDialNamesExpire(t *testing.T) {
	for _, tc := range []struct {
		name  string
		host  string
		keep  time.Duration
		at    []time.Duration // of dials
		want  string          // lookups
		fails bool
	}{
		{name: "for a minute", host: "host.test", at: []time.Duration{0, 59 * time.Second, 60 * time.Second, 119 * time.Second, 120 * time.Second},
			want: "host.test@0s host.test@1m0s host.test@2m0s"},
		{name: "as long as wanted", host: "host.test", keep: time.Second, at: []time.Duration{0, time.Second - 1, time.Second},
			want: "host.test@0s host.test@1s"},
		{name: "not at all", host: "host.test", keep: -1, at: []time.Duration{0, 0, 1}, want: "host.test@0s host.test@0s host.test@1ns"},
		{name: "in any case", host: "HOST.Test", at: []time.Duration{0, 1}, want: "host.test@0s"},
		{name: "unknown", host: "no.test", at: []time.Duration{0, 5*time.Second - 1, 5 * time.Second},
			want: "no.test@0s no.test@5s", fails: true},
		{name: "unknown, but not longer than others", host: "no.test", keep: 2 * time.Second, at: []time.Duration{0, 2*time.Second - 1, 2 * time.Second},
			want: "no.test@0s no.test@2s", fails: true},
		{name: "failed", host: "bad.test", at: []time.Duration{0, time.Second - 1, time.Second}, want: "bad.test@0s bad.test@1s", fails: true},
		{name: "without addresses", host: "empty.test", at: []time.Duration{0, 5*time.Second - 1, 5 * time.Second},
			want: "empty.test@0s empty.test@5s", fails: true},
		{name: "failed, not at all", host: "bad.test", keep: -1, at: []time.Duration{0, 0}, want: "bad.test@0s bad.test@0s", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1", "bad.test": "fail", "empty.test": ""},
					Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
				d := newDialer(n)
				if tc.keep != 0 {
					d.Keep = tc.keep
				}
				for _, at := range tc.at {
					time.Sleep(at - time.Since(n.Begun))
					if _, err := d.dial(t.Context(), "tcp4", tc.host+":80"); (err != nil) != tc.fails {
						t.Errorf("at %v: %v", at, err)
					}
				}
				if got := strings.Join(n.Lookups, " "); got != tc.want {
					t.Errorf("lookups %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// Dials that need the same name at the same time share one lookup and its error.
func TestDialNamesShared(t *testing.T) {
	for host, fails := range map[string]bool{"host.test": false, "no.test": true} {
		synctest.Test(t, func(t *testing.T) {
			n := &wiretest.Net{Slow: time.Second, Names: map[string]string{"host.test": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
			d := newDialer(n)
			d.Keep = -1
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() {
					_, err := d.dial(t.Context(), "tcp4", host+":80")
					var notFound *net.DNSError
					if (err != nil) != fails || fails && !errors.As(err, &notFound) {
						t.Errorf("%s: %v", host, err)
					}
				})
			}
			calls.Wait()
			if len(n.Lookups) != 1 || time.Since(n.Begun) != time.Second || len(d.names.entries) != 0 {
				t.Errorf("%s: lookups %v, %d names are remembered", host, n.Lookups, len(d.names.entries))
			}
		})
	}
}

// If a call gives up, the lookup goes on for the other calls. The last call that gives up ends the lookup, and a later
// call starts another one.
func TestDialNamesGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Slow: time.Second, Names: map[string]string{"host.test": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
		d := newDialer(n)
		var calls sync.WaitGroup
		dial := func(cancelAfter time.Duration, want error) {
			calls.Go(func() {
				if _, err := cancelledAfter(t.Context(), cancelAfter, d, "host.test:80"); !errors.Is(err, want) {
					t.Errorf("cancelled after %v: %v", cancelAfter, err)
				}
			})
			synctest.Wait()
		}
		dial(500*time.Millisecond, context.Canceled) // it began the lookup
		dial(time.Minute, nil)
		dial(700*time.Millisecond, context.Canceled)
		calls.Wait()
		if took := time.Since(n.Begun); took != time.Second || len(n.Lookups) != 1 {
			t.Errorf("took %v, lookups %v", took, n.Lookups)
		}

		d.Flush()
		dial(500*time.Millisecond, context.Canceled)
		calls.Wait()
		if len(d.names.entries) != 0 {
			t.Error("a lookup that was given up is remembered")
		}
		dial(time.Minute, nil)
		calls.Wait()
		if got, want := strings.Join(n.Lookups, " "), "host.test@0s host.test@1s host.test@1.5s"; got != want {
			t.Errorf("lookups %s, want %s", got, want)
		}
	})
}

func TestDialNamesFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Slow: time.Second, Names: map[string]string{"host.test": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}, "192.0.2.2": {}}}
		d := newDialer(n)
		if _, err := d.dial(t.Context(), "tcp4", "host.test:80"); err != nil {
			t.Fatal(err)
		}
		n.Names["host.test"] = "192.0.2.2"
		d.Flush()
		nc, err := d.dial(t.Context(), "tcp4", "host.test:80")
		if err != nil || nc.RemoteAddr().String() != "192.0.2.2:80" {
			t.Errorf("got %v, %v", nc, err)
		}
		// A lookup in flight is not cached across a flush, but its result goes to the calls that wait for it.
		d.Flush()
		var call sync.WaitGroup
		call.Go(func() {
			if _, err := d.dial(t.Context(), "tcp4", "host.test:80"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		d.Flush()
		call.Wait()
		if len(d.names.entries) != 0 {
			t.Error("the lookup is remembered")
		}
	})
}

// A call that gives up a flushed lookup does not touch the lookup that replaced it.
func TestDialNamesReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Slow: time.Second, Names: map[string]string{"host.test": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
		d := newDialer(n)
		var calls sync.WaitGroup
		calls.Go(func() { cancelledAfter(t.Context(), 500*time.Millisecond, d, "host.test:80") })
		synctest.Wait()
		d.Flush()
		for range 2 {
			calls.Go(func() {
				if _, err := d.dial(t.Context(), "tcp4", "host.test:80"); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(600 * time.Millisecond)
		}
		calls.Wait()
		if got, want := strings.Join(n.Lookups, " "), "host.test@0s host.test@0s"; got != want {
			t.Errorf("lookups %s, want %s", got, want)
		}
	})
}

// The cache is bounded, and expired names are removed without a goroutine.
func TestDialNamesBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Names: map[string]string{}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
		d := newDialer(n)
		dial := func(from, to int) {
			for i := from; i < to; i++ {
				name := fmt.Sprintf("host%d.test", i)
				n.Names[name] = "192.0.2.1"
				if _, err := d.dial(t.Context(), "tcp4", name+":80"); err != nil {
					t.Fatal(err)
				}
				if len(d.names.entries) > maxNames {
					t.Fatalf("%d names are remembered", len(d.names.entries))
				}
			}
		}
		dial(0, maxNames+500)
		if got := len(d.names.entries); got != maxNames {
			t.Errorf("%d names are remembered of %d", got, maxNames+500)
		}
		time.Sleep(2 * time.Minute)
		dial(0, 1)
		if got := len(d.names.entries); got != 1 {
			t.Errorf("%d names are remembered, all but one have expired", got)
		}
		// With a few names at a time, forever, the cache stays small in proportion.
		for range 50 {
			time.Sleep(2 * time.Minute)
			dial(0, 100)
			dial(maxNames, maxNames+100)
		}
		if got := len(d.names.entries); got > 400 {
			t.Errorf("%d names are remembered, 200 are in use", got)
		}
	})
}

// A Resolver gets the values of the first dial's context, but not its deadline.
func TestDialNamesContext(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		var seen any
		d := &dialer{Options: Options{
			Resolver: wiretest.Resolver(func(ctx context.Context, name string) ([]net.IPAddr, error) {
				seen = ctx.Value(key{})
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		}}
		ctx := context.WithValue(t.Context(), key{}, "value")
		if _, err := d.dial(ctx, "tcp", "host.test:80"); !errors.Is(err, context.DeadlineExceeded) || seen != "value" {
			t.Errorf("got %v, value %v", err, seen)
		}
	})
}

// Invalid addresses from a Resolver are ignored.
func TestDialNamesOddAddresses(t *testing.T) {
	d := &dialer{Options: Options{Resolver: wiretest.Resolver(func(context.Context, string) ([]net.IPAddr, error) {
		return []net.IPAddr{{}, {IP: net.IP{1, 2, 3}}}, nil
	})}}
	var notFound *net.DNSError
	if _, err := d.dial(t.Context(), "tcp4", "host.test:80"); !errors.As(err, &notFound) || !notFound.IsNotFound {
		t.Errorf("got %v", err)
	}
}
