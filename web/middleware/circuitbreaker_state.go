package middleware

import (
	"sync"
	"time"
)

// circuit is the state of a circuit breaker, without a clock.
//
//	closed --- too many failures ---> open
//	open   --- after the pause -----> probing: a few requests may run
//	probing --- a probe fails ------> open
//	probing --- all succeed --------> closed
type circuit struct {
	ratio   float64
	least   int
	slot    time.Duration
	pause   time.Duration
	probes  int
	changed func(open bool)

	mu      sync.Mutex
	turn    uint64    // counts the changes, so that late results of earlier states are ignored
	until   time.Time // when the pause ends; zero while closed
	probing bool
	running int // probes that run
	passed  int // probes that succeeded
	counts  [circuitSlots]circuitCount

	changing sync.Mutex // held while changed runs
}

// circuitSlots is the number of parts into which the window is divided.
const circuitSlots = 10

// circuitCount counts the requests of one part of the window.
type circuitCount struct {
	number    int64 // of the part, since 1970
	ok, wrong int
}

// outcome is how a request ended.
type outcome uint8

const (
	success outcome = iota
	failure
	canceled
)

// enter asks whether a request may run. If wait is positive, the request must not run. Otherwise, the caller must call leave with the
// returned turn.
func (k *circuit) enter(now time.Time) (turn uint64, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.until.IsZero() {
		return k.turn, 0
	}
	if !k.probing {
		if left := k.until.Sub(now); left > 0 {
			return 0, left
		}
		k.probing, k.running, k.passed = true, 0, 0
		k.turn++
	}
	if k.running+k.passed >= k.probes {
		return 0, time.Second
	}
	k.running++
	return k.turn, 0
}

// leave records the outcome of a request that may run.
func (k *circuit) leave(turn uint64, result outcome, now time.Time) {
	k.mu.Lock()
	if turn != k.turn {
		k.mu.Unlock()
		return
	}
	was := k.until.IsZero()
	if k.probing {
		k.probed(result, now)
	} else {
		k.count(result, now)
	}
	is := k.until.IsZero()
	k.mu.Unlock()
	if was != is && k.changed != nil {
		k.changing.Lock()
		defer k.changing.Unlock()
		k.changed(!is)
	}
}

// probed records the outcome of a probe.
func (k *circuit) probed(result outcome, now time.Time) {
	k.running--
	switch result {
	case success:
		if k.passed++; k.passed == k.probes {
			k.until, k.probing, k.counts = time.Time{}, false, [circuitSlots]circuitCount{}
			k.turn++
		}
	case failure:
		k.open(now)
	}
}

// open opens the circuit.
func (k *circuit) open(now time.Time) {
	k.until, k.probing = now.Add(k.pause), false
	k.turn++
}

// count records the outcome of a request while the circuit is closed, and opens the circuit if too many failed.
func (k *circuit) count(result outcome, now time.Time) {
	if result == canceled {
		return
	}
	number := now.UnixNano() / int64(k.slot)
	c := &k.counts[number%circuitSlots]
	if c.number != number {
		*c = circuitCount{number: number}
	}
	if result == success {
		c.ok++
		return
	}
	c.wrong++
	all, wrong := 0, 0
	for i := range k.counts {
		if c := &k.counts[i]; number-c.number < circuitSlots {
			all, wrong = all+c.ok+c.wrong, wrong+c.wrong
		}
	}
	if all >= k.least && float64(wrong) >= k.ratio*float64(all) {
		k.open(now)
	}
}
