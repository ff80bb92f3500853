//go:build linux

// Command matrix puts servers under load that send bodies of every kind and size: bytes, a string, a stream in chunks and a
// file, of 1 kB to 2 MB. The servers are gallop, fasthttp, net/http and puma.
//
//	go run ./cmd/matrix                            # everything: 28 cells, five rounds; see README.md for the time
//	go run ./cmd/matrix -rounds 1 -d 1s file-1 chunked
//	go run ./cmd/matrix -peers gallop,fasthttp bytes
//	go run ./cmd/matrix -save                      # also writes results/matrix.txt and ../docs/matrix-*.svg
//	go run ./cmd/matrix -draw                      # only draws results/matrix.txt again
//
// Run it in bench/. It needs Linux, two processors, taskset and wrk. If puma is not installed, it is left out. Each server has
// core 0 with GOMAXPROCS=1, and wrk has core 1. puma runs two workers with five threads each, all on core 0.
//
// The rate is the number of complete responses per second. CPU time is the user and system time of the server's processes from
// /proc, per response. Before a server is measured, each of its bodies is compared byte by byte with the expected one. The bytes
// that wrk receives are then compared with the number of its requests.
//
//	main.go      flags, rounds
//	cells.go     kinds, sizes, figures
//	hall.go      what servers need; starting them
//	check.go     compares responses with what is expected
//	wrk.go       runs wrk, reads and checks its output
//	report.go    tables and goals
//	table.go     reads a saved table
//	draw.go      draws it
//	config.ru    the app for puma
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

type options struct {
	rounds int
	length time.Duration
	conns  int
	peers  string
	save   bool
	draw   bool
	names  []string // of cells
	commit string   // see measure.Commit
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&o.length, "d", 2*time.Second, "length of a round, in whole seconds")
	flag.IntVar(&o.conns, "c", 16, "connections; puma's own benchmark has 16 for two workers of five threads")
	flag.StringVar(&o.peers, "peers", strings.Join(allPeers, ","), "servers, separated by commas")
	flag.BoolVar(&o.save, "save", false, "also write "+resultFile+" and the plots; this takes a clean tree and the whole matrix")
	flag.BoolVar(&o.draw, "draw", false, "measure nothing, and draw "+resultFile+" again")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: matrix [flags] [part of a cell's name ...]    for example file, file-1 or 2048")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.names = flag.Args()
	met, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// resultFile is where -save writes the table.
var resultFile = filepath.Join("results", "matrix.txt")

// run does what the flags say, and reports whether all goals were met.
func run(o options) (met bool, err error) {
	if o.draw {
		text, err := os.ReadFile(resultFile)
		if err != nil {
			return false, err
		}
		return true, drawAll(string(text), docs)
	}
	cells, peers, err := choose(o.names, o.peers)
	if err != nil {
		return false, err
	}
	if whole := len(cells) == len(allCells) && len(peers) == len(allPeers); o.save && !whole {
		return false, errors.New("-save takes the whole matrix: name no cells and no peers")
	}
	if o.commit, err = measure.Commit(o.save); err != nil {
		return false, err
	}
	text := &bytes.Buffer{}
	met, err = measureAll(io.MultiWriter(os.Stdout, text), o, cells, peers)
	if err != nil || !o.save {
		return met, err
	}
	if err := os.WriteFile(resultFile, text.Bytes(), 0o644); err != nil {
		return false, err
	}
	return met, drawAll(text.String(), docs)
}

// measureAll measures the cells and writes the report.
func measureAll(out io.Writer, o options, cells []cell, peers []string) (met bool, err error) {
	h, err := newHall()
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(h.dir)
	r := newReport(out)
	r.head(o)
	peers = h.without(out, peers)
	r.columns()
	start := time.Now()
	for _, c := range cells {
		if err := h.measure(r, o, c, peers); err != nil {
			return false, fmt.Errorf("%s: %w", c, err)
		}
	}
	return r.finish(time.Since(start)), nil
}

// measure measures one cell. All servers run the whole time, and get load one after the other in each round.
func (h *hall) measure(r *report, o options, c cell, peers []string) error {
	var running []*server
	defer func() {
		for _, s := range running {
			s.stop()
		}
	}()
	for _, name := range peers {
		s, err := h.start(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		running = append(running, s)
		if err := s.check(c); err != nil {
			r.wrong(c, name, err)
		}
		if _, err := s.wrk(c, o.conns, time.Second); err != nil && !errors.As(err, new(sizeError)) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for range o.rounds {
		for _, s := range running {
			f, err := s.round(c, o)
			if errors.As(err, new(sizeError)) {
				r.wrong(c, s.name, err)
			} else if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			r.add(c, s.name, f)
		}
	}
	r.cell(c, peers)
	return nil
}
