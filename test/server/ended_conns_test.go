//go:build linux

package server_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// keepConn returns a server whose handlers give their connection, and its descriptor, away.
func keepConn() (*gallop.Server, chan kept) {
	conns := make(chan kept, 2)
	return &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
		c := ctx.Conn()
		raw, err := c.(syscall.Conn).SyscallConn()
		if err != nil {
			panic(err)
		}
		var fd uintptr
		_ = raw.Control(func(is uintptr) { fd = is })
		conns <- kept{c, raw, fd}
		ctx.SetBodyString("kept")
	}}, conns
}

type kept struct {
	net.Conn
	raw syscall.RawConn
	fd  uintptr
}

// wantEnded uses a connection in every way, each of which has to fail.
func (c kept) wantEnded(t *testing.T) {
	t.Helper()
	stolen := errors.New("the descriptor is shown")
	for name, use := range map[string]func() error{
		"Read":             func() error { _, err := c.Read(make([]byte, 100)); return err },
		"Write":            func() error { _, err := c.Write([]byte("who is this?")); return err },
		"ReadFrom":         func() error { _, err := c.Conn.(io.ReaderFrom).ReadFrom(strings.NewReader("x")); return err },
		"ReadFrom a file":  func() error { return c.sendFile(t) },
		"CloseWrite":       func() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() },
		"Close":            c.Close,
		"SetDeadline":      func() error { return c.SetDeadline(time.Now().Add(time.Hour)) },
		"SetReadDeadline":  func() error { return c.SetReadDeadline(time.Now()) },
		"SetWriteDeadline": func() error { return c.SetWriteDeadline(time.Time{}) },
		"Control": func() error {
			if err := c.raw.Control(func(uintptr) { t.Error(stolen) }); err != nil {
				return err
			}
			return nil
		},
		"RawConn.Read":  func() error { return c.raw.Read(func(uintptr) bool { t.Error(stolen); return true }) },
		"RawConn.Write": func() error { return c.raw.Write(func(uintptr) bool { t.Error(stolen); return true }) },
	} {
		if err := use(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a, b := c.LocalAddr(), c.RemoteAddr(); a == nil || b == nil {
		t.Errorf("addresses %v, %v", a, b)
	}
}

func (c kept) sendFile(t *testing.T) error {
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = c.Conn.(io.ReaderFrom).ReadFrom(&io.LimitedReader{R: f, N: 100})
	return err
}

// A program that has kept a connection finds it closed, although another connection has its descriptor.
func TestLoopConnAfterItsEndInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conns := keepConn()
		ln, _ := serveInMemory(t, s)
		wantAll(t, callIn(t, ln, wiretest.Get("/", "Connection: close")), "HTTP/1.1 200 OK")
		synctest.Wait()
		old := <-conns
		c := callIn(t, ln, wiretest.Get("/"))
		heir := <-conns
		if heir.fd != old.fd {
			t.Fatalf("descriptors %d and %d", old.fd, heir.fd)
		}
		synctest.Wait()
		old.wantEnded(t)
		if _, err := io.WriteString(c, wiretest.Get("/", "Connection: close")); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c)
		if err != nil || strings.Count(string(b), "HTTP/1.1 200 OK") != 2 || strings.Contains(string(b), "who") {
			t.Errorf("%q, %v", b, err)
		}
		heir.wantEnded(t)
	})
}

// The same with the descriptors of the system, of which the lowest is the next one.
func TestLoopConnAfterItsEnd(t *testing.T) {
	s, conns := keepConn()
	addr := loopServer(t, s)
	for range 100 {
		first := dialRaw(t, addr)
		first.want("/", "kept")
		old := <-conns
		_ = first.Close()
		wantNoConns(t, s)
		old.wantEnded(t)
		second := dialRaw(t, addr)
		second.want("/", "kept")
		heir := <-conns
		old.wantEnded(t)
		second.want("/", "kept")
		<-conns
		_ = second.Close()
		if heir.fd == old.fd {
			return
		}
	}
	t.Error("no descriptor was used twice")
}

// A goroutine that waits for a connection stops waiting when the connection ends or goes back to its loop.
func TestLoopConnEndsUnderItsReaders(t *testing.T) {
	for name, line := range map[string]string{"the end": "Connection: close", "back": "Connection: keep-alive"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read := make(chan error, 2)
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					c := ctx.Conn()
					go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
					synctest.Wait()
				}}
				ln, _ := serveInMemory(t, s)
				c := callIn(t, ln, wiretest.Get("/", line))
				if err := <-read; !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				_ = c.Close()
			})
		})
	}
}

// Those who use a connection while it ends use it, or find it closed, and never another one.
func TestLoopConnEndsWhileItIsUsed(t *testing.T) {
	t.Parallel()
	s, conns := keepConn()
	addr := loopServer(t, s)
	for range 300 {
		c := dialRaw(t, addr)
		if _, err := io.WriteString(c, wiretest.Get("/", "Connection: close")); err != nil {
			t.Fatal(err)
		}
		old := <-conns
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, err := old.Write(nil); err == nil; _, err = old.Write(nil) {
				_ = old.LocalAddr()
			}
		}()
		if body, err := c.answer(); err != nil || body != "kept" {
			t.Fatalf("%q, %v", body, err)
		}
		_ = c.Close()
		<-done
	}
	wantNoConns(t, s)
}
