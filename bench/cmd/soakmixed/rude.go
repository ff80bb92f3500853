//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// malformed requests must get an error status, and their connections must be closed.
var malformed = []struct{ name, wire string }{
	{"space before a colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
	{"no Host", "GET / HTTP/1.1\r\n\r\n"},
	{"two Hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"},
	{"two lengths", "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
	{"length and chunks", "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"unknown coding", "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: nonsense\r\n\r\n"},
	{"chunk size", "POST /pipeline HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
	{"zero byte", "GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n"},
	{"control character in the target", "GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"another version", "GET / HTTP/3.0\r\nHost: x\r\n\r\n"},
	{"large body", "POST /baseline11 HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"},
	{"large head", "GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 100_000) + "\r\n\r\n"},
	{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
}

// rudeRate is how many malformed and how many incomplete requests are sent per second.
const rudeRate = 20

// slowKinds are the clients that send or read ten bytes per second or fewer. The server has to cut them off within limit.
var slowKinds = []struct {
	name    string
	opening string
	endless string
	reads   bool
	limit   time.Duration
}{
	{name: "heads", opening: "GET / HTTP/1.1\r\nHost: x\r\nA: ", endless: "a", limit: 12 * time.Second},
	{name: "bodies", opening: "POST /baseline11?a=1&b=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", endless: "1111111111", limit: 10 * time.Second},
	{name: "readers", opening: "GET /static/" + largeFile + " HTTP/1.1\r\nHost: x\r\n\r\n", reads: true, limit: time.Minute},
}

// rude is the slow and malformed clients.
type rude struct {
	address string
	ended   chan struct{} // no more connections are opened
	closed  chan struct{} // connections that are open are closed
	all     sync.WaitGroup
	result  rudeResult
}

// rudeResult is what they have seen. An entry of slow belongs to an entry of slowKinds.
type rudeResult struct {
	refused, cut atomic.Int64
	slow         []slowResult

	mu    sync.Mutex
	wrong map[string]int
}

type slowResult struct {
	ended   int           // by the server
	longest time.Duration // of these
}

func startRude(address string, slow int, seed uint64) *rude {
	r := &rude{address: address, ended: make(chan struct{}), closed: make(chan struct{})}
	r.result.wrong, r.result.slow = map[string]int{}, make([]slowResult, len(slowKinds))
	random := rand.New(rand.NewPCG(seed, 1))
	r.every(time.Second/rudeRate, func() { r.malformed(random.IntN(len(malformed))) })
	r.every(time.Second/rudeRate, r.incomplete)
	for kind := range slowKinds {
		for range slow {
			r.all.Go(func() {
				for r.wait(time.Duration(rand.Int64N(int64(time.Second)))) {
					r.slow(kind)
				}
			})
		}
	}
	return r
}

// stop stops opening connections. Those of slow readers stay open, so that the server has to end them.
func (r *rude) stop() { close(r.ended) }

// end closes all connections.
func (r *rude) end() *rudeResult {
	close(r.closed)
	r.all.Wait()
	return &r.result
}

// wait waits, and reports whether more connections are to be opened.
func (r *rude) wait(d time.Duration) bool {
	select {
	case <-r.ended:
		return false
	case <-time.After(d):
		return true
	}
}

// every calls f again and again, one call after the other.
func (r *rude) every(d time.Duration, f func()) {
	r.all.Go(func() {
		for r.wait(d) {
			f()
		}
	})
}

// fail counts a wrong reaction of the server.
func (r *rude) fail(format string, args ...any) {
	r.result.mu.Lock()
	defer r.result.mu.Unlock()
	r.result.wrong[fmt.Sprintf(format, args...)]++
}

// malformed sends a malformed request.
func (r *rude) malformed(which int) {
	m := &malformed[which]
	c, err := net.Dial("tcp4", r.address)
	if err != nil {
		r.fail("%s: %v", m.name, err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, m.wire) // the server may refuse it before it is complete
	got, err := io.ReadAll(c)
	if isTimeout(err) {
		r.fail("%s: the connection stays open", m.name)
		return
	}
	if len(got) < 12 || string(got[:7]) != "HTTP/1." || got[9] != '4' && got[9] != '5' {
		r.fail("%s: %.40q", m.name, got)
		return
	}
	r.result.refused.Add(1)
}

// incomplete sends a part of a request and resets the connection.
func (r *rude) incomplete() {
	c, err := net.Dial("tcp4", r.address)
	if err != nil {
		r.fail("incomplete: %v", err)
		return
	}
	const wire = "POST /baseline11?a=1&b=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"
	io.WriteString(c, wire[:1+rand.IntN(len(wire)-1)])
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
	r.result.cut.Add(1)
}

// slow is one connection of a slow client.
func (r *rude) slow(kind int) {
	k := &slowKinds[kind]
	c, err := dialNarrow(r.address)
	if err != nil {
		r.fail("slow %s: %v", k.name, err)
		return
	}
	defer c.Close()
	start := time.Now()
	_, err = io.WriteString(c, k.opening)
	in := make([]byte, 10)
	for over := false; err == nil && !over; {
		select {
		case <-r.closed:
			return
		case <-time.After(time.Second):
		}
		switch {
		case k.reads:
			// A client whose window is full does not see that the server has given up. It starts anew then.
			_, err = c.Read(in)
			over = time.Since(start) > k.limit
		default:
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err = c.Read(in); err == nil || !isTimeout(err) {
				over = true // a response, or the end
			} else {
				_, err = io.WriteString(c, k.endless)
			}
		}
	}
	took := time.Since(start)
	if !k.reads && took > k.limit {
		r.fail("slow %s: cut off only after %v", k.name, took.Round(time.Second))
	}
	r.result.mu.Lock()
	defer r.result.mu.Unlock()
	s := &r.result.slow[kind]
	s.ended++
	s.longest = max(s.longest, took)
}

// dialNarrow opens a connection with the segment size and the window of a distant client.
func dialNarrow(address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1000)
		})
	}}
	return d.Dial("tcp4", address)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
