package client_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// bodyOfCall is the body that belongs to a call: it names it, all the way through.
func bodyOfCall(id int) string {
	return strings.Repeat(fmt.Sprintf("[%d]", id), 1+id%97)
}

// ledger counts how often each of n calls reached a server.
type ledger []atomic.Int32

// serve is a handler that answers /id with bodyOfCall(id), in different framings.
func (l ledger) serve(ctx *gallop.RequestCtx) {
	id, err := strconv.Atoi(strings.TrimPrefix(string(ctx.Path()), "/"))
	if err != nil || id >= len(l) {
		ctx.Error("no such call", 404)
		return
	}
	l[id].Add(1)
	body := bodyOfCall(id)
	switch id % 4 {
	case 0:
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for part := range strings.SplitAfterSeq(body, "]") {
				_, _ = w.WriteString(part)
				if len(part)%3 == 0 {
					_ = w.Flush()
				}
			}
		})
	case 1:
		ctx.SetConnectionClose()
		fallthrough
	default:
		ctx.SetBodyString(body)
	}
}

// TestClientBehindFaultyProxy calls through a proxy that resets, closes, stalls, splits,
// coalesces and corrupts: no call may get a body that is not its own, none may outlive
// its deadline, and no POST may be delivered twice.
func TestClientBehindFaultyProxy(t *testing.T) {
	calls := 4_000
	if wiretest.Long() {
		calls = 500_000
	}
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			if servertest.RaceEnabled { // it breaks down where much goes on in virtual time: go.dev/issue/78156
				wiretest.CheckLeaks(t)
				callThroughFaults(t, calls/4, stream, 2*time.Second, slackOfMachine())
				return
			}
			synctest.Test(t, func(t *testing.T) { // which also wants no goroutine to be left
				callThroughFaults(t, calls, stream, 100*time.Millisecond, func() time.Duration { return 0 })
			})
		})
	}
}

func callThroughFaults(t *testing.T, calls int, stream bool, limit time.Duration, slack func() time.Duration) {
	l := make(ledger, calls)
	s := &gallop.Server{Handler: l.serve, Logger: servertest.Quiet}
	p := &faultProxy{often: 0.05, seed: rand.Uint64(), serve: func(c net.Conn) {
		defer c.Close()
		_ = s.ServeConn(c)
	}}
	c := hostClient(p.dial, stream)
	c.MaxConns = 1000
	r := &faultRun{do: c.DoContext, limit: limit}
	callAll(calls, 64, r.call)
	c.CloseIdleConnections()
	p.running.Wait()
	r.slack = slack()
	r.verify(t, l)
	faults := make([]int64, proxyFaults)
	for i := range faults {
		faults[i] = p.faults[i].Load()
	}
	t.Logf("seed %d: %d of %d calls answered, faults %d", p.seed, r.answered.Load(), calls, faults)
	if r.answered.Load() < int64(calls)/2 {
		t.Error("most calls fail")
	}
}

// callAll makes the calls 0 ≤ id < n, so many at a time.
func callAll(n, callers int, call func(id int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for id := int(next.Add(1)) - 1; id < n; id = int(next.Add(1)) - 1 {
				call(id)
			}
		})
	}
	group.Wait()
}

// faultRun makes calls, and keeps what was wrong with them.
type faultRun struct {
	do       doContext
	limit    time.Duration
	answered atomic.Int64
	latest   atomic.Int64  // by how many ns a call returned after its deadline
	slack    time.Duration // by how much it may

	mu    sync.Mutex
	wrong []string
}

func (r *faultRun) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// isPost reports whether the call of that id is a POST: it is delivered at most once.
func isPost(id int) bool { return id%3 == 0 }

// ended notes that a call ended so long after its deadline.
func (r *faultRun) ended(late time.Duration) {
	for {
		latest := r.latest.Load()
		if int64(late) <= latest || r.latest.CompareAndSwap(latest, int64(late)) {
			return
		}
	}
}

func (r *faultRun) call(id int) {
	call := &wiretest.Call{Method: "GET", Path: fmt.Sprint("/", id)}
	if isPost(id) {
		call.Method, call.Body = "POST", []byte(bodyOfCall(id))
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.limit)
	defer cancel()
	start := time.Now()
	res, err := fetchWith(ctx, r.do, call)
	r.ended(time.Since(start) - r.limit)
	if err != nil || res.Status != 200 {
		return
	}
	r.answered.Add(1)
	// Without a trace, a length that was made smaller on the way cuts a body off, and the size of a chunk that
	// was made larger takes in the line of the next one, if it happens to end where that does. A length that was
	// made larger takes in the refusal of what a server finds behind a body whose length was made smaller before.
	res.Body, _, _ = bytes.Cut(res.Body, []byte("HTTP/1.1 400 Bad Request\r\n"))
	if want := bodyOfCall(id); !strings.HasPrefix(want, chunkLine.ReplaceAllString(string(res.Body), "")) {
		r.fail("call %d: got %.60q, want %.60q", id, res.Body, want)
	}
}

var chunkLine = regexp.MustCompile(`\r\n[0-9a-f]+\r\n`)

// verify fails the test for what was wrong.
func (r *faultRun) verify(t *testing.T, l ledger) {
	t.Helper()
	if latest := time.Duration(r.latest.Load()); latest > r.slack {
		r.fail("a call returned %v after its deadline, more than %v", latest, r.slack)
	}
	for id := range l {
		n, most := l[id].Load(), int32(2)
		if isPost(id) {
			most = 1
		}
		if n > most {
			r.fail("call %d was delivered %d times", id, n)
		}
	}
	for i, s := range r.wrong {
		if i == 20 {
			t.Errorf("and %d more", len(r.wrong)-i)
			break
		}
		t.Error(s)
	}
}
