//go:build unix

package serve

import (
	"os/exec"
	"syscall"
)

// detach keeps a Ctrl-C in the terminal from reaching the program, which may be the browser itself.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
