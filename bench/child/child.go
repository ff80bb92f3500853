// Package child runs this program again as other processes that play other roles, and talks to them: by lines of text to
// them, each answered with a line of JSON.
//
// A server and its load in processes of their own have processor time, memory and descriptors of their own, which /proc
// tells apart, and together more descriptors than one process may have.
package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

const (
	roleVariable   = "GALLOP_BENCH_ROLE"
	configVariable = "GALLOP_BENCH_CONFIG"
)

// Roles maps a role's name to what a process of that role does with its configuration, which is JSON.
type Roles map[string]func(config []byte) error

// Play plays the role that this process was started for, and then does not return. In a process that was started by
// hand it does nothing. A program that calls [Command] must call Play first.
func Play(roles Roles) {
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

// Command prepares this program to run again in the given role. The child is killed when this process dies, where the
// system does that.
func Command(role string, config any, env ...string) (*exec.Cmd, error) {
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
	DieWithParent(cmd)
	return cmd, nil
}

// Pin has the command run on one processor, of those that there are, and on no other.
func Pin(cmd *exec.Cmd, processor int) error {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return err
	}
	cmd.Args = append([]string{taskset, "-c", strconv.Itoa(processor), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = taskset
	return nil
}

// Obey is the main loop of a role: it answers each line of the standard input with what answer returns, until that
// ends. A first answer, ready, comes without being asked.
func Obey(ready any, answer func(command string) any) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(ready); err != nil {
		return err
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		if err := out.Encode(answer(commands.Text())); err != nil {
			return err
		}
	}
	return commands.Err()
}

// Process is a child that obeys.
type Process struct {
	Cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a child. Its first answer is to be heard.
func Start(cmd *exec.Cmd) (*Process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd, in, bufio.NewReaderSize(out, 1<<16)}, nil
}

// StartReady is Start of a child whose first answer says no more than that it is ready.
func StartReady(cmd *exec.Cmd) (*Process, error) {
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	var ready string
	if err := p.Hear(&ready); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Tell sends a command, whose answer is to be heard.
func (p *Process) Tell(command string) error {
	_, err := io.WriteString(p.in, command+"\n")
	return err
}

// Hear waits for the next answer.
func (p *Process) Hear(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("process %d ended: %w", p.Cmd.Process.Pid, err)
	}
	return json.Unmarshal(line, answer)
}

// Ask is Tell and Hear.
func (p *Process) Ask(command string, answer any) error {
	if err := p.Tell(command); err != nil {
		return err
	}
	return p.Hear(answer)
}

// Stop kills the process and waits for it.
func (p *Process) Stop() {
	p.in.Close()
	p.Cmd.Process.Kill()
	p.Cmd.Wait()
}
