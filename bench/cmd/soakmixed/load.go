//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/gallop-http/gallop/bench/child"
)

// outcome is what a process of gallop-load has written into its result file.
type outcome struct {
	name   string
	Series []struct {
		Name                                             string
		Sent, Done, Failed, Aborted, Dropped, Unexpected int64
		Errors                                           []struct {
			Kind, Example string
			Count         int64
		}
		Checks []struct {
			Name, Example string
			Pass, Fail    int64
		}
		Response struct{ P50, P99, Max time.Duration }
	}
	Connections struct{ Opened int64 }
	Generator   struct {
		CPU time.Duration
		Lag struct{ P99 time.Duration }
	}
}

// done returns the number of requests with a response.
func (o *outcome) done() (n int64) {
	for i := range o.Series {
		n += o.Series[i].Done
	}
	return n
}

// run runs all loads at the same time. Together they send rate requests per second.
func (h *hall) run(loads []*load, rate float64, length time.Duration) ([]*outcome, error) {
	results, errs := make([]*outcome, len(loads)), make([]error, len(loads))
	var all sync.WaitGroup
	for i, l := range loads {
		one := *l
		one.Rate, one.Duration = fmt.Sprintf("%.2f/s", rate*l.share), length.String()
		all.Go(func() { results[i], errs[i] = h.runOne(&one, strconv.Itoa(i)) })
	}
	all.Wait()
	return results, errors.Join(errs...)
}

// runOne runs a load.
func (h *hall) runOne(l *load, number string) (*outcome, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	scenario, result := h.file("load-"+number+".json"), h.file("result-"+number+".json")
	if err := os.WriteFile(scenario, text, 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(h.generator, "run", scenario, "--quiet", "--summary", "off", "-o", "json="+result)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	if err := child.Pin(cmd, loadProcessor); err != nil {
		return nil, err
	}
	child.DieWithParent(cmd)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gallop-load, %s: %w", l.Name, err)
	}
	data, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	o := &outcome{name: l.Name}
	return o, json.Unmarshal(data, o)
}

// Searching for the rate. The first guess is low. Each step costs the server more time per request than the next one, because more
// requests are then handled together.
const (
	searchSteps  = 4
	searchLength = 4 * time.Second
	firstRate    = 1000
	mostFaster   = 4 // from one step to the next
)

// search returns the rate at which the server is busy for a share of the time. If the generators or the server cannot reach it, the
// result is a rate that they do reach.
func (h *hall) search(loads []*load, share float64) (rate float64, err error) {
	rate = firstRate
	for range searchSteps {
		cpu := h.cpu()
		results, err := h.run(loads, rate, searchLength)
		if err != nil {
			return 0, err
		}
		cpu = h.cpu() - cpu
		var done int64
		for _, r := range results {
			done += r.done()
		}
		if done == 0 || cpu == 0 {
			return 0, errors.New("the server does not respond")
		}
		each := cpu.Seconds() / float64(done)
		reached := float64(done) / searchLength.Seconds()
		fmt.Printf("%6.0f requests/s, %.0f reached: %.1f µs of CPU time each\n", rate, reached, 1e6*each)
		if reached < .9*rate {
			return .8 * reached, nil
		}
		rate = min(share/each, mostFaster*rate)
	}
	return rate, nil
}
