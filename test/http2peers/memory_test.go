package http2peers_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// canned is a connection to a server in one small object: the server responds to the first request, and then is silent.
type canned struct {
	net.Conn
	mu     sync.Mutex
	change sync.Cond
	left   string
	late   bool
	closed bool
}

// cannedResponse is SETTINGS, its acknowledgment, and a response with status 200 to stream 1.
const cannedResponse = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x00\x04\x01\x00\x00\x00\x00" + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"

func newCanned() *canned {
	c := &canned{left: cannedResponse}
	c.change.L = &c.mu
	return c
}

func (c *canned) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left == "" && !c.late && !c.closed {
		c.change.Wait()
	}
	switch {
	case c.closed:
		return 0, io.EOF
	case c.left == "":
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *canned) Write(p []byte) (int, error) { return len(p), nil }

func (c *canned) Close() error { return c.set(func() { c.closed = true }) }

func (c *canned) SetReadDeadline(at time.Time) error {
	return c.set(func() { c.late = !at.IsZero() && !time.Now().Before(at) })
}

func (c *canned) SetWriteDeadline(time.Time) error { return nil }

func (c *canned) set(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.change.Broadcast()
	return nil
}

func (c *canned) RemoteAddr() net.Addr { return &net.TCPAddr{} }
func (c *canned) LocalAddr() net.Addr  { return &net.TCPAddr{} }

// An idle connection needs at most 2 KB of memory, and no goroutine. The memory includes the connection of the test.
func TestIdleMemory(t *testing.T) {
	t.Parallel() // it waits most of the time
	if !wiretest.Alone(t) {
		return
	}
	const n = 1000
	before := runtime.NumGoroutine()
	clients := make([]*gallop.HostClient, n)
	for i := range clients {
		c := &gallop.HostClient{Addr: "example.com:80", Protocols: protocols(h2c), MaxIdleConnDuration: -1}
		c.DialContext = func(context.Context, string, string) (net.Conn, error) { return newCanned(), nil }
		if err := c.Do(request(c, "GET", "/", ""), nil); err != nil {
			t.Fatal(err)
		}
		clients[i] = c
	}
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	goroutines := runtime.NumGoroutine() - before
	idle := memory()
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	each := (idle - memory()) / n
	if servertest.RaceEnabled {
		return // pools keep more or less memory
	}
	if t.Logf("%d bytes for each connection, %d goroutines", each, goroutines); each > 2000 || goroutines > n/100 {
		t.Errorf("an idle connection needs %d bytes; there are %d goroutines", each, goroutines)
	}
	runtime.KeepAlive(clients)
}

// memory returns the bytes that the heap and stacks use.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
