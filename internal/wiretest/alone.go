package wiretest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Beside is Alone for a parallel test that may share its process: one that looks for leaks, or that changes GOMAXPROCS, say. While
// coverage is measured it runs in this process, beside no other such test, because the coverage of other processes is lost.
func Beside(t *testing.T) bool {
	t.Helper()
	if testing.CoverMode() == "" {
		t.Parallel()
		return Alone(t)
	}
	return true
}

// Alone runs a test or a subtest in a process of its own and returns false, or true in that process. Tests call it that
// measure memory: in a shared process, connections of earlier tests close at any time and free the memory that they hold.
func Alone(t *testing.T) bool {
	t.Helper()
	const variable = "GALLOP_TEST_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var pattern strings.Builder
	for i, name := range strings.Split(t.Name(), "/") {
		if i > 0 {
			pattern.WriteByte('/')
		}
		pattern.WriteString("^" + regexp.QuoteMeta(name) + "$")
	}
	args := []string{"-test.run=" + pattern.String(), "-test.timeout=" + flag.Lookup("test.timeout").Value.String()}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	switch out, err := cmd.CombinedOutput(); {
	case err != nil, bytes.Contains(out, []byte("no tests to run")):
		t.Errorf("%v:\n%s", err, out)
	case testing.Verbose():
		t.Logf("\n%s", out)
	}
	return false
}
