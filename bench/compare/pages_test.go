//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Pages show what the saved results have.
func TestPagesAreCurrent(t *testing.T) {
	pages, err := filledPages("../..", "../results")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		if got := read(t, name); got != want {
			t.Errorf("%s is not what the results give: go run ./compare -page in bench/", name)
		}
	}
	if len(pages) < 20 {
		t.Errorf("%d pages", len(pages))
	}
}

const idleResults = `command: go run ./cmd/idle
server              connections   bytes each  kernel each      RSS KiB      without   1000 in ms   requests/s      alone/s       CPU µs     alone µs
gallop                   190000          300         4000       178728       120936         19.7        90000        91000         7.10         6.90
fasthttp                 190000        16000         4000      3179340       120596         20.5        80000        81000         9.10         8.90
goal: at most 200 bytes per connection for gallop: 300, MISSED
`

// New results change the tables and figures.
func TestFillPages(t *testing.T) {
	top := t.TempDir()
	results := filepath.Join(top, "bench", "results")
	for name, text := range map[string]string{
		"bench/results/idle-190000.txt":    idleResults,
		"bench/results/http2.txt":          "c1m1           gallop's CPU time is 1.48 of that of gallop/1.1, goal at most 1.1: MISSED\nc1m1 nothing: met\n",
		"bench/results/middleware.cmp.txt": "goal: A at most 0.7 × b: 0.9, MISSED (without 5 ns of the standard library)\ngoal: C at most 0.7 × b: 0.6, met (without 5 ns of the standard library)\n",
		"bench/results/reliability.txt":    "R9 FAIL p99 is 3.1 times as high\nR10 PASS\n",
		"README.md":                        `It takes [1](bench/results/idle-190000.txt "gallop: bytes each") bytes.`,
		"docs/performance.md":              "a\n<!-- missed goals -->\nold\n<!-- end -->\nb\n<!-- 1.5 million -->\n<!-- end -->\nc\n",
	} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filledPages(top, results)
	if err != nil {
		t.Fatal(err)
	}
	if got := pages[filepath.Join(top, "README.md")]; !strings.HasPrefix(got, "It takes [300](") {
		t.Error(got)
	}
	got := pages[filepath.Join(top, "docs/performance.md")]
	for _, want := range []string{
		"| [idle-190000](../bench/results/idle-190000.txt) | at most 200 bytes per connection for gallop: 300 |",
		"| [http2](../bench/results/http2.txt) | c1m1 gallop's CPU time is 1.48 of that of gallop/1.1, goal at most 1.1 |",
		"| [middleware.cmp](../bench/results/middleware.cmp.txt) | A at most 0.7 × b: 0.9 (without 5 ns of the standard library) |",
		"| R9 FAIL p99 is 3.1 times as high |",
		"| gallop | 300 | 0.5 GB | 4,000 | 6.0 GB | 7.10 | 6.90 |",
		"| fasthttp | 16,000 | 24.0 GB | 4,000 | 6.0 GB | 9.10 | 8.90 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") || strings.Contains(got, "met |") || !strings.HasSuffix(got, "\nc\n") {
		t.Error(got)
	}
	if err := os.WriteFile(filepath.Join(top, "docs/performance.md"), []byte("no tables"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := filledPages(top, results); err == nil {
		t.Error("a page without tables is no error")
	}
}
