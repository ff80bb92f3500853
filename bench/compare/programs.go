//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

// program is a row that runs another command. Its exit status is 1 if a goal was missed.
type program struct {
	name, about string
	dir         string // of the module; "" means bench
	command     string // directory of the command
	args        []string
	rounds      string        // the flag for the number of rounds, or ""
	length      string        // the flag for the length of a round, or ""
	usual       int           // default number of rounds
	each        time.Duration // estimate for a round, or for the whole row if there are no rounds
	headless    bool          // the command does not print the date and the machine
}

var programs = []program{
	{name: "idle-19000", about: "memory of 19,000 idle connections", command: "./cmd/idle", rounds: "-n", usual: 10, each: 40 * time.Second},
	{name: "idle-190000", about: "memory of 190,000 idle connections to ten processes, and requests at full rate beside them", command: "./cmd/idle",
		args: []string{"-processes", "10", "-load", "5s", "-servers", "gallop,fasthttp"}, rounds: "-n", usual: 1, each: 2 * time.Minute},
	{name: "http2", about: "HTTP/2 servers under h2load, beside nghttpd and net/http", command: "./cmd/http2", rounds: "-n", usual: 5, each: 4 * time.Minute},
	{name: "http2client", about: "HTTP/2 clients of gallop and net/http", command: "./cmd/http2client", rounds: "-n", usual: 5, each: time.Minute, headless: true},
	{name: "matrix", about: "bodies of 28 kinds and sizes, beside fasthttp, net/http and puma", command: "./cmd/matrix",
		rounds: "-rounds", length: "-d", usual: 5, each: 270 * time.Second},
	{name: "encoders", about: "encoders of gzip, br and zstd: CPU time, size and memory", command: "./cmd/encoders", rounds: "-n", usual: 5, each: time.Minute},
	{name: "json-clients-memory", about: "peak memory of clients for JSON APIs that fetch large lists", dir: "rest", command: "./memory",
		rounds: "-rounds", usual: 2, each: 10 * time.Second, headless: true},
	{name: "reliability", about: "attacks on the server: slow clients, floods, panics, restarts", command: "./cmd/reliability", each: 7 * time.Minute, headless: true},
	{name: "soak-gallop-1e7", about: "ten million requests of which none may be mixed up", command: "./cmd/soak",
		args: []string{"-requests", "10000000", "-seed", "20261120"}, each: 2 * time.Minute, headless: true},
	{name: "soak-mixed", about: "ten minutes of many kinds of requests at 70 % load, with slow and malformed clients: responses and memory", command: "./cmd/soakmixed",
		length: "-d", each: 12 * time.Minute, headless: true},
}

func (p program) title() string { return p.name }
func (p program) what() string  { return p.about }

func (p program) takes(o options) time.Duration {
	switch {
	case p.rounds == "" && p.length != "" && o.length > 0:
		return o.length + 2*time.Minute // for what comes before and after
	case p.rounds == "":
		return p.each
	}
	return p.each * time.Duration(cmp.Or(o.rounds, p.usual))
}

// arguments returns the arguments of the command.
func (p program) arguments(o options) []string {
	args := p.args
	if p.rounds != "" {
		args = append(args[:len(args):len(args)], p.rounds, strconv.Itoa(cmp.Or(o.rounds, p.usual)))
	}
	if p.length != "" && o.length > 0 {
		args = append(args[:len(args):len(args)], p.length, o.length.String())
	}
	return args
}

func (p program) run(s *session) (verdict, map[string]string, error) {
	binary := s.hall.program("command-" + p.name)
	build := []string{"build", "-o", binary, p.command}
	if p.dir != "" {
		build = []string{"build", "-C", p.dir, "-o", binary, p.command}
	}
	if err := child.Run("go", build...); err != nil {
		return failed, nil, err
	}
	args := p.arguments(s.options)
	var text bytes.Buffer
	out := io.MultiWriter(os.Stdout, &text)
	if p.headless {
		fmt.Fprintf(out, "command: go run %s %s\n%s\n", p.command, strings.Join(args, " "), measure.About(s.commit))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience(p.takes(s.options)))
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	child.DieWithParent(cmd)
	start := time.Now()
	v, err := met, cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && ctx.Err() == nil {
		v, err = missed, nil
	}
	if err != nil {
		return failed, nil, err
	}
	fmt.Println()
	s.total.addProgram(p, args, v, time.Since(start), text.String())
	return v, map[string]string{p.name + ".txt": text.String()}, nil
}
