// Package program lets the tests of a main package run that program as a process.
//
//	func TestMain(m *testing.M) { program.Main(m, main) }
//
//	func TestHello(t *testing.T) {
//		p := program.Start(t, 1, "-addr", "127.0.0.1:0")
//		response, body := p.Do("GET", "/", "")
//		...
//	}
package program

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for something that happens in milliseconds on an idle machine.
const patience = time.Minute

// Process is a running program.
type Process struct {
	Addr string   // host:port of the first address that the program said it listens on
	Also []string // the addresses that it named after that
	URL  string   // "http://" and Addr

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	err   error         // how it ended

	mu  sync.Mutex
	log bytes.Buffer // standard error
}

// listening matches the log line of an App with the address of a listener.
var listening = regexp.MustCompile(`listening network=tcp addr=(\S+)`)

// asProgram is the environment variable that makes a test binary run the program instead of the tests.
const asProgram = "GALLOP_EXAMPLE_MAIN"

// Main runs the tests, or main in a process that Start has started. It does not return.
func Main(m *testing.M, main func()) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	main()
	os.Exit(0)
}

// Start starts the program with the arguments in a process of its own, and waits until it has logged the addresses of as many
// listeners. The process is killed when the test ends, if it still runs then.
func Start(t testing.TB, listeners int, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addrs := make(chan string, listeners)
	go p.read(stderr, addrs)
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("log of %s:\n%s", strings.Join(args, " "), p.Log())
		}
	})
	for range listeners {
		select {
		case addr := <-addrs:
			p.Also = append(p.Also, addr)
		case <-p.ended:
			t.Fatalf("the program ended before it listened: %v\n%s", p.err, p.Log())
		case <-time.After(patience):
			t.Fatalf("the program does not listen\n%s", p.Log())
		}
	}
	if listeners > 0 {
		p.Addr, p.Also = p.Also[0], p.Also[1:]
		p.URL = "http://" + p.Addr
	}
	return p
}

// read collects the log and sends the addresses in it, until the process ends.
func (p *Process) read(stderr io.Reader, addrs chan<- string) {
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.log.WriteString(line)
		p.mu.Unlock()
		if found := listening.FindStringSubmatch(line); found != nil {
			select {
			case addrs <- found[1]:
			default: // more listeners than the test asked for
			}
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// Log returns what the program has written to its standard error.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Signal sends a signal. It skips the test on systems that cannot send this one, such as Windows.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		if runtime.GOOS == "windows" {
			p.t.Skipf("cannot send %v: %v", sig, err)
		}
		p.t.Fatalf("cannot send %v: %v", sig, err)
	}
}

// Wait waits until the program has ended, and returns an *exec.ExitError if it failed.
func (p *Process) Wait() error {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	return p.err
}

// Do sends a request and returns the response and its body. Header names and their values take turns in header.
func (p *Process) Do(method, path, body string, header ...string) (*http.Response, string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request) // which follows no redirects
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response, string(text)
}

// Eventually waits until a condition holds, and fails the test if it takes too long.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
