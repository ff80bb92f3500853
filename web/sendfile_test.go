package web

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestSendFileUsesTheCache removes a file that was sent a few times. Until the cache looks at the disk again, after a second,
// SendFile sends the file without looking for it.
func TestSendFileUsesTheCache(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd":
	default:
		t.Skip("the file cache is off here")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.txt")
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.SendFile(file) })
	for {
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2200 * time.Millisecond) // a file that changed just now is not cached
		began := time.Now()
		for range 3 {
			if status, body, _ := ask(t, app, "GET", "/"); status != 200 || body != "content" {
				t.Fatal(status, body)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		status, body, _ := ask(t, app, "GET", "/")
		if time.Since(began) > 900*time.Millisecond {
			continue // too slow to tell
		}
		if status != 200 || body != "content" {
			t.Errorf("%d %q after the file was removed", status, body)
		}
		time.Sleep(1100 * time.Millisecond)
		if status, body, _ := ask(t, app, "GET", "/"); status != 404 {
			t.Errorf("%d %q in the end", status, body)
		}
		return
	}
}
