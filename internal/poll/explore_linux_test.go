package poll

import (
	"fmt"
	"hash/maphash"
	"iter"
	"strings"
)

// explorer runs a world again and again until each order of its steps was tried. A world consists of threads. A
// thread runs alone until it pauses, so everything between two pauses is one step. Two orders that lead to the same
// state have the same future, so only the first of them is continued.
//
// Each run starts from the beginning, takes the choices of the previous run up to the last one that has an alternative,
// and takes this alternative.
//
// A rule is violated if no thread can continue although there is something left to do. A run must also never come back
// to a state that it had before, because threads could then go round in circles forever.
type explorer struct {
	most   int // maximum number of states
	states int
	steps  int // in all runs together
	runs   int

	hash maphash.Seed
	seen map[uint64]*visit
}

// visit is what is known about a state.
type visit struct {
	onPath bool     // the present run has been here
	next   []uint64 // the state after each choice; 0 if not known yet
}

// world is a program with several threads, whose steps an explorer orders.
type world interface {
	// threads returns the threads. There may be more of them after each step.
	threads() []*thread

	// choose is called before a thread continues or ends.
	choose(t *thread)

	// state describes everything on which future steps depend, except what threads describes.
	state(to []byte) []byte

	// wrong describes a rule that is violated in the present state; quiet means that no thread can continue.
	wrong(quiet bool) string
}

// choice is a point of a run at which one of several threads was chosen.
type choice struct {
	at    *visit
	taken int
}

// explore tries all orders. It returns the steps of a run that violates a rule, and the rule.
func (e *explorer) explore(newWorld func() world) (trace []string, wrong string) {
	e.hash, e.seen = maphash.MakeSeed(), map[uint64]*visit{}
	var path []choice
	for {
		w := newWorld()
		trace, wrong = e.run(w, &path)
		for _, t := range w.threads() {
			w.choose(t)
			t.end()
		}
		if e.runs++; wrong != "" {
			return trace, wrong
		}
		if e.states > e.most {
			return nil, fmt.Sprintf("more than %d states", e.most)
		}
		for len(path) > 0 && path[len(path)-1].taken+1 == len(path[len(path)-1].at.next) {
			path[len(path)-1].at.onPath = false
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return nil, ""
		}
		path[len(path)-1].taken++
	}
}

// run makes the choices of path and then the first of each further choice, until it meets a known state or no thread
// can continue.
func (e *explorer) run(w world, path *[]choice) (trace []string, wrong string) {
	step := func(i int) {
		t := able(w)[i]
		trace = append(trace, t.name+": "+t.at)
		e.steps++
		w.choose(t)
		t.step()
	}
	for depth := range *path {
		step((*path)[depth].taken)
	}
	for {
		n := len(able(w))
		if wrong = w.wrong(n == 0); wrong != "" {
			return trace, wrong
		}
		now := e.state(w)
		if len(*path) > 0 {
			last := (*path)[len(*path)-1]
			last.at.next[last.taken] = now
		}
		if v := e.seen[now]; v != nil {
			switch {
			case v.onPath:
				return trace, "the threads go round in circles"
			case n != len(v.next):
				return trace, "two states look the same, but are not"
			case n > 0:
				return trace, e.compare(w, v, step)
			}
			return trace, ""
		}
		v := &visit{onPath: true, next: make([]uint64, n)}
		e.seen[now] = v
		if e.states++; n == 0 {
			v.onPath = false
			return trace, ""
		}
		*path = append(*path, choice{v, 0})
		step(0)
	}
}

// compare makes a step from a known state, at which w has arrived in another way, and checks that the next state is
// known as well. Different runs try different steps. If a state left out something that matters, some would differ.
func (e *explorer) compare(w world, v *visit, step func(i int)) string {
	i := e.runs % len(v.next)
	if v.next[i] == 0 {
		return ""
	}
	if step(i); e.state(w) != v.next[i] {
		return "two states look the same, but are not"
	}
	return ""
}

// able returns the threads that can continue.
func able(w world) (ts []*thread) {
	for _, t := range w.threads() {
		if !t.ended && (t.able == nil || t.able()) {
			ts = append(ts, t)
		}
	}
	return ts
}

func (e *explorer) state(w world) uint64 {
	var b []byte
	for _, t := range w.threads() {
		b = append(b, t.at...)
		b = append(b, byte(t.held), '|')
	}
	return maphash.Bytes(e.hash, w.state(b))
}

// thread is a program that pauses between its steps.
type thread struct {
	name  string
	at    string      // what it does in the next step
	able  func() bool // reports whether it can continue; nil means yes
	held  int         // result of the last system call, if it still matters
	ended bool
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// errStopped unwinds a thread that is not continued.
var errStopped = fmt.Errorf("the run is over")

// newThread returns a thread that has not begun. body runs when it is continued.
func newThread(name string, body func()) *thread {
	t := &thread{name: name, at: "begin"}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != errStopped {
				panic(r)
			}
		}()
		body()
	})
	return t
}

// step lets t run until its next pause.
func (t *thread) step() {
	if _, ok := t.next(); !ok {
		t.ended, t.at, t.held = true, "ended", 0
	}
}

// pause ends a step. The next one, which does what at says, comes when able allows it.
func (t *thread) pause(at string, able func() bool) {
	if t.ended { // deferred calls of a thread that is being unwound
		return
	}
	t.at, t.able = at, able
	if !t.yield(struct{}{}) {
		panic(errStopped)
	}
}

// end unwinds t.
func (t *thread) end() {
	t.ended = true
	t.stop()
}

// short lists the steps of a run, with one line for each turn of a thread.
func short(trace []string) string {
	var b strings.Builder
	last := ""
	for _, step := range trace {
		name, at, _ := strings.Cut(step, ": ")
		if name != last {
			b.WriteString("\n\t" + name + ":")
			last = name
		}
		b.WriteString(" " + at + ";")
	}
	return b.String()
}
