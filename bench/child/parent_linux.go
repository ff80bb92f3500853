package child

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the system kill the process when this one dies. Call it before the process is started.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
