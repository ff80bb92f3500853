//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// finished returns a report with two rounds of each rival, whose CPU times are given.
func finished(c comparison, times map[string][2]float64) *report {
	r := newReport(io.Discard, c)
	for _, rival := range c.rivals {
		for _, t := range times[rival.name] {
			r.add(rival.name, sample{cpu: t, rate: 1000 / t, memory: 2048})
		}
	}
	return r
}

func TestTwins(t *testing.T) {
	for _, row := range []struct {
		name     string
		rivals   []string
		original string
		order    string
	}{
		{"gallop first", []string{"gallop", "fasthttp"}, "gallop", "gallop fasthttp gallop+"},
		{"gallop last", []string{"fasthttp", "gallop"}, "gallop", "fasthttp gallop+ gallop"},
		{"no gallop", []string{"fasthttp", "nethttp"}, "fasthttp", "fasthttp nethttp fasthttp+"},
		{"the arena", []string{"arena-gallop", "arena-hertz"}, "arena-gallop", "arena-gallop arena-hertz arena-gallop+"},
	} {
		c := comparison{workload: workload{rivals: under(wrk{}, row.rivals...)}}.withTwin()
		var order []string
		for _, r := range c.rivals {
			order = append(order, strings.Replace(r.name, again, "+", 1))
		}
		if c.original != row.original || strings.Join(order, " ") != row.order {
			t.Errorf("%s: twin of %s, order %v", row.name, c.original, order)
		}
	}
	if c := (comparison{workload: workload{beside: true, rivals: under(wrk{}, "gallop")}}).withTwin(); c.original != "" {
		t.Error("a goroutine beside the server has a twin")
	}
}

func TestUnsteadyMachine(t *testing.T) {
	c := comparison{name: "test-8", workload: workload{rivals: under(wrk{}, "fasthttp", "gallop")}}.withTwin()
	for twin, refused := range map[float64]bool{10: false, 10.29: false, 9.71: false, 10.31: true, 9.69: true} {
		r := finished(c, map[string][2]float64{"gallop": {10, 10}, "gallop again": {twin, twin}, "fasthttp": {11, 11}})
		if doubt := r.doubt(3); (doubt != "") != refused {
			t.Errorf("10 µs and %v µs: %q", twin, doubt)
		}
		if doubt := r.doubt(0); doubt != "" {
			t.Errorf("without a limit: %q", doubt)
		}
	}
}

func TestRecord(t *testing.T) {
	c := comparison{name: "test-8", conns: 8, workload: workload{about: "a test", rivals: under(wrk{}, "fasthttp", "gallop"), goals: []goal{{cpu, "gallop", "fasthttp", .6, 0}}}}.withTwin()
	rec := &record{Date: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC), Commit: "abc1234", Versions: []string{"go1", "fasthttp v1"}, Machine: "a machine"}
	rec.add(finished(c, map[string][2]float64{"gallop": {4, 6}, "gallop again": {5, 5}, "fasthttp": {9, 11}}), options{rounds: 2, length: time.Second}, "")
	c.name = "bad-8"
	rec.add(finished(c, map[string][2]float64{"gallop": {4, 6}, "gallop again": {7, 7}, "fasthttp": {9, 11}}), options{rounds: 2, length: time.Second}, "REFUSED: it is noisy")
	dir := filepath.Join(t.TempDir(), "new")
	if err := rec.write(dir); err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(dir, "README.md"))
	for _, want := range []string{"# Comparison of 2026-11-27", "Commit abc1234, go1, fasthttp v1. a machine.", "| gallop | 208 | 5.00 | 0.00 | 0.00 | 2.0 |", "0.500, met", "**REFUSED: it is noisy**"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	var got record
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "results.json"))), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Comparisons[0].Servers[2]; s.Name != "gallop" || s.Median["cpu_us"] != 5 || len(s.Rounds) != 2 || !got.Comparisons[0].Verdicts[0].Met {
		t.Errorf("%+v", got.Comparisons[0])
	}
	plot := read(t, filepath.Join(dir, "plot-dark.svg"))
	for d := xml.NewDecoder(strings.NewReader(plot)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(plot, `width="230"`) || strings.Contains(plot, "again") || strings.Contains(plot, "bad-8") || bytes.Count([]byte(plot), []byte("<rect")) != 2 {
		t.Errorf("the plot has other bars:\n%s", plot)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
