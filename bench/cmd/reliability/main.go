//go:build linux

// Command reliability attacks an HTTP/1 server and reports whether it met its goals. The attacks are slow clients, floods of
// bad input, restarts under load, panics, and exhausted descriptors and memory.
//
//	go run ./cmd/reliability                          # every scenario in its short form, against gallop
//	go run ./cmd/reliability -server fasthttp R9 R14  # two of them against a peer
//	go run ./cmd/reliability -full R13                # a thousand restarts
//
// It prints the seed, the counts and one verdict line per scenario, then a table, and exits with 1 if a goal was missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/gallop-http/gallop/bench/peers"
	"github.com/gallop-http/gallop/bench/reliability"
)

func main() {
	reliability.Child()
	o := reliability.Options{Out: os.Stdout}
	flag.StringVar(&o.Server, "server", "gallop", "server under test: one of "+peers.Names())
	flag.BoolVar(&o.Timeouts, "timeouts", false, "give fasthttp and nethttp the timeouts that gallop has by default")
	flag.BoolVar(&o.Full, "full", false, "run the full form of each scenario instead of the short one")
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of random choices; 0 picks one")
	flag.Float64Var(&o.Slack, "slack", 1, "factor for latency goals, for a machine that is not idle")
	flag.DurationVar(&o.Endurance, "endurance", 0, "duration of R8; 0 means the default of the form")
	flag.Parse()

	scenarios, err := choose(flag.Args())
	if err == nil && !reliability.Knows(o.Server) {
		err = fmt.Errorf("unknown server %q", o.Server)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var verdicts []reliability.Verdict
	for _, s := range scenarios {
		verdicts = append(verdicts, reliability.Run(s, o))
	}
	reliability.Table(os.Stdout, verdicts)
	if slices.ContainsFunc(verdicts, func(v reliability.Verdict) bool { return !v.Pass }) {
		os.Exit(1)
	}
}

// choose finds the scenarios with the given ids; no ids means all.
func choose(ids []string) ([]reliability.Scenario, error) {
	if len(ids) == 0 {
		return reliability.Scenarios, nil
	}
	var chosen []reliability.Scenario
	for _, id := range ids {
		i := slices.IndexFunc(reliability.Scenarios, func(s reliability.Scenario) bool { return s.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("unknown scenario %q", id)
		}
		chosen = append(chosen, reliability.Scenarios[i])
	}
	return chosen, nil
}
