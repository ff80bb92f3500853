//go:build !race

package http2peers_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// The clients of these tests are sockets without Go objects, so that the heap has only what the server keeps. Each test has a
// process of its own, so that several can wait at the same time.

// socket is a client.
type socket struct {
	t    *testing.T
	fd   int
	next uint32
}

// socketsOf returns a slice of n sockets, which it closes when the test ends.
func socketsOf(t *testing.T, n int) []socket {
	sockets := make([]socket, n)
	t.Cleanup(func() {
		for i := range sockets {
			sockets[i].close()
		}
	})
	return sockets
}

// close closes the socket if it is open.
func (c *socket) close() {
	if c.next > 0 {
		syscall.Close(c.fd)
		c.next = 0
	}
}

// connect connects, and sends the preface and settings. It acknowledges the settings of the server in advance.
func (c *socket) connect(t *testing.T, addr *net.TCPAddr, settings string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	to := &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	c.t, c.fd, c.next = t, fd, 1
	c.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, settings) + frame(4, 1, 0, ""))
}

func (c *socket) send(s string) {
	c.t.Helper()
	if _, err := syscall.Write(c.fd, []byte(s)); err != nil {
		c.t.Fatal(err)
	}
}

// frame returns a frame of a type, with flags.
func frame(typ, flags byte, stream uint32, payload string) string {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), typ, flags}
	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

// get sends a GET request, with fields that are encoded already.
func (c *socket) get(fields string) {
	c.t.Helper()
	c.send(frame(1, 5, c.next, "\x82\x86\x84\x41\x01a"+fields))
	c.next += 2
}

// usual are fields that h2load sends, as its encoder stores them.
const usual = "\x7a\x0eh2load nghttp2"

// heap returns the bytes on the heap.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// serveForMemory serves h2c on event loops, and returns the address, and a function that waits until the server has called the
// handler n times, and has had time to give memory back.
func serveForMemory(t *testing.T, s *gallop.Server) (addr *net.TCPAddr, settle func(n uint64)) {
	t.Helper()
	s.Protocols = new(gallop.Protocols)
	s.Protocols.SetUnencryptedHTTP2(true)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return ln.Addr().(*net.TCPAddr), func(n uint64) {
		t.Helper()
		for begun := time.Now(); s.Stats().Requests < n; time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("%d requests, want %d", s.Stats().Requests, n)
			}
		}
		time.Sleep(2500 * time.Millisecond) // a connection gives memory back when it has been idle for a second
	}
}

// An idle h2c connection costs at most 1,500 bytes after a request, and 8 KiB more if its client has filled the table of the
// decoder.
func TestMemoryOfIdleConnections(t *testing.T) {
	t.Parallel()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 9000 {
		t.Skipf("the test needs 9,000 descriptors: %d, %v", limit.Cur, err)
	}
	small := strings.Repeat("\x40\x01a\x00", 62) // half of a table, in as many entries as possible
	large := "\x40\x01a\x7f\xbe\x1e" + strings.Repeat("x", 4029)
	for _, tt := range []struct {
		name     string
		requests []string // fields
		want     int64
	}{
		{"one request", []string{usual}, 1500},
		{"a table of small entries", []string{usual, small, small}, 1500 + 8<<10},
		{"a table of one entry", []string{usual, large}, 1500 + 8<<10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !wiretest.Alone(t) {
				return
			}
			addr, settle := serveForMemory(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("Hello, World!") }})
			var got int64
			for try := range 3 {
				got = memoryOfConnections(t, addr, settle, tt.requests, try)
				t.Logf("%d bytes for each connection", got)
				if got <= tt.want {
					return
				}
			}
			t.Errorf("%d bytes for each connection, want at most %d", got, tt.want)
		})
	}
}

// memoryOfConnections opens connections that send requests, and returns how many bytes each adds to the heap. Its first try also
// counts buffers of workers that begin late.
func memoryOfConnections(t *testing.T, addr *net.TCPAddr, settle func(uint64), requests []string, try int) int64 {
	t.Helper()
	first, n := 800, 1500
	if wiretest.Full() {
		n = 7500
	}
	var before int64
	conns := socketsOf(t, first+n)
	served := uint64(try*len(conns)) * uint64(len(requests))
	for i := range conns {
		if i == first {
			settle(served + uint64(first*len(requests)))
			before = heap()
		}
		c := &conns[i]
		c.connect(t, addr, "")
		for _, fields := range requests {
			c.get(fields)
		}
	}
	settle(served + uint64(len(conns)*len(requests)))
	after := heap()
	for i := range conns {
		conns[i].close()
	}
	return (after - before) / int64(n)
}

// A response that waits for its window costs at most 2 KiB besides its body. The allocator rounds larger bodies up by more.
func TestMemoryOfWaitingStreams(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1000, 10_000} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			t.Parallel()
			if !wiretest.Alone(t) {
				return
			}
			body := strings.Repeat("x", size)
			addr, settle := serveForMemory(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString(body) }})
			const conns, streams = 20, 90
			clients := socketsOf(t, conns)
			for i := range clients {
				c := &clients[i]
				c.connect(t, addr, "\x00\x04\x00\x00\x00\x0a") // windows of 10 bytes
				c.get(usual)
				c.send(frame(8, 0, 1, "\x00\x0f\x00\x00") + frame(8, 0, 0, "\x00\x0f\x00\x00"))
			}
			settle(conns)
			before := heap()
			for i := range clients {
				for range streams {
					clients[i].get(usual)
				}
			}
			settle(conns * (1 + streams))
			got := (heap()-before)/(conns*streams) - int64(size)
			t.Logf("%d bytes for each stream besides a body of %d bytes", got, size)
			if got > 2<<10 {
				t.Errorf("%d bytes for each stream besides a body of %d bytes, want at most %d", got, size, 2<<10)
			}
			runtime.KeepAlive(clients)
		})
	}
}
