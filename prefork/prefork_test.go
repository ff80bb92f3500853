package prefork_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/prefork"
)

// TestMain makes this program one that serves when it is a child.
func TestMain(m *testing.M) {
	if !prefork.IsChild() {
		os.Exit(m.Run())
	}
	p := prefork.New(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetBodyString(strconv.Itoa(os.Getpid()))
	}})
	p.OnMasterDeath = func() { os.Exit(1) }
	p.Reuseport = os.Getenv("TEST_REUSEPORT") != ""
	err := p.ListenAndServe(os.Getenv("TEST_ADDR"))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var errDone = errors.New("the test is done")

// parent returns a Prefork whose children run this program, and what its listener's address will be in.
func parent(t *testing.T, children int) (p *prefork.Prefork, addr *string) {
	if runtime.GOOS == "windows" {
		t.Skip("children inherit no listeners on Windows")
	}
	before := runtime.GOMAXPROCS(children)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	p = prefork.New(&gallop.Server{Logger: &quiet{}})
	addr = new(string)
	p.CommandProducer = func(files []*os.File) (*exec.Cmd, error) {
		if ln, err := net.FileListener(files[0]); err == nil {
			*addr = ln.Addr().String()
			ln.Close()
		}
		cmd := exec.Command(os.Args[0])
		cmd.ExtraFiles = files
		cmd.Env = append(os.Environ(), "FASTHTTP_PREFORK_CHILD=1")
		return cmd, cmd.Start()
	}
	return p, addr
}

// quiet keeps lines for nobody.
type quiet struct{ sync.Mutex }

func (*quiet) Printf(string, ...any) {}

// ask returns the process id of the child that answers.
func ask(addr string) (int, error) {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + addr + "/")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(body))
}

func TestChildrenServe(t *testing.T) {
	p, addr := parent(t, 2)
	var spawned []int
	p.OnChildSpawn = func(pid int) error {
		spawned = append(spawned, pid)
		return nil
	}
	p.OnMasterReady = func(pids []int) error {
		pid, err := ask(*addr)
		if err != nil {
			return err
		}
		if len(pids) != 2 || !slices.Equal(pids, spawned) || !slices.Contains(pids, pid) {
			t.Errorf("%d answered, of %v; spawned %v", pid, pids, spawned)
		}
		return errDone
	}
	if err := p.ListenAndServe("127.0.0.1:0"); err != errDone {
		t.Error(err)
	}
	for _, pid := range spawned {
		if process, err := os.FindProcess(pid); err == nil && process.Signal(nil) == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestChildrenThatEndAreReplaced(t *testing.T) {
	p, addr := parent(t, 1)
	p.RecoverThreshold = 1
	p.RecoverInterval = time.Millisecond
	kill := func(pid int) {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}
	first, replaced := 0, 0
	p.OnMasterReady = func(pids []int) error {
		first = pids[0]
		kill(first)
		return nil
	}
	p.OnChildRecover = func(oldPID, newPID int) {
		replaced++
		if pid, err := ask(*addr); oldPID != first || pid != newPID || err != nil {
			t.Errorf("%d instead of %d answers for %d: %v", pid, newPID, oldPID, err)
		}
		kill(newPID)
	}
	if err := p.ListenAndServe("127.0.0.1:0"); err != prefork.ErrOverRecovery || replaced != 1 {
		t.Errorf("%v after %d", err, replaced)
	}
}

// A child learns that its parent has ended also if that was before it has looked who it is.
func TestParentThatHasEndedBefore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a parent that has ended is found out in another way")
	}
	parent := exec.Command(os.Args[0], "-test.run=^$")
	if err := parent.Run(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "FASTHTTP_PREFORK_CHILD=1", "GALLOP_PREFORK_PARENT="+strconv.Itoa(parent.Process.Pid),
		"TEST_REUSEPORT=1", "TEST_ADDR=127.0.0.1:0")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it serves on")
		child.Process.Kill()
	})
	defer late.Stop()
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) {
		t.Error(err)
	}
}

func TestParentGivesUp(t *testing.T) {
	failing := errors.New("no child today")
	for _, tt := range []struct {
		name    string
		prepare func(p *prefork.Prefork)
		want    error
	}{
		{"a child cannot be started", func(p *prefork.Prefork) {
			p.CommandProducer = func([]*os.File) (*exec.Cmd, error) { return nil, failing }
		}, failing},
		{"no command", func(p *prefork.Prefork) {
			p.CommandProducer = func([]*os.File) (*exec.Cmd, error) { return nil, nil }
		}, prefork.ErrCommandProducerNilCmd},
		{"not started", func(p *prefork.Prefork) {
			p.CommandProducer = func([]*os.File) (*exec.Cmd, error) { return exec.Command(os.Args[0]), nil }
		}, prefork.ErrCommandProducerNotStarted},
		{"OnChildSpawn", func(p *prefork.Prefork) { p.OnChildSpawn = func(int) error { return failing } }, failing},
		{"OnMasterReady", func(p *prefork.Prefork) { p.OnMasterReady = func([]int) error { return failing } }, failing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := parent(t, 1)
			tt.prepare(p)
			if err := p.ListenAndServe("127.0.0.1:0"); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("another network", func(t *testing.T) {
		p, _ := parent(t, 1)
		p.Network = "udp"
		var unknown net.UnknownNetworkError
		if err := p.ListenAndServe("127.0.0.1:0"); !errors.As(err, &unknown) {
			t.Error(err)
		}
	})
}

func TestReuseport(t *testing.T) {
	p, _ := parent(t, 1)
	p.Reuseport = true
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close() // for children to take
	p.CommandProducer = func(files []*os.File) (*exec.Cmd, error) {
		if len(files) != 0 {
			t.Error("children inherit files")
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FASTHTTP_PREFORK_CHILD=1", "TEST_REUSEPORT=1", "TEST_ADDR="+addr)
		return cmd, cmd.Start()
	}
	p.OnMasterReady = func(pids []int) error {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if pid, err := ask(addr); err == nil {
				if pid != pids[0] {
					t.Errorf("%d answered, and %d was started", pid, pids[0])
				}
				return errDone
			}
		}
		return errors.New("nobody answers")
	}
	if err := p.ListenAndServe(addr); err != errDone {
		t.Error(err)
	}
}

func TestNewTakesWhatTheServerHas(t *testing.T) {
	logger := &quiet{}
	p := prefork.New(&gallop.Server{Logger: logger})
	if p.Logger != logger || p.Network != "tcp4" || p.RecoverThreshold < 1 || p.ServeFunc == nil || p.ServeTLSFunc == nil || p.ServeTLSEmbedFunc == nil {
		t.Errorf("%+v", p)
	}
	if prefork.IsChild() {
		t.Error("a test is no child")
	}
}
