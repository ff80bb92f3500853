//go:build linux

package reliability

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

// listener is the listening socket that the judge owns and hands to each server's process.
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
	// TCPListener.File would return a file whose Fd method makes the shared socket blocking, even for a server that
	// is calling Accept.
	duplicate := -1
	err = raw.Control(func(fd uintptr) { duplicate, _ = syscall.Dup(int(fd)) })
	if err != nil || duplicate < 0 {
		return nil, fmt.Errorf("cannot duplicate the listener: %v", err)
	}
	syscall.CloseOnExec(duplicate)
	return &listener{ln.Addr().String(), os.NewFile(uintptr(duplicate), "listener")}, nil
}

// server is the process of the server under test.
type server struct {
	*child.Process
	address string
}

// Processors for scenarios that look at a server alone: one runs the server, the other sends it requests.
const (
	serverProcessor = iota
	loadProcessor
)

// serve starts a server on the listener and waits until it accepts connections. env is added to its environment.
func (t *trial) serve(ln *listener, noFile uint64, env ...string) (*server, error) {
	return startServer(ln, t.config(noFile), env...)
}

func (t *trial) config(noFile uint64) serverConfig {
	return serverConfig{Kind: t.Server, Timeouts: t.Timeouts, NoFile: noFile}
}

func startServer(ln *listener, config serverConfig, env ...string) (*server, error) {
	cmd, err := child.Command("server", config, env...)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{ln.file}
	if config.Pinned {
		if err := child.Pin(cmd, serverProcessor); err != nil {
			return nil, err
		}
	}
	p, err := child.StartReady(cmd)
	if err != nil {
		return nil, err
	}
	return &server{p, ln.address}, nil
}

// serveAlone starts a server on a listener of its own.
func (t *trial) serveAlone(noFile uint64, env ...string) (*server, error) {
	return startAlone(t.config(noFile), env...)
}

func startAlone(config serverConfig, env ...string) (*server, error) {
	ln, err := listen()
	if err != nil {
		return nil, err
	}
	defer ln.file.Close()
	return startServer(ln, config, env...)
}

// stat asks the server for its memory. The server collects garbage first.
func (s *server) stat() (serverStat, error) {
	var stat serverStat
	return stat, s.Ask("stat", &stat)
}

// proc returns the server's process as shown in /proc.
func (s *server) proc() measure.Process { return measure.Process(s.Cmd.Process.Pid) }

func (s *server) descriptors() int { return s.proc().Descriptors() }

// rss returns the server's resident memory in bytes.
func (s *server) rss() int { return s.proc().Resident() }

// cpu returns the CPU time of the server since it started, in units of the kernel's clock tick of 10 ms.
func (s *server) cpu() time.Duration {
	user, system := s.proc().CPU()
	return user + system
}

func (s *server) alive() bool { return s.proc().Alive() }

// waitDescriptors waits until the server has at most n open files, and returns how long that took.
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
