package collect

import (
	"context"
	"fmt"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/result"
)

// watchEvery is how often thresholds are evaluated, as in k6.
const watchEvery = 2 * time.Second

// ThresholdError is why a run was aborted.
type ThresholdError struct{ Metric, Expr string }

func (e *ThresholdError) Error() string {
	return fmt.Sprintf("the threshold %s %s was violated, and it ends the run", e.Metric, e.Expr)
}

// watch evaluates the thresholds that can end the run until ctx is done.
func (c *Collector) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if t := c.violated(); t != nil && c.config.Abort != nil {
			c.config.Abort(&ThresholdError{t.Metric, t.Expr})
			return
		}
	}
}

// violated returns the first threshold that ends the run. Thresholds without data do not.
func (c *Collector) violated() *threshold.Threshold {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total.from < 0 {
		return nil
	}
	r := c.view()
	for _, t := range c.config.Thresholds {
		if !t.Abort || c.total.to-c.config.WarmUp < t.Delay {
			continue
		}
		if value, ok := t.Value(r); ok && !t.Holds(value) {
			c.aborted = t
			return t
		}
	}
	return nil
}

// evaluate computes the outcomes of all thresholds.
func (c *Collector) evaluate(r *result.Result) (all []result.Threshold) {
	for _, t := range c.config.Thresholds {
		one := t.Evaluate(r)
		one.Abort = t == c.aborted
		all = append(all, one)
	}
	return all
}
