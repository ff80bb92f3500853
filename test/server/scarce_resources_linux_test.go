package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A multipart form that has to go to disk meets a disk of 256 KiB. The handler must get an error, nothing may stay
// behind, and what fits must go on working.
//
// The test runs again as a child in mount and user namespaces of its own, so that it may mount that disk anywhere and
// it is gone with the child.
func TestHostileFullDisk(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Parallel()
		cmd := child(t, "disk")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.Output()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || bytes.Contains(out, []byte("--- SKIP")) {
			t.Skipf("a small disk needs user and mount namespaces, which this system does not give: %v", err)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}

	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	t.Setenv("TMPDIR", disk)
	files := func() int {
		entries, err := os.ReadDir(disk)
		if err != nil {
			t.Error(err)
		}
		return len(entries)
	}
	address := hostileServer(t, &gallop.Server{MaxRequestBodySize: 64 << 20, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Method()) == "GET" {
			ctx.SetBody(ctx.Path())
			return
		}
		form, err := ctx.MultipartForm()
		switch {
		case err != nil:
			ctx.Error("form: no", gallop.StatusInsufficientStorage)
		default:
			f, err := form.File["f"][0].Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			n, err := io.Copy(io.Discard, f)
			fmt.Fprint(ctx, n, err)
		}
	}})

	neighbour := hostileDial(t, address)
	neighbour.ask(t, "/before")
	for range 3 {
		c := hostileDial(t, address)
		sendForm(c, 40<<20)
		c.want(t, gallop.StatusInsufficientStorage, "form: no")
		neighbour.ask(t, "/beside")
		c = hostileDial(t, address)
		sendForm(c, 10<<10)
		c.want(t, 200, "10240 <nil>")
	}
	neighbour.ask(t, "/after")
	if n := files(); n != 0 {
		t.Errorf("%d files were left on the disk", n)
	}
}

// sendForm posts a form with one file of the given size.
func sendForm(c io.Writer, size int) {
	const head = "--boundary\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
	const tail = "\r\n--boundary--\r\n"
	fmt.Fprintf(c, "POST /form HTTP/1.1\r\nHost: hostile.test\r\nContent-Type: multipart/form-data; boundary=boundary\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(head)+size+len(tail), head)
	c.Write(make([]byte, size))
	io.WriteString(c, tail)
}

// A server that should get along with 64 MiB streams a gigabyte in and a gigabyte out, and its resident memory stays
// below that.
func TestHostileStreamInLittleMemory(t *testing.T) {
	limit := 64 << 20
	if servertest.RaceEnabled {
		limit *= 2 // the detector keeps as much again
	}
	if os.Getenv(childVariable) != "" {
		streamingServer(t)
		return
	}
	t.Parallel()
	size := 2 * int64(limit)
	switch {
	case wiretest.Long():
		size = 1 << 30
	case wiretest.Full():
		size = 256 << 20
	}
	cmd := child(t, "server", "GOMEMLIMIT=64MiB")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	var address string
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	if address == "" {
		t.Fatal("the server did not start")
	}

	t.Run("upload", func(t *testing.T) {
		for _, framing := range []string{"length", "chunked"} {
			c := hostileDial(t, address)
			upload(t, c, framing, size)
			c.want(t, 200, fmt.Sprint(size))
		}
	})
	t.Run("download", func(t *testing.T) {
		c := hostileDial(t, address)
		fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: hostile.test\r\n\r\n", size)
		r, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
			t.Errorf("%d octets of %d, %v", n, size, err)
		}
	})
	if peak := peakMemory(t, cmd.Process.Pid); peak >= limit {
		t.Errorf("resident memory reached %d MiB", peak>>20)
	} else {
		t.Logf("resident memory reached %d MiB", peak>>20)
	}
}

// streamingServer answers POST with the number of received bytes, and GET /n with n bytes, until its standard input
// ends.
func streamingServer(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Method()) == "POST" {
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			if err != nil {
				t.Error(err)
			}
			fmt.Fprint(ctx, n)
			return
		}
		size, _ := strconv.ParseInt(string(ctx.Path()[1:]), 10, 64)
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			block := make([]byte, 32<<10)
			for ; size > 0; size -= int64(len(block)) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		})
	}}
	go s.Serve(ln)
	fmt.Printf("listening on %v\n", ln.Addr())
	io.Copy(io.Discard, os.Stdin)
}

// upload posts size bytes, a multiple of the block's size.
func upload(t *testing.T, c net.Conn, framing string, size int64) {
	block := make([]byte, 64<<10)
	head, before, after, end := "Content-Length: "+fmt.Sprint(size), "", "", ""
	if framing == "chunked" {
		head, before, after, end = "Transfer-Encoding: chunked", "10000\r\n", "\r\n", "0\r\n\r\n"
	}
	message := append(append([]byte(before), block...), after...)
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: hostile.test\r\n%s\r\n\r\n", head)
	for sent := int64(0); sent < size; sent += int64(len(block)) {
		if _, err := c.Write(message); err != nil {
			t.Fatal(err)
		}
	}
	io.WriteString(c, end)
}

// peakMemory is the most memory that the process has had resident.
func peakMemory(t *testing.T, pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, _ := strconv.Atoi(f[1])
			return kib << 10
		}
	}
	t.Fatal("the system does not tell a process's peak memory")
	return 0
}
