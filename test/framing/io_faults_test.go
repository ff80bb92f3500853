package framing_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// tortured is one case served over a connection whose at-th I/O call goes wrong.
type tortured struct {
	c    *wiretest.Case
	at   int
	kind wiretest.FaultKind
	most int // bytes that one read returns
}

// TestServerTorture fails the k-th I/O call of the server, in every way and for every
// k, on each case: nothing may panic, hang, leak, or call a handler more often than
// it is called without the fault. The short form leaves out every second fault, other ones in each case.
func TestServerTorture(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	wiretest.CheckLeaks(t)
	cases := wiretest.ServerCases(t, func(c *wiretest.Case) bool { return len(c.Bytes()) < 32<<10 })
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		depth, reads := on.Fewer(6), []int{0}
		if wiretest.Long() {
			depth, reads = 60, []int{0, 37}[:on.Fewer(2)]
		}
		for name, stream := range map[string]bool{"whole bodies": false, "streamed bodies": true} {
			t.Run(name, func(t *testing.T) {
				servers := &torturers{on: on, stream: stream}
				defer servers.end(t)
				var runs []tortured
				handled := make(map[string]int64)
				for _, most := range reads {
					for i := range cases {
						calls, n, err := servers.torture(tortured{&cases[i], 0, wiretest.FaultNone, most})
						if err != nil {
							t.Errorf("%s: %v", cases[i].ID, err)
						}
						handled[cases[i].ID] = calls
						for at := 1; at <= min(n, depth); at++ {
							for j, kind := range wiretest.Faults {
								if (i+at+j)%2 == 0 && !wiretest.Full() {
									continue
								}
								runs = append(runs, tortured{&cases[i], at, kind, most})
							}
						}
					}
				}
				t.Logf("%d runs", len(runs))
				wiretest.InParallel(runs, func(r tortured) {
					calls, _, err := servers.torture(r)
					if err != nil || calls > handled[r.c.ID] {
						t.Errorf("%s, %v at call %d: %d handler calls, %d without; %v", r.c.ID, r.kind, r.at, calls, handled[r.c.ID], err)
					}
				})
			})
		}
	})
}

// torturers are servers for tortured connections. Each serves one connection at a time, so a connection also shows
// whether the fault of the connection before left anything behind.
type torturers struct {
	on     servertest.Transport
	stream bool

	mu   sync.Mutex
	free []*torturer
}

type torturer struct {
	*servertest.EchoServer
	release func()
}

func (ts *torturers) take() *torturer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if n := len(ts.free); n > 0 {
		s := ts.free[n-1]
		ts.free = ts.free[:n-1]
		return s
	}
	s := servertest.NewEchoServer(ts.stream)
	return &torturer{s, ts.on.HoldNew(&s.Server)}
}

func (ts *torturers) put(s *torturer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.free = append(ts.free, s)
}

// end ends the servers, none of which may have logged a panic.
func (ts *torturers) end(t *testing.T) {
	for _, s := range ts.free {
		s.release()
		s.Log.WantNoPanic(t)
	}
}

// torture serves one connection to its end. It returns how often a handler ran and
// how many I/O calls there were. A server whose connection stays open is not used again.
func (ts *torturers) torture(r tortured) (handled int64, calls int, err error) {
	s := ts.take()
	before := s.Calls.Load()
	client, server := wiretest.Pipe()
	defer client.Close()
	fault := wiretest.NewFault(server, r.at, r.kind)
	fault.Most = r.most
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = ts.on.Serve(&s.Server)(fault)
	}()
	_, _ = client.Write(r.c.Bytes())
	_ = client.CloseWrite()
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, readErr := io.Copy(io.Discard, client)
	if ne, ok := readErr.(net.Error); ok && ne.Timeout() {
		return s.Calls.Load() - before, fault.Calls(), fmt.Errorf("the connection stays open")
	}
	<-served
	handled = s.Calls.Load() - before
	ts.put(s)
	return handled, fault.Calls(), nil
}
