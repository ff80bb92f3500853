package filetree

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOpensNothingThatWaits opens a pipe, a device and a socket.
func TestOpensNothingThatWaits(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for name, tree := range map[string]*Tree{
		"below": Below(dir), "unconfined": Unconfined(dir + "/"), "fs.FS": Of(os.DirFS(dir), "."),
	} {
		for _, file := range []string{"pipe", "socket"} {
			opened := make(chan error, 1)
			go func() {
				_, err := read(tree, file)
				opened <- err
			}()
			select {
			case err := <-opened:
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s, %s: %v", name, file, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s, %s: opening waits", name, file)
			}
		}
	}
	for name, tree := range map[string]*Tree{"below": Below("/dev"), "unconfined": Unconfined("/dev/")} {
		if _, err := read(tree, "null"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, a device: %v", name, err)
		}
	}
}
