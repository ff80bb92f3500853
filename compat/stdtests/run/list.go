package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// test is a test in a test program.
type test struct{ program, name string }

// side returns the tested side, followed by the package unless that is http.
func (t test) side() string {
	if pkg := filepath.Base(t.dir()); pkg != "http" {
		return *side + "/" + pkg
	}
	return *side
}

// dir returns the directory in which the test runs.
func (t test) dir() string { return strings.TrimSuffix(t.program, ".test") }

// list returns the selected tests of the programs.
func list(programs []string) (tests []test, err error) {
	var skipped []string
	if *skip != "" {
		b, err := os.ReadFile(*skip)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			side, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			top, _, _ := strings.Cut(name, "/")
			skipped = append(skipped, side+" "+top)
		}
	}
	for _, program := range programs {
		if program, err = filepath.Abs(program); err != nil {
			return nil, err
		}
		out, err := exec.Command(program, "-test.list", "^Test").Output()
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(string(out)) {
			t := test{program, name}
			if wanted(name) && !slices.Contains(skipped, t.side()+" "+name) {
				tests = append(tests, t)
			}
		}
	}
	return tests, nil
}
