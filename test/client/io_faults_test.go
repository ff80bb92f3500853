package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// clientTorture is one case whose client's at-th I/O call goes wrong.
type clientTorture struct {
	c    *wiretest.ClientCase
	at   int
	kind wiretest.FaultKind
	want string
}

// faulty wraps the first connection that is dialed in a Fault and the others not.
type faulty struct {
	at    int
	kind  wiretest.FaultKind
	once  sync.Once
	fault *wiretest.Fault
}

func (f *faulty) wrap(c net.Conn) net.Conn {
	f.once.Do(func() {
		f.fault = wiretest.NewFault(c, f.at, f.kind)
		c = f.fault
	})
	return c
}

// TestClientTorture fails the k-th I/O call of the client, in every way and for every
// k, on each case: nothing may panic, hang or leak, and what it takes for a result must
// be the one that it gets without the fault.
func TestClientTorture(t *testing.T) {
	cases := wiretest.ClientCases(t, smallResponse)
	depth := 8
	if wiretest.Long() {
		depth = 60
	}
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			var runs []clientTorture
			for i := range cases {
				c := &cases[i]
				f := &faulty{}
				want := outcome(exchange(c, stream, f.wrap, c.Raw))
				for at := 1; at <= min(f.fault.Calls(), depth); at++ {
					for _, kind := range wiretest.Faults {
						runs = append(runs, clientTorture{c, at, kind, want})
					}
				}
			}
			t.Logf("%d runs", len(runs))
			wiretest.InParallel(runs, func(r clientTorture) {
				f := &faulty{at: r.at, kind: r.kind}
				got := outcome(exchange(r.c, stream, f.wrap, r.c.Raw))
				if got != "error" && got != r.want || r.kind == wiretest.FaultOctet && got != r.want {
					t.Errorf("%s, %v at call %d: %.200s, want %.200s", r.c.ID, r.kind, r.at, got, r.want)
				}
			})
		})
	}
}

// TestClientTorturesPosts fails the k-th I/O call of a client that posts twice on a
// connection: whatever it reports, the server must not get a POST twice.
func TestClientTorturesPosts(t *testing.T) {
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			for at := 1; at <= 12; at++ {
				for _, kind := range wiretest.Faults {
					if err := postTwice(at, kind, stream); err != nil {
						t.Errorf("%v at call %d: %v", kind, at, err)
					}
				}
			}
		})
	}
}

func postTwice(at int, kind wiretest.FaultKind, stream bool) error {
	var got [2]atomic.Int64
	dial, stop := wiretest.Memory(func(c net.Conn) {
		defer c.Close()
		requests := wiretest.NewRequests(c)
		for {
			q, err := requests.Next()
			if err != nil {
				return
			}
			got[strings.Count(q.Target, "2")].Add(1)
			answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(q.Body), q.Body)
			if _, err := c.Write([]byte(answer)); err != nil {
				return
			}
		}
	})
	f := &faulty{at: at, kind: kind}
	fetch, end := clientSubject(stream)(func() (net.Conn, error) {
		c, err := dial()
		return f.wrap(c), err
	})
	defer stop()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var wrong error
	for i := range 2 {
		body := fmt.Sprintf("body %d", i+1)
		r, err := fetch(ctx, &wiretest.Call{Method: "POST", Path: fmt.Sprintf("/%d", i+1), Body: []byte(body)})
		n := got[i].Load()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && (string(r.Body) != body || n != 1):
			wrong = errors.Join(wrong, fmt.Errorf("POST %d: got %q, sent %d times", i+1, r.Body, n))
		case n > 1:
			wrong = errors.Join(wrong, fmt.Errorf("POST %d: sent %d times", i+1, n))
		}
	}
	return wrong
}
