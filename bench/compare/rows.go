//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/bench/micro"
)

// row is one measurement. Its texts have the names of files in results/.
type row interface {
	title() string
	what() string
	takes(options) time.Duration // an estimate
	run(*session) (outcome verdict, texts map[string]string, err error)
}

// verdict says how a row ended.
type verdict int

const (
	met     verdict = iota
	missed          // at least one goal
	refused         // the machine was too unsteady
	failed
)

var verdictWords = [...]string{"ok", "goal MISSED", "REFUSED", "FAILED"}

// exits are the exit statuses of verdicts. The largest status counts, except that an error is worse than a refusal.
var exits = [...]int{met: 0, missed: 1, refused: 3, failed: 2}

// find returns the rows of groups and rows, each once.
func find(names []string, servers string) (rows []row, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		wanted := []string{name}
		if g, ok := groupOf(name); ok {
			wanted = g.rows
		}
		for _, name := range wanted {
			if seen[name] {
				continue
			}
			seen[name] = true
			r, err := rowOf(name, servers)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// rowOf returns the row of a name.
func rowOf(name, servers string) (row, error) {
	for _, r := range micro.Rows {
		if r.Name == name {
			return benchmarks{r}, nil
		}
	}
	for _, p := range programs {
		if p.name == name {
			return p, nil
		}
	}
	return parseComparison(name, servers)
}

// session is a run of several rows.
type session struct {
	options
	hall  *hall
	total *record
}

func newSession(o options) (s *session, err error) {
	if err := raiseLimit(); err != nil {
		return nil, err
	}
	if o.commit, err = measure.Commit(o.save); err != nil {
		return nil, err
	}
	h, err := newHall()
	if err != nil {
		return nil, err
	}
	return &session{o, h, newRecord(o)}, nil
}

func (s *session) close() { s.hall.close() }

// runAll runs rows, prints a summary and returns the exit status. A row that fails does not stop the next one. Results are written after
// each row, so an interrupted run loses only the row that it was in.
func (s *session) runAll(rows []row) int {
	fmt.Printf("%d rows, about %s\n\n", len(rows), roughly(total(rows, s.options)))
	worst := met
	var summary []string
	for _, r := range rows {
		start := time.Now()
		v, texts, err := r.run(s)
		if err == nil {
			err = s.write(v, texts)
		}
		reason := ""
		if err != nil {
			v = failed
			reason, _, _ = strings.Cut(err.Error(), "\n")
			fmt.Fprintf(os.Stderr, "compare: %s: %v\n", r.title(), err)
		}
		worst = max(worst, v)
		summary = append(summary, fmt.Sprintf("%-20s %-12s %6.0f s  %s", r.title(), verdictWords[v], time.Since(start).Seconds(), reason))
	}
	fmt.Printf("\n%-20s %-12s %8s\n", "row", "verdict", "took")
	for _, line := range summary {
		fmt.Println(line)
	}
	return exits[worst]
}

// write writes what a row has measured. Results of a refused row are not saved in results/.
func (s *session) write(v verdict, texts map[string]string) error {
	var dirs []string
	if s.save && v != refused {
		dirs = append(dirs, "results")
	}
	if s.out != "" {
		dirs = append(dirs, s.out)
		if err := s.total.write(s.out); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// total estimates how long rows take.
func total(rows []row, o options) (sum time.Duration) {
	for _, r := range rows {
		sum += r.takes(o)
	}
	return sum
}

// roughly writes an estimate in minutes, or in seconds if it is short.
func roughly(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Round(10*time.Second).Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// list prints the groups with their rows, and all workloads.
func list(w io.Writer, o options) {
	fmt.Fprintln(w, "\ngroups, with their rows and how long they take:")
	all, _ := groupOf("all")
	for _, g := range append(slices.Clone(groups), all) {
		o := o
		if g.name == "quick" {
			o.rounds, o.length = cmp.Or(o.rounds, 3), cmp.Or(o.length, time.Second)
		}
		rows, _ := find(g.rows, "")
		fmt.Fprintf(w, "  %s: %s, about %s\n", g.name, g.about, roughly(total(rows, o)))
		if g.name == all.name {
			continue
		}
		for _, r := range rows {
			fmt.Fprintf(w, "    %-20s %7s  %s\n", r.title(), roughly(r.takes(o)), r.what())
		}
	}
	fmt.Fprintln(w, "\nworkloads over TCP; a row's name ends with a number of connections, as in hello-64:")
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		fmt.Fprintf(w, "    %-16s %s\n", name, workloads[name].about)
	}
}
