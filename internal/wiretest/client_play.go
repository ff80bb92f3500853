package wiretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// How long PlayClient waits.
const (
	clientPatience = time.Minute           // for the client to return
	settleTime     = 10 * time.Millisecond // for the server's last action to reach the client
)

// Fetch makes a client under test send a request and returns the client's result.
type Fetch func(ctx context.Context, c *Call) (*Result, error)

// Subject creates a client under test, which opens all its connections with dial. stop closes the connections that
// the client keeps.
type Subject func(dial func() (net.Conn, error)) (fetch Fetch, stop func())

// Network creates pairs of connected ends. dial returns one end; serve is called with the other one on its own
// goroutine. stop waits until every serve call has returned, so close the clients' ends first.
type Network func(serve func(net.Conn)) (dial func() (net.Conn, error), stop func())

// Memory is a Network whose connections are [Pipe]s.
func Memory(serve func(net.Conn)) (dial func() (net.Conn, error), stop func()) {
	var group sync.WaitGroup
	dial = func() (net.Conn, error) {
		client, server := Pipe()
		group.Go(func() { serve(server) })
		return client, nil
	}
	return dial, group.Wait
}

// Loopback is a Network whose connections are TCP connections over the loopback interface.
func Loopback(serve func(net.Conn)) (dial func() (net.Conn, error), stop func()) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return func() (net.Conn, error) { return nil, err }, func() {}
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			group.Go(func() { serve(c) })
		}
	})
	dial = func() (net.Conn, error) { return net.Dial("tcp4", ln.Addr().String()) }
	return dial, func() {
		_ = ln.Close()
		group.Wait()
	}
}

// PlayClient plays one case against a new client under test and returns the failures. strict also requires the safer
// choice where the RFC allows two.
func PlayClient(ctx context.Context, network Network, subject Subject, c *ClientCase, strict bool) (failures []string) {
	for range max(1, c.Repeat) {
		failures = playClient(ctx, network, subject, c, strict)
		if len(failures) > 0 {
			break
		}
	}
	return failures
}

// PlayClients plays the cases, at most jobs at a time. The result maps the id of each failed case to its failures.
func PlayClients(ctx context.Context, network Network, subject Subject, cases []ClientCase, strict bool, jobs int) map[string][]string {
	return playEach(cases, jobs, func(c *ClientCase) (string, []string) {
		return c.ID, PlayClient(ctx, network, subject, c, strict)
	})
}

func playClient(ctx context.Context, network Network, subject Subject, c *ClientCase, strict bool) []string {
	s := &scripted{ClientCase: c, done: make(chan struct{})}
	dial, stop := network(s.serve)
	fetch, end := subject(dial)
	body := bytes.Repeat([]byte("b"), c.ReqBodyLen)
	r, err := fetchSafely(ctx, fetch, &Call{Method: c.Method, Path: "/first", Fields: c.ReqHeaders, Body: body})
	failures := append(timeliness(err), c.Expect.check(r, err, strict)...)
	s.awaitSecond(ctx)
	if len(timeliness(err)) == 0 {
		second, secondErr := fetchSafely(ctx, fetch, &Call{Method: "GET", Path: "/second"})
		failures = append(failures, s.checkSecond(second, secondErr, err != nil)...)
	}
	end()
	stop()
	return append(failures, s.failures...)
}

// fetchSafely returns errHang or errPanic if the client under test hangs or panics.
var (
	errHang  = errors.New("the client hangs")
	errPanic = errors.New("the client panics")
)

func fetchSafely(ctx context.Context, fetch Fetch, c *Call) (r *Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%w: %v", errPanic, v)
			}
		}()
		r, err = fetch(ctx, c)
	}()
	hung := time.NewTimer(2 * clientPatience)
	defer hung.Stop()
	select {
	case <-done:
		return r, err
	case <-hung.C:
		return nil, errHang
	}
}

// timeliness refuses timeouts, regardless of the case. A client that runs into its timeout failed to notice that
// nothing more will arrive.
func timeliness(err error) []string {
	var ne net.Error
	if errors.Is(err, errHang) || errors.Is(err, errPanic) || errors.As(err, &ne) && ne.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return []string{"no result in time: " + err.Error()}
	}
	return nil
}

// secondAnswer is the response to /second.
const secondAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"

// scripted is the server that plays one case.
type scripted struct {
	*ClientCase
	done chan struct{} // closed when the response to /first and everything after it was sent

	mu       sync.Mutex
	conns    int
	firsts   int // number of requests for /first
	first    int // connection that /first arrived on
	second   int // connection that /second arrived on
	failures []string
}

func (s *scripted) serve(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	s.conns++
	id := s.conns
	s.mu.Unlock()
	requests := NewRequests(c)
	for {
		q, err := requests.Head()
		if err != nil {
			s.note(err)
			return
		}
		if !s.answer(c, id, q, requests) {
			return
		}
	}
}

func (s *scripted) note(err error) {
	if errors.Is(err, errMalformed) {
		s.mu.Lock()
		s.failures = append(s.failures, "sent a "+err.Error())
		s.mu.Unlock()
	}
}

// answer responds to one request and reports whether the connection stays open.
func (s *scripted) answer(c net.Conn, id int, q *Incoming, requests *Requests) bool {
	if !strings.HasSuffix(q.Target, "/first") {
		s.mu.Lock()
		s.second = id
		s.mu.Unlock()
		_, err := io.WriteString(c, secondAnswer)
		return err == nil && requests.Body(q) == nil
	}
	s.mu.Lock()
	s.firsts++
	s.first = id
	again := s.firsts > 1
	s.mu.Unlock()
	if !again {
		defer close(s.done)
	}
	early := s.ServerReads == "head-then-drain"
	if !early && requests.Body(q) != nil {
		return false
	}
	if !s.write(c) {
		return false
	}
	return (!early || requests.Body(q) == nil) && s.then(c)
}

func (s *scripted) write(c net.Conn) bool {
	b := s.Bytes()
	size := s.WriteSize
	if size == 0 {
		size = max(1, len(b))
	}
	for part := range slices.Chunk(b, size) {
		if _, err := c.Write(part); err != nil {
			return false
		}
	}
	return true
}

// then does what the case wants after the response, and reports whether the connection stays open.
func (s *scripted) then(c net.Conn) bool {
	time.Sleep(time.Duration(s.DelayMS) * time.Millisecond)
	if _, err := c.Write(s.Late); err != nil {
		return false
	}
	if s.Then == "reset" {
		Reset(c)
	}
	if s.Then == "close" {
		_ = c.Close()
	}
	return s.Then == "keep"
}

// Reset resets c, so its peer loses the bytes in flight, if the type of c supports a reset.
func Reset(c net.Conn) {
	switch c := c.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	case *Conn:
		c.Reset()
	default:
		_ = c.Close()
	}
}

// awaitSecond waits until the client should send the second request.
func (s *scripted) awaitSecond(ctx context.Context) {
	if s.SecondDelayMS != nil {
		time.Sleep(time.Duration(*s.SecondDelayMS) * time.Millisecond)
		return
	}
	s.mu.Lock()
	asked := s.firsts > 0
	s.mu.Unlock()
	if !asked {
		return
	}
	limit := time.NewTimer(clientPatience)
	defer limit.Stop()
	select {
	case <-s.done:
		time.Sleep(settleTime)
	case <-limit.C:
	case <-ctx.Done():
	}
}

// checkSecond checks the result of /second. The response to /second is valid, so the client may only fail if it sent
// the request on the connection of /first. If /first failed, /second must not reuse its connection.
func (s *scripted) checkSecond(r *Result, err error, failed bool) (failures []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.Expect
	same := s.second == s.first
	switch {
	case err != nil && (x.SecondOK || x.Reuse != nil || len(timeliness(err)) > 0):
		failures = append(failures, "second request: "+err.Error())
	case err != nil:
	case r.Status != 200 || string(r.Body) != "second":
		failures = append(failures, fmt.Sprintf("DESYNC: second request answered %d %.40q", r.Status, r.Body))
	case failed && same:
		failures = append(failures, "second request on the connection of the first, which failed")
	case x.Reuse != nil && *x.Reuse != same:
		failures = append(failures, fmt.Sprintf("second request on the same connection: %v, want %v", same, *x.Reuse))
	}
	return failures
}
