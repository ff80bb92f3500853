package collect

import (
	"context"
	"math"
	"runtime"
	"time"
)

// sample is what the generator and a local server have consumed so far.
type sample struct {
	cpu, server time.Duration
}

// samples are taken at the boundaries of the rows of the time line.
type samples struct {
	at        map[int]sample // by number of the row that begins then
	rss       int64          // of the server, at most
	gcPause   time.Duration  // so far
	gcBefore  time.Duration  // at the end of the warm-up
	first     time.Duration  // when row 0 was sampled, since the start
	hasFirst  bool
	last      int
	lastTaken time.Duration
}

// between returns what was consumed between two boundaries.
func (s *samples) between(from, to int) (cpu, server time.Duration) {
	a, ok1 := s.at[from]
	b, ok2 := s.at[to]
	if !ok1 || !ok2 {
		return 0, 0
	}
	return b.cpu - a.cpu, b.server - a.server
}

// sample takes samples once a second until ctx is done.
func (c *Collector) sample(ctx context.Context) {
	first := -int(math.Ceil(c.config.WarmUp.Seconds()))
	for i := first; ; i++ {
		due := c.start.Add(c.config.WarmUp + time.Duration(i)*time.Second)
		if i == first {
			due = c.start
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(due)):
			c.take(i)
		}
	}
}

// take takes the sample at the beginning of a row.
func (c *Collector) take(i int) {
	now := sample{cpu: processorTime(), server: serverTime(c.config.Server)}
	rss := serverMemory(c.config.Server)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.samples
	if s.at == nil {
		s.at = map[int]sample{}
	}
	s.at[i], s.last, s.lastTaken = now, i, time.Since(c.start)
	s.gcPause = time.Duration(m.PauseTotalNs)
	if i >= 0 {
		s.rss = max(s.rss, rss)
	}
	if i == 0 {
		s.first, s.hasFirst, s.gcBefore = s.lastTaken, true, s.gcPause
		if c.config.Checks != nil && c.config.WarmUp > 0 {
			c.warmed = c.config.Checks()
		}
	}
	c.version++
}
