package conn

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// phase is the state of a connection. A connection is in one phase at a time. [Entry.move] and
// [Entry.become] make all transitions, and there are no others than these:
//
//	           TLS               done
//	new ─────────────▶ shaking ─────────▶ active
//	 │                    │ shutdown
//	 │                    └──────────────▶ ending
//	 │
//	 │ waits                          the turn is over
//	 ▼              ┌──────────────────────────────────────────────────────┐
//	idle ◀──────────┘                                                      │
//	 │ │                                ┌───────────── a turn ─────────────┴──────────────┐
//	 │ │      first bytes               │                                                 │
//	 │ └───────────────────────────────▶│ active, started, queued                         │
//	 │ shutdown                         │   │   it is not complete        more bytes      │
//	 ▼        first bytes               │   ├──────────────────▶ partial ───────▶ active  │
//	last ──────────────────────────────▶│   │   for another goroutine     that goes on    │
//	 │                                  │   ├──────────────────▶ pending ───────▶ queued  │
//	 │ time over, as for idle           │   │   the next one is here      clock was read  │
//	 ▼        bytes, in the last moment │   └──────────────────▶ queued  ───────▶ active  │
//	ending ────────────────────────────▶│                                                 │
//	 │                                  └────┬──────────────────────────────────────┬─────┘
//	 ▼                                       │ the connection ends                  │ the program takes it
//	closing ◀────────────────────────────────┘                                      ▼
//	                                                                              taken
//
// Three rare ones are not drawn. A new connection is closed at once if a hook panics, and a shaking one if the handshake
// fails. A started connection becomes active if the loop could not send all of a response.
//
// Shutdown changes the phases shaking, idle and last from another goroutine. Only the goroutine that serves a connection
// changes the other phases. docs/design/0010-exchange.md says why there are so many.
type phase int32

const (
	phaseNew     phase = iota // nothing was served yet, and nothing waited for
	phaseShaking              // in a TLS handshake
	phaseIdle                 // waits for the first byte of a turn
	phaseLast                 // the same, but for a moment longer, see Table.WarnIdle
	phaseEnding               // has to end: no time is left to wait for bytes, or little for the handshake
	phaseActive               // in a turn that began when Conn.Now says
	phaseStarted              // the same, and the loop has read the first bytes before the wire waited for them
	phaseQueued               // in a turn that had to wait for the server, so that Conn.Now is too early
	phasePartial              // in a turn of which the wire needs more bytes, and of which the loop has a partialInput
	phasePending              // in a turn that waits for another goroutine to call the program
	phaseTaken                // the program has it
	phaseClosing              // its Close was called, or is about to be
	phases
)

var phaseNames = [phases]string{"new", "shaking", "idle", "last", "ending", "active", "started", "queued", "partial", "pending", "taken", "closing"}

func (p phase) String() string { return phaseNames[p] }

// picture has the transitions of the picture.
var picture = [phases]phaseSet{
	phaseNew:     setOf(phaseShaking, phaseIdle, phaseClosing),
	phaseShaking: setOf(phaseActive, phaseEnding, phaseClosing),
	phaseIdle:    setOf(phaseActive, phaseStarted, phaseLast, phaseEnding),
	phaseLast:    setOf(phaseActive, phaseStarted, phaseEnding),
	phaseEnding:  setOf(phaseActive, phaseStarted, phaseClosing),
	phaseActive:  setOf(phaseIdle, phaseQueued, phasePartial, phasePending, phaseTaken, phaseClosing),
	phaseStarted: setOf(phaseIdle, phaseActive, phaseQueued, phasePartial, phasePending, phaseTaken, phaseClosing),
	phaseQueued:  setOf(phaseIdle, phaseActive, phasePending, phaseTaken, phaseClosing),
	phasePartial: setOf(phaseActive),
	phasePending: setOf(phaseQueued),
}

// phaseSet has a bit for each phase.
type phaseSet uint16

func setOf(ps ...phase) (s phaseSet) {
	for _, p := range ps {
		s |= 1 << p
	}
	return s
}

func (s phaseSet) has(p phase) bool { return s&(1<<p) != 0 }

// is reports whether c is in phase p.
func (c *Entry) is(p phase) bool { return c.phase.Load() == int32(p) }

// now returns the phase of c.
func (c *Entry) now() phase { return phase(c.phase.Load()) }

// move makes a transition. It reports false if c is in another phase than from.
func (c *Entry) move(from, to phase) bool {
	return c.phase.CompareAndSwap(int32(from), int32(to)) && (!watchesPhases || noteMove(from, to))
}

// become makes a transition from whatever phase c is in. The goroutine that serves c calls it when the phase is one that no
// other goroutine changes.
func (c *Entry) become(to phase) {
	if watchesPhases {
		c.noteBecome(to)
		return
	}
	c.phase.Store(int32(to))
}

// waits reports whether c waits for bytes, or has waited and its time is over.
func (c *Entry) waits() bool {
	p := c.now()
	return p >= phaseIdle && p <= phaseEnding
}

// Waits reports whether c waits for the first bytes of a turn. Any goroutine may call it.
func (c *Entry) Waits() bool { return c.waits() }

// giveUp moves a connection that has waited for bytes, or still does, to its end.
func (c *Entry) giveUp() bool {
	return c.move(phaseIdle, phaseEnding) || c.move(phaseLast, phaseEnding)
}

var (
	watchesPhases bool // tests set it before they start servers
	moves         [phases][phases]atomic.Uint64
)

// WatchPhases makes transitions count, and makes those that are not in the picture panic. Tests call it before there are
// servers.
func WatchPhases() { watchesPhases = true }

// Moves returns how often each transition of the picture has happened since WatchPhases was called, by its name: "idle→last".
func Moves() map[string]uint64 {
	all := map[string]uint64{}
	for from := range phases {
		for to := range phases {
			if picture[from].has(to) {
				all[from.String()+"→"+to.String()] = moves[from][to].Load()
			}
		}
	}
	return all
}

// noteBecome is become with transitions being counted.
func (c *Entry) noteBecome(to phase) {
	for !c.move(c.now(), to) {
	}
}

// noteMove counts a transition. It returns true.
func noteMove(from, to phase) bool {
	moves[from][to].Add(1)
	if !picture[from].has(to) {
		offPicture(fmt.Sprintf("conn: no transition leads from %v to %v", from, to))
	}
	return true
}

// offPicture panics. It does so on another goroutine, because servers recover from panics.
var offPicture = func(text string) { go panic(text + "\n" + string(debug.Stack())) }
