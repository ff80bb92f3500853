package prefork

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// defaultGracePeriod is the default of ShutdownGracePeriod.
const defaultGracePeriod = 5 * time.Second

// parent starts the children, and replaces those that end.
func (p *Prefork) parent(addr string) (err error) {
	os.Unsetenv(parentVariable) // the variable was not meant for these children
	f := &family{Prefork: p, running: map[int]*exec.Cmd{}, ended: make(chan end), asked: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	defer f.awaitSignal()()
	if !p.Reuseport {
		closeListener, err := f.listen(addr)
		if err != nil {
			return err
		}
		defer closeListener()
	}
	defer f.stop()
	if err = f.startAll(); err == nil {
		err = f.watch()
	}
	if err == errAsked {
		return nil
	}
	return err
}

// errAsked means that a signal has asked the parent to end.
var errAsked = errors.New("prefork: asked to end")

// awaitSignal closes asked on the first SIGTERM or SIGINT, unless the program ignores these signals. The second
// signal has its effect without this package: mostly, it ends the parent. The returned function stops waiting.
func (f *family) awaitSignal() (stop func()) {
	signals, stopped := make(chan os.Signal, 1), make(chan struct{})
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			f.printf("prefork: %v: the children are ended", s)
			close(f.asked)
		case <-stopped:
		}
	}()
	return func() { close(stopped) }
}

// isAsked reports whether a signal has asked the parent to end. It waits for up to patience.
func (f *family) isAsked(patience time.Duration) bool {
	select {
	case <-f.asked:
		return true
	case <-time.After(patience):
		return false
	}
}

// family is the parent's view of its children. wait runs on a goroutine for each child; all other methods are called
// by the parent.
type family struct {
	*Prefork
	files   []*os.File // inherited by children
	running map[int]*exec.Cmd
	ended   chan end
	asked   chan struct{}  // closed when a signal asks the parent to end
	waiting sync.WaitGroup // goroutines that wait for children
	ctx     context.Context
	cancel  context.CancelFunc
}

// end says which child has ended, and how.
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
		if f.isAsked(0) {
			return errAsked
		}
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

// start starts a child and waits for its end in the background, also if OnChildSpawn returns an error.
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

// command starts a child and returns its command.
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

// startAgain starts this program again as a child.
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

// childEnvironment returns the environment of this process plus the variables of a child.
func childEnvironment() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, childVariable+"=") && !strings.HasPrefix(variable, parentVariable+"=") {
			env = append(env, variable)
		}
	}
	return append(env, childVariable+"=1", parentVariable+"="+strconv.Itoa(os.Getpid()))
}

// signalSkew is how much later than its children the parent may receive a signal that a terminal sends to all of
// them.
const signalSkew = 20 * time.Millisecond

// watch replaces each child that ends, until too many have ended or a signal asks the parent to end.
func (f *family) watch() error {
	for recovered := 0; ; recovered++ {
		var ended end
		select {
		case <-f.asked:
			return errAsked
		case ended = <-f.ended:
		}
		delete(f.running, ended.pid)
		f.printf("prefork: process %d has ended: %v", ended.pid, how(ended.err))
		if recovered >= f.RecoverThreshold {
			if f.isAsked(signalSkew) {
				return errAsked
			}
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

// stop ends the children, first with SIGTERM and then with SIGKILL, and waits for them.
func (f *family) stop() {
	f.cancel()
	if runtime.GOOS != "windows" {
		f.send(syscall.SIGTERM)
		patience := time.AfterFunc(f.grace(), func() { f.send(os.Kill) })
		defer patience.Stop()
	} else {
		f.send(os.Kill)
	}
	f.waiting.Wait()
}

// grace returns how long children may take to end after SIGTERM.
func (p *Prefork) grace() time.Duration {
	if p.ShutdownGracePeriod <= 0 {
		return defaultGracePeriod
	}
	return p.ShutdownGracePeriod
}

// send sends a signal to all children.
func (f *family) send(signal os.Signal) {
	for pid, cmd := range f.running {
		if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			f.printf("prefork: process %d, %v: %v", pid, signal, err)
		}
	}
}
