package main

import (
	"slices"
	"testing"
)

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		name, output string
		want         []string
	}{
		{"one", "--- FAIL: TestA (0.00s)\n", []string{"TestA"}},
		{"only the lowest", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/h1 (0.00s)\n    --- PASS: TestA/h2 (0.00s)\n", []string{"TestA/h1"}},
		{"a name that another begins with", "    --- FAIL: TestA/h1 (0.00s)\n    --- FAIL: TestA/h10 (0.00s)\n", []string{"TestA/h1", "TestA/h10"}},
		{"a process that died", "panic: test timed out\n", []string{"TestA"}},
		{"no output", "", []string{"TestA"}},
	} {
		if got := failures(row.output, "TestA"); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
