package http2flood

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"golang.org/x/net/http2"
)

// sleeper is a server whose handlers sleep for ?s seconds.
type sleeper struct {
	gallop.Server
	running, most atomic.Int64

	mu    sync.Mutex
	began []time.Duration // by the number in the path
	start time.Time
}

func newSleeper(limit int) *sleeper {
	s := &sleeper{began: make([]time.Duration, 100)}
	s.MaxConcurrentHandlers = limit
	s.Protocols = &gallop.Protocols{}
	s.Protocols.SetUnencryptedHTTP2(true)
	s.Handler = func(ctx *gallop.RequestCtx) {
		n := s.running.Add(1)
		defer s.running.Add(-1)
		for was := s.most.Load(); n > was && !s.most.CompareAndSwap(was, n); was = s.most.Load() {
		}
		i, _ := strconv.Atoi(string(ctx.Path()[1:]))
		s.mu.Lock()
		s.began[i] = time.Since(s.start)
		s.mu.Unlock()
		seconds, _ := strconv.Atoi(string(ctx.QueryArgs().Peek("s")))
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return s
}

// talk runs f as a client of s in virtual time. It returns the client after f, when its connection is closed.
func (s *sleeper) talk(t *testing.T, on servertest.Transport, f func(*peer)) (p *peer) {
	on.Talk(t, &s.Server, func(c *wiretest.Conversation) {
		s.start = time.Now()
		p = newPeer(c.Conn())
		f(p)
		p.nc.Close()
		<-p.ended
	})
	return p
}

// Requests beyond MaxConcurrentHandlers wait, and are served in their order.
func TestMaxConcurrentHandlers(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(2)
		p := s.talk(t, on, func(p *peer) {
			for i := range 7 {
				p.open("GET", fmt.Sprintf("/%d?s=1", i), true)
			}
			p.flush()
			time.Sleep(9 * time.Second)
		})
		if most := s.most.Load(); most > 2 || len(p.done) != 7 || !slices.IsSorted(s.began[:7]) {
			t.Errorf("%d handlers at a time, responses %v, began after %v", most, p.done, s.began[:7])
		}
	})
}

// A request that has waited for ten seconds is refused. The ones behind it wait on.
func TestMaxConcurrentHandlersRefuses(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(1)
		p := s.talk(t, on, func(p *peer) {
			p.open("GET", "/0?s=15", true)
			p.open("GET", "/1", true)
			p.flush()
			time.Sleep(7 * time.Second)
			p.open("GET", "/2", true)
			p.open("GET", "/3", true)
			p.note(p.WriteRSTStream(p.id, http2.ErrCodeCancel))
			p.flush()
			time.Sleep(10 * time.Second)
		})
		want := map[uint32]http2.ErrCode{3: http2.ErrCodeRefusedStream}
		if !maps.Equal(p.resets, want) || !slices.Equal(p.done, []uint32{1, 5}) || s.began[1] != 0 || s.began[3] != 0 {
			t.Errorf("resets %v, responses %v, began after %v", p.resets, p.done, s.began[:4])
		}
	})
}

// The refusal comes after ten seconds, although nothing else happens on the connection.
func TestMaxConcurrentHandlersRefusesInTime(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(1)
		p := s.talk(t, on, func(p *peer) {
			p.open("GET", "/0?s=20", true)
			p.open("GET", "/1", true)
			p.flush()
			time.Sleep(12 * time.Second)
		})
		if want := map[uint32]http2.ErrCode{3: http2.ErrCodeRefusedStream}; !maps.Equal(p.resets, want) || len(p.done) > 0 {
			t.Errorf("resets %v, responses %v", p.resets, p.done)
		}
	})
}

// A canceled request that waits for its handler makes room for another one at once.
func TestMaxConcurrentHandlersForgets(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(1)
		p := s.talk(t, on, func(p *peer) {
			p.open("GET", "/0?s=5", true)
			for round := range 3 {
				for range streams - 1 {
					p.open("GET", "/1", true)
				}
				p.flush()
				time.Sleep(time.Second)
				for i := range streams - 1 {
					if round < 2 {
						p.note(p.WriteRSTStream(p.id-uint32(2*i), http2.ErrCodeCancel))
					}
				}
				p.flush()
			}
			time.Sleep(5 * time.Second)
		})
		if len(p.resets) > 0 || len(p.done) != streams {
			t.Errorf("%d responses, resets %v", len(p.done), p.resets)
		}
	})
}

// Requests whose bodies do not arrive are refused once, also if their refusals have to wait for a handler.
func TestMaxConcurrentHandlersRefusesBodies(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(1)
		s.HTTP2 = &gallop.HTTP2Config{MaxConcurrentStreams: 10}
		p := s.talk(t, on, func(p *peer) {
			p.open("GET", "/0?s=9", true)
			for range 5 {
				p.open("POST", "/1", false)
			}
			p.flush()
			time.Sleep(12 * time.Second)
			for range 9 {
				p.open("GET", "/2", true)
			}
			p.flush()
			time.Sleep(time.Second)
		})
		if len(p.done) != 15 {
			t.Errorf("%d responses: %v, resets %v", len(p.done), p.done, p.resets)
		}
	})
}

// Connections wait for the handlers of other connections. Some give up meanwhile.
func TestMaxConcurrentHandlersOfConns(t *testing.T) {
	runBeside(t)
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		t.Parallel() // it mostly waits
		s := start(t, over, func(s *gallop.Server) { s.MaxConcurrentHandlers = 3 })
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				g := newGoodClient(s.addr)
				defer g.close()
				if i%3 == 0 {
					p, err := dial(s.addr)
					if err != nil {
						t.Error(err)
						return
					}
					defer p.nc.Close()
					for range 50 {
						p.open("GET", "/slow", true)
					}
					p.flush()
					time.Sleep(50 * time.Millisecond)
					return
				}
				g.cancel(t, 10, "/slow", 20*time.Second)
			})
		}
		group.Wait()
		for limit := time.Now().Add(5 * time.Second); s.running.Load() > 0 && time.Now().Before(limit); {
			time.Sleep(10 * time.Millisecond)
		}
		if most := s.most.Load(); most != 3 || s.running.Load() != 0 {
			t.Errorf("%d handlers ran at a time, %d at the end", most, s.running.Load())
		}
	})
}

// The handlers for many requests of a connection, each of which returns soon, do not hold up another connection, whose request arrives
// when the first of them runs.
func TestManyFastHandlers(t *testing.T) {
	const requests, rounds = 90, 21
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		var clients [2]*plainClient
		var busy, calls, seen atomic.Int64
		s := start(t, over, func(s *gallop.Server) {
			s.Dispatch = gallop.DispatchInline // also after a handler that was interrupted
			s.Handler = func(ctx *gallop.RequestCtx) {
				if int64(ctx.ConnID()) != busy.Load() {
					seen.Store(calls.Load())
					return
				}
				if calls.Add(1)%requests == 1 {
					_ = clients[0].send(1)
				}
				for from := time.Now(); time.Since(from) < 10*time.Microsecond; {
				}
			}
		})
		for i := range clients {
			clients[i] = dialPlain(t, s.addr)
			if err := clients[i].send(1); err != nil { // so that the connections are accepted in this order
				t.Fatal(err)
			}
			if _, err := clients[i].receive(nil); err != nil {
				t.Fatal(err)
			}
		}
		busy.Store(2) // the second connection
		between := make([]int64, rounds)
		for i := range between {
			before := calls.Load()
			if err := clients[1].send(requests); err != nil {
				t.Fatal(err)
			}
			if _, err := clients[0].receive(nil); err != nil {
				t.Fatal(err)
			}
			between[i] = seen.Load() - before
			for got := 0; got < requests; {
				n, err := clients[1].receive(nil)
				if err != nil {
					t.Fatal(err)
				}
				got += n
			}
		}
		slices.Sort(between)
		if between[rounds/4] > requests*2/3 { // on a busy machine, some rounds are interrupted
			t.Errorf("handlers of the other connection that were called first: %v", between)
		}
	})
}

// If many connections of a loop send many requests at a time, the loop ends most of what it has begun before it begins with others.
func TestManyBusyConnections(t *testing.T) {
	const conns, requests = 60, 30
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var begun, most atomic.Int64 // connections that have some responses, but not all
	var done [conns + 1]atomic.Int64
	s := start(t, gallop.EngineLoop, func(s *gallop.Server) {
		s.Dispatch = gallop.DispatchInline
		s.Handler = func(ctx *gallop.RequestCtx) {
			switch done[ctx.ConnID()].Add(1) {
			case 2: // the first one was to make the connection known
				most.Store(max(most.Load(), begun.Add(1)))
			case 1 + requests:
				begun.Add(-1)
			}
			for from := time.Now(); time.Since(from) < 5*time.Microsecond; {
			}
		}
	})
	var clients [conns]*plainClient
	for i := range clients {
		clients[i] = dialPlain(t, s.addr)
	}
	for _, n := range []int{1, requests} {
		for _, c := range clients {
			if err := c.send(n); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range clients {
			for got := 0; got < n; {
				n, err := c.receive(nil)
				if err != nil {
					t.Fatal(err)
				}
				got += n
			}
		}
	}
	if n := most.Load(); n > conns/2 {
		t.Errorf("%d of %d connections were served in part at a time", n, conns)
	}
}
