package child

import (
	"os/exec"
	"syscall"
)

// DieWithParent has a process killed when this one dies, before it is started.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
