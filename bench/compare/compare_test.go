//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/bench/micro"
)

const wrkOutput = `Running 2s test @ http://127.0.0.1:36803/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   687.10ms  794.66ms   2.00s    70.80%
    Req/Sec   147.71     96.06   350.00     66.67%
  Latency Distribution
     50%  480.50us
     75%    1.65s 
     90%    1.85s 
     99%    1.99s 
  339 requests in 2.04s, 44.03KB read
Requests/sec:    165.77
Transfer/sec:     21.53KB
     95%    1880000.00us
`

func TestParseWrk(t *testing.T) {
	want := outcome{339, 165.77, 480500 * time.Nanosecond, 1880 * time.Millisecond, 1990 * time.Millisecond}
	if got, err := parseWrk(wrkOutput); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"errors":   strings.Replace(wrkOutput, "Requests/sec", "  Socket errors: connect 0, read 3, write 0, timeout 1\nRequests/sec", 1),
		"statuses": strings.Replace(wrkOutput, "Requests/sec", "  Non-2xx or 3xx responses: 7\nRequests/sec", 1),
		"nothing":  strings.Replace(wrkOutput, "339 requests", "0 requests", 1),
		"no wrk":   "unable to connect to 127.0.0.1:8080 Connection refused\n",
	} {
		if got, err := parseWrk(text); err == nil || errors.Is(err, errNothing) != (name == "nothing") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseComparison(t *testing.T) {
	c, err := parseComparison("mixed-sleep-64", "gallop")
	if err != nil || c.conns != 64 || c.app != "mixed-sleep" || len(c.rivals) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"", "hello", "hello-", "hello-x", "hello-0", "hello--1", "howdy-64", "-64"} {
		if c, err := parseComparison(name, ""); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := parseComparison("hello-64", "apache"); err == nil {
		t.Error("a server that is not in the workload is no error")
	}
}

// TestWorkloads shows that goals only refer to rivals of their workload.
func TestWorkloads(t *testing.T) {
	for name, w := range workloads {
		names := map[string]bool{}
		for _, r := range w.rivals {
			if names[r.name] {
				t.Errorf("%s: two rivals %q", name, r.name)
			}
			names[r.name] = true
		}
		for _, g := range w.goals {
			if !names[g.of] || !names[g.over] || g.limit <= 0 {
				t.Errorf("%s: goal %+v", name, g)
			}
		}
	}
}

// TestReadmeHasTheRows shows that bench/README.md has a line for each workload and each row of Go benchmarks.
func TestReadmeHasTheRows(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for name := range strings.SplitSeq(cells[1], ",") {
				listed[strings.TrimSpace(name)] = true
			}
		}
	}
	for name := range workloads {
		if !listed[name] {
			t.Errorf("README.md has no workload %s", name)
		}
	}
	for _, row := range micro.Rows {
		if !listed[row.Name] && !strings.Contains(string(text), "go run ./compare "+row.Name) {
			t.Errorf("README.md has no row %s", row.Name)
		}
	}
}

// TestCheckNegotiation shows that one wrong response among many is found.
func TestCheckNegotiation(t *testing.T) {
	var asked atomic.Int64
	for _, wrong := range []int64{0, 1234} {
		asked.Store(0)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, n := range negotiated {
				if n.accept == r.Header.Get("Accept") && asked.Add(1) != wrong {
					w.Header().Set("Vary", "Accept")
					w.Header().Set("Content-Type", n.contentType)
					io.WriteString(w, n.body)
				}
			}
		}))
		if err := checkNegotiation(server.URL); (err != nil) != (wrong > 0) {
			t.Errorf("answer %d is wrong: %v", wrong, err)
		}
		server.Close()
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, comparison{name: "test-8", conns: 8, workload: workload{
		rivals: under(wrk{}, "a", "b"),
		goals: []goal{
			{cpu, "b", "a", .5, 0}, {cpu, "b", "a", .4, 8}, {rate, "b", "a", 2, 0}, {rate, "b", "a", 2.5, 0},
			{cpu, "b", "a", .1, 9}, {cpu, "b", "c", .1, 0},
		},
	}})
	for _, round := range []struct {
		name      string
		rate, cpu float64
	}{{"a", 100, 10}, {"b", 1000, 100}, {"a", 110, 12}, {"b", 250, 5}, {"a", 125, 30}, {"b", 190, 6}} {
		r.add(round.name, sample{rate: round.rate, cpu: round.cpu})
	}
	if m := median(r.samples["b"]); m[rate] != 250 || m[cpu] != 6 || m[user] != 0 {
		t.Errorf("medians %v", m)
	}
	if q := r.ratios("b", "a"); q[cpu] != .5 || q[user] != 0 {
		t.Errorf("ratios %v", q)
	}
	if r.finish() {
		t.Error("all goals are said to be met")
	}
	text := out.String()
	if met, missed := strings.Count(text, ", met"), strings.Count(text, ", MISSED"); met != 2 || missed != 2 {
		t.Errorf("%d goals met, %d missed:\n%s", met, missed, text)
	}
}
