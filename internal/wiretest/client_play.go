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

// How long a played client case waits.
const (
	clientPatience = 10 * time.Second      // for the client to return
	settleTime     = 10 * time.Millisecond // for what the server did to reach the client
)

// Fetch makes a client under test send a request, and returns what it got.
type Fetch func(ctx context.Context, c *Call) (*Result, error)

// Subject makes a client under test. All its connections come from dial, and stop
// closes those that it keeps.
type Subject func(dial func() (net.Conn, error)) (fetch Fetch, stop func())

// Network makes connections that serve is called with the other ends of, each on its
// own goroutine. stop waits until all of these have returned, for which the clients'
// ends have to be closed.
type Network func(serve func(net.Conn)) (dial func() (net.Conn, error), stop func())

// Memory is a Network of [Pipe]s.
func Memory(serve func(net.Conn)) (dial func() (net.Conn, error), stop func()) {
	var group sync.WaitGroup
	dial = func() (net.Conn, error) {
		client, server := Pipe()
		group.Go(func() { serve(server) })
		return client, nil
	}
	return dial, group.Wait
}

// Loopback is a Network of TCP connections.
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

// PlayClient has a new client under test go through one case and returns what was
// wrong, if anything. strict also asks for the safer choice where the RFC allows two.
func PlayClient(ctx context.Context, network Network, subject Subject, c *ClientCase, strict bool) (failures []string) {
	for range max(1, c.Repeat) {
		failures = playClient(ctx, network, subject, c, strict)
		if len(failures) > 0 {
			break
		}
	}
	return failures
}

// PlayClients plays the cases, jobs at a time. The result has the failures by the id
// of the case.
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

// errHang and errPanic are what fetchSafely returns for a client that does that.
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

// timeliness says what is wrong with an error of any case: a client that waits for its
// timeout has not understood that there is nothing to wait for.
func timeliness(err error) []string {
	var ne net.Error
	if errors.Is(err, errHang) || errors.Is(err, errPanic) || errors.As(err, &ne) && ne.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return []string{"no result in time: " + err.Error()}
	}
	return nil
}

// secondAnswer is what /second is answered with.
const secondAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"

// scripted is the server of one case.
type scripted struct {
	*ClientCase
	done chan struct{} // closed when the answer to /first is out, and what follows it

	mu       sync.Mutex
	conns    int
	firsts   int // how often /first was asked for
	first    int // the connection that it came on
	second   int // the connection that /second came on
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

// answer reports whether the connection goes on.
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

// then does what the case says to follow the answer, and reports whether the
// connection goes on.
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

// Reset makes the peer of c lose what was under way, where c can do that.
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

// awaitSecond waits until it is time for the second request.
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

// checkSecond looks at what came of /second, which a server answers that is as good as
// any, so a client has no reason to fail unless it is on the connection of /first. One
// on which /first has failed must not carry it.
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
