// Package testenv replaces internal/testenv. It provides the functions that net/http's external tests call.
package testenv

import (
	"context"
	"os/exec"
	"testing"
)

// Builder returns the name of the machine if it belongs to Go's build system. Here it is always empty.
func Builder() string { return "" }

// SkipFlaky is called by tests that may fail. It does nothing, because failed tests run again.
func SkipFlaky(testing.TB, int) {}

// Command calls exec.Command.
func Command(_ testing.TB, name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

// CommandContext calls exec.CommandContext.
func CommandContext(_ testing.TB, ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
