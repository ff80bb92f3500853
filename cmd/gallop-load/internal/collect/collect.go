// Package collect gathers what engines report: it merges the periods of all threads, keeps the time line, evaluates thresholds
// while the run goes on, and builds the result.
//
//	collect.go        taking periods, and merging them
//	timeline.go       the rows of the time line
//	sample.go         the processor time and the memory of the generator and of a local server
//	watch.go          evaluating thresholds every two seconds
//	snapshot.go       the result so far
//	finish.go         the result at the end: verdicts and warnings
//	host.go           the machine of the generator
//	usage_unix.go     resource usage of this process; usage_other.go where that is unknown
//	server_linux.go   finding and watching a local server; server_other.go on other systems
package collect

import (
	"context"
	"sync"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

// Config describes a run.
type Config struct {
	Base       result.Result // Tool, Host, Target and Plan of the result
	Scenarios  []engine.Scenario
	Kinds      [][]Kind                  // by scenario and name; may be nil
	Checks     func() [][][]result.Check // by scenario and name; may be nil
	Warnings   func() []string           // of the plan, at the end of the run; may be nil
	Thresholds []*threshold.Threshold
	WarmUp     time.Duration
	Server     []int           // process IDs of a local server; empty: none is watched
	Cores      float64         // processors that the engine can use; 0: one
	Streams    bool            // a user may have several requests in flight
	Abort      func(error)     // ends the run because a threshold was violated; may be nil
	Control    *engine.Control // may be nil
}

// Kind describes the requests with one name.
type Kind struct {
	Method string
	Tags   map[string]string
}

// Collector gathers the periods of one run. Its methods may be called by several goroutines at the same time.
type Collector struct {
	config Config
	start  time.Time
	names  []string
	kinds  [][]string
	queue  chan *result.Period
	stop   context.CancelFunc // of the goroutines beside the merging one
	others sync.WaitGroup
	merged chan struct{} // closed when all periods are merged

	mu      sync.Mutex
	free    []*result.Period
	version int // number of changes, for snapshots

	total    total
	timeline timeline
	samples  samples
	aborted  *threshold.Threshold
	warmed   [][][]result.Check // checks at the end of the warm-up
	last     *result.Result     // the last snapshot, and its version
	lastAt   int
}

// total is what has been merged, without the warm-up.
type total struct {
	series      []*result.Series
	users       []result.Users
	lag         result.Histogram
	connections result.Connections
	from, to    time.Duration // of the periods, since the start; from is negative until there is one
}

// Start begins to collect. The run is about to start.
func Start(c Config) *Collector {
	if c.Cores == 0 {
		c.Cores = 1
	}
	col := &Collector{config: c, start: time.Now(), queue: make(chan *result.Period, 64), merged: make(chan struct{})}
	for _, s := range c.Scenarios {
		col.names, col.kinds = append(col.names, s.Name), append(col.kinds, s.Script.Names())
	}
	col.reset()
	ctx, stop := context.WithCancel(context.Background())
	col.stop = stop
	go col.merge()
	col.others.Go(func() { col.sample(ctx) })
	col.others.Go(func() { col.watch(ctx) })
	return col
}

// reset creates the empty total.
func (c *Collector) reset() {
	p := c.newPeriod()
	c.total = total{series: p.Series, users: p.Users, lag: p.Lag, from: -1}
	for i, j := 0, 0; i < len(c.config.Kinds); i++ {
		for _, k := range c.config.Kinds[i] {
			c.total.series[j].Method, c.total.series[j].Tags, c.total.series[j].Proto = k.Method, k.Tags, c.config.Base.Target.Proto
			j++
		}
	}
}

func (c *Collector) newPeriod() *result.Period { return result.NewPeriod(c.names, c.kinds) }

// Sink takes a period and returns an empty one. It returns at once: merging takes about a millisecond, and an engine must not
// wait that long.
func (c *Collector) Sink(p *result.Period) *result.Period {
	c.mu.Lock()
	var next *result.Period
	if n := len(c.free); n > 0 {
		next, c.free = c.free[n-1], c.free[:n-1]
	}
	c.mu.Unlock()
	if p != nil {
		c.queue <- p
	}
	if next == nil {
		next = c.newPeriod()
	}
	return next
}

// merge merges periods until the queue is closed.
func (c *Collector) merge() {
	defer close(c.merged)
	for p := range c.queue {
		c.mu.Lock()
		c.add(p)
		c.version++
		c.mu.Unlock()
		p.Reset()
		c.mu.Lock()
		c.free = append(c.free, p)
		c.mu.Unlock()
	}
}

// warmUpSlack is by how much a period may begin before the end of the warm-up and still count: engines begin periods at full
// seconds, but not to the millisecond.
const warmUpSlack = 50 * time.Millisecond

// add merges one period.
func (c *Collector) add(p *result.Period) {
	c.timeline.add(p, c.config.WarmUp)
	if p.Start < c.config.WarmUp-warmUpSlack {
		return
	}
	t := &c.total
	if t.from < 0 || p.Start < t.from {
		t.from = p.Start
	}
	t.to = max(t.to, p.End)
	for i, s := range p.Series {
		t.series[i].Merge(s)
	}
	for i := range p.Users {
		u := p.Users[i]
		u.Active, u.Most = 0, 0 // the time line has them
		t.users[i].Merge(&u)
	}
	t.lag.Merge(&p.Lag)
	t.connections.Opened += p.Opened
	t.connections.Resumed += p.Resumed
	t.connections.ClosedByPeer += p.Closed
}
