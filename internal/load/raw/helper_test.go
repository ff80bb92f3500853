package raw

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) { wiretest.RunWaiting(m) }

// transport is a driver with a protocol.
type transport struct {
	name   string
	driver func(*thread) (driver, error)
	http2  bool
	tls    bool
}

var transports = []transport{
	{"loop h1", defaultDriver, false, false},
	{"net h1", newNetDriver, false, false},
	{"loop h2c", defaultDriver, true, false},
	{"net h2c", newNetDriver, true, false},
	{"tls h1", defaultDriver, false, true},
	{"tls h2", defaultDriver, true, true},
}

// onAll runs a test on all transports, at the same time: most tests wait.
func onAll(t *testing.T, test func(t *testing.T, tr transport)) {
	inTurn(t, transports, func(t *testing.T, tr transport) {
		t.Parallel()
		test(t, tr)
	})
}

// inTurn runs a test on one transport after the other.
func inTurn(t *testing.T, on []transport, test func(t *testing.T, tr transport)) {
	for _, tr := range on {
		t.Run(tr.name, func(t *testing.T) { test(t, tr) })
	}
}

// onHTTP1 runs a test on the drivers with HTTP/1.1.
func onHTTP1(t *testing.T, test func(t *testing.T, tr transport)) {
	inTurn(t, transports[:2], func(t *testing.T, tr transport) {
		t.Parallel()
		test(t, tr)
	})
}

// serve starts a server of net/http, and returns options to reach it.
func (tr transport) serve(t *testing.T, h http.HandlerFunc) *engine.Options {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(!tr.http2)
	s.Config.Protocols.SetHTTP2(tr.http2)
	s.Config.Protocols.SetUnencryptedHTTP2(tr.http2)
	s.EnableHTTP2 = tr.http2
	s.Config.ErrorLog = quiet
	o := &engine.Options{Scheme: "http", Timeout: 30 * time.Second, Proto: engine.HTTP1}
	if tr.http2 {
		o.Proto = engine.HTTP2
	}
	if tr.tls {
		s.StartTLS()
		o.Scheme, o.TLS = "https", &tls.Config{InsecureSkipVerify: true}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	o.Address = s.Listener.Addr().String()
	return o
}

// listen starts a server that serves each connection with a function, and returns its address.
func listen(t *testing.T, serve func(c net.Conn)) *engine.Options {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() { ln.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { defer c.Close(); serve(c) })
		}
	})
	return &engine.Options{Scheme: "http", Address: ln.Addr().String(), Timeout: 30 * time.Second, Proto: engine.HTTP1}
}

// total is what all periods of a run add up to.
type total struct {
	series         []*result.Series
	users          []result.Users
	lag            result.Histogram
	opened, closed int64
	periods        int
	conns          int64 // at the end
	took           time.Duration
	most           int64
}

// load runs scenarios and checks what holds for each run.
func (tr transport) load(t *testing.T, ctx context.Context, o *engine.Options, scenarios ...engine.Scenario) *total {
	t.Helper()
	sum, err := tr.try(ctx, o, scenarios...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sum.series {
		if s.Sent != s.Ended() {
			t.Errorf("%s: %d sent, but %d done, %d failed, %d aborted, %d reset", s.Name, s.Sent, s.Done, s.Failed, s.Aborted, s.Resets)
		}
		if s.Due != s.Sent+s.Dropped {
			t.Errorf("%s: %d due, but %d sent and %d dropped", s.Name, s.Due, s.Sent, s.Dropped)
		}
		if s.Response.Count() != s.Done-s.Unexpected || s.Service.Count() != s.Done-s.Unexpected || s.Phases.Waiting.Count() != s.Done {
			t.Errorf("%s: %d responses are recorded, of which %d are done and %d unexpected", s.Name, s.Response.Count(), s.Done, s.Unexpected)
		}
	}
	return sum
}

func (tr transport) try(ctx context.Context, o *engine.Options, scenarios ...engine.Scenario) (*total, error) {
	sum := &total{}
	var mu sync.Mutex
	var names []string
	var requests [][]string
	for i := range scenarios {
		names = append(names, scenarios[i].Name)
		requests = append(requests, scenarios[i].Script.Names())
	}
	all := result.NewPeriod(names, requests)
	sum.series, sum.users = all.Series, all.Users
	begin := time.Now()
	err := run(ctx, o, scenarios, func(p *result.Period) *result.Period {
		mu.Lock()
		defer mu.Unlock()
		for i, s := range p.Series {
			sum.series[i].Merge(s)
		}
		for i := range p.Users {
			sum.most = max(sum.most, p.Users[i].Most)
			p.Users[i].Most = 0
			active := p.Users[i].Active
			sum.users[i].Merge(&p.Users[i])
			sum.users[i].Active = active
		}
		sum.lag.Merge(&p.Lag)
		sum.opened += p.Opened
		sum.closed += p.Closed
		sum.conns = p.Conns
		sum.periods++
		p.Reset()
		return p
	}, tr.driver)
	sum.took = time.Since(begin)
	return sum, err
}

// kinds returns the number of errors by kind.
func (s *total) kinds() map[string]int64 {
	kinds := map[string]int64{}
	for _, series := range s.series {
		for _, e := range series.Errors {
			kinds[e.Kind] += e.Count
		}
	}
	return kinds
}

// steps is a script whose users send requests one after the other.
type steps struct {
	names    []string
	requests []*script.Request
	done     func(user int, r *script.Response) // may be nil
	begin    func(user int)                     // of an iteration; may be nil
	users    atomic.Int64
}

func (s *steps) Names() []string { return s.names }

func (s *steps) NewUser(number int) script.User {
	s.users.Add(1)
	return &stepper{s: s, number: number}
}

type stepper struct {
	s      *steps
	number int
	at     int
	flies  bool
}

func (u *stepper) Next() (*script.Request, bool) {
	if u.flies {
		panic("Next while a request is in flight")
	}
	if u.at == len(u.s.requests) {
		u.at = 0
		return nil, false
	}
	if u.at == 0 && u.s.begin != nil {
		u.s.begin(u.number)
	}
	u.at++
	u.flies = true
	return u.s.requests[u.at-1], true
}

func (u *stepper) Done(r *script.Response) {
	if !u.flies {
		panic("Done without a request")
	}
	u.flies = false
	if u.s.done != nil {
		u.s.done(u.number, r)
	}
}

// get is a script with one GET request.
func get(path string) *steps {
	return &steps{names: []string{"get"}, requests: []*script.Request{{Method: "GET", Path: path}}}
}

// simple is a stateless script. Its request changes with each call of Next, so an engine has to copy it.
type simple struct {
	make func(n int, r *script.Request)
	done func(r *script.Response)
	mu   sync.Mutex
	n    int
}

func (s *simple) Names() []string         { return []string{"simple"} }
func (s *simple) NewUser(int) script.User { return &simpleUser{s: s} }
func (s *simple) Stateless()              {}

type simpleUser struct {
	s   *simple
	req script.Request
}

func (u *simpleUser) Next() (*script.Request, bool) {
	u.s.mu.Lock()
	n := u.s.n
	u.s.n++
	u.s.mu.Unlock()
	clear(u.req.Wire)
	u.req = script.Request{Method: "GET", Path: "/", Header: u.req.Header[:0], Wire: u.req.Wire[:0]}
	if u.s.make != nil {
		u.s.make(n, &u.req)
	}
	return &u.req, true
}

func (u *simpleUser) Done(r *script.Response) {
	if u.s.done != nil {
		u.s.done(r)
	}
}

func scenario1(s script.Script, l script.Load) engine.Scenario {
	return engine.Scenario{Name: "s", Load: l, Script: s}
}

func iterations(n int64, users int) script.Load {
	return script.Load{Executor: script.SharedIterations, Iterations: n, VUs: users, Duration: 30 * time.Second, Grace: time.Minute}
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }
