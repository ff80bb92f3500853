package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// uploadsAtOnce is how many uploads TestMemoryOfUploads sends at once, and mostUploadMemory how many bytes the server may
// have in memory meanwhile, with everything that a test binary has.
const (
	uploadsAtOnce    = 64
	mostUploadMemory = 64 << 20
)

// TestMemoryOfUploads sends large uploads to a server in its own process. The handler streams each to the disk, or discards
// it. The most memory that the process ever had must not depend on the size of the uploads. The race detector needs several times
// as much.
func TestMemoryOfUploads(t *testing.T) {
	if to := os.Getenv("GALLOP_UPLOADS"); to != "" {
		serveUploads(t, to)
		return
	}
	t.Parallel()
	size := int64(2 << 20) // of each upload; together, they have twice the memory that is permitted
	switch {
	case wiretest.Long():
		size = 20 << 20
	case wiretest.Full():
		size = 4 << 20
	}
	for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
		for _, to := range []string{"disk", "nowhere"} {
			t.Run(protocol+" to "+to, func(t *testing.T) {
				address, peak := startUploads(t, to)
				transport := &http.Transport{}
				if protocol == "HTTP/2" {
					transport.Protocols = new(http.Protocols)
					transport.Protocols.SetUnencryptedHTTP2(true)
				}
				defer transport.CloseIdleConnections()
				began := time.Now()
				uploadAll(t, &http.Client{Transport: transport}, "http://"+address, size)
				most := peak()
				t.Logf("%d uploads of %d bytes in %v: at most %d KiB resident", uploadsAtOnce, size, time.Since(began).Round(time.Millisecond), most>>10)
				if most > mostUploadMemory && !servertest.RaceEnabled {
					t.Errorf("%d KiB were resident, want at most %d KiB", most>>10, mostUploadMemory>>10)
				}
			})
		}
	}
}

// uploadAll sends uploads that all begin before the first one goes on.
func uploadAll(t *testing.T, client *http.Client, url string, size int64) {
	var begun, all sync.WaitGroup
	begun.Add(uploadsAtOnce)
	for i := range uploadsAtOnce {
		all.Go(func() {
			body := io.MultiReader(&waiting{begun: &begun}, io.LimitReader(zeros{}, size-1))
			req, err := http.NewRequest("PUT", fmt.Sprint(url, "/", i), body)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = size
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); string(text) != strconv.FormatInt(size, 10) {
				t.Errorf("%d %q %v", resp.StatusCode, text, err)
			}
		})
	}
	all.Wait()
}

// waiting is the first byte of an upload, after which it waits until all uploads have begun.
type waiting struct {
	begun *sync.WaitGroup
	read  bool
}

func (w *waiting) Read(p []byte) (int, error) {
	if w.read {
		w.begun.Wait()
		return 0, io.EOF
	}
	w.read = true
	w.begun.Done()
	return copy(p, "x"), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// startUploads starts the server in a process of its own. peak returns the most memory that the process had, in bytes.
func startUploads(t *testing.T, to string) (address string, peak func() int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryOfUploads$")
	cmd.Env = append(os.Environ(), "GALLOP_UPLOADS="+to, "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return address[:len(address)-1], func() int64 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
		if err != nil || m == nil {
			t.Fatal("cannot read the memory of the server:", err)
		}
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return n << 10
	}
}

// serveUploads is the process of the server. It runs until it is killed.
func serveUploads(t *testing.T, to string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "uploads")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{StreamRequestBody: true, MaxRequestBodySize: 32 << 20, Protocols: new(gallop.Protocols), Handler: func(ctx *gallop.RequestCtx) {
		dst := io.Discard
		if to == "disk" {
			file, err := os.Create(filepath.Join(dir, filepath.Base(string(ctx.Path()))))
			if err != nil {
				ctx.Error(err.Error(), gallop.StatusInternalServerError)
				return
			}
			defer os.Remove(file.Name())
			defer file.Close()
			dst = file
		}
		n, err := io.Copy(dst, ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusInternalServerError)
			return
		}
		fmt.Fprint(ctx, n)
	}}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	fmt.Println(ln.Addr())
	t.Fatal(s.Serve(ln))
}
