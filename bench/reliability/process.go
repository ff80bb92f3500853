//go:build linux

package reliability

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// A process is a child that is told what to do by lines on its standard input and answers with lines of JSON.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProcess(cmd *exec.Cmd) (*process, error) {
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
	return &process{cmd, in, bufio.NewReaderSize(out, 1<<16)}, nil
}

// tell sends a command.
func (p *process) tell(command string) error {
	_, err := io.WriteString(p.in, command+"\n")
	return err
}

// hear reads the next answer.
func (p *process) hear(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("process %d ended: %w", p.cmd.Process.Pid, err)
	}
	return json.Unmarshal(line, answer)
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// A listener is the listening socket that the judge owns and hands to each server's process.
type listener struct {
	address string
	file    *os.File
}

func listen() (*listener, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	// TCPListener.File would give a file whose Fd method makes the shared socket blocking, also for a server that is
	// in the middle of an Accept.
	duplicate := -1
	err = raw.Control(func(fd uintptr) { duplicate, _ = syscall.Dup(int(fd)) })
	if err != nil || duplicate < 0 {
		return nil, fmt.Errorf("cannot duplicate the listener: %v", err)
	}
	syscall.CloseOnExec(duplicate)
	return &listener{ln.Addr().String(), os.NewFile(uintptr(duplicate), "listener")}, nil
}

// A server is the server under test in its own process.
type server struct {
	*process
	address string
}

// serve starts a server on the listener and waits until it accepts. env is added to its environment.
func (t *trial) serve(ln *listener, noFile uint64, env ...string) (*server, error) {
	return startServer(ln, serverConfig{t.Server, t.Timeouts, noFile}, env...)
}

func startServer(ln *listener, config serverConfig, env ...string) (*server, error) {
	cmd, err := command("server", config, env...)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{ln.file}
	p, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	var ready string
	if err := p.hear(&ready); err != nil {
		p.stop()
		return nil, err
	}
	return &server{p, ln.address}, nil
}

// serveAlone starts a server on a listener of its own.
func (t *trial) serveAlone(noFile uint64, env ...string) (*server, error) {
	ln, err := listen()
	if err != nil {
		return nil, err
	}
	defer ln.file.Close()
	return t.serve(ln, noFile, env...)
}

// stat asks the server for its memory; it collects garbage first.
func (s *server) stat() (serverStat, error) {
	var stat serverStat
	if err := s.tell("stat"); err != nil {
		return stat, err
	}
	return stat, s.hear(&stat)
}

// proc is the server's process as /proc shows it.
func (s *server) proc() measure.Process { return measure.Process(s.cmd.Process.Pid) }

func (s *server) descriptors() int { return s.proc().Descriptors() }

// rss is the server's resident memory in octets.
func (s *server) rss() int { return s.proc().Resident() }

// cpu is the processor time that the server used since it started. Its unit is the kernel's clock tick, 10 ms.
func (s *server) cpu() time.Duration {
	user, system := s.proc().CPU()
	return user + system
}

func (s *server) alive() bool { return s.proc().Alive() }

// waitDescriptors waits until the server has at most n open files and tells how long that took.
func (s *server) waitDescriptors(n int, limit time.Duration) (time.Duration, bool) {
	start := time.Now()
	for {
		if s.descriptors() <= n {
			return time.Since(start), true
		}
		if time.Since(start) > limit {
			return time.Since(start), false
		}
		time.Sleep(20 * time.Millisecond)
	}
}
