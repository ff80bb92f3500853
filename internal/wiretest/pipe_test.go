package wiretest

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipe(t *testing.T) {
	t.Run("carries both directions and half-closes", func(t *testing.T) {
		a, b := Pipe()
		write(t, a, "ping")
		_ = a.CloseWrite()
		wantRead(t, b, "ping")
		wantReadError(t, b, io.EOF)
		write(t, b, "pong")
		wantRead(t, a, "pong")
	})
	t.Run("close after reading everything is an end", func(t *testing.T) {
		a, b := Pipe()
		write(t, a, "bye")
		wantRead(t, b, "bye")
		_ = b.Close()
		wantReadError(t, a, io.EOF)
		wantReadError(t, b, net.ErrClosed)
	})
	t.Run("close with unread input is a reset after what was sent", func(t *testing.T) {
		a, b := Pipe()
		write(t, a, "unread")
		write(t, b, "answer")
		_ = b.Close()
		wantRead(t, a, "answer")
		wantReadError(t, a, syscall.ECONNRESET)
	})
	t.Run("writing to a closed peer is a reset", func(t *testing.T) {
		a, b := Pipe()
		_ = b.Close()
		if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write: %v, want EPIPE", err)
		}
		wantReadError(t, a, syscall.ECONNRESET)
	})
	t.Run("reset loses what was under way", func(t *testing.T) {
		a, b := Pipe()
		write(t, a, "lost")
		a.Reset()
		wantReadError(t, b, syscall.ECONNRESET)
	})
	t.Run("stale when something waits to be read", func(t *testing.T) {
		for name, happen := range map[string]func(*Conn){
			"octets": func(c *Conn) { write(t, c, "x") },
			"end":    func(c *Conn) { _ = c.CloseWrite() },
			"reset":  (*Conn).Reset,
		} {
			a, b := Pipe()
			write(t, b, "read")
			wantRead(t, a, "read")
			if a.Stale() {
				t.Errorf("%s: stale before", name)
			}
			if happen(b); !a.Stale() {
				t.Errorf("%s: not stale", name)
			}
		}
	})
	t.Run("deadlines pass in virtual time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, b := Pipe()
			b.SetWindow(4)
			start := time.Now()
			_ = a.SetDeadline(start.Add(time.Hour))
			wantReadError(t, a, os.ErrDeadlineExceeded)
			_ = a.SetWriteDeadline(start.Add(2 * time.Hour))
			if n, err := a.Write([]byte("window")); n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("write over the window: %d, %v", n, err)
			}
			if d := time.Since(start); d != 2*time.Hour {
				t.Errorf("deadlines passed after %v", d)
			}
			_ = a.SetDeadline(time.Time{})
			go write(t, b, "later")
			wantRead(t, a, "later")
			wantRead(t, b, "wind")
		})
	})
	t.Run("AwaitPeer returns when the peer wants more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, b := Pipe()
			write(t, a, "one")
			if a.AwaitPeer(time.Second) {
				t.Error("peer has not read")
			}
			go func() {
				time.Sleep(time.Minute)
				_, _ = io.Copy(io.Discard, b)
			}()
			if start := time.Now(); !a.AwaitPeer(time.Hour) || time.Since(start) != time.Minute {
				t.Errorf("peer read after %v", time.Since(start))
			}
			_ = a.Close()
		})
	})
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
}

func wantRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}

func wantReadError(t *testing.T, c net.Conn, want error) {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n != 0 || !errors.Is(err, want) {
		t.Fatalf("read %d, %v; want %v", n, err, want)
	}
}
