// Package plot draws the plot at the top of README.md from saved results.
//
// It refuses results that nobody can repeat: those of a tree that differed from its commit, and those of fewer than ten rounds.
// The same results always give the same bytes, and a test compares them with the files in docs/.
package plot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/bench/measure"
)

// leastRounds is the number of rounds below which a median is not worth drawing.
const leastRounds = 10

// A panel compares the servers by one figure.
type panel struct {
	title, unit string
	file        string    // in results, where the figures come from
	bars        []float64 // the median of each server, in the order of servers
}

// servers are those compared, by their names in results and in the plot.
var servers = []struct{ key, label string }{{"gallop", "gallop"}, {"fasthttp", "fasthttp"}, {"nethttp", "net/http"}}

// sources say where the panels' figures are. read returns the rounds of each server.
var sources = []struct {
	panel
	scale float64 // from the file's unit to the panel's
	read  func(text string) (map[string][]float64, error)
}{
	{panel{title: "Time per GET, in memory", unit: "ns", file: "server.txt"}, 1, benchmark("ServerGet10KReqPerConn")},
	{panel{title: "CPU time per GET over TCP, 512 connections, kernel included", unit: "ns", file: "tcp-hello-512.txt"}, 1000, column("CPU µs")},
	{panel{title: "Memory per idle connection", unit: "bytes", file: "idle-19000.txt"}, 1, column("bytes each")},
}

func readPanels(dir string) (panels []panel, err error) {
	for _, s := range sources {
		text, err := os.ReadFile(filepath.Join(dir, s.file))
		if err != nil {
			return nil, err
		}
		if err := repeatable(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.file, err)
		}
		rounds, err := s.read(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.file, err)
		}
		p := s.panel
		for _, server := range servers {
			n := len(rounds[server.key])
			if n < leastRounds {
				return nil, fmt.Errorf("%s: %d rounds of %s: at least %d are needed", s.file, n, server.key, leastRounds)
			}
			p.bars = append(p.bars, s.scale*measure.Median(rounds[server.key]))
		}
		panels = append(panels, p)
	}
	return panels, nil
}

var commitLine = regexp.MustCompile(`\bcommit: (\S+)`)

// repeatable returns an error unless the results name a commit that had no changes on top.
func repeatable(text string) error {
	commit := commitLine.FindStringSubmatch(text)
	switch {
	case commit == nil || commit[1] == "unknown":
		return errors.New("no commit is named")
	case strings.HasSuffix(commit[1], "-dirty"):
		return fmt.Errorf("commit %s: the tree had changes that were not committed", commit[1])
	}
	return nil
}

// benchmark reads ns/op of one benchmark from what go test printed.
func benchmark(name string) func(string) (map[string][]float64, error) {
	return func(text string) (map[string][]float64, error) {
		rounds := map[string][]float64{}
		for line := range strings.Lines(text) {
			rest, ok := strings.CutPrefix(line, "Benchmark"+name+"/server=")
			if !ok {
				continue
			}
			cells := strings.Fields(rest)
			if len(cells) < 3 {
				return nil, fmt.Errorf("%q is cut off", line)
			}
			v, err := strconv.ParseFloat(cells[2], 64)
			if err != nil {
				return nil, err
			}
			rounds[cells[0]] = append(rounds[cells[0]], v)
		}
		return rounds, nil
	}
}

var gap = regexp.MustCompile(`\s{2,}`)

// column reads one column of the table of rounds, which ends at the first blank line.
func column(name string) func(string) (map[string][]float64, error) {
	return func(text string) (map[string][]float64, error) {
		_, text, ok := strings.Cut(text, "\nserver ")
		if !ok {
			return nil, errors.New("there is no table of rounds")
		}
		text, _, _ = strings.Cut(text, "\n\n")
		head, rows, _ := strings.Cut(text, "\n")
		at := 0
		for i, cell := range gap.Split(strings.TrimSpace(head), -1) {
			if cell == name {
				at = i + 1
			}
		}
		if at == 0 {
			return nil, fmt.Errorf("there is no column %q", name)
		}
		rounds := map[string][]float64{}
		for row := range strings.Lines(rows) {
			cells := strings.Fields(row)
			if at >= len(cells) {
				return nil, fmt.Errorf("%q is cut off", row)
			}
			v, err := strconv.ParseFloat(cells[at], 64)
			if err != nil {
				return nil, err
			}
			rounds[cells[0]] = append(rounds[cells[0]], v)
		}
		return rounds, nil
	}
}
