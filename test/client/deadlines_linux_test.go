package client_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// dropsConnects returns the address of a socket whose queue of connections that wait for accept is full. A further
// client gets no reply, not even a refusal.
func dropsConnects(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*syscall.SockaddrInet4).Port))
	for range 10 {
		c, err := net.DialTimeout("tcp4", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("connects are not dropped")
	return ""
}

// neverAccepts returns the address of a listener that nobody accepts from: connects
// go well, and nothing is ever read.
func neverAccepts(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().String()
}

// lateness is how long after their deadlines calls have returned.
type lateness struct {
	mu   sync.Mutex
	late []time.Duration
	idle []time.Duration // of those who only waited

	worst time.Duration
	what  string // about the call that was so late
}

// hasty is a caller with little time.
type hasty struct {
	lateness
	client   *gallop.Client
	streams  *gallop.Client
	pipeline map[string]*gallop.PipelineClient
	addrs    []string
}

// TestClientShortDeadlines calls hosts that answer, are slow, reset, read nothing, or
// cannot even be connected to, with 1 to 100 ms for each call: all return in time.
func TestClientShortDeadlines(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	span := 1500 * time.Millisecond
	switch {
	case wiretest.Long():
		span = 30 * time.Second
	case !wiretest.Full():
		span = 700 * time.Millisecond
	}
	warm, err := newChaoticHost()
	if err != nil {
		t.Fatal(err)
	}
	warm.close()
	wiretest.CheckLeaks(t)
	h := &hasty{pipeline: map[string]*gallop.PipelineClient{}}
	h.client = &gallop.Client{MaxConnsPerHost: 8, MaxConnWaitTimeout: -1, ReadTimeout: 5 * time.Second}
	h.streams = &gallop.Client{StreamResponseBody: true, ReadTimeout: time.Minute}
	for i := range 20 {
		switch {
		case i < 2:
			h.addrs = append(h.addrs, dropsConnects(t))
		case i < 4:
			h.addrs = append(h.addrs, neverAccepts(t))
		default:
			host, err := newChaoticHost()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(host.close)
			h.addrs = append(h.addrs, host.ln.Addr().String())
		}
		h.pipeline[h.addrs[i]] = &gallop.PipelineClient{Addr: h.addrs[i], MaxIdleConnDuration: 100 * time.Millisecond}
	}
	h.run(span)
	h.client.CloseIdleConnections()
	h.streams.CloseIdleConnections()
	h.judge(t)
}

func (h *hasty) run(span time.Duration) {
	end := time.Now().Add(span)
	var group sync.WaitGroup
	for range 10 { // who only waits: what the machine cannot do better
		group.Go(func() {
			for time.Now().Before(end) {
				limit := time.Duration(1+rand.IntN(100)) * time.Millisecond
				start := time.Now()
				timer := time.NewTimer(limit)
				<-timer.C
				h.mu.Lock()
				h.idle = append(h.idle, time.Since(start)-limit)
				h.mu.Unlock()
			}
		})
	}
	for caller := range 200 {
		group.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				h.once(caller + n*200)
			}
		})
	}
	group.Wait()
}

// once makes one call in one of many ways.
func (h *hasty) once(id int) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	addr := h.addrs[rand.IntN(len(h.addrs))]
	req.SetRequestURI(fmt.Sprint("http://", addr, "/", id))
	if isPost(id) {
		req.Header.SetMethod("POST")
		switch body := bytes.Repeat([]byte("x"), 1<<rand.IntN(18)); rand.IntN(3) {
		case 0:
			req.SetBody(body)
		case 1:
			req.SetBodyStream(bytes.NewReader(body), -1)
		case 2:
			req.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.Write(body) })
		}
	}
	limit := time.Duration(1+rand.IntN(100)) * time.Millisecond
	way := rand.IntN(6)
	start := time.Now()
	err := h.call(way, addr, req, resp, limit)
	h.note(time.Since(start)-limit, fmt.Sprintf("call %d, way %d, to host %d within %v: %v", id, way, slices.Index(h.addrs, addr), limit, err))
}

func (h *hasty) call(way int, addr string, req *gallop.Request, resp *gallop.Response, limit time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch way {
	case 0:
		return h.client.DoTimeout(req, resp, limit)
	case 1:
		req.SetTimeout(limit)
		return h.client.Do(req, resp)
	case 2: // cancelled
		stop := time.AfterFunc(limit, cancel)
		defer stop.Stop()
		return h.client.DoContext(ctx, req, resp)
	case 3:
		return h.pipeline[addr].DoTimeout(req, resp, limit)
	}
	ctx, cancel = context.WithTimeout(ctx, limit)
	defer cancel()
	if err := h.streams.DoContext(ctx, req, resp); err != nil {
		return err
	}
	if way == 4 {
		return resp.CloseBodyStream()
	}
	_, err := io.Copy(io.Discard, resp.BodyStream())
	return err
}

func (h *hasty) note(late time.Duration, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.late = append(h.late, late); len(h.late) == 1 || late > h.worst {
		h.worst, h.what = late, what
	}
}

// maxLate is how late a call may return, and later still by ten times as much as a timer
// that has nothing to do with calls: then the machine has other things to do, and a call has to wait
// for its turn more than once.
const maxLate = 2 * time.Second

func (h *hasty) judge(t *testing.T) {
	t.Log("calls: ", distribution(h.late))
	t.Log("timers:", distribution(h.idle))
	if h.worst > maxLate+10*slices.Max(h.idle) {
		t.Errorf("%v late: %s", h.worst, h.what)
	}
}

func distribution(late []time.Duration) string {
	slices.Sort(late)
	n := len(late)
	return fmt.Sprintf("%d, late by %v in the middle, %v for one in 100, %v for one in 1000, %v at most",
		n, late[n/2], late[n-1-n/100], late[n-1-n/1000], late[n-1])
}
