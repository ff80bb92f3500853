// Package testenv stands for internal/testenv. It has the functions that net/http's external tests call.
package testenv

import (
	"context"
	"os/exec"
	"testing"
)

// Builder returns the name of a machine that tests Go itself, which this machine is not.
func Builder() string { return "" }

// SkipFlaky is called by a test that may fail. It does nothing, because tests that fail run again.
func SkipFlaky(testing.TB, int) {}

// Command is exec.Command.
func Command(_ testing.TB, name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

// CommandContext is exec.CommandContext.
func CommandContext(_ testing.TB, ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
