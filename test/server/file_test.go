package server_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// sendsFile returns a handler whose response is a stream of a file of n bytes.
func sendsFile(t *testing.T, n int) gallop.RequestHandler {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(strings.Repeat("x", n)), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(ctx *gallop.RequestCtx) {
		f, err := os.Open(name)
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.SetBodyStream(f, n)
	}
}

// countedConn counts how a server writes to it.
type countedConn struct {
	net.Conn
	writes, readFroms int
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	c.readFroms++
	return io.Copy(c.Conn, r)
}

// A small file leaves with its head, in one write; a large one by the connection's ReadFrom.
func TestFileStreamWrites(t *testing.T) {
	for _, tc := range []struct{ size, writes, readFroms int }{
		{0, 1, 0}, {1, 1, 0}, {1 << 10, 1, 0}, {12 << 10, 1, 0}, {16<<10 + 1, 1, 1}, {1 << 20, 1, 1},
	} {
		client, server := memnet.Pipe()
		counted := &countedConn{Conn: server}
		done := make(chan error, 1)
		s := &gallop.Server{Handler: sendsFile(t, tc.size), Logger: servertest.Quiet}
		go func() { done <- s.ServeConn(counted) }()
		io.WriteString(client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		got, _ := io.ReadAll(client)
		if err := <-done; err != nil {
			t.Error(err)
		}
		head, body, _ := strings.Cut(string(got), "\r\n\r\n")
		if !strings.Contains(head, "Content-Length: "+strconv.Itoa(tc.size)) || len(body) != tc.size {
			t.Errorf("%d bytes: %s, and %d bytes", tc.size, head, len(body))
		}
		if counted.writes != tc.writes || counted.readFroms != tc.readFroms {
			t.Errorf("%d bytes: %d writes and %d times ReadFrom, want %d and %d", tc.size, counted.writes, counted.readFroms, tc.writes, tc.readFroms)
		}
		client.Close()
	}
}

// A file that is shorter than it was said to be costs the connection; so does one that cannot be
// read, unless nothing was sent: then that is a 500.
func TestFileStreamFails(t *testing.T) {
	dir := t.TempDir()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, tc := range map[string]struct{ content, want, bad string }{
			"short": {"abc", "Content-Length: 10\r\n", "abcd"},
			"none":  {"", "HTTP/1.1 ", "\r\n\r\n "},
		} {
			s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				file := filepath.Join(dir, "f")
				os.WriteFile(file, []byte(tc.content), 0o644)
				f, _ := os.Open(file)
				ctx.SetBodyStream(f, 10)
			}}
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				got, _ := io.ReadAll(c.Conn())
				if !strings.Contains(string(got), tc.want) || strings.Contains(string(got), tc.bad) {
					t.Errorf("%s: %q", name, got)
				}
			})
		}
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			f, _ := os.Open(dir)
			ctx.SetBodyStream(f, 10)
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) { c.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n").Want(500) })
	})
}

// A stream of a file costs what opening it does, and next to nothing else.
func TestFileStreamAllocations(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Handler: sendsFile(t, 1<<10), Logger: servertest.Quiet, Engine: over}
		go s.Serve(ln)
		defer s.Close()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		request, answer := []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), []byte(nil)
		ask := func() {
			c.Write(request)
			if _, err := io.ReadFull(c, answer); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		for b := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, b...) {
			if _, err := c.Read(b); err != nil {
				t.Fatal(err)
			}
		}
		answer = append(answer, make([]byte, 1<<10)...) // as long as the head and the file
		if _, err := io.ReadFull(c, answer[len(answer)-1<<10:]); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			ask()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const rounds = 500
		for range rounds {
			ask()
		}
		runtime.ReadMemStats(&after)
		count, bytes := float64(after.Mallocs-before.Mallocs)/rounds, float64(after.TotalAlloc-before.TotalAlloc)/rounds
		if count > 5.5 || bytes > 600 {
			t.Errorf("%.1f allocations of %.0f bytes a request", count, bytes)
		}
	})
}

// After a stream has sent a part of a file, the file is at the end of this part, whichever way the bytes went. A body
// starts at the position of its file.
func TestFilePosition(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "f")
	text := strings.Repeat("0123456789", 20_000)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := make(chan int64, 1)
		s := &gallop.Server{Logger: servertest.Quiet, Engine: over, Handler: func(ctx *gallop.RequestCtx) {
			f, _ := os.Open(name)
			_, _ = f.Seek(7, io.SeekStart)
			if string(ctx.Path()) == "/body" {
				ctx.SetBodyStream(f, 150_000)
				return
			}
			defer f.Close()
			ctx.Response.Header.SetContentLength(150_000)
			stream, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = stream.ReadFrom(&io.LimitedReader{R: f, N: 140_000})
			pos, _ := f.Seek(0, io.SeekCurrent)
			at <- pos
			_, _ = stream.ReadFrom(&io.LimitedReader{R: f, N: 10_000})
		}}
		go s.Serve(ln)
		defer s.Shutdown()
		for _, path := range []string{"/body", "/stream"} {
			status, body, err := gallop.Get(nil, "http://"+ln.Addr().String()+path)
			if status != 200 || string(body) != text[7:150_007] || err != nil {
				t.Errorf("%s: %d, %d bytes, %v", path, status, len(body), err)
			}
		}
		if pos := <-at; pos != 140_007 {
			t.Errorf("the file is at %d", pos)
		}
	})
}
