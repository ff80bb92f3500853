package prefork

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// defaultGracePeriod is the default of ShutdownGracePeriod.
const defaultGracePeriod = 5 * time.Second

// parent starts the children and others in the places of those that end.
func (p *Prefork) parent(addr string) (err error) {
	f := &family{Prefork: p, running: map[int]*exec.Cmd{}, ended: make(chan end)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if !p.Reuseport {
		closeListener, err := f.listen(addr)
		if err != nil {
			return err
		}
		defer closeListener()
	}
	defer f.stop()
	if err := f.startAll(); err != nil {
		return err
	}
	return f.watch()
}

// family is a parent's view of its children. One goroutine waits for each, and the others methods are the parent's.
type family struct {
	*Prefork
	files   []*os.File // that children inherit
	running map[int]*exec.Cmd
	ended   chan end
	waiting sync.WaitGroup // goroutines that wait for children
	ctx     context.Context
	cancel  context.CancelFunc
}

// end says that a child has ended, and how.
type end struct {
	pid int
	err error
}

// listen opens the socket that children inherit.
func (f *family) listen(addr string) (closeAll func(), err error) {
	if runtime.GOOS == "windows" {
		return nil, ErrOnlyReuseportOnWindows
	}
	switch f.network() {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &net.OpError{Op: "listen", Net: f.network(), Err: net.UnknownNetworkError(f.network())}
	}
	ln, err := net.Listen(f.network(), addr)
	if err != nil {
		return nil, err
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		ln.Close()
		return nil, err
	}
	f.files = []*os.File{file}
	return func() {
		ln.Close()
		file.Close()
	}, nil
}

// startAll starts a child for each processor.
func (f *family) startAll() error {
	var pids []int
	for range runtime.GOMAXPROCS(0) {
		pid, err := f.start()
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if f.OnMasterReady == nil {
		return nil
	}
	return f.OnMasterReady(pids)
}

// start starts a child, which is waited for even if OnChildSpawn does not like it.
func (f *family) start() (pid int, err error) {
	cmd, err := f.command()
	if err != nil {
		f.printf("prefork: a child cannot be started: %v", err)
		return 0, err
	}
	pid = cmd.Process.Pid
	f.running[pid] = cmd
	f.waiting.Go(func() { f.wait(pid, cmd) })
	if f.OnChildSpawn == nil {
		return pid, nil
	}
	return pid, f.OnChildSpawn(pid)
}

// wait reports the end of a child, after RecoverInterval.
func (f *family) wait(pid int, cmd *exec.Cmd) {
	ended := end{pid, cmd.Wait()}
	if f.RecoverInterval > 0 {
		pause := time.NewTimer(f.RecoverInterval)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-f.ctx.Done():
		}
	}
	select {
	case f.ended <- ended:
	case <-f.ctx.Done():
	}
}

// command returns the started command of a child.
func (f *family) command() (*exec.Cmd, error) {
	if f.CommandProducer == nil {
		return startAgain(f.files)
	}
	cmd, err := f.CommandProducer(f.files)
	switch {
	case err != nil:
		return nil, fmt.Errorf("prefork: CommandProducer: %w", err)
	case cmd == nil:
		return nil, ErrCommandProducerNilCmd
	case cmd.Process == nil:
		return nil, ErrCommandProducerNotStarted
	}
	return cmd, nil
}

// startAgain starts this program as a child.
func startAgain(files []*os.File) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, os.Args[1:]...), Env: childEnvironment(),
		Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: files,
	}
	return cmd, cmd.Start()
}

// childEnvironment is that of this process, with the variables that make a child.
func childEnvironment() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, childVariable+"=") && !strings.HasPrefix(variable, parentVariable+"=") {
			env = append(env, variable)
		}
	}
	return append(env, childVariable+"=1", parentVariable+"="+strconv.Itoa(os.Getpid()))
}

// watch starts a child for each that ends, until there were too many.
func (f *family) watch() error {
	for recovered := 0; ; recovered++ {
		ended := <-f.ended
		delete(f.running, ended.pid)
		f.printf("prefork: process %d has ended: %v", ended.pid, how(ended.err))
		if recovered >= f.RecoverThreshold {
			return ErrOverRecovery
		}
		pid, err := f.start()
		if err != nil {
			return err
		}
		if f.OnChildRecover != nil {
			f.OnChildRecover(ended.pid, pid)
		}
	}
}

func how(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// stop ends the children, first with a request and then without, and waits for them.
func (f *family) stop() {
	f.cancel()
	grace := f.ShutdownGracePeriod
	if grace <= 0 {
		grace = defaultGracePeriod
	}
	if runtime.GOOS != "windows" {
		f.signal(syscall.SIGTERM)
		patience := time.AfterFunc(grace, func() { f.signal(os.Kill) })
		defer patience.Stop()
	} else {
		f.signal(os.Kill)
	}
	f.waiting.Wait()
}

// signal sends a signal to all children.
func (f *family) signal(signal os.Signal) {
	for pid, cmd := range f.running {
		if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			f.printf("prefork: process %d, %v: %v", pid, signal, err)
		}
	}
}
