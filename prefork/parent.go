package prefork

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// restartPeriod is the time in which Options.Restarts children may be replaced.
const restartPeriod = time.Minute

// signalSkew is how much later than its children the parent may learn of a signal that a terminal or a service manager sends to all
// of them.
const signalSkew = 20 * time.Millisecond

// family is the parent's state. One goroutine per child waits for it to end; Run's goroutine does everything else.
type family struct {
	Options
	server    *gallop.Server
	addr      net.Addr
	files     []*os.File // that children inherit
	running   map[int]*child
	ended     chan end
	restarted []time.Time // within the last restartPeriod
}

// child is a running child process. The lifeline is the parent's end of the child's standard input. The child shuts down when it
// is closed, including when the parent dies.
type child struct {
	command  *exec.Cmd
	lifeline *os.File
}

// end says that a child has ended, and how.
type end struct {
	pid int
	err error
}

// String returns how the child ended.
func (e end) String() string {
	if e.err == nil {
		return "exit status 0"
	}
	return e.err.Error()
}

func runParent(ctx context.Context, s *gallop.Server, o Options) error {
	f := &family{Options: o, server: s, running: map[int]*child{}, ended: make(chan end)}
	closeListener, err := f.listen(ctx)
	if err != nil {
		return err
	}
	defer closeListener()
	if err = f.startAll(ctx); err == nil {
		err = f.watch(ctx)
	}
	killed := f.stop()
	if killed > 0 && err == nil {
		err = fmt.Errorf("prefork: %d processes were killed, because they did not end within %v: %w", killed, f.GracePeriod, context.DeadlineExceeded)
	}
	return err
}

// listen opens the socket that children inherit. With ReusePort it only finds out the address.
func (f *family) listen(ctx context.Context) (closeListener func(), err error) {
	switch f.Network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &net.OpError{Op: "listen", Net: f.Network, Err: net.UnknownNetworkError(f.Network)}
	}
	if f.ReusePort {
		addr, err := net.ResolveTCPAddr(f.Network, f.Addr)
		if err == nil && addr.Port == 0 {
			err = fmt.Errorf("prefork: each child would choose a port for %q: ReusePort needs a port other than 0", f.Addr)
		}
		f.addr = addr
		return func() {}, err
	}
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("prefork: processes inherit no sockets on Windows, set ReusePort: %w", errors.ErrUnsupported)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, f.Network, f.Addr)
	if err != nil {
		return nil, err
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		ln.Close()
		return nil, err
	}
	f.addr, f.files = ln.Addr(), []*os.File{file}
	return func() {
		ln.Close()
		file.Close()
	}, nil
}

// startAll starts the children.
func (f *family) startAll(ctx context.Context) error {
	var pids []int
	for range f.Processes {
		if ctx.Err() != nil {
			return nil
		}
		pid, err := f.start()
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if f.OnReady != nil {
		f.OnReady(f.addr, pids)
	}
	return nil
}

// start starts a child: this program, with the same arguments.
func (f *family) start() (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("prefork: a child cannot be started: %w", err)
	}
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("prefork: a child cannot be started: %w", err)
	}
	defer stdin.Close()
	command := &exec.Cmd{
		Path: program, Args: slices.Clone(os.Args), Env: childEnvironment(),
		Stdin: stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: f.files,
	}
	if err := command.Start(); err != nil {
		lifeline.Close()
		return 0, fmt.Errorf("prefork: a child cannot be started: %w", err)
	}
	pid = command.Process.Pid
	f.running[pid] = &child{command, lifeline}
	go func() { f.ended <- end{pid, command.Wait()} }()
	return pid, nil
}

// childEnvironment returns the environment of this process with the variable that makes a child.
func childEnvironment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, childVariable+"=") })
	return append(env, childVariable+"=1")
}

// watch starts a child for each one that ends, until ctx ends or too many have ended.
func (f *family) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case ended := <-f.ended:
			f.forget(ended.pid)
			if isDone(ctx, signalSkew) {
				return nil
			}
			if !f.mayRestart(time.Now()) {
				return fmt.Errorf("%w: process %d: %v", ErrTooManyRestarts, ended.pid, ended)
			}
			pid, err := f.start()
			if err != nil {
				return err
			}
			logf(f.server, []any{"pid", ended.pid, "new", pid}, "prefork: process %d has ended: %v. Process %d takes its place", ended.pid, ended, pid)
		}
	}
}

// isDone reports whether ctx has ended or does so within patience.
func isDone(ctx context.Context, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// mayRestart reports whether another child may be replaced, and counts it.
func (f *family) mayRestart(now time.Time) bool {
	f.restarted = slices.DeleteFunc(f.restarted, func(at time.Time) bool { return now.Sub(at) >= restartPeriod })
	if len(f.restarted) >= f.Restarts {
		return false
	}
	f.restarted = append(f.restarted, now)
	return true
}

func (f *family) forget(pid int) {
	f.running[pid].lifeline.Close()
	delete(f.running, pid)
}

// stop has the children shut down, and kills those that take longer than GracePeriod. It returns how many it had to kill.
func (f *family) stop() (killed int) {
	for _, c := range f.running {
		c.lifeline.Close()
	}
	late := time.NewTimer(f.GracePeriod)
	defer late.Stop()
	for len(f.running) > 0 {
		select {
		case ended := <-f.ended:
			f.forget(ended.pid)
		case <-late.C:
			for pid, c := range f.running {
				if err := c.command.Process.Kill(); err == nil {
					killed++
				} else if !errors.Is(err, os.ErrProcessDone) {
					logf(f.server, []any{"pid", pid}, "prefork: process %d cannot be killed: %v", pid, err)
				}
			}
		}
	}
	return killed
}
