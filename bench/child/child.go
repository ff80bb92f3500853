// Package child runs the current program again as child processes with other roles. The parent sends lines of text as
// commands, and a child replies to each with a line of JSON.
//
// If server and load run in processes of their own, each has its own CPU time, memory and descriptors, which /proc
// shows separately. Together they may have more descriptors than one process.
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

// Roles maps the name of a role to its main function, which gets its configuration as JSON.
type Roles map[string]func(config []byte) error

// Play runs the role that this process was started for, and does not return. In a process that the user started, Play
// does nothing. A program that calls [Command] must call Play first.
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

// Command returns a command that runs this program again in the given role. On Linux the child is killed when this
// process dies.
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

// Pin restricts the command to the given processor, counted among the available ones.
func Pin(cmd *exec.Cmd, processor int) error {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return err
	}
	cmd.Args = append([]string{taskset, "-c", strconv.Itoa(processor), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = taskset
	return nil
}

// Obey is the main loop of a role. It first writes ready, and then replies to each line of the standard input with
// the result of answer, until the input is closed.
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

// Process is a child process that runs Obey.
type Process struct {
	Cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a child. The caller must then call Hear for its first reply.
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

// StartReady is like Start for a child whose first reply only says that it is ready.
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

// Tell sends a command. The caller must then call Hear for the reply.
func (p *Process) Tell(command string) error {
	_, err := io.WriteString(p.in, command+"\n")
	return err
}

// Hear waits for the next reply and decodes it into answer.
func (p *Process) Hear(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("process %d ended: %w", p.Cmd.Process.Pid, err)
	}
	return json.Unmarshal(line, answer)
}

// Ask sends a command and waits for the reply.
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
