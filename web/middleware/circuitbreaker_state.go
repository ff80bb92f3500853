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
	refused int // since the circuit has opened
	counts  [circuitSlots]circuitCount

	changing sync.Mutex // held while changed runs
}

// circuitChange says why the circuit has opened, or what happened until it closed.
type circuitChange struct {
	open        bool
	failed, all int // requests within the window
	refused     int // requests
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
			k.refused++
			return 0, left
		}
		k.probing, k.running, k.passed = true, 0, 0
		k.turn++
	}
	if k.running+k.passed >= k.probes {
		k.refused++
		return 0, time.Second
	}
	k.running++
	return k.turn, 0
}

// leave records the outcome of a request that may run. If the circuit has opened or closed, leave returns the change.
func (k *circuit) leave(turn uint64, result outcome, now time.Time) (change *circuitChange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn != k.turn {
		return nil
	}
	if k.probing {
		if k.probed(result, now); k.until.IsZero() {
			change = &circuitChange{refused: k.refused}
			k.refused = 0
		}
		return change
	}
	if failed, all := k.count(result, now); !k.until.IsZero() {
		change = &circuitChange{open: true, failed: failed, all: all}
	}
	return change
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

// count records the outcome of a request while the circuit is closed, and opens the circuit if too many failed. After a failure, the
// results are the requests within the window.
func (k *circuit) count(result outcome, now time.Time) (wrong, all int) {
	if result == canceled {
		return 0, 0
	}
	number := now.UnixNano() / int64(k.slot)
	c := &k.counts[number%circuitSlots]
	if c.number != number {
		*c = circuitCount{number: number}
	}
	if result == success {
		c.ok++
		return 0, 0
	}
	c.wrong++
	for i := range k.counts {
		if c := &k.counts[i]; number-c.number < circuitSlots {
			all, wrong = all+c.ok+c.wrong, wrong+c.wrong
		}
	}
	if all >= k.least && float64(wrong) >= k.ratio*float64(all) {
		k.open(now)
	}
	return wrong, all
}
