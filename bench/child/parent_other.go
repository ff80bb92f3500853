//go:build !linux

package child

import "os/exec"

// DieWithParent does nothing, because only Linux supports it.
func DieWithParent(*exec.Cmd) {}
