package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/internal/load/result"
)

// program is the program under test, as users build it.
var program string

// engines are the engines that each test runs with.
var engines = []string{"raw", "client"}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gallop-load")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "gallop-load")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// run runs the program, and returns its exit status, its summary, and its result from the file that it has written.
func run(t *testing.T, args ...string) (status int, summary string, r *result.Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	cmd := exec.Command(program, append([]string{"--quiet", "-o", "json=" + file}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	all, err := report.ReadFiles(file)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v\n%s%s", len(all), err, &stdout, &stderr)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), all[0]
}
