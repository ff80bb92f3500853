package handlers_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop"
)

// TestFSDoesNotOpenPipes asks for a pipe: opening it would wait for a writer forever.
func TestFSDoesNotOpenPipes(t *testing.T) {
	dir := tree(t, map[string]string{"a.css": "a"})
	for _, name := range []string{"pipe", "a.css.gz"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	handler := (&gallop.FS{Root: dir, Compress: true}).NewRequestHandler()
	if resp := serveOnce(t, handler, "GET", "/pipe"); resp.StatusCode() != 404 {
		t.Errorf("%d", resp.StatusCode())
	}
	if resp := serveOnce(t, handler, "GET", "/a.css", "Accept-Encoding: gzip"); string(resp.Body()) != "a" {
		t.Errorf("%d %q", resp.StatusCode(), resp.Body())
	}
	var resp gallop.Response
	if err := resp.SendFile(filepath.Join(dir, "pipe")); err == nil {
		t.Error("a pipe is sent")
	}
}
