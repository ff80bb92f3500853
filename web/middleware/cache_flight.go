package middleware

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// How requests that need the same response share one call of the handler. In a process, they wait for a flight. Across processes,
// a key in the store is the lease of the process whose handler runs.

// flight is a call of the handler that other requests wait for.
type flight struct {
	key    string
	done   chan struct{} // closed after result is set
	result flightResult
	ended  bool // guarded by flights.mu
}

// flightResult is how a flight ended.
type flightResult struct {
	kind     flightKind
	response storedResponse // flightStored
	names    []string       // flightStored: the headers that select a variant
	variant  variantID      // flightStored
}

type flightKind int

const (
	flightStored flightKind = iota + 1 // the response is in the store
	flightPassed                       // the response must not be stored: each request has to run the handler
	flightFailed                       // the handler failed
	flightGone                         // there is no response for other reasons: another request has to try, or to look again
	flightLate                         // a request has waited for too long
)

// flights are the flights of a process.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

// join returns the flight with a key. first is true if the caller has to run the handler, and then to end the flight.
func (s *flights) join(key string) (f *flight, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f = s.running[key]; f != nil {
		return f, false
	}
	f = &flight{key: key, done: make(chan struct{})}
	s.running[key] = f
	return f, true
}

// end ends a flight, unless it has ended.
func (s *flights) end(f *flight, result flightResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ended {
		return
	}
	f.ended, f.result = true, result
	delete(s.running, f.key)
	close(f.done)
}

// flightKey returns the key of the flight that a request needs. A request after an invalidation does not join a flight that began before
// it, because the epoch or the generation is another one.
func (x *exchange) flightKey() string {
	return string(flightKey(x.key, x.uri.epoch^x.uri.generation, x.variant))
}

// passed remembers URIs whose responses cannot be stored, for a minute, so that requests for them do not wait for each other. It is a
// table of a fixed size. If two URIs share a place, the first one is forgotten.
type passed struct {
	slots [1024]atomic.Uint64 // 32 bits of the key, and the second in which the mark ends
}

const passedFor = 60 // seconds

func (p *passed) slot(key uriKey) (at *atomic.Uint64, tag uint64) {
	n := binary.BigEndian.Uint64(key[:])
	return &p.slots[n%uint64(len(p.slots))], n &^ (1<<32 - 1)
}

func (p *passed) add(key uriKey) {
	at, tag := p.slot(key)
	at.Store(tag | uint64(uint32(time.Now().Unix()+passedFor)))
}

func (p *passed) remove(key uriKey) {
	at, _ := p.slot(key)
	at.Store(0)
}

func (p *passed) has(key uriKey) bool {
	at, tag := p.slot(key)
	mark := at.Load()
	return mark != 0 && mark&^(1<<32-1) == tag && int32(uint32(mark)-uint32(time.Now().Unix())) > 0
}

// cacheLease is the right of this process to run the handler for a response. The zero value is a right that no other process knows of.
type cacheLease struct {
	key   string
	claim []byte
}

// claim returns the right to run the handler. use is true if the store has got a response that serves this request.
func (x *exchange) claim(f *flight, until time.Time) (l cacheLease, use bool, err error) {
	d := x.cache
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if d.shared {
			l.key, l.claim = d.leaseKey(f.key), []byte(rand.Text())
			_, added, err := d.adder.Add(x.c, l.key, l.claim, d.Wait)
			if err != nil {
				return l, false, err
			}
			if !added {
				l = cacheLease{}
			}
		}
		if err := x.look(); err != nil {
			return l, false, err
		}
		switch mine := !d.shared || l.claim != nil; x.use() {
		case reuseFresh, reuseStale:
			l.end(x)
			return l, true, nil
		case reuseWhileRevalidating:
			return l, !mine, nil
		default:
			if mine || !time.Now().Before(until) {
				return l, false, nil
			}
		}
		if err := sleep(x.c, min(pause, time.Until(until))); err != nil {
			return l, false, err
		}
	}
}

// sleep pauses, unless ctx is done before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end gives the lease back.
func (l *cacheLease) end(x *exchange) {
	if l.claim == nil {
		return
	}
	if _, err := x.cache.swapper.CompareAndDelete(x.background(), l.key, l.claim); err != nil {
		x.cache.warn(x.c, err)
	}
	l.claim = nil
}
