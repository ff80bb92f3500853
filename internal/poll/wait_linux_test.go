package poll

import (
	"encoding/binary"
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// loopOfNobody returns a loop that no worker leads, so that the test can.
func loopOfNobody(t *testing.T) *Loop {
	t.Helper()
	g := &Group{dogBell: make(chan struct{}, 1), closed: make(chan struct{})}
	g.loops.Store(new([]*Loop))
	g.users.Store(1)
	l, err := newLoop(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	l.look() // the events of a new loop
	l.n, l.next = 0, 0
	l.waits.polled, l.waits.rested = l.now, l.now
	return l
}

// believe makes loops believe for an hour that something else waits for the network, or that nothing does.
func believe(t *testing.T, there bool) {
	t.Helper()
	t.Cleanup(func() { theOthers.next.Store(0) })
	theOthers.there.Store(there)
	theOthers.next.Store(int64(Now().Add(time.Hour)))
}

// Long waits outweigh short ones, and at most sixteen short ones count. The comment on shortWait gives the numbers.
func TestNoteWeighsWaits(t *testing.T) {
	const short, long = 200 * time.Microsecond, 200*time.Microsecond + 1
	for _, tt := range []struct {
		name        string
		before      int
		took        []time.Duration
		want        int
		inTheKernel bool
	}{
		{"a short wait", 0, []time.Duration{short}, 1, false},
		{"no time at all", 3, []time.Duration{0}, 4, false},
		{"seven short waits", 0, []time.Duration{1, 2, 3, 4, 5, 6, short}, 7, false},
		{"eight short waits", 0, []time.Duration{1, 2, 3, 4, 5, 6, 7, short}, 8, true},
		{"sixteen short waits", 15, []time.Duration{short}, 16, true},
		{"more short waits", 16, []time.Duration{short, short}, 16, true},
		{"a long wait of a busy loop", 16, []time.Duration{long}, 12, true},
		{"two long waits", 16, []time.Duration{long, time.Hour}, 8, true},
		{"three long waits", 16, []time.Duration{long, long, long}, 4, false},
		{"four long waits", 16, []time.Duration{long, long, long, long}, 0, false},
		{"a long wait of an idle loop", 3, []time.Duration{long}, 0, false},
		{"one of five waits is long", 12, []time.Duration{long, 1, 1, 1, 1}, 12, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			w := &l.waits
			w.short = tt.before
			for _, d := range tt.took {
				w.note(Moment(d))
			}
			if w.short != tt.want {
				t.Errorf("%d short waits count, want %d", w.short, tt.want)
			}
			if believe(t, false); l.alone() != tt.inTheKernel {
				t.Errorf("waits in the kernel: %v", !tt.inTheKernel)
			}
		})
	}
}

// A loop waits in the kernel only if no other goroutine needs the processor.
func TestAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		short  int
		polled time.Duration // how long ago the runtime polled
		away   int64
		others bool
		want   bool
	}{
		{name: "busy and alone", short: 8, want: true},
		{name: "waits too long", short: 7},
		{name: "polled a while ago", short: 8, polled: 2*time.Millisecond - 1, want: true},
		{name: "has not polled for long", short: 16, polled: 2 * time.Millisecond},
		{name: "a worker off the loop", short: 16, away: 1},
		{name: "others wait for the network", short: 16, others: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			l.waits.short, l.waits.polled = tt.short, l.now-Moment(tt.polled)
			l.g.away.Store(tt.away)
			believe(t, tt.others)
			if got := l.alone(); got != tt.want {
				t.Errorf("alone: %v", got)
			}
			if got := l.quiet(); got != (tt.away == 0 && !tt.others) {
				t.Errorf("quiet: %v", got)
			}
		})
	}
}

// The loops know their own workers, so these do not count as other goroutines.
func TestQuietDoesNotCountWorkers(t *testing.T) {
	l := loopOfNobody(t)
	believe(t, false)
	next := l.now.Add(lookForOthers) // of a look just now
	recheck := next - Moment(lookForOthers) + Moment(lookAgain)
	theOthers.next.Store(int64(next))
	theOthers.goroutines.Store(int64(runtime.NumGoroutine() - 100))
	l.now = recheck + 1
	l.g.workers.Store(100)
	if l.quiet(); theOthers.next.Load() != int64(next) {
		t.Error("looked again, though only workers were added")
	}
}

// ticks returns how often the loop's clock ticked since the last call.
func ticks(t *testing.T, l *Loop) uint64 {
	t.Helper()
	var b [8]byte
	switch n, err := syscall.Read(l.clock, b[:]); {
	case err == syscall.EAGAIN:
		return 0
	case n != len(b) || err != nil:
		t.Fatalf("%d, %v", n, err)
	}
	return binary.NativeEndian.Uint64(b[:])
}

// The clock ticks every millisecond while it is on.
func TestClockTicks(t *testing.T) {
	l := loopOfNobody(t)
	if l.clock < 0 {
		if l.tickWhile(true) || l.waits.ticking {
			t.Error("a loop without a clock ticks")
		}
		t.Skip("loops have no clock here")
	}
	from := time.Now()
	if !l.tickWhile(true) || !l.waits.ticking {
		t.Fatal("the clock does not tick")
	}
	begun := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(begun)
	n := time.Duration(ticks(t, l))
	if most := time.Since(from); n > most/time.Millisecond || n < least/time.Millisecond*8/10 {
		t.Errorf("%d ticks in %v to %v", n, least, most)
	}
	time.Sleep(5 * time.Millisecond)
	if l.tickWhile(true); ticks(t, l) == 0 {
		t.Error("a clock that ticks was started anew")
	}
	if !l.tickWhile(false) || l.waits.ticking {
		t.Fatal("the clock cannot be stopped")
	}
	ticks(t, l)
	if time.Sleep(5 * time.Millisecond); ticks(t, l) != 0 {
		t.Error("the clock ticks on")
	}
}

// A wait in the kernel ends after about a millisecond, with or without a clock. It starts the clock. A signal may end
// one earlier, and a busy machine may end one later, so one wait of ten must be long enough and one must be short enough.
func TestSleepInTheKernelIsShort(t *testing.T) {
	for _, clock := range []bool{true, false} {
		l := loopOfNobody(t)
		if clock && l.clock < 0 {
			continue
		}
		fd := l.clock
		if !clock {
			l.clock = -1
		}
		shortest, longest := time.Hour, time.Duration(0)
		for n := 0; n < 10 || n < 1000 && shortest > 4*time.Millisecond; n++ { // the machine may be slow itself
			from := time.Now()
			l.sleep(true)
			shortest, longest = min(shortest, time.Since(from)), max(longest, time.Since(from))
			if clock {
				ticks(t, l)
			}
		}
		if shortest > 4*time.Millisecond {
			t.Errorf("clock %v: the shortest wait took %v", clock, shortest)
		}
		if !clock && longest < time.Millisecond/2 {
			t.Errorf("the longest wait without events took %v", longest)
		}
		if l.waits.ticking != clock {
			t.Errorf("clock %v, ticking %v", clock, l.waits.ticking)
		}
		if l.clock = fd; !l.awake.Load() {
			t.Error("the loop counts as asleep")
		}
	}
}

// A wait through the runtime stops the clock once it is useless: when the loop is idle or is not alone.
func TestSleepThroughTheRuntimeStopsTheClock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		short  int
		others bool
		ticks  bool
	}{
		{"idle", 0, false, false},
		{"not idle", 1, false, true},
		{"others wait", 16, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			if !l.tickWhile(true) {
				t.Skip("loops have no clock here")
			}
			l.waits.short = tt.short
			believe(t, tt.others)
			ringBell(l.bell)
			if l.sleep(false); l.waits.ticking != tt.ticks {
				t.Errorf("ticking: %v", l.waits.ticking)
			}
			if l.n == 0 {
				t.Error("no event")
			}
		})
	}
}

// If a wait through the runtime really had to wait, it counts as a rest and as a poll of the network. If it found
// events at once, it does not.
func TestSleepThroughTheRuntimeIsARest(t *testing.T) {
	for _, waits := range []bool{false, true} {
		l := loopOfNobody(t)
		before := l.now - Moment(time.Second)
		l.waits.rested, l.waits.polled = before, before
		if waits {
			for try := 0; try < 20 && l.waits.rested == before; try++ { // the bell may ring before a slow machine sleeps
				time.AfterFunc(20*time.Millisecond, func() { ringBell(l.bell) })
				l.sleep(false)
			}
		} else {
			ringBell(l.bell)
			l.sleep(false)
		}
		if got := l.waits.rested != before; got != waits {
			t.Errorf("waits %v: rested %v", waits, got)
		}
		if got := l.waits.polled != before; got != waits {
			t.Errorf("waits %v: polled %v", waits, got)
		}
	}
}

// A loop that has something to do does not wait.
func TestSleepWithPosts(t *testing.T) {
	for name, prepare := range map[string]func(l *Loop){
		"a post":   func(l *Loop) { l.posts.Store(1) },
		"no users": func(l *Loop) { l.g.users.Store(0) },
	} {
		for _, alone := range []bool{true, false} {
			l := loopOfNobody(t)
			prepare(l)
			late := time.AfterFunc(5*time.Second, func() { ringBell(l.bell) })
			l.sleep(alone)
			if !late.Stop() {
				t.Errorf("%s: waited", name)
			}
			if l.waits.ticking {
				t.Errorf("%s: ticking", name)
			}
		}
	}
}

// A loop that always has something to do takes a break after 200 µs. It makes the runtime poll after 4 ms, or at each
// break if it is not alone.
func TestBreaks(t *testing.T) {
	for _, tt := range []struct {
		name           string
		rested, polled time.Duration // how long ago
		away           int64
		others         bool
		rests, polls   bool
	}{
		{"has just rested", 200*time.Microsecond - 1, time.Hour, 1, true, false, false},
		{"is to rest", 200 * time.Microsecond, 200 * time.Microsecond, 0, false, true, false},
		{"has polled a while ago", time.Millisecond, 4*time.Millisecond - 1, 0, false, true, false},
		{"is to poll", time.Millisecond, 4 * time.Millisecond, 0, false, true, true},
		{"others wait", 200 * time.Microsecond, 0, 0, true, true, true},
		{"a worker is off the loop", 200 * time.Microsecond, 0, 1, false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			w := &l.waits
			rested, polled := l.now-Moment(tt.rested), l.now-Moment(tt.polled)
			w.rested, w.polled = rested, polled
			l.g.away.Store(tt.away)
			believe(t, tt.others)
			l.takeBreak()
			if got := w.rested != rested; got != tt.rests {
				t.Errorf("rests: %v", got)
			}
			if got := w.polled != polled; got != tt.polls || w.knocked != tt.polls {
				t.Errorf("polls: %v, %v", got, w.knocked)
			}
			if tt.rests && w.rested != l.now || tt.polls && w.polled != l.now {
				t.Error("the break is noted with another time")
			}
		})
	}
}

// Breaks between batches, and between requests of the same connections, are as far apart as all other breaks.
func TestBreaksBetween(t *testing.T) {
	const never = Moment(math.MaxInt64 / 2)
	for _, tt := range []struct {
		name   string
		call   func(l *Loop)
		last   Moment // when the loop rested
		looked Moment
		want   bool
		looks  bool
	}{
		{"between batches", func(l *Loop) { l.next = 1; l.takeBreakBetween() }, 0, 0, true, false},
		{"before the first batch", func(l *Loop) { l.next = 0; l.takeBreakBetween() }, 0, 0, false, false},
		{"between batches, rested", func(l *Loop) { l.next = 1; l.takeBreakBetween() }, never, 0, false, false},
		{"between requests", (*Loop).catchUp, 0, 0, true, true},
		{"between requests, rested", (*Loop).catchUp, never, 0, false, true},
		{"between requests, looked", (*Loop).catchUp, never, never, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loopOfNobody(t)
			believe(t, false)
			l.waits.rested, l.waits.looked = tt.last, tt.looked
			ringBell(l.bell)
			if tt.call(l); (l.waits.rested != tt.last) != tt.want {
				t.Errorf("last rest at %d", l.waits.rested)
			}
			if looks := l.waits.looked != tt.looked; looks != tt.looks {
				t.Errorf("looked for events: %v", looks)
			}
		})
	}
}

// yield reports whether another goroutine ran.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := loopOfNobody(t)
	nobody := 0
	for range 100 {
		if !l.yield() {
			nobody++
		}
	}
	if nobody == 0 {
		t.Error("somebody ran each time")
	}
	ran := 0 // now and then the scheduler picks the loop again
	for range 10 {
		done := make(chan bool)
		go func() {
			for from := time.Now(); time.Since(from) < 200*time.Microsecond; {
			}
			close(done)
		}()
		l.waits.rested = 0
		if l.yield() {
			ran++
		}
		if <-done; l.waits.rested != l.now {
			t.Errorf("rested at %v", l.waits.rested)
		}
	}
	if ran < 5 {
		t.Errorf("another goroutine ran %d times", ran)
	}
}
