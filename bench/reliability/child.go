//go:build linux

package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

const (
	roleVariable   = "GALLOP_RELIABILITY_ROLE"
	configVariable = "GALLOP_RELIABILITY_CONFIG"
)

// roles maps a role's name to what a process of that role does with its configuration, which is JSON.
var roles = map[string]func(config []byte) error{
	"server": serverMain,
	"attack": attackMain,
}

// Child plays the server's or the attacker's part when this process was started for it, and then does not return.
// A program that calls [Run] must call Child first.
func Child() {
	role := roles[os.Getenv(roleVariable)]
	if role == nil {
		return
	}
	if err := role([]byte(os.Getenv(configVariable))); err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(roleVariable)+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// command prepares this program to run again in the given role. The child is killed when this process dies.
func command(role string, config any, env ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(encoded))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}
