package poll

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// served passes each accepted connection to the test. The test owns it until it parks or finishes it and lets go.
func served(h *hooks) (conns <-chan *Conn, letGo func()) {
	c, gone := make(chan *Conn), make(chan struct{})
	h.serve = func(_ *Worker, conn *Conn) {
		c <- conn
		<-gone
	}
	return c, func() { gone <- struct{}{} }
}

// readAll reads this many bytes.
func readAll(c *Conn, n int) (string, error) {
	p := make([]byte, n)
	n, err := io.ReadFull(c, p)
	return string(p[:n]), err
}

// Reads and writes wait, also while other connections are served, and give up at their deadlines.
func TestConnWaits(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns, letGo := served(h)
		client := r.dial()
		c := <-conns
		time.AfterFunc(time.Second, func() { _, _ = client.Write([]byte("one")) })
		begun := time.Now()
		if s, err := readAll(c, 3); s != "one" || err != nil || time.Since(begun) != time.Second {
			t.Errorf("%q, %v after %v", s, err, time.Since(begun))
		}
		client.SetWindow(10)
		time.AfterFunc(time.Second, func() { wantText(t, client, strings.Repeat("x", 35)) })
		if n, err := c.Write([]byte(strings.Repeat("x", 35))); n != 35 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		synctest.Wait()
		if n, err := c.TryWriteBoth([]byte("half of "), []byte("this"), false); n != 10 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if n, err := c.TryWriteBoth([]byte("x"), []byte("y"), true); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		for name, op := range map[string]struct {
			set func(time.Time) error
			do  func() error
		}{
			"Read":          {c.SetReadDeadline, func() error { _, err := c.Read(make([]byte, 1)); return err }},
			"Write":         {c.SetWriteDeadline, func() error { _, err := c.Write([]byte("x")); return err }},
			"RawConn.Read":  {c.SetDeadline, func() error { return rawConn{c}.Read(func(uintptr) bool { return false }) }},
			"RawConn.Write": {c.SetDeadline, func() error { return rawConn{c}.Write(func(uintptr) bool { return false }) }},
		} {
			begun := time.Now()
			_ = op.set(begun.Add(time.Second))
			if err := op.do(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			for _, at := range []time.Time{time.Now(), time.Unix(1, 0)} {
				_ = op.set(at)
				if err := op.do(); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s with a deadline that has passed: %v", name, err)
				}
			}
			_ = op.set(time.Now().Add(time.Second)) // one timer that is too early, and one that is too late
			time.AfterFunc(time.Millisecond, func() { _ = op.set(time.Now().Add(time.Minute)) })
			time.AfterFunc(10*time.Second, func() { _ = op.set(time.Now().Add(time.Second)) })
			begun = time.Now()
			if err := op.do(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 11*time.Second {
				t.Errorf("%s with a deadline that moves: %v after %v", name, err, time.Since(begun))
			}
			_ = c.SetDeadline(time.Time{})
		}
		c.Finish()
		letGo()
		r.close(client)
	})
}

// The loop watches for room to write only while a goroutine waits for it, and reports only changes.
func TestRoomIsWatchedForWhoWaits(t *testing.T) {
	var calls, wakes counter
	h := &hooks{step: func(call string, _ int) {
		switch call {
		case "epoll_ctl":
			calls.Add(1)
		case "after epoll_wait":
			wakes.Add(1)
		}
	}}
	inMemory(t, 1, h, func(r *rig) {
		calls.Store(0)
		conns, letGo := served(h)
		client := r.dial()
		c := <-conns
		calls.want(t, 1) // for adding it
		_, _ = c.Write([]byte("there is room"))
		wantText(t, client, "there is room")
		calls.want(t, 1)
		client.SetWindow(4)
		for range 3 {
			go func() { _, _ = c.Write([]byte("not at once")) }()
			wantText(t, client, "not at once")
			calls.want(t, 2)
		}
		client.SetWindow(0)
		synctest.Wait()
		before := wakes.Load()
		for range 10 {
			_, _ = c.Write([]byte("room again"))
			wantText(t, client, "room again")
		}
		synctest.Wait()
		if n := wakes.Load() - before; n > 0 {
			t.Errorf("the loop woke up %d times", n)
		}
		c.Finish()
		letGo()
		r.close(client)
	})
}

// A waiting goroutine wakes up when any goroutine closes the connection, when it is reset, and when the client is
// gone.
func TestConnEndsForWhoWaits(t *testing.T) {
	for _, tt := range []struct {
		name        string
		end         func(client *wiretest.Conn, c *Conn)
		read, write error
	}{
		{"closed", func(_ *wiretest.Conn, c *Conn) { _ = c.Close() }, net.ErrClosed, net.ErrClosed},
		{"reset", func(client *wiretest.Conn, _ *Conn) { client.Reset() }, syscall.ECONNRESET, syscall.EPIPE},
		{"client gone", func(client *wiretest.Conn, _ *Conn) { _ = client.Close() }, io.EOF, syscall.EPIPE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &hooks{}
			inMemory(t, 1, h, func(r *rig) {
				conns, letGo := served(h)
				client := r.dial()
				client.SetWindow(1)
				c := <-conns
				var waiting sync.WaitGroup
				waiting.Go(func() {
					if _, err := c.Read(make([]byte, 1)); !errors.Is(err, tt.read) && !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("Read: %v", err)
					}
				})
				waiting.Go(func() {
					if _, err := c.Write([]byte("xyz")); !errors.Is(err, tt.write) {
						t.Errorf("Write: %v", err)
					}
				})
				synctest.Wait()
				tt.end(client, c)
				waiting.Wait()
				if tt.name == "closed" {
					if err := c.Close(); err != net.ErrClosed {
						t.Error(err)
					}
				}
				c.Finish()
				c.Finish() // a second time
				if nc, err := c.Take(); nc != nil || err != net.ErrClosed {
					t.Errorf("%v, %v", nc, err)
				}
				letGo()
				r.close(client)
			})
		})
	}
}

// A connection that was taken belongs to the taker, even while another goroutine uses it.
func TestTake(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns, letGo := served(h)
		client := r.dial()
		c := <-conns
		if !c.use() {
			t.Fatal("it has ended")
		}
		go c.done()
		nc, err := c.Take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_, _ = nc.Write([]byte("taken"))
		wantText(t, client, "taken")
		letGo()
		_ = nc.Close()
		r.close(client)
	})
}

// If a connection is closed while calls use it, the last call closes the descriptor.
func TestFinishLeavesTheDescriptorToWhoUsesIt(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns, letGo := served(h)
		client := r.dial()
		c := <-conns
		for range 2 {
			if !c.use() {
				t.Fatal("it has ended")
			}
		}
		c.Finish()
		if c.use() {
			t.Error("it has not ended")
		}
		if c.done(); r.k.Open() != 1 {
			t.Error("it was closed by the first of two")
		}
		if c.done(); r.k.Open() != 0 {
			t.Error("it was not closed by the second of two")
		}
		letGo()
		r.close(client)
	})
}

// SendFile and ReadFrom send the bytes that were asked for with sendfile. Only ReadFrom uses the position of the file.
func TestSendFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(strings.Repeat("0123456789", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns, letGo := served(h)
		client := r.dial()
		client.SetWindow(64)
		c := <-conns
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string)
		go func() { b, _ := io.ReadAll(client); got <- string(b) }()
		if n, err := c.ReadFrom(&io.LimitedReader{R: f, N: 95}); n != 95 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if n, err := c.SendFile(f, 990, 1000); n != 10 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if at, err := f.Seek(0, io.SeekCurrent); at != 95 || err != nil {
			t.Errorf("the file is at %d, %v", at, err)
		}
		if n, err := c.ReadFrom(strings.NewReader("no file")); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		_ = c.SetWriteDeadline(time.Unix(1, 0))
		if _, err := c.SendFile(f, 0, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = c.SetWriteDeadline(time.Time{})
		_ = f.Close()
		if _, err := c.SendFile(f, 0, 1); err == nil {
			t.Error("a closed file is sent")
		}
		_ = c.CloseWrite()
		if s := <-got; s != strings.Repeat("0123456789", 10)[:95]+"0123456789no file" {
			t.Errorf("%q", s)
		}
		c.Finish()
		letGo()
		r.close(client)
	})
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		sa   syscall.Sockaddr
		want string
	}{
		{&syscall.SockaddrInet4{Port: 80, Addr: [4]byte{192, 0, 2, 1}}, "192.0.2.1:80"},
		{&syscall.SockaddrInet6{Port: 80, Addr: netip.MustParseAddr("2001:db8::1").As16()}, "[2001:db8::1]:80"},
		{&syscall.SockaddrInet6{Port: 80, Addr: netip.MustParseAddr("::ffff:192.0.2.1").As16()}, "192.0.2.1:80"},
		{&syscall.SockaddrInet6{Port: 80, Addr: netip.MustParseAddr("fe80::1").As16(), ZoneId: 1}, "[fe80::1%lo]:80"},
		{&syscall.SockaddrInet6{Port: 80, Addr: netip.MustParseAddr("fe80::1").As16(), ZoneId: 1 << 30}, "[fe80::1]:80"},
		{&syscall.SockaddrUnix{Name: "@"}, "unix"},
		{nil, "unix"},
	} {
		c := &Conn{}
		c.Init(-1, addrPort(tt.sa))
		c.uses.shut()
		if c.Peer() != addrPort(tt.sa) {
			t.Errorf("%#v: the peer is %v", tt.sa, c.Peer())
		}
		got := c.RemoteAddr().String()
		if c.Peer() != addrPort(tt.sa) {
			t.Errorf("%#v: the peer is %v after RemoteAddr", tt.sa, c.Peer())
		}
		if c.RemoteAddr().Network() == "unix" {
			got = "unix"
		}
		if got != tt.want || c.LocalAddr().Network() != c.RemoteAddr().Network() || c.Peer().IsValid() != (got != "unix") {
			t.Errorf("%#v: %v, %v", tt.sa, got, c.LocalAddr())
		}
	}
}

// The addresses of real sockets are correct.
func TestAcceptTellsThePeer(t *testing.T) {
	for _, tt := range []struct{ network, address, client string }{
		{"tcp4", "127.0.0.1:0", "tcp4"},
		{"tcp6", "[::1]:0", "tcp6"},
		{"tcp", ":0", "tcp4"}, // an IPv6 socket with clients of both families
		{"unix", filepath.Join(t.TempDir(), "s"), "unix"},
	} {
		ln, err := net.Listen(tt.network, tt.address)
		if err != nil {
			if tt.network == "tcp6" {
				continue // without IPv6
			}
			t.Fatal(err)
		}
		client, err := net.Dial(tt.client, ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := ln.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		w := &Worker{g: &Group{}}
		got := w.accept(raw)
		want := netip.AddrPort{}
		if a, ok := client.LocalAddr().(*net.TCPAddr); ok {
			want = netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), a.AddrPort().Port())
		}
		if got.err != nil || got.peer != want {
			t.Errorf("%s: %v, %v; want %v", tt.network, got.peer, got.err, want)
		}
		_ = syscall.Close(got.fd)
		if got := w.accept(raw); got.err != syscall.EAGAIN {
			t.Errorf("%s: %v where nobody waits", tt.network, got)
		}
		_ = client.Close()
		_ = ln.Close()
		if got := w.accept(raw); got.fd != -1 || got.err != syscall.EBADF {
			t.Errorf("%s: %v of a listener that is closed", tt.network, got)
		}
	}
}
