package prefork_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp/prefork"
)

// TestMain makes this program serve if it is a child.
func TestMain(m *testing.M) {
	actsAsParent := os.Getenv("TEST_PARENT") != ""
	if !prefork.IsChild() && !actsAsParent {
		os.Exit(m.Run())
	}
	p := prefork.New(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetBodyString(strconv.Itoa(os.Getpid()))
	}})
	if !actsAsParent {
		p.OnMasterDeath = func() { os.Exit(1) }
	}
	p.OnMasterReady = func([]int) error {
		fmt.Println("ready")
		return nil
	}
	if os.Getenv("TEST_STUBBORN") != "" && prefork.IsChild() {
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
	}
	p.ShutdownGracePeriod = 100 * time.Millisecond
	p.Reuseport = os.Getenv("TEST_REUSEPORT") != ""
	err := p.ListenAndServe(os.Getenv("TEST_ADDR"))
	if err == nil && !prefork.IsChild() {
		fmt.Println("ended")
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var errDone = errors.New("the test is done")

// parent returns a Prefork whose children run this program, and a pointer that will hold its listener's address.
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

// quiet is a logger that discards its messages.
type quiet struct{ sync.Mutex }

func (*quiet) Printf(string, ...any) {}

// ask returns the process id of the child that responds.
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

// A child notices that its parent has ended even if that happened before the child could look up its parent.
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
	addr := freeAddress(t)
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

// freeAddress returns an address on which nothing listens. Its port is below those that the system gives to a listener on port 0.
func freeAddress(t *testing.T) string {
	t.Helper()
	var err error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		var ln net.Listener
		if ln, err = net.Listen("tcp4", addr); err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no address is free: ", err)
	return ""
}

// start starts this program with variables and returns its output as lines. It kills the program when the test ends.
func start(t *testing.T, variables ...string) (program *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	program = exec.Command(os.Args[0])
	program.Env = append(os.Environ(), append(variables, "GOMAXPROCS=2")...)
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
	t.Cleanup(func() { late.Stop(); program.Process.Kill() })
	return program, bufio.NewScanner(out)
}

// Children end with their parent, however it ends, and the port is free afterwards.
func TestChildrenEndWithTheirParent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be sent these signals")
	}
	for _, tt := range []struct {
		name      string
		signal    syscall.Signal
		variables []string
		status    int
	}{
		{"SIGTERM", syscall.SIGTERM, nil, 0},
		{"SIGTERM, each child listens", syscall.SIGTERM, []string{"TEST_REUSEPORT=1"}, 0},
		{"SIGTERM, children ignore it", syscall.SIGTERM, []string{"TEST_STUBBORN=1"}, 0},
		{"SIGINT", syscall.SIGINT, nil, 0},
		{"SIGHUP", syscall.SIGHUP, nil, -1},
		{"SIGKILL", syscall.SIGKILL, nil, -1},
		{"SIGKILL, each child listens", syscall.SIGKILL, []string{"TEST_REUSEPORT=1"}, -1},
		{"SIGKILL, children ignore SIGTERM", syscall.SIGKILL, []string{"TEST_STUBBORN=1"}, -1},
		{"a stale parent in the environment", syscall.SIGTERM, []string{"GALLOP_PREFORK_PARENT=1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if signal.Ignored(tt.signal) { // the started processes would ignore it, too
				t.Skip("ignored here, as under nohup")
			}
			t.Parallel()
			addr := freeAddress(t)
			program, lines := start(t, append(tt.variables, "TEST_PARENT=1", "TEST_ADDR="+addr)...)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("%q, %v", lines.Text(), lines.Err())
			}
			eventually(t, func() bool { _, err := ask(addr); return err == nil })
			if err := program.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				ln, err := net.Listen("tcp4", addr)
				if err == nil {
					ln.Close()
				}
				return err == nil
			})
			said := lines.Scan() && lines.Text() == "ended"
			program.Wait()
			if status := program.ProcessState.ExitCode(); status != tt.status || said != (status == 0) {
				t.Errorf("the parent ended with status %d, and ListenAndServe returned nil: %v", status, said)
			}
		})
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not become true")
		}
	}
}

// A process may have the variables of a child by mistake, for example as a subprocess of a child. It does not serve
// listeners that are not meant for it, and closes no descriptors of others.
func TestChildrenThatNobodyMeant(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("children inherit no listeners on Windows")
	}
	regular, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	datagrams, err := packets.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	for name, file := range map[string]*os.File{"nothing": nil, "a file": regular, "a UDP socket": datagrams} {
		t.Run(name, func(t *testing.T) {
			program := exec.Command(os.Args[0])
			program.Env = append(os.Environ(), "FASTHTTP_PREFORK_CHILD=1", "TEST_ADDR=127.0.0.1:0")
			if file != nil {
				program.ExtraFiles = []*os.File{file}
			}
			late := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
			defer late.Stop()
			out, err := program.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "is not a listening socket") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for _, value := range []string{"", "0", "true", "1 ", "11", "yes"} {
		t.Setenv("FASTHTTP_PREFORK_CHILD", value)
		if prefork.IsChild() {
			t.Errorf("%q makes a child", value)
		}
	}
}

// If the variable with the parent's process id is invalid, the parent is the process that has started this one.
func TestParentsThatNobodyHas(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there children find out in another way")
	}
	for _, parent := range []string{"", "x", "0", "-1", "99999999999999999999", "1e3"} {
		t.Run(parent, func(t *testing.T) {
			t.Parallel()
			addr := freeAddress(t)
			start(t, "FASTHTTP_PREFORK_CHILD=1", "TEST_REUSEPORT=1", "TEST_ADDR="+addr, "GALLOP_PREFORK_PARENT="+parent)
			eventually(t, func() bool { _, err := ask(addr); return err == nil })
			time.Sleep(600 * time.Millisecond) // a child checks its parent twice a second
			if _, err := ask(addr); err != nil {
				t.Error(err)
			}
		})
	}
}
