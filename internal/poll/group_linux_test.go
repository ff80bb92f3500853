package poll

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// failing makes a rig's calls fail with the error that was set last; nil lets them succeed.
type failing struct {
	call string

	mu    sync.Mutex
	err   error
	tries []time.Time // at different times
}

func (f *failing) refuse(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call != f.call || f.err == nil {
		return nil
	}
	if n := len(f.tries); n == 0 || time.Since(f.tries[n-1]) > 0 {
		f.tries = append(f.tries, time.Now())
	}
	return f.err
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// If descriptors or memory run out, accepting pauses for longer and longer, up to a limit. It reports each pause and
// resumes when there are descriptors again. Connections that were accepted before are served meanwhile.
func TestAcceptRests(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		t.Run(err.Error(), func(t *testing.T) {
			h := &hooks{}
			inMemory(t, 2, h, func(r *rig) {
				f := failing{call: "accept", err: err}
				r.k.Refuse = f.refuse
				first := r.dialRefused(h, f.err)
				f.set(nil)
				time.Sleep(maxPause)
				r.wantEcho(first, "x")
				if n := len(f.tries); n < 40 || n > 60 {
					t.Errorf("%d tries in 10 s", n)
				}
				for i := 2; i < len(f.tries); i++ {
					last, this := f.tries[i-1].Sub(f.tries[i-2]), f.tries[i].Sub(f.tries[i-1])
					if this < last || this < 5*time.Millisecond || this > maxPause+10*time.Millisecond {
						t.Errorf("tries %v and then %v apart", last, this)
					}
				}
				time.Sleep(time.Minute)
				f.set(err)
				second := r.dial()
				synctest.Wait()
				r.wantEcho(first, "y")
				f.set(nil)
				time.Sleep(6 * time.Millisecond) // it starts with short pauses again
				r.wantEcho(second, "z")
				r.close(first, second)
			})
		})
	}
}

// If descriptors are freed a few at a time, they are used soon, however long there were none.
func TestAcceptRestsNotForLongWhenItGoesOn(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		var some atomic.Bool // every other call succeeds
		calls := 0
		r.k.Refuse = func(call string) error {
			if call != "accept" {
				return nil
			}
			if calls++; some.Load() && calls%2 == 0 {
				return nil
			}
			return syscall.EMFILE
		}
		conns := []*wiretest.Conn{r.dialRefused(h, syscall.EMFILE)}
		for range 9 {
			conns = append(conns, r.dial())
		}
		some.Store(true)
		time.Sleep(2*maxPause + time.Duration(len(conns))*6*time.Millisecond)
		for _, c := range conns {
			r.wantEcho(c, "x")
		}
		r.close(conns...)
	})
}

// dialRefused connects while calls fail, and expects the failure to be reported for 10 s.
func (r *rig) dialRefused(h *hooks, want error) *wiretest.Conn {
	r.t.Helper()
	var told counter
	h.failed = func(pause time.Duration, err error) {
		if told.Add(1); !errors.Is(err, want) || pause <= 0 || pause > maxPause {
			r.t.Errorf("told of %v, and a pause of %v", err, pause)
		}
	}
	c := r.dial()
	time.Sleep(10 * time.Second)
	if n := told.Load(); n < 40 {
		r.t.Errorf("told %d times", n)
	}
	return c
}

// If the system refuses to watch the listener again after a pause, that is reported and tried again until it works.
func TestAcceptGoesOnAfterAPauseThatDoesNotEnd(t *testing.T) {
	for _, loops := range []int{1, 3} {
		h := &hooks{}
		inMemory(t, loops, h, func(r *rig) {
			f := failing{call: "epoll_ctl", err: syscall.ENOMEM}
			r.k.Refuse = f.refuse
			r.ln.Pause(time.Second)
			r.ln.Pause(time.Hour) // it is paused already
			c := r.dialRefused(h, f.err)
			f.set(nil)
			time.Sleep(maxPause)
			r.wantEcho(c, "x")
			r.close(c)
		})
	}
}

// A listener that was closed or ended during a pause is not touched when the pause is over.
func TestPauseOutlivesTheListener(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"closed": func(r *rig) { _ = r.at.Close() },
		"ended":  func(r *rig) { r.ln.End() },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hooks{failed: func(_ time.Duration, err error) { t.Error(err) }}
			inMemory(t, 1, h, func(r *rig) {
				r.ln.Pause(time.Second)
				end(r)
				time.Sleep(10 * time.Second)
				if err := r.ln.Err(); (err != nil) != (name == "closed") {
					t.Error(err)
				}
				r.ln.End() // a second time
			})
		})
	}
}

// A connection that cannot be watched is closed, and its owner is told.
func TestAddFails(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		f := failing{call: "epoll_ctl", err: syscall.ENOSPC}
		r.k.Refuse = f.refuse
		var lost counter
		h.added = func(_ *Worker, _ *Conn, err error) {
			if errors.Is(err, syscall.ENOSPC) {
				lost.Add(1)
			}
		}
		c := r.dial()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%d, %v", n, err)
		}
		synctest.Wait() // it is closed before anything is reported
		lost.want(t, 1)
		f.set(nil)
		other := r.dial()
		r.wantEcho(other, "x")
		r.close(c, other)
	})
}

// When End returns, the handler knows all connections that were accepted from the listener.
func TestListenerEndsBehindWhoAccepts(t *testing.T) {
	h := &hooks{}
	armed, at, pass := false, make(chan bool, 1), make(chan bool, 1)
	h.step = func(call string, _ int) {
		if call == "after accept" && armed {
			armed = false
			at <- true
			for len(pass) == 0 {
				time.Sleep(time.Second)
			}
		}
	}
	inMemory(t, 1, h, func(r *rig) {
		var added, ended counter
		h.added = func(*Worker, *Conn, error) { added.Add(1) }
		armed = true
		c := r.dial()
		synctest.Wait()
		if len(at) == 0 {
			t.Fatal("nobody accepts")
		}
		go func() { r.ln.End(); ended.Add(1) }()
		time.Sleep(time.Minute)
		added.want(t, 0)
		ended.want(t, 0)
		pass <- true
		time.Sleep(time.Minute)
		added.want(t, 1)
		ended.want(t, 1)
		r.wantEcho(c, "x")
		r.close(c)
	})
}

// A group ends with its last listener or connection, and accepts no new ones afterwards.
func TestGroupsEnd(t *testing.T) {
	h := &hooks{}
	inMemory(t, 2, h, func(r *rig) {
		g, err := NewGroup(h, 2, r.k, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Enter() {
			t.Error("it is not to be entered")
		}
		g.Leave()
		g.Leave()
		<-g.closed
		if g.Enter() {
			t.Error("it is to be entered still")
		}
		if _, err := g.Listen(r.at, nil, nil); err != errEnding {
			t.Error(err)
		}
		if _, err := r.g.Listen(r.k.Listen(), nil, nil); err != nil { // beside the first one
			t.Error(err)
		}
		other := r.k.Listen()
		_ = other.Close()
		if _, err := r.g.Listen(other, nil, nil); err == nil {
			t.Error("a closed listener is listened on")
		}
		r.g.mu.Lock()
		second := r.g.listeners[1]
		r.g.mu.Unlock()
		second.End()
	})
}

// If there are more processors, there are more loops for new connections. If there are fewer, the surplus loops get
// no new connections.
func TestLoopsFollowTheProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inMemory(t, 0, &hooks{}, func(r *rig) {
		var conns []*wiretest.Conn
		dial := func(n int) {
			for range n {
				c := r.dial()
				r.wantEcho(c, "x")
				conns = append(conns, c)
			}
			synctest.Wait() // until no loop accepts
		}
		want := func(spread ...int32) {
			t.Helper()
			if n := r.spread(); !slices.Equal(n, spread) {
				t.Errorf("%v connections, want %v", n, spread)
			}
		}
		dial(4)
		want(4)
		runtime.GOMAXPROCS(3)
		want(4) // nothing has looked at the number of processors yet
		dial(1)
		want(4, 1, 0)
		dial(7)
		want(4, 4, 4)
		runtime.GOMAXPROCS(2)
		dial(3)
		want(6, 5, 4)
		runtime.GOMAXPROCS(4)
		_ = r.at.Control(func(fd uintptr) { // so that other loops notice the connection
			_ = r.g.all()[0].epollCtl(syscall.EPOLL_CTL_DEL, int(fd), &syscall.EpollEvent{})
		})
		dial(6)
		want(6, 5, 5, 5)
		for _, c := range conns {
			r.wantEcho(c, "y")
		}
		r.close(conns...)
		want(0, 0, 0, 0)
	})
}

// A loop that is added while a listener pauses watches the listener after the pause.
func TestLoopsJoinListenersThatRest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inMemory(t, 0, &hooks{}, func(r *rig) {
		r.ln.Pause(time.Second)
		runtime.GOMAXPROCS(2)
		r.g.follow()
		if n := len(r.spread()); n != 2 {
			t.Fatalf("%d loops", n)
		}
		c := r.dial()
		time.Sleep(2 * time.Second)
		r.wantEcho(c, "x")
		r.close(c)
	})
}

// A group that grows and ends at the same time ends.
func TestGroupsEndWhileTheyGrow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 50 {
		runtime.GOMAXPROCS(2)
		synctest.Test(t, func(t *testing.T) {
			k := wiretest.NewKernel()
			g, err := NewGroup(&hooks{}, 0, k, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			runtime.GOMAXPROCS(4)
			for range 3 {
				go g.follow()
			}
			g.Leave()
			<-g.closed
			synctest.Wait()
			if n := g.running.Load(); n != 0 || len(k.Misuse()) > 0 {
				t.Errorf("%d loops run, %v", n, k.Misuse())
			}
		})
	}
}

// The same with the system's own sockets, where loops wait in more than one way.
func TestGroupOnTheSystem(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	g, err := NewGroup(&hooks{idle: time.Hour}, 0, nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := at.(*net.TCPListener).SyscallConn()
	ln, err := g.Listen(raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for _, procs := range []int{1, 3} {
		runtime.GOMAXPROCS(procs)
		for range 6 {
			c, err := net.Dial("tcp", at.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
			_, _ = c.Write([]byte("first")) // two loops that accept at the same time spread connections less evenly
			wantText(t, c, "first")
		}
		for _, away := range []int64{0, 1, -1} { // the loops wait in the kernel, through the runtime, and in the kernel again
			g.away.Add(away)
			for _, c := range conns {
				_, _ = c.Write([]byte("echo"))
				wantText(t, c, "echo")
			}
		}
	}
	r := rig{t: t, g: g}
	if n := r.spread(); !slices.Equal(n, []int32{6, 3, 3}) {
		t.Errorf("%v connections", n)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	ln.End()
	g.Leave()
	<-g.closed
}
