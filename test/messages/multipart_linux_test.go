package messages_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop"
)

// On a full disk the form is an error, and the disk as it was.
func TestMultipartFormOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this user may not mount a small disk: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("something is still open: %v", err)
		}
	})
	t.Setenv("TMPDIR", dir)
	for _, how := range formBodies {
		req := formRequest(t, how, form("v", formFilesInMemory+1, 2<<20))
		if _, err := req.MultipartForm(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: error %v", how, err)
		}
		if left := leftFiles(t, dir); len(left) > 0 {
			t.Errorf("%s: left %v", how, left)
		}
	}
	file, err := formIn(t, form("v", formFilesInMemory), "X")
	if err != nil {
		t.Fatal(err)
	}
	if err := gallop.SaveMultipartFile(file.File["file"][0], filepath.Join(dir, "saved")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("SaveMultipartFile: %v", err)
	}
	if left := leftFiles(t, dir); len(left) > 0 {
		t.Errorf("SaveMultipartFile left %v", left)
	}
}
