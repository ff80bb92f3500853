//go:build linux

package reliability

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// clockJumps is R20. The wall clock of a Go process cannot be moved from outside, because the runtime reads it
// without the C library that libfaketime replaces. Moving the machine's clock would disturb its other users. So this
// scenario runs the clock tests of the root package, which prove the goal with a server in virtual time.
func clockJumps(t *trial) error {
	if t.Server != "gallop" {
		t.count("only gallop has tests for it")
		return nil
	}
	_, here, _, _ := runtime.Caller(0)
	start := time.Now()
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestClock", ".")
	cmd.Dir = filepath.Join(filepath.Dir(here), "../..")
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.logf("%s", out)
	}
	t.require(err == nil, "the clock tests failed")
	t.count("clock tests of the root package, %v", round(time.Since(start)))
	return nil
}
