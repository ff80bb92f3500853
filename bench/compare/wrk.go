//go:build linux

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// wrk is load from the program wrk.
type wrk struct {
	script string // file in the directory wrk without .lua; empty: GET requests
	path   string
}

type wrking struct {
	wrk
	target
}

func (w wrk) start(t target) (running, error) {
	l := wrking{w, t}
	if _, err := l.run(warmUp); err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	return l, nil
}

func (l wrking) measure() (outcome, error) { return l.run(l.length) }

func (l wrking) stop() {}

// run runs wrk for this long.
func (l wrking) run(d time.Duration) (outcome, error) {
	threads := "-t1"
	if l.shared {
		threads = "-t2"
	}
	args := []string{threads, "-c" + strconv.Itoa(l.conns), fmt.Sprintf("-d%.0fs", max(d.Seconds(), 1)), "--latency", "--timeout", "10s"}
	script := "percentiles"
	if l.script != "" {
		script = l.script
	}
	args = append(args, "-s", filepath.Join("wrk", script+".lua"))
	out, err := pinned(l.shared, 1, "wrk", append(args, l.url(l.path))...).CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	return parseWrk(string(out))
}

var (
	wrkTotal  = regexp.MustCompile(`(\d+) requests in `)
	wrkRate   = regexp.MustCompile(`Requests/sec: +([\d.]+)`)
	wrkHalf   = regexp.MustCompile(`\n +50% +([\d.]+)(us|ms|s|m) *\n`)
	wrkMany   = regexp.MustCompile(`\n +95% +([\d.]+)(us|ms|s|m) *\n`)
	wrkMost   = regexp.MustCompile(`\n +99% +([\d.]+)(us|ms|s|m) *\n`)
	wrkErrors = regexp.MustCompile(`(Socket errors|Non-2xx)[^\n]*`)
)

// errNothing reports that no response came. A warm-up may end before the first one, if handlers are slow.
var errNothing = errors.New("wrk: no response came in time")

// parseWrk parses the output of wrk --latency. Responses other than 2xx and 3xx are an error.
func parseWrk(text string) (o outcome, err error) {
	total, perSecond := wrkTotal.FindStringSubmatch(text), wrkRate.FindStringSubmatch(text)
	half, many, most := wrkHalf.FindStringSubmatch(text), wrkMany.FindStringSubmatch(text), wrkMost.FindStringSubmatch(text)
	if wrong := wrkErrors.FindString(text); wrong != "" {
		return o, fmt.Errorf("wrk: %s", wrong)
	}
	if total != nil && total[1] == "0" {
		return o, errNothing
	}
	if total == nil || perSecond == nil || half == nil || many == nil || most == nil {
		return o, fmt.Errorf("unexpected output of wrk:\n%s", text)
	}
	o.answers, _ = strconv.Atoi(total[1])
	o.rate, _ = strconv.ParseFloat(perSecond[1], 64)
	o.p50, o.p95, o.p99 = wrkTime(half), wrkTime(many), wrkTime(most)
	return o, nil
}

// wrkTime converts a number with a unit.
func wrkTime(match []string) time.Duration {
	unit := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute}[match[2]]
	n, _ := strconv.ParseFloat(match[1], 64)
	return time.Duration(n * float64(unit))
}
