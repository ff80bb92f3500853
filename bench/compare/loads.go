//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/gallop-http/gallop/bench/load"
)

// loader is a source of load. start warms the server up.
type loader interface {
	start(target) (running, error)
}

// running is a load that has started. measure puts the server under load for the length of a round.
type running interface {
	measure() (outcome, error)
	stop()
}

// outcome holds what a load has measured.
type outcome struct {
	answers  int
	rate     float64 // responses per second
	p50, p95 time.Duration
	p99      time.Duration
}

// plan is a load by package load. Latencies are those of its first kind of request.
type plan struct{ load.Plan }

type playing struct {
	load.Process
	first  string // name of the first kind
	length time.Duration
}

func (p plan) start(t target) (running, error) {
	p.Address, p.Conns, p.Seed = t.address, t.conns, 1
	cmd, err := load.Command(p.Plan)
	if err != nil {
		return nil, err
	}
	if !t.shared {
		pin(cmd, 1)
	}
	process, err := load.Start(cmd)
	if err != nil {
		return nil, err
	}
	time.Sleep(warmUp)
	if _, err := process.Take(); err != nil {
		process.Stop()
		return nil, err
	}
	return playing{process, p.Kinds[0].Name, t.length}, nil
}

// pin makes a command that has not been started run on one core.
func pin(cmd *exec.Cmd, core int) {
	by := pinned(false, core, cmd.Path, cmd.Args[1:]...)
	cmd.Path, cmd.Args, cmd.Err = by.Path, by.Args, by.Err
}

func (l playing) measure() (outcome, error) {
	time.Sleep(l.length)
	r, err := l.Take()
	if err != nil {
		return outcome{}, err
	}
	done, lost := r.Sum()
	if lost > 0 || done == 0 {
		return outcome{}, fmt.Errorf("%d responses, %d lost: %v", done, lost, r.Errors)
	}
	k := r.Kinds[l.first]
	return outcome{done, float64(done) / r.Seconds, k.P50, k.P95, k.P99}, nil
}

func (l playing) stop() { l.Stop() }
