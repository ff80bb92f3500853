package micro

import (
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/bench/measure"
)

// Benchmark is what one server or client has done in one benchmark.
type Benchmark struct {
	Name   string    `json:"name"`
	Server string    `json:"server"`
	Median float64   `json:"median_ns"`
	Rounds []float64 `json:"rounds_ns"`
}

// keys are the parts of benchmarks' names before the name of a server, a client or a package.
var keys = []string{"/server=", "/client=", "/codec="}

// Parse reads the output of go test. Benchmarks are in the order of their first round.
func Parse(text string) (all []Benchmark) {
	index := map[string]int{}
	for line := range strings.Lines(text) {
		cells := strings.Fields(line)
		if len(cells) < 4 || cells[3] != "ns/op" || !strings.HasPrefix(cells[0], "Benchmark") {
			continue
		}
		ns, err := strconv.ParseFloat(cells[2], 64)
		if err != nil {
			continue
		}
		at, known := index[cells[0]]
		if !known {
			at = len(all)
			index[cells[0]] = at
			name, server := splitName(strings.TrimPrefix(cells[0], "Benchmark"))
			all = append(all, Benchmark{Name: name, Server: server})
		}
		all[at].Rounds = append(all[at].Rounds, ns)
	}
	for i := range all {
		all[i].Median = measure.Median(all[i].Rounds)
	}
	return all
}

func splitName(full string) (name, server string) {
	for _, key := range keys {
		if name, server, ok := strings.Cut(full, key); ok {
			return name, server
		}
	}
	return full, ""
}

// names returns the names of the benchmarks, each once.
func names(all []Benchmark) (names []string) {
	seen := map[string]bool{}
	for _, b := range all {
		if !seen[b.Name] {
			seen[b.Name] = true
			names = append(names, b.Name)
		}
	}
	return names
}

// median returns a server's median, or 0 if it has no such benchmark.
func median(all []Benchmark, name, server string) float64 {
	for _, b := range all {
		if b.Name == name && b.Server == server {
			return b.Median
		}
	}
	return 0
}
