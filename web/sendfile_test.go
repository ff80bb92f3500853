package web

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestSendFileUsesTheCache removes a link through which a file was sent a few times. Until the cache looks at the disk again, after a
// second, SendFile sends the file without looking for it. A file that changed just now is not cached. In virtual time, which begins
// in the year 2000, the test sleeps until the file is old.
func TestSendFileUsesTheCache(t *testing.T) {
	switch runtime.GOOS {
	case "linux", "darwin", "freebsd":
	default:
		t.Skip("the file cache is off here")
	}
	old, err := filepath.Abs("testdata/old.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.txt")
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Round(0)) + 3*time.Second)
		app := New(Config{})
		app.Get("/", func(c *Ctx) error { return c.SendFile(file) })
		want := func(wantStatus int, wantBody string) {
			t.Helper()
			if status, body, _ := ask(t, app, "GET", "/"); status != wantStatus || wantBody != "" && body != wantBody {
				t.Fatalf("%d %q, want %d", status, body, wantStatus)
			}
		}
		if err := os.Symlink(old, file); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			want(200, "content\n")
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(999 * time.Millisecond)
		want(200, "content\n")
		time.Sleep(time.Millisecond)
		want(404, "")
	})
}
