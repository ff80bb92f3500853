package web

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestSendFileUsesTheCache removes a link through which a file was sent a few times. Until the cache looks at the disk again, after a
// second, SendFile sends the file without looking for it. A file that changed just now is not cached, so the test sends an old file. If the
// file was put here just now, the test tries again until it is old.
func TestSendFileUsesTheCache(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd":
	default:
		t.Skip("the file cache is off here")
	}
	t.Parallel()
	old, err := filepath.Abs("testdata/old.txt")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	file := filepath.Join(t.TempDir(), "a.txt")
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.SendFile(file) })
	for {
		if err := os.Symlink(old, file); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			if status, body, _ := ask(t, app, "GET", "/"); status != 200 || body != "content\n" {
				t.Fatal(status, body)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		status, body, _ := ask(t, app, "GET", "/")
		slow := time.Since(began) > 900*time.Millisecond // too slow to tell
		cached := status == 200 && body == "content\n"
		young := began.Sub(start) < 2200*time.Millisecond // the file may have changed as late as at the start
		if !cached && !slow && !young {
			t.Errorf("%d %q after the file was removed", status, body)
		}
		time.Sleep(1100 * time.Millisecond)
		if status, body, _ := ask(t, app, "GET", "/"); status != 404 {
			t.Errorf("%d %q in the end", status, body)
		}
		if !slow && (cached || !young) {
			return
		}
	}
}
