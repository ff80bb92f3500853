package http2flood

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// legals are clients that do nothing wrong, as fast as they can.
var legals = []struct {
	name string
	run  func(addr string, r *attackerReport, stop *atomic.Bool) error
}{
	{"requests", func(addr string, r *attackerReport, stop *atomic.Bool) error {
		return ask(addr, r, stop, streams, 1<<62)
	}},
	{"connections", func(addr string, r *attackerReport, stop *atomic.Bool) error {
		for !stop.Load() {
			if err := ask(addr, r, stop, 1, 1); err != nil {
				return err
			}
		}
		return nil
	}},
}

// ask keeps this many requests open on a connection, until it has got at least most responses.
func ask(addr string, r *attackerReport, stop *atomic.Bool, open, most int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r.Conns++
	c, err := newPlainClient(conn)
	for n, got := open, 0; err == nil && got < most && !stop.Load(); got += n {
		r.Frames += n
		if err = c.send(n); err == nil {
			n, err = c.receive(nil)
		}
	}
	return err
}

// paced has the figures of requests at a constant rate.
type paced struct {
	N             int
	P50, P99, Max time.Duration
}

// pace is the time from one request of the good client to the next. mostOpen is how many of its requests are open at a time.
const (
	pace     = 2 * time.Millisecond
	mostOpen = streams - 10
)

// playGood measures for each time that it reads, on a connection of its own.
func playGood(args []string) error {
	runtime.LockOSThread()
	sock, err := connect(args[0])
	if err != nil {
		return err
	}
	c, err := newPlainClient(sock)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		d, err := time.ParseDuration(in.Text())
		if err != nil {
			return err
		}
		m := measurement{c: c, sock: sock, sent: map[uint32]time.Time{}, due: time.Now()}
		for end := m.due.Add(d); err == nil && m.due.Before(end); {
			err = m.step()
		}
		for err == nil && len(m.sent) > 0 {
			err = m.receive()
		}
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(m.figures())
		}
		if err != nil {
			return err
		}
	}
	return in.Err()
}

// measurement sends requests at a constant rate, without waiting for responses.
type measurement struct {
	c    *plainClient
	sock socket
	due  time.Time            // when the next request is sent
	sent map[uint32]time.Time // by stream
	took []time.Duration
}

// step sends a request when that is due, or receives responses before.
func (m *measurement) step() error {
	arrived, err := m.sock.await(time.Until(m.due))
	switch {
	case err != nil:
		return err
	case arrived || len(m.sent) >= mostOpen:
		return m.receive()
	case time.Now().Before(m.due): // a signal has ended the wait
		return nil
	}
	from := m.due
	if m.due = m.due.Add(pace); len(m.sent) < mostOpen-1 {
		from = time.Now() // how late the system wakes the client is not counted
	}
	if err := m.c.send(1); err != nil {
		return err
	}
	m.sent[m.c.id] = from
	return nil
}

func (m *measurement) receive() error {
	_, err := m.c.receive(func(stream uint32) {
		m.took = append(m.took, time.Since(m.sent[stream]))
		delete(m.sent, stream)
	})
	return err
}

func (m *measurement) figures() paced {
	slices.Sort(m.took)
	n := len(m.took)
	return paced{n, m.took[n/2], m.took[n*99/100], m.took[n-1]}
}

// socket is a TCP connection whose calls block in the system, so that no scheduler of Go takes part in the measurement.
type socket int

func connect(addr string) (socket, error) {
	at, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return 0, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
		return 0, err
	}
	return socket(fd), syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
}

// await waits until bytes have arrived, but no longer than d.
func (s socket) await(d time.Duration) (arrived bool, err error) {
	if d <= 0 {
		return false, nil
	}
	var set syscall.FdSet
	set.Bits[s/64] |= 1 << (s % 64)
	limit := syscall.NsecToTimeval(int64(d))
	n, err := syscall.Select(int(s)+1, &set, nil, nil, &limit)
	if err == syscall.EINTR {
		return false, nil
	}
	return n > 0, err
}

func (s socket) Read(p []byte) (n int, err error) {
	for err = syscall.EINTR; err == syscall.EINTR; {
		n, err = syscall.Read(int(s), p)
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func (s socket) Write(p []byte) (n int, err error) {
	for err = syscall.EINTR; err == syscall.EINTR; {
		n, err = syscall.Write(int(s), p)
	}
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return max(n, 0), err
}
