package handlers_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// openBelow returns how many files and directories below dir are open.
func openBelow(t *testing.T, dir string) (open int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(to, dir) {
			open++
		}
	}
	return open
}

// eventually fails if a condition does not become true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error(what)
			return
		}
	}
}

// TestIdleCacheClosesFiles makes no request any more. A file that was deleted gives its space back.
func TestIdleCacheClosesFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"large.data": strings.Repeat("x", 1<<20)})
	time.Sleep(ripe)
	var files gallop.RequestHandler
	for keep := range wiretest.LongerLimits(500 * time.Millisecond) {
		begun := time.Now()
		files = (&gallop.FS{Root: dir, CacheDuration: keep}).NewRequestHandler()
		for range 3 {
			serveOnce(t, files, "GET", "/large.data")
		}
		n := openBelow(t, dir)
		slow := time.Since(begun) > keep/2 // and so files may have been closed before
		if n != 2 && !slow {
			t.Errorf("%d files are open, want the file and the directory", n)
		}
		eventually(t, "files stay open", func() bool { return openBelow(t, dir) == 0 })
		if n == 2 || !slow {
			break
		}
	}
	if resp := serveOnce(t, files, "GET", "/large.data"); len(resp.Body()) != 1<<20 {
		t.Errorf("afterwards %d bytes", len(resp.Body()))
	}
	eventually(t, "files stay open", func() bool { return openBelow(t, dir) == 0 })
	skip := (&gallop.FS{Root: dir, SkipCache: true, CacheDuration: 500 * time.Millisecond}).NewRequestHandler()
	for range 3 {
		serveOnce(t, skip, "GET", "/large.data")
	}
	if n := openBelow(t, dir); n > 1 {
		t.Errorf("%d files are open without a cache, want at most the directory", n)
	}
	runtime.KeepAlive(files)
}

// TestDroppedFSLeavesNothing makes an FS for each request, and drops one that has a cache.
func TestDroppedFSLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"large.data": strings.Repeat("x", 1<<20)})
	time.Sleep(ripe)
	for range 200 {
		files := (&gallop.FS{Root: dir}).NewRequestHandler()
		serveOnce(t, files, "GET", "/large.data")
	}
	if n := openBelow(t, dir); n != 0 {
		t.Errorf("%d files are open after one request for each FS", n)
	}
	func() {
		files := (&gallop.FS{Root: dir, CacheDuration: time.Hour}).NewRequestHandler()
		for range 3 {
			serveOnce(t, files, "GET", "/large.data")
		}
		if n := openBelow(t, dir); n != 2 {
			t.Errorf("%d files are open", n)
		}
	}()
	eventually(t, "an FS that was dropped keeps files open", func() bool {
		runtime.GC()
		return openBelow(t, dir) == 0
	})
}

// TestFewDescriptors serves many large files in a process that may have few open files, and then accepts connections.
func TestFewDescriptors(t *testing.T) {
	const limit = 256
	if os.Getenv("GALLOP_FEW_DESCRIPTORS") == "" {
		t.Parallel()
		cmd := exec.Command(os.Args[0], "-test.run=^TestFewDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), "GALLOP_FEW_DESCRIPTORS=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for i := range limit {
		contents[fmt.Sprint(i, ".data")] = strings.Repeat("x", 200_000)
	}
	dir := tree(t, contents)
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir}).NewRequestHandler()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go (&gallop.Server{Handler: files}).Serve(ln)
	for name := range contents {
		for range 3 {
			if resp := serveOnce(t, files, "GET", "/"+name); len(resp.Body()) != 200_000 {
				t.Fatalf("%d, %d bytes", resp.StatusCode(), len(resp.Body()))
			}
		}
	}
	if n := openBelow(t, dir); n < limit/16 || n > limit/8+1 {
		t.Errorf("%d files are open", n)
	}
	for range limit * 3 / 8 { // each connection has two ends in this process
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := servertest.Ask(t, c, "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 404") {
			t.Fatalf("%q", got)
		}
	}
}

// TestCachedFileBecomesAPipe does not wait for a writer.
func TestCachedFileBecomesAPipe(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.css": "a", "b.css": "b", "b.css.gz": "z"})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir, Compress: true, CheckEvery: -1}).NewRequestHandler()
	for range 3 {
		serveOnce(t, files, "GET", "/a.css")
		serveOnce(t, files, "GET", "/b.css", "Accept-Encoding: gzip")
	}
	for _, name := range []string{"a.css", "b.css.gz"} {
		os.Remove(filepath.Join(dir, name))
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if resp := serveOnce(t, files, "GET", "/a.css"); resp.StatusCode() != 404 {
		t.Errorf("%d", resp.StatusCode())
	}
	if resp := serveOnce(t, files, "GET", "/b.css", "Accept-Encoding: gzip"); string(resp.Body()) != "b" {
		t.Errorf("%d %q", resp.StatusCode(), resp.Body())
	}
}

// TestAbsentNamesOpenNothing asks a server for random names, with and without suffixes that precompressed files have. It counts
// descriptors of the process below the root.
func TestAbsentNamesOpenNothing(t *testing.T) {
	t.Parallel()
	names := 5_000
	if wiretest.Long() {
		names = 1_000_000
	}
	dir := tree(t, map[string]string{"a.css": "a", "sub/b.css": "b"})
	url, _ := serveFiles(t, (&gallop.FS{Root: dir, Compress: true, CompressBrotli: true, CleanURLs: true}).NewRequestHandler(), nil)
	client := keepAlive(t)
	for i := range names {
		name := fmt.Sprintf("/%x%s", rand.Uint64(), []string{"", ".css", ".css.gz", "/", "/b.css"}[i%5])
		if i%2 == 0 {
			name = "/sub" + name
		}
		if resp, _, err := get(client, "GET", url+name, "Accept-Encoding: gzip, br"); err != nil || resp.StatusCode != 404 {
			t.Fatal(name, resp, err)
		}
		if i%1000 != 999 {
			continue
		}
		if n := openBelow(t, dir); n > 1 {
			t.Fatalf("%d files are open after %d names, want at most the directory", n, i+1)
		}
	}
}
