package prefork_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/prefork"
)

// TestMain makes this program a child if it is to be one, or, with TEST_PARENT, a parent on its own.
func TestMain(m *testing.M) {
	actsAsParent := os.Getenv("TEST_PARENT") != ""
	if !prefork.IsChild() && !actsAsParent {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	if os.Getenv("TEST_SIGNALS") != "" {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	err := prefork.Run(ctx, server(), prefork.Options{
		Addr: os.Getenv("TEST_ADDR"), Processes: 2, GracePeriod: grace(), ReusePort: os.Getenv("TEST_REUSEPORT") != "",
		CertFile: os.Getenv("TEST_CERT"), KeyFile: os.Getenv("TEST_KEY"), TLS: os.Getenv("TEST_TLS") != "",
		OnReady: func(net.Addr, []int) { fmt.Println("ready") },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !prefork.IsChild() {
		fmt.Println("ended")
	}
	os.Exit(0)
}

// grace is the GracePeriod of the tests.
func grace() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("TEST_GRACE")); err == nil {
		return d
	}
	return 10 * time.Second
}

// server serves what the tests want to know of a child.
func server() *gallop.Server {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/pid":
			fmt.Fprint(ctx, os.Getpid())
		case "/processors":
			fmt.Fprint(ctx, runtime.GOMAXPROCS(0))
		case "/variable":
			fmt.Fprintf(ctx, "%t %q", prefork.IsChild(), os.Getenv("GALLOP_PREFORK_CHILD"))
		case "/slow":
			begin(ctx)
			<-ctx.Done() // the server shuts down
			time.Sleep(100 * time.Millisecond)
			ctx.WriteString("slow")
		case "/never":
			begin(ctx)
			select {}
		}
	}}
	if os.Getenv("TEST_TLS") != "" {
		cert, key, err := gallop.GenerateTestCertificate("localhost")
		if err == nil {
			var pair tls.Certificate
			pair, err = tls.X509KeyPair(cert, key)
			s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
		}
		if err != nil {
			panic(err)
		}
	}
	return s
}

// begin tells the client that its handler runs.
func begin(ctx *gallop.RequestCtx) {
	if err := ctx.WriteInterim(gallop.StatusProcessing); err != nil {
		panic(err)
	}
}

func skipOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("children inherit no listeners on Windows")
	}
}

// quiet is a server that logs nothing.
func quiet() *gallop.Server { return &gallop.Server{Logger: noLog{}} }

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// running is a parent that runs in this process.
type running struct {
	addr   string
	pids   []int
	cancel context.CancelFunc
	ended  chan error
}

// run runs a parent in this process until the test ends, and returns it when its children have been started.
func run(t *testing.T, s *gallop.Server, o prefork.Options) *running {
	t.Helper()
	skipOnWindows(t)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan struct{})
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	o.OnReady = func(addr net.Addr, pids []int) {
		r.addr, r.pids = addr.String(), pids
		close(ready)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.ended <- prefork.Run(ctx, s, o)
	}()
	t.Cleanup(func() { cancel(); <-over })
	select {
	case <-ready:
	case err := <-r.ended:
		t.Fatal(err)
	}
	return r
}

// stop ends a parent and returns what Run has returned.
func (r *running) stop() error {
	r.cancel()
	return <-r.ended
}

// get returns a body, from a connection of its own.
func get(url string) (string, error) { return getWith(context.Background(), url) }

func getWith(ctx context.Context, url string) (string, error) {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// getSlowly is get for a slow path. It returns when the handler runs.
func getSlowly(t *testing.T, url string) (wait func() (string, error)) {
	t.Helper()
	type result struct {
		body string
		err  error
	}
	begun, ended := make(chan bool, 1), make(chan result, 1)
	trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { begun <- true; return nil }}
	go func() {
		body, err := getWith(httptrace.WithClientTrace(context.Background(), trace), url)
		ended <- result{body, err}
	}()
	select {
	case <-begun:
	case r := <-ended:
		t.Fatalf("%s: %q, %v", url, r.body, r.err)
	}
	return func() (string, error) {
		r := <-ended
		return r.body, r.err
	}
}

// ask returns the process id of the child that answers.
func ask(addr string) (int, error) {
	body, err := get("http://" + addr + "/pid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(body)
}

func kill(t *testing.T, pid int, s os.Signal) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(s)
	}
	if err != nil {
		t.Error(err)
	}
}

func isThere(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

func TestChildrenServe(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 2})
	pid, err := ask(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.pids) != 2 || !slices.Contains(r.pids, pid) {
		t.Errorf("%d answered, of %v", pid, r.pids)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	for _, pid := range r.pids {
		if isThere(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// A process for each processor by default, and the children share the processors out among themselves.
func TestProcesses(t *testing.T) {
	r := run(t, quiet(), prefork.Options{})
	if len(r.pids) != runtime.GOMAXPROCS(0) {
		t.Errorf("%d children on %d processors", len(r.pids), runtime.GOMAXPROCS(0))
	}
	t.Setenv("GOMAXPROCS", "3")
	for processes, want := range map[int]string{1: "2", 2: "2"} { // the children have 2 Processes, see TestMain
		if got, err := get("http://" + run(t, quiet(), prefork.Options{Processes: processes}).addr + "/processors"); got != want || err != nil {
			t.Errorf("%d processes: %s, %v", processes, got, err)
		}
	}
}

func TestChildrenThatEndAreReplaced(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 1, Restarts: 1})
	first := r.pids[0]
	kill(t, first, os.Kill)
	second := 0
	eventually(t, func() (ok bool) {
		pid, err := ask(r.addr)
		second = pid
		return err == nil && pid != first
	})
	kill(t, second, os.Kill)
	if err := <-r.ended; !errors.Is(err, prefork.ErrTooManyRestarts) || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

func TestNoRestarts(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 2, Restarts: -1})
	kill(t, r.pids[1], os.Kill)
	if err := <-r.ended; !errors.Is(err, prefork.ErrTooManyRestarts) {
		t.Error(err)
	}
	if isThere(r.pids[0]) {
		t.Error("the other child serves on")
	}
}

// By default each child may be replaced once within a minute, and the log says so.
func TestDefaultRestarts(t *testing.T) {
	lines := make(lineLog, 10)
	r := run(t, &gallop.Server{Logger: lines}, prefork.Options{Processes: 2})
	for _, pid := range r.pids {
		kill(t, pid, os.Kill)
		if line := <-lines; !strings.Contains(line, strconv.Itoa(pid)) || !strings.Contains(line, "takes its place") {
			t.Error(line)
		}
	}
	pid, err := ask(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, pid, os.Kill)
	if err := <-r.ended; !errors.Is(err, prefork.ErrTooManyRestarts) {
		t.Error(err)
	}
}

// A structured log gets the process IDs as attributes.
func TestErrorLog(t *testing.T) {
	lines := make(lineLog, 10)
	r := run(t, &gallop.Server{ErrorLog: slog.New(slog.NewTextHandler(lines, nil)), Logger: noLog{}}, prefork.Options{Processes: 1})
	kill(t, r.pids[0], os.Kill)
	if line := <-lines; !strings.Contains(line, fmt.Sprintf("level=WARN msg=\"prefork: process %d has ended", r.pids[0])) ||
		!strings.Contains(line, fmt.Sprintf(" pid=%d new=", r.pids[0])) {
		t.Error(line)
	}
}

type lineLog chan string

func (l lineLog) Printf(format string, args ...any) { l <- fmt.Sprintf(format, args...) }

func (l lineLog) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// The variable that makes a child is not passed on to what the child starts.
func TestVariable(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 1})
	if got, err := get("http://" + r.addr + "/variable"); got != `true ""` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if prefork.IsChild() {
		t.Error("a test is no child")
	}
}

// The end of the context cuts off no request.
func TestShutdownIsGraceful(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 2})
	var slow []func() (string, error)
	for range 4 {
		slow = append(slow, getSlowly(t, "http://"+r.addr+"/slow"))
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	for _, wait := range slow {
		if body, err := wait(); body != "slow" {
			t.Error(body, err)
		}
	}
}

// Children that do not end are killed after GracePeriod, and Run says so.
func TestStubbornChildren(t *testing.T) {
	r := run(t, quiet(), prefork.Options{Processes: 1, GracePeriod: 20 * time.Millisecond})
	if _, err := ask(r.addr); err != nil {
		t.Fatal(err)
	}
	getSlowly(t, "http://"+r.addr+"/never")
	begun := time.Now()
	if err := r.stop(); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if isThere(r.pids[0]) {
		t.Error("the child serves on")
	}
}

func TestTLS(t *testing.T) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, variables := range map[string]map[string]string{
		"files":     {"TEST_CERT": certFile, "TEST_KEY": keyFile},
		"TLSConfig": {"TEST_TLS": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range variables {
				t.Setenv(name, value)
			}
			r := run(t, quiet(), prefork.Options{Processes: 1})
			if body, err := get("https://" + r.addr + "/pid"); err != nil || body != strconv.Itoa(r.pids[0]) {
				t.Errorf("%s, %v", body, err)
			}
		})
	}
}

func TestParentGivesUp(t *testing.T) {
	skipOnWindows(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		name    string
		options prefork.Options
		want    string
	}{
		{"another network", prefork.Options{Addr: "127.0.0.1:0", Network: "udp"}, "unknown network udp"},
		{"an address that is taken", prefork.Options{Addr: taken.Addr().String()}, "in use"},
		{"no address", prefork.Options{Addr: "here"}, "missing port"},
		{"a port that each child would choose", prefork.Options{Addr: "127.0.0.1:0", ReusePort: true}, "a port other than 0"},
		{"no address for children", prefork.Options{Addr: "here", ReusePort: true}, "missing port"},
		{"children that cannot listen", prefork.Options{Addr: taken.Addr().String(), ReusePort: true, Processes: 1}, "too many children have ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.options.ReusePort {
				t.Setenv("TEST_REUSEPORT", "1")
				t.Setenv("TEST_ADDR", tt.options.Addr)
			}
			if err := prefork.Run(t.Context(), quiet(), tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := prefork.Run(ended, quiet(), prefork.Options{Addr: "127.0.0.1:0", OnReady: func(net.Addr, []int) { t.Error("it is ready") }}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestReusePort(t *testing.T) {
	skipOnWindows(t)
	addr := wiretest.FreeAddress(t)
	t.Setenv("TEST_REUSEPORT", "1")
	t.Setenv("TEST_ADDR", addr)
	r := run(t, quiet(), prefork.Options{Addr: addr, ReusePort: true, Processes: 2})
	if r.addr != addr {
		t.Errorf("at %s, want %s", r.addr, addr)
	}
	seen := map[int]bool{}
	eventually(t, func() bool {
		pid, err := ask(addr)
		if err == nil {
			seen[pid] = true
		}
		return len(seen) == 2
	})
	for pid := range seen {
		if !slices.Contains(r.pids, pid) {
			t.Errorf("%d answered, of %v", pid, r.pids)
		}
	}
}

// start starts this program with variables, and has it killed when the test ends. Its output is returned as lines.
func start(t *testing.T, variables ...string) (program *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	program = exec.Command(os.Args[0])
	program.Env = append(os.Environ(), variables...)
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

// Children end with their parent, whatever has ended that, and nobody holds the port any more.
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
		{"SIGTERM", syscall.SIGTERM, []string{"TEST_SIGNALS=1"}, 0},
		{"SIGTERM, each child listens", syscall.SIGTERM, []string{"TEST_SIGNALS=1", "TEST_REUSEPORT=1"}, 0},
		{"SIGINT", syscall.SIGINT, []string{"TEST_SIGNALS=1"}, 0},
		{"SIGTERM, not handled", syscall.SIGTERM, nil, -1},
		{"SIGHUP", syscall.SIGHUP, nil, -1},
		{"SIGKILL", syscall.SIGKILL, nil, -1},
		{"SIGKILL, each child listens", syscall.SIGKILL, []string{"TEST_REUSEPORT=1"}, -1},
		{"SIGKILL, a request in flight for ever", syscall.SIGKILL, []string{"TEST_GRACE=100ms", "TEST_NEVER=1"}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if signal.Ignored(tt.signal) { // and so it would be in the processes that are started
				t.Skip("ignored here, as under nohup")
			}
			t.Parallel()
			addr := wiretest.FreeAddress(t)
			program, lines := start(t, append(tt.variables, "TEST_PARENT=1", "TEST_ADDR="+addr)...)
			if !lines.Scan() || lines.Text() != "ready" {
				t.Fatalf("%q, %v", lines.Text(), lines.Err())
			}
			eventually(t, func() bool { _, err := ask(addr); return err == nil })
			pid, err := ask(addr)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(tt.variables, "TEST_NEVER=1") {
				for range 8 { // for both children
					getSlowly(t, "http://"+addr+"/never")
				}
			}
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
				t.Errorf("the parent ended with status %d, and Run returned nil: %v", status, said)
			}
			eventually(t, func() bool { return !isRunning(pid) })
		})
	}
}

// isRunning reports whether a process is there that is no zombie, as orphans are where nothing waits for them.
func isRunning(pid int) bool {
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(status), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	return runtime.GOOS != "linux" && isThere(pid)
}

// A child that gets a signal ends without cutting off a request, and another one takes its place.
func TestSignalToChild(t *testing.T) {
	skipOnWindows(t)
	if signal.Ignored(syscall.SIGTERM) {
		t.Skip("ignored here")
	}
	t.Setenv("TEST_SIGNALS", "1")
	lines := make(lineLog, 10)
	r := run(t, &gallop.Server{Logger: lines}, prefork.Options{Processes: 1})
	if _, err := ask(r.addr); err != nil {
		t.Fatal(err)
	}
	slow := getSlowly(t, "http://"+r.addr+"/slow")
	kill(t, r.pids[0], syscall.SIGTERM)
	if body, err := slow(); body != "slow" {
		t.Errorf("got %q, %v", body, err)
	}
	if line := <-lines; !strings.Contains(line, "exit status 0") {
		t.Error(line)
	}
	if pid, err := ask(r.addr); err != nil || pid == r.pids[0] {
		t.Errorf("%d, %v", pid, err)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not become true")
		}
	}
}

// A process whose variable says that it is a child, as a program that a child starts early may inherit it, serves nothing, and closes no
// descriptor of others.
func TestChildrenThatNobodyMeant(t *testing.T) {
	skipOnWindows(t)
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
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer end.Close()
	for _, tt := range []struct {
		name        string
		stdin, file *os.File
		variables   []string
		want        string
	}{
		{"no pipe", nil, nil, nil, "no pipe from a parent"},
		{"no pipe, a file", regular, nil, nil, "no pipe from a parent"},
		{"no pipe, a port", nil, nil, []string{"TEST_REUSEPORT=1"}, "no pipe from a parent"},
		{"no listener", pipe, nil, nil, "is not a listening socket"},
		{"a file", pipe, regular, nil, "is not a listening socket"},
		{"a UDP socket", pipe, datagrams, nil, "is not a listening socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := exec.Command(os.Args[0])
			program.Env = append(os.Environ(), append(tt.variables, "GALLOP_PREFORK_CHILD=1", "TEST_ADDR=127.0.0.1:0")...)
			if tt.stdin != nil {
				program.Stdin = tt.stdin
			}
			if tt.file != nil {
				program.ExtraFiles = []*os.File{tt.file}
			}
			late := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
			defer late.Stop()
			out, err := program.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A child learns that its parent has ended also if that was before it has looked.
func TestParentThatHasEndedBefore(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "GALLOP_PREFORK_CHILD=1", "TEST_REUSEPORT=1", "TEST_ADDR="+wiretest.FreeAddress(t))
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it serves on")
		child.Process.Kill()
	})
	defer late.Stop()
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Only "1" makes a child.
func TestIsChild(t *testing.T) {
	for _, value := range []string{"", "0", "true", "1 ", "11", "yes"} {
		program := exec.Command(os.Args[0], "-test.run=^TestVariableAlone$", "-test.v")
		program.Env = append(os.Environ(), "GALLOP_PREFORK_CHILD="+value)
		if out, err := program.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestVariableAlone") {
			t.Errorf("%q: %v: %s", value, err, out)
		}
	}
}

func TestVariableAlone(t *testing.T) {
	if prefork.IsChild() {
		t.Error("a child")
	}
}
