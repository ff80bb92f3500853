package handlers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// callsPerRequest are the most system calls of a kind that a request for a cached file may take on average. A request takes a
// read and a write. Files are compared with the disk once per second.
const (
	fileCallsPerRequest   = 0.05
	socketCallsPerRequest = 2.2
)

// The names of system calls as strace prints them. The server opens nothing but files once it serves. Its event loop wakes the
// runtime by read and write on an eventfd, so they are not counted.
var (
	fileCalls = []string{"open", "openat", "openat2", "close", "stat", "fstat", "lstat", "newfstatat", "statx", "fcntl", "lseek",
		"pread64", "readlinkat", "epoll_ctl"}
	socketCalls = []string{"recvfrom", "recvmsg", "readv", "writev", "sendto", "sendmsg", "sendfile", "accept4", "getsockname",
		"getpeername", "setsockopt"}
)

// usesOtherCalls reports whether the server reads and writes by package syscall.
var usesOtherCalls = servertest.RaceEnabled || runtime.GOARCH == "386" || runtime.GOARCH == "s390x"

// TestCallsPerFile counts the system calls of a server that serves cached files of up to 128 KiB, some of them with a
// precompressed file.
func TestCallsPerFile(t *testing.T) {
	if dir := os.Getenv("GALLOP_CALLS"); dir != "" {
		serveCounted(t, dir)
		return
	}
	if usesOtherCalls {
		t.Skip("the server uses other system calls in this build")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	t.Parallel()
	requests := 2_000
	if wiretest.Long() {
		requests = 10_000
	}
	contents := map[string]string{}
	var paths []string
	for i, size := range []int{0, 700, 3_000, 9_000, 20_000, 60_000, 128 << 10} {
		plain, coded := fmt.Sprintf("plain%d.data", i), fmt.Sprintf("coded%d.css", i)
		contents[plain], contents[coded], contents[coded+".gz"] = strings.Repeat("x", size), "original", strings.Repeat("z", size+1)[:max(size, 1)]
		paths = append(paths, "/"+plain, "/"+coded)
	}
	dir := tree(t, contents)
	time.Sleep(ripe)

	server := exec.Command(os.Args[0], "-test.run=^TestCallsPerFile$")
	server.Env = append(os.Environ(), "GALLOP_CALLS="+dir)
	server.Stderr = os.Stderr
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + strings.TrimSpace(line)
	clients := make([]*http.Client, 8)
	for i := range clients {
		clients[i] = keepAlive(t)
	}
	askAll(t, clients, url, paths, 3*len(clients)*len(paths)) // the files are in the cache, and the connections are open
	var report bytes.Buffer
	trace := exec.Command(strace, "-c", "-f", "-U", "calls,name", "-p", strconv.Itoa(server.Process.Pid))
	trace.Stderr = &report
	if err := trace.Start(); err != nil {
		t.Fatal(err)
	}
	awaitTracer(t, server.Process.Pid)
	began := time.Now()
	askAll(t, clients, url, paths, requests)
	checks := 4 * float64(len(paths)) * time.Since(began).Seconds() // a slow machine has time for more than usual
	trace.Process.Signal(os.Interrupt)
	trace.Wait()
	counts := parseCalls(report.String())
	for _, tc := range []struct {
		kind  string
		calls []string
		most  float64
	}{{"file", fileCalls, max(fileCallsPerRequest, checks/float64(requests))}, {"socket", socketCalls, socketCallsPerRequest}} {
		sum := 0
		for _, name := range tc.calls {
			sum += counts[name]
		}
		if each := float64(sum) / float64(requests); each > tc.most || tc.kind == "socket" && each < 1 {
			t.Errorf("%.3f %s calls for each request, want at most %v:\n%s", each, tc.kind, tc.most, report.String())
		} else {
			t.Logf("%.3f %s calls for each of %d requests", each, tc.kind, requests)
		}
	}
}

// serveCounted serves the files of a directory until the process is killed, and prints its address.
func serveCounted(t *testing.T, dir string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(ln.Addr())
	files := (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler()
	t.Error((&gallop.Server{Handler: files}).Serve(ln))
}

// askAll downloads files in turn with several clients at once.
func askAll(t *testing.T, clients []*http.Client, url string, paths []string, requests int) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for _, client := range clients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(requests); i = next.Add(1) - 1 {
				path := paths[i%int64(len(paths))]
				resp, _, err := get(client, "GET", url+path, "Accept-Encoding: gzip")
				if err != nil || resp.StatusCode != 200 || strings.Contains(path, "coded") != (resp.Header.Get("Content-Encoding") == "gzip") {
					t.Errorf("%s: %v, %v", path, resp, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// awaitTracer waits until all threads of a process are traced. It skips the test if that does not happen, because the system
// may forbid it.
func awaitTracer(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		traced := 0
		for _, thread := range threads {
			if status, err := os.ReadFile(thread); err == nil && !bytes.Contains(status, []byte("\nTracerPid:\t0\n")) {
				traced++
			}
		}
		if traced > 0 && traced == len(threads) {
			return
		}
	}
	t.Skip("strace cannot trace the server")
}

// parseCalls reads the table of strace: numbers of calls with their names.
func parseCalls(table string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) == 2 {
			if n, err := strconv.Atoi(fields[0]); err == nil {
				counts[fields[1]] = n
			}
		}
	}
	return counts
}

// TestHeadLeavesWithTheFile shows that a client that waits for a large file never wakes up for the head alone.
func TestHeadLeavesWithTheFile(t *testing.T) {
	if usesOtherCalls {
		t.Skip("the server writes by package syscall, which cannot say that more follows")
	}
	t.Parallel()
	dir := tree(t, map[string]string{"large.data": strings.Repeat("x", 200_000)})
	time.Sleep(ripe)
	url, _ := serveFiles(t, (&gallop.FS{Root: dir}).NewRequestHandler(), nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	buf := make([]byte, 64<<10)
	for i := range 100 {
		if _, err := c.Write([]byte("GET /large.data HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		head, body, whole := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !whole || len(body) == 0 {
			t.Fatalf("response %d begins with %d bytes: %q", i, n, head)
		}
		if _, err := io.CopyN(io.Discard, c, int64(200_000-len(body))); err != nil {
			t.Fatal(err)
		}
	}
}
