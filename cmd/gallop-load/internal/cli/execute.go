package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/collect"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/live"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

// execute runs a plan, as often as --repeat says, and writes the results. Each run has a plan of its own, built from the file.
func (s *settings) execute(env commandline.Env, p *plan.Plan, f *plan.File) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if s.versus != "" {
		return s.against(env, f, signals)
	}
	var all []*result.Result
	var failed error
	for i := range int(s.repeat) {
		if i > 0 {
			var err error
			if p, err = f.Build(); err != nil {
				return invalid(err)
			}
		}
		r, err := s.once(env, p, signals)
		if r != nil {
			all = append(all, r)
			if err := s.summarise(env, r); err != nil {
				return err
			}
		}
		if failed = errors.Join(failed, err); isInterrupted(err) || r == nil {
			break
		}
	}
	if err := s.outputs.write(env, all); err != nil {
		return err
	}
	return status(failed)
}

// Reasons for a run to end early or to fail.
var (
	errInterrupted = errors.New("the run was interrupted")
	errThresholds  = errors.New("thresholds were violated")
)

func isInterrupted(err error) bool { return errors.Is(err, errInterrupted) }

// status returns the exit status for the errors of all runs. The most important one decides.
func status(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errInterrupted):
		return &statusError{status: exitInterrupted}
	case errors.Is(err, errThresholds):
		return &statusError{status: exitThresholds}
	}
	var known *statusError
	if errors.As(err, &known) {
		return known
	}
	return &statusError{exitFailed, err}
}

// once runs a plan once. It returns the result, if there is one, and why the run counts as failed.
func (s *settings) once(env commandline.Env, p *plan.Plan, signals <-chan os.Signal) (*result.Result, error) {
	name, run, err := chooseEngine(p)
	if err != nil {
		return nil, invalid(err)
	}
	host := collect.Host()
	target, err := probe(p)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", p.URL, err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	control := &engine.Control{}
	p.Options.Control = control
	config := s.config(p, name, host, target)
	config.Control, config.Abort = control, stop
	c := collect.Start(config)
	shown := &liveRun{p, c, control, time.Now()}
	defer s.watch(env, shown, func() { stop(errInterrupted) })()
	finish := func(*result.Result) error { return nil }
	if s.push != "" {
		push, err := newPusher(env, s.push, shown)
		if err != nil {
			return nil, invalid(err)
		}
		finish = push.start()
	}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, &p.Options, p.Scenarios, c.Sink) }()
	for interrupts := 0; ; {
		select {
		case err = <-ended:
			if err != nil {
				return nil, errors.Join(err, finish(nil))
			}
			r := c.Finish()
			return r, errors.Join(finish(r), verdict(r, context.Cause(ctx)))
		case <-signals:
			if interrupts++; interrupts > 1 {
				return c.Snapshot(), errInterrupted // the engine may hang, and the process ends now
			}
			stop(errInterrupted)
		}
	}
}

// verdict returns why a run counts as failed, or nil.
func verdict(r *result.Result, cause error) error {
	if errors.Is(cause, errInterrupted) {
		return errInterrupted
	}
	for _, t := range r.Thresholds {
		if !t.OK {
			return errThresholds
		}
	}
	return nil
}

// config describes the run for the collector.
func (s *settings) config(p *plan.Plan, engineName string, host result.Host, target result.Target) collect.Config {
	c := collect.Config{
		Base: result.Result{
			Tool:   result.Tool{Name: "gallop-load", Version: commandline.Version(), Go: runtime.Version(), Engine: engineName},
			Host:   host,
			Target: target,
			Plan:   result.Plan{Name: p.Name, Connections: p.Options.Conns, Streams: p.Options.Streams, Pipeline: p.Options.Pipeline},
		},
		Scenarios: p.Scenarios, Thresholds: p.Thresholds, WarmUp: p.WarmUp,
		Cores: float64(runtime.GOMAXPROCS(0)), Streams: p.Options.Pipeline > 1 || p.Options.Streams > 1 || target.Proto == "HTTP/2",
	}
	if engineName == "raw" {
		c.Cores = float64(max(p.Options.Threads, 1))
	}
	for _, sc := range p.Scripts {
		var kinds []collect.Kind
		for _, k := range sc.Kinds() {
			kinds = append(kinds, collect.Kind{Method: k.Method, Tags: k.Tags})
		}
		c.Kinds = append(c.Kinds, kinds)
	}
	c.Checks = func() (all [][][]result.Check) {
		for _, sc := range p.Scripts {
			all = append(all, sc.Checks())
		}
		return all
	}
	c.Warnings = func() (all []string) {
		for _, sc := range p.Scripts {
			all = append(all, sc.Warnings()...)
		}
		return all
	}
	switch {
	case p.ServerPID > 0:
		c.Server = []int{p.ServerPID}
	case p.Options.Network == "tcp":
		c.Server = collect.Listening(p.Options.Address)
	}
	return c
}

// watch shows the run while it goes on. The function that it returns ends the display.
func (s *settings) watch(env commandline.Env, source *liveRun, stop func()) (end func()) {
	if s.quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if out, ok := env.Stderr.(*os.File); ok && !bool(s.plain) && terminal(env) {
			if ended, err := live.Run(ctx, source, source.control, os.Stdin, out); err == nil {
				if ended != live.Finished {
					stop()
				}
				return
			}
		}
		live.Plain(ctx, source, env.Stderr)
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
}
