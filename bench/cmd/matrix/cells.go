//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// kinds are the ways in which a server sends a body. They are the first part of paths.
var kinds = []string{"bytes", "string", "chunked", "file"}

// sizes of bodies, in kB of 1024 bytes, as in puma's benchmark.
var sizes = []int{1, 10, 100, 256, 512, 1024, 2048}

// allPeers are the servers, in the order in which they are printed.
var allPeers = []string{"gallop", "fasthttp", "nethttp", puma}

// cell is one kind of body of one size.
type cell struct {
	kind string
	kB   int
}

func (c cell) String() string { return fmt.Sprintf("%s-%d", c.kind, c.kB) }

// path is what clients request.
func (c cell) path() string { return fmt.Sprintf("/%s/%s", c.kind, fileName(c.kB)) }

// fileName is the name of the file that has the bodies of one size.
func fileName(kB int) string { return fmt.Sprintf("%d.txt", kB) }

// allCells is the whole matrix.
var allCells = func() (cells []cell) {
	for _, kind := range kinds {
		for _, kB := range sizes {
			cells = append(cells, cell{kind, kB})
		}
	}
	return cells
}()

// choose returns the cells that names select, all if there are no names, and the peers in a list.
func choose(names []string, list string) (cells []cell, peers []string, err error) {
	for _, name := range names {
		if !slices.ContainsFunc(allCells, func(c cell) bool { return c.selected(name) }) {
			return nil, nil, fmt.Errorf("no cell is called %q: use a kind such as file, a size such as 256, or both, such as file-256", name)
		}
	}
	for _, c := range allCells {
		if len(names) == 0 || slices.ContainsFunc(names, c.selected) {
			cells = append(cells, c)
		}
	}
	for _, p := range allPeers {
		if slices.Contains(strings.Split(list, ","), p) {
			peers = append(peers, p)
		}
	}
	if len(peers) != strings.Count(list, ",")+1 {
		return nil, nil, fmt.Errorf("-peers %s: choose from %s", list, strings.Join(allPeers, ","))
	}
	return cells, peers, nil
}

// selected reports whether a name is the cell, its kind or its size.
func (c cell) selected(name string) bool {
	return name == c.String() || name == c.kind || name == fmt.Sprint(c.kB)
}

// figure is one of the figures of a round.
type figure int

const (
	rate  figure = iota // responses/s
	cpu                 // µs per response, user and system
	p50                 // ms
	p75                 // ms
	p90                 // ms
	p99                 // ms
	worst               // ms
	figures
)

var figureNames = [figures]string{"requests/s", "CPU µs", "p50 ms", "p75 ms", "p90 ms", "p99 ms", "max ms"}

// sample has the figures of one round, or their medians.
type sample [figures]float64

func (s sample) cells() (cells [figures]string) {
	for f, v := range s {
		cells[f] = fmt.Sprintf("%.2f", v)
	}
	cells[rate] = fmt.Sprintf("%.0f", s[rate])
	return cells
}
