// Package live shows a run while it goes on: a view that fills a terminal, or a line per second.
//
//	source.go   what a view shows
//	view.go     the view as text, a pure function
//	heat.go     the heat strip of the view
//	keys.go     keys and the controls of the run
//	run.go      the view in a terminal
//	plain.go    a line per second
package live

import (
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Source provides what a view shows. A view calls it a few times per second from one goroutine. It must not slow down the
// engine: the collector returns what it has merged.
type Source interface{ Snapshot() Snapshot }

// Snapshot is the state of a run. The view does not change it, and the source must not change it after it has returned it.
type Snapshot struct {
	Target  string
	WarmUp  bool          // the warm-up is not over
	Elapsed time.Duration // since the start, or since the start of the warm-up during the warm-up
	Length  time.Duration // of the whole run or of the warm-up; 0: unknown

	Scenarios []Scenario
	Last      result.Second   // the last complete second; the zero value before the first one
	Recent    []result.Second // complete seconds, the oldest one first; the last 300 are enough

	Unexpected int64 // responses with an unexpected status
	Failed     int64 // requests without a response
	Dropped    int64 // iterations that were not started because a limit was reached

	Status     map[int]int64
	Errors     []result.Error // one for each kind
	Thresholds []Threshold
	Behind     bool  // the generator does not keep up
	ServerRSS  int64 // memory of a watched server in bytes
	Server     bool  // the server is watched, so that Second.Server has its CPU time
}

// Scenario is the state of a scenario.
type Scenario struct {
	Name     string
	State    State
	Open     bool
	Progress float64 // from 0 to 1
	Stage    int     // of ramping executors, counted from 1; 0: no stages
	Stages   int
	Now      float64       // users or iterations per second that are asked for at the moment
	Next     float64       // users or rate at the end of the stage
	Left     time.Duration // until the end of the stage, or of the scenario without stages
	Users    int64
	MaxUsers int64
}

// State says whether a scenario has started or ended.
type State int

// States of a scenario.
const (
	Waiting State = iota
	Running
	Ended
)

// Threshold is the current outcome of a threshold.
type Threshold struct {
	result.Threshold
	Margin float64 // how far the value is from the limit, as a fraction of the limit; negative if it is crossed
}
