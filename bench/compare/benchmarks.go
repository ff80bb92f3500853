//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/bench/micro"
)

// benchmarks is a row that runs Go benchmarks on one core.
type benchmarks struct{ micro.Row }

func (b benchmarks) title() string { return b.Name }
func (b benchmarks) what() string  { return b.About }

func (b benchmarks) takes(o options) time.Duration {
	return b.Takes(cmp.Or(o.rounds, b.Rounds), cmp.Or(o.length, b.Time))
}

// patience is how long a row may take before it is stopped: five times the estimate, and some minutes for builds.
func patience(estimate time.Duration) time.Duration { return 5*estimate + 10*time.Minute }

func (b benchmarks) run(s *session) (verdict, map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience(b.takes(s.options)))
	defer cancel()
	o := micro.Options{Rounds: cmp.Or(s.rounds, b.Rounds), Time: cmp.Or(s.length, b.Time), Core: s.core, Pattern: s.bench}
	o.Head = fmt.Sprintf("command: go run ./compare -n %d -d %v %s\ndate: %s\ncommit: %s\ngo: %s\nmachine: %s\n",
		o.Rounds, o.Time, b.Name, time.Now().UTC().Format(time.DateOnly), s.commit, runtime.Version(), measure.Machine())
	result, err := b.Run(ctx, o, os.Stdout)
	if err != nil {
		return failed, nil, err
	}
	fmt.Println(result.Tables)
	s.total.addBenchmarks(b.Row, o, result)
	v := met
	if slices.ContainsFunc(result.Goals, func(g micro.Goal) bool { return !g.Met }) {
		v = missed
	}
	return v, map[string]string{b.Name + ".txt": result.Raw, b.Name + ".cmp.txt": result.Tables}, nil
}
