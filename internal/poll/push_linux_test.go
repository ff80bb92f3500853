package poll

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// outbox is an owner of a connection that pushes what several goroutines append.
type outbox struct {
	c      *Conn
	mu     sync.Mutex
	unsent []byte
	err    error
	left   int // how often a push could not send all
}

func (o *outbox) append(p ...byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent = append(o.unsent, p...)
	o.pushLocked()
}

func (o *outbox) push() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pushLocked()
	return o.err
}

func (o *outbox) pushLocked() {
	if len(o.unsent) == 0 || o.err != nil {
		return
	}
	var n int
	n, o.err = o.c.Push(o.unsent)
	if o.unsent = append(o.unsent[:0], o.unsent[n:]...); len(o.unsent) > 0 {
		o.left++
	}
}

// serveOutbox discards what arrives, pushes what is left and parks the connection.
func serveOutbox(c *Conn, by Moment) {
	var p [64]byte
	for {
		_, err := c.TryRead(p[:])
		switch {
		case err == nil:
		case err != syscall.EAGAIN || c.Data.(*outbox).push() != nil:
			c.Finish()
			return
		case c.Park(by):
			return
		}
	}
}

// A parked connection takes bytes from any goroutine. It is served for each piece of room until nothing is left, and
// then not any more.
func TestPush(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		var served counter
		var o *outbox
		h.added = func(_ *Worker, c *Conn, _ error) { o = &outbox{c: c}; c.Data = o }
		h.serve = func(_ *Worker, c *Conn) { served.Add(1); serveOutbox(c, 0) }
		client := r.dial()
		client.SetWindow(4)
		synctest.Wait()
		served.want(t, 1)
		o.append([]byte("two")...)
		wantText(t, client, "two")
		synctest.Wait()
		served.want(t, 1) // there was room at once
		o.append([]byte("one by one")...)
		wantText(t, client, "one by one")
		synctest.Wait()
		before := served.Load()
		if before < 3 {
			t.Errorf("served %d times", before)
		}
		o.append([]byte("4444")...)
		wantText(t, client, "4444")
		synctest.Wait()
		served.want(t, before) // nothing was left
		r.close(client)
		if n, err := o.c.Push([]byte("x")); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%d, %v after the end", n, err)
		}
	})
}

// While a worker serves the connection, room makes Park fail until the rest is pushed.
func TestParkFailsForRoom(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns, letGo := served(h)
		client := r.dial()
		client.SetWindow(2)
		c := <-conns
		if n, err := c.Push([]byte("abc")); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		wantText(t, client, "ab")
		time.Sleep(3 * dogTick) // until another worker leads, which gets the event
		for range 2 {
			if c.Park(0) {
				t.Fatal("parked although there is room")
			}
		}
		if n, err := c.Push([]byte("c")); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		client.SetWindow(1)
		if n, err := c.Push([]byte("d")); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		_ = client.Close()
		if _, err := c.Push([]byte("d")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%v after the client left", err)
		}
		if c.state.Load()&want != 0 {
			t.Error("a failed Push wants more")
		}
		c.Finish()
		letGo()
		synctest.Wait()
	})
}

// The same with sockets of the system: several goroutines write lines to each connection, whose clients read slowly.
func TestPushOnSockets(t *testing.T) {
	const conns, writers, lines = 4, 3, 100
	h := &hooks{}
	boxes := make(chan *outbox, conns)
	h.added = func(_ *Worker, c *Conn, _ error) { o := &outbox{c: c}; c.Data = o; boxes <- o }
	h.serve = func(_ *Worker, c *Conn) { serveOutbox(c, 0) }
	g, err := NewGroup(h, 2, nil, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	raw, _ := at.SyscallConn()
	ln, err := g.Listen(raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range conns {
		client, err := net.Dial("tcp", at.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = client.(*net.TCPConn).SetReadBuffer(16 << 10) // with less, TCP waits before it sends what fits
		_ = client.SetDeadline(time.Now().Add(time.Minute))
		o := <-boxes
		_ = rawConn{o.c}.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4<<10) })
		for w := range writers {
			all.Go(func() {
				for i := range lines {
					o.append(fmt.Appendf(nil, "%d %d.%0500d\n", w, i, 0)...)
				}
			})
		}
		all.Go(func() {
			defer client.Close()
			next := make([]int, writers)
			r := bufio.NewReader(client)
			for range writers * lines {
				line, err := r.ReadString('\n')
				var w, i int
				if _, serr := fmt.Sscanf(line, "%d %d", &w, &i); serr != nil || err != nil {
					t.Errorf("%q, %v", line, err)
					return
				}
				if want := fmt.Sprintf("%d %d.%0500d\n", w, next[w], 0); line != want {
					t.Errorf("%q, want %q", line, want)
					return
				}
				next[w]++
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.left == 0 {
				t.Error("each push could send all")
			}
		})
	}
	all.Wait()
	ln.End()
	g.Leave()
	<-g.closed
}
