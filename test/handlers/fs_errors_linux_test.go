package handlers_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// TestNoDescriptorsLeft serves files in a process that has no free descriptors for a while. The responses are errors, and
// the files that were in memory are still served. Afterwards everything works again.
func TestNoDescriptorsLeft(t *testing.T) {
	if os.Getenv("GALLOP_NO_DESCRIPTORS") == "" {
		t.Parallel()
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoDescriptorsLeft$", "-test.v")
		cmd.Env = append(os.Environ(), "GALLOP_NO_DESCRIPTORS=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	large := strings.Repeat("x", 200_000)
	dir := tree(t, map[string]string{"known.css": "known", "other.css": "other", "coded.css": "coded", "coded.css.gz": "z", "large.data": large})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir, Compress: true, CheckEvery: time.Hour, CacheDuration: time.Hour}).NewRequestHandler()
	want := func(when, path, accept string, status int, body string) {
		t.Helper()
		for range 3 {
			resp := serveOnce(t, files, "GET", path, "Accept-Encoding: "+accept)
			if got := string(resp.Body()); resp.StatusCode() != status || status == 200 && got != body || strings.Contains(got, dir) {
				t.Errorf("%s, %s: %d %.40q", when, path, resp.StatusCode(), got)
			}
		}
	}
	want("before", "/known.css", "identity", 200, "known")
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(limit.Cur, 100), Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	var held []*os.File
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		held = append(held, f)
	}
	open := openBelowWithout(held, t, dir)
	want("without descriptors", "/known.css", "identity", 200, "known")
	want("without descriptors", "/other.css", "identity", 500, "")
	want("without descriptors", "/coded.css", "gzip", 500, "")
	want("without descriptors", "/large.data", "identity", 500, "")
	for _, f := range held {
		f.Close()
	}
	if now := openBelow(t, dir); now != open {
		t.Errorf("%d files are open after errors, %d before", now, open)
	}
	want("afterwards", "/known.css", "identity", 200, "known")
	want("afterwards", "/other.css", "identity", 200, "other")
	want("afterwards", "/coded.css", "gzip", 200, "z")
	want("afterwards", "/large.data", "identity", 200, large)
	if now := openBelow(t, dir); now != open+1 {
		t.Errorf("%d files are open, want the large one besides %d", now, open)
	}
}

// openBelowWithout returns how many files below dir are open. It closes one of the files of held for a moment, because
// looking takes a descriptor.
func openBelowWithout(held []*os.File, t *testing.T, dir string) int {
	t.Helper()
	last := len(held) - 1
	held[last].Close()
	n := openBelow(t, dir)
	var err error
	if held[last], err = os.Open("/dev/null"); err != nil {
		t.Fatal(err)
	}
	return n
}
