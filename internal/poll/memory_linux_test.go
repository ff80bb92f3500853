package poll

import (
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// hooks is a Handler whose connections echo, unless a function replaces that.
type hooks struct {
	idle    time.Duration // until a connection expires; 0: never
	serve   func(w *Worker, c *Conn)
	expire  func(w *Worker, c *Conn)
	added   func(w *Worker, c *Conn, err error)
	failed  func(pause time.Duration, err error)
	overdue func(what uint32)
	step    func(call string, fd int) // called for each call of the kernel
	ahead   bool                      // loops read before they have connections served
}

func (h *hooks) by() Moment {
	if h.idle == 0 {
		return 0
	}
	return Now().Add(h.idle)
}

func (h *hooks) Accept(w *Worker, _ *Listener, fd int, peer netip.AddrPort) *Conn {
	c := &Conn{Ahead: h.ahead}
	c.Init(fd, peer)
	err := w.Group().Add(w, c, h.by())
	if h.added != nil {
		h.added(w, c, err)
	}
	if err != nil {
		return nil
	}
	return c
}

func (h *hooks) Begin(w *Worker, c *Conn) { h.Serve(w, c) }

func (h *hooks) Serve(w *Worker, c *Conn) {
	if h.serve != nil {
		h.serve(w, c)
		return
	}
	h.echo(c)
}

// echo writes back what is read from c.
func (h *hooks) echo(c *Conn) {
	var p [64]byte
	for {
		switch n, err := c.TryRead(p[:]); {
		case err == syscall.EAGAIN:
			if c.Park(h.by()) {
				return
			}
		case err != nil:
			c.Finish()
			return
		default:
			_, _ = c.Write(p[:n])
		}
	}
}

func (h *hooks) Run(w *Worker, data any) { data.(func(*Worker))(w) }

func (h *hooks) Expire(w *Worker, c *Conn) {
	if h.expire != nil {
		h.expire(w, c)
		return
	}
	c.Finish()
}

func (h *hooks) Sent(*Conn) bool { return true }

func (h *hooks) Unsent(w *Worker, c *Conn, rest []byte) {
	_, _ = c.Write(rest)
	h.Serve(w, c)
}

// tellExpiry makes connections end when they expire, and returns when each one did.
func (h *hooks) tellExpiry() <-chan time.Time {
	expired := make(chan time.Time, 1)
	h.expire = func(_ *Worker, c *Conn) {
		expired <- time.Now()
		c.Finish()
	}
	return expired
}

func (h *hooks) Rest(*Worker) {}

func (h *hooks) Overdue(what uint32) {
	if h.overdue != nil {
		h.overdue(what)
	}
}

func (h *hooks) Failed(_ *Listener, pause time.Duration, err error) {
	if h.failed != nil {
		h.failed(pause, err)
	}
}

// rig is a group whose operating system is simulated in memory.
type rig struct {
	t  *testing.T
	k  *wiretest.Kernel
	g  *Group
	at *wiretest.KernelListener
	ln *Listener
}

// inMemory runs test in a bubble with a group of this many loops, and checks that the group leaves nothing behind.
func inMemory(t *testing.T, loops int, h *hooks, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, k: wiretest.NewKernel()}
		r.k.Step = h.step
		r.at = r.k.Listen()
		var err error
		if r.g, err = NewGroup(h, loops, r.k, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if r.ln, err = r.g.Listen(r.at, nil, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(r)
		r.ln.End()
		r.g.Leave()
		select {
		case <-r.g.closed:
		case <-time.After(time.Hour):
			t.Fatalf("the loops do not end: %d users", r.g.users.Load())
		}
		synctest.Wait()
		if n := r.k.Open(); n > 0 {
			t.Errorf("%d connections are left", n)
		}
		for _, misuse := range r.k.Misuse() {
			t.Error(misuse)
		}
		if n := r.g.workers.Load(); n > 0 {
			buf := make([]byte, 1<<16)
			t.Errorf("%d workers are left\n%s", n, buf[:runtime.Stack(buf, true)])
		}
	})
}

// dial connects and returns the client's end, which is closed when the test ends unless it was closed before.
func (r *rig) dial() *wiretest.Conn {
	r.t.Helper()
	client, server := wiretest.Pipe()
	if r.at.Connect(server) == nil {
		r.t.Fatal("the listener is closed")
	}
	return client
}

// wantEcho sends text and expects it back without any time passing.
func (r *rig) wantEcho(c net.Conn, text string) {
	r.t.Helper()
	begun := time.Now()
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	wantText(r.t, c, text)
	if d := time.Since(begun); d > 0 {
		r.t.Errorf("it took %v", d)
	}
}

// wantText reads exactly this text.
func wantText(t *testing.T, c io.Reader, text string) {
	t.Helper()
	p := make([]byte, len(text))
	if n, err := io.ReadFull(c, p); err != nil || string(p) != text {
		t.Errorf("%q, %v; want %q", p[:n], err, text)
	}
}

// close closes the client's end and waits until the server has closed its end, too.
func (r *rig) close(conns ...*wiretest.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
	synctest.Wait()
}

// spread returns the number of connections of each loop.
func (r *rig) spread() (n []int32) {
	for _, l := range r.g.all() {
		n = append(n, l.conns.Load())
	}
	return n
}

// counter counts how often something happened.
type counter struct{ atomic.Int32 }

func (c *counter) want(t *testing.T, n int32) {
	t.Helper()
	if got := c.Load(); got != n {
		t.Errorf("%d times, want %d", got, n)
	}
}
