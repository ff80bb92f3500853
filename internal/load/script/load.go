package script

import "time"

// Load says how iterations are started. Its names and rules are those of the executors of k6.
type Load struct {
	Executor   Executor
	VUs        int           // users at the start; for open loops, users that are created in advance
	MaxVUs     int           // open loops: the most users; 0: unlimited, because a user costs little
	Iterations int64         // SharedIterations: in total; PerVUIterations: of each user
	Duration   time.Duration // of constant executors; the most for those with Iterations, 0: 10 minutes
	Rate       float64       // ConstantArrivalRate: iterations per second; RampingArrivalRate: at the start
	Stages     []Stage       // of ramping executors
	Poisson    bool          // open loops: iterations start at random moments; false: evenly spaced
	StartTime  time.Duration // when the scenario starts, counted from the start of the run
	Grace      time.Duration // how long iterations in flight may go on after the end
}

// Executor is a way to start iterations.
type Executor int

const (
	ConstantVUs         Executor = iota // closed loop: each user starts an iteration after the previous one
	RampingVUs                          // closed loop, with a number of users that changes
	SharedIterations                    // closed loop: the users share a number of iterations
	PerVUIterations                     // closed loop: each user runs a number of iterations
	ConstantArrivalRate                 // open loop: iterations start at a rate, however slow responses are
	RampingArrivalRate                  // open loop, with a rate that changes
)

// Names of the executors, as in scenario files.
var executors = [...]string{"constant-vus", "ramping-vus", "shared-iterations", "per-vu-iterations", "constant-arrival-rate", "ramping-arrival-rate"}

func (e Executor) String() string { return executors[e] }

// ParseExecutor returns the executor with a name.
func ParseExecutor(name string) (Executor, bool) {
	for i, n := range executors {
		if n == name {
			return Executor(i), true
		}
	}
	return 0, false
}

// Open reports whether iterations start at a rate. Latencies then count from when an iteration was due.
func (e Executor) Open() bool { return e == ConstantArrivalRate || e == RampingArrivalRate }

// Stage is a part of a ramp: the number of users, or the rate per second, moves in a straight line to Target. A stage of zero
// length jumps.
type Stage struct {
	Duration time.Duration
	Target   float64
}

// Length returns how long the load lasts at most, without StartTime and Grace.
func (l *Load) Length() time.Duration {
	switch l.Executor {
	case RampingVUs, RampingArrivalRate:
		var sum time.Duration
		for _, s := range l.Stages {
			sum += s.Duration
		}
		return sum
	case SharedIterations, PerVUIterations:
		if l.Duration == 0 {
			return 10 * time.Minute
		}
	}
	return l.Duration
}

// AverageRate returns the average number of iterations per second that an open loop asks for.
func (l *Load) AverageRate() float64 {
	switch l.Executor {
	case ConstantArrivalRate:
		return l.Rate
	case RampingArrivalRate:
		sum, rate := 0.0, l.Rate
		for _, s := range l.Stages {
			sum += (rate + s.Target) / 2 * s.Duration.Seconds()
			rate = s.Target
		}
		if length := l.Length(); length > 0 {
			return sum / length.Seconds()
		}
	}
	return 0
}

// UsersAt returns how many users a RampingVUs load has at a moment, counted from its start.
func (l *Load) UsersAt(t time.Duration) int {
	users := float64(l.VUs)
	for _, s := range l.Stages {
		if t < s.Duration {
			users += (s.Target - users) * float64(t) / float64(s.Duration)
			break
		}
		t -= s.Duration
		users = s.Target
	}
	return int(users + 0.5)
}
