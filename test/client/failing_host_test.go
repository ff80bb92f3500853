package client_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// chaoticHost is a server that is slow, resets, closes and breaks off, at random, and
// counts what it is sent.
type chaoticHost struct {
	ln      net.Listener
	running sync.WaitGroup

	mu  sync.Mutex
	got map[int]int // how often each call came, by id
}

func newChaoticHost() (*chaoticHost, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &chaoticHost{ln: ln, got: map[int]int{}}
	h.running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			h.running.Go(func() { h.serve(c) })
		}
	})
	return h, nil
}

func (h *chaoticHost) close() {
	_ = h.ln.Close()
	h.running.Wait()
}

func (h *chaoticHost) serve(c net.Conn) {
	defer c.Close()
	requests := wiretest.NewRequests(c)
	for {
		q, err := requests.Next()
		if err != nil {
			return
		}
		id, err := strconv.Atoi(q.Target[1:])
		if err != nil {
			return
		}
		h.mu.Lock()
		h.got[id]++
		h.mu.Unlock()
		if !chaoticAnswer(c, bodyOfCall(id)) {
			return
		}
	}
}

// chaoticAnswer reports whether the connection goes on.
func chaoticAnswer(c net.Conn, body string) bool {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body))
	answer := head + body
	switch rand.IntN(40) {
	case 0: // no response
		return false
	case 1:
		wiretest.Reset(c)
		return false
	case 2: // half of one
		_, _ = io.WriteString(c, answer[:len(head)+len(body)/2])
		return false
	case 3:
		_, _ = io.WriteString(c, answer[:len(head)+len(body)/2])
		wiretest.Reset(c)
		return false
	case 4: // a response, then a close that was not announced
		_, _ = io.WriteString(c, answer)
		return false
	case 5: // something nobody asked for
		_, err := io.WriteString(c, answer+"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON")
		return err == nil
	case 6:
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	case 7: // for longer than most calls have
		time.Sleep(200 * time.Millisecond)
	case 8: // slowly
		for part := range strings.SplitAfterSeq(answer, "]") {
			if _, err := io.WriteString(c, part); err != nil {
				return false
			}
			time.Sleep(time.Millisecond)
		}
		return true
	case 9:
		answer = fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case 10:
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"+body)
		return false
	}
	_, err := io.WriteString(c, answer)
	return err == nil
}

// chaos is many callers of many such hosts.
type chaos struct {
	faultRun
	t       *testing.T
	hosts   []*chaoticHost
	clients []*gallop.Client
	end     time.Time // later calls have more time, because the machine is too slow for the usual time
}

// TestClientInChaos has two hundred goroutines, a thousand for 60 s in the long form, call
// a hundred hosts that misbehave, and cancel some calls at random. Every call has to return by
// its deadline, with its own answer if with any, and to be sent once, or twice if it is
// idempotent. Nothing may be left behind.
func TestClientInChaos(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	callers, span := 200, 2*time.Second
	switch {
	case wiretest.Long():
		callers, span = 1000, time.Minute
	case !wiretest.Full():
		span = time.Second
	}
	warm, err := newChaoticHost() // has the runtime open what it polls with
	if err != nil {
		t.Fatal(err)
	}
	warm.close()
	wiretest.CheckLeaks(t)
	x := &chaos{t: t}
	for range 100 {
		h, err := newChaoticHost()
		if err != nil {
			t.Fatal(err)
		}
		x.hosts = append(x.hosts, h)
	}
	x.clients = []*gallop.Client{
		{MaxConnsPerHost: 5, MaxConnWaitTimeout: time.Second},
		{StreamResponseBody: true},
	}
	slack := slackOfMachine()
	x.end = time.Now().Add(span)
	giveUp := x.end.Add(time.Minute)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for n := 0; time.Now().Before(x.end) || x.answered.Load() < wantAnswered && time.Now().Before(giveUp); n++ {
				x.once(caller + n*callers)
			}
		})
	}
	group.Wait()
	for _, c := range x.clients {
		c.CloseIdleConnections()
	}
	x.slack = slack()
	x.verify()
}

// wantAnswered is how many calls the hosts have to answer before what they show counts. On a
// machine that has much else to do most calls run into their deadlines.
const wantAnswered = 500

// slackOfMachine watches the machine until the function that it returns is called, which tells
// how late a call may have been in that time: 2 s, and ten times what a goroutine that did nothing
// but sleep has overslept, since a call has to wait for its turn that often.
func slackOfMachine() func() time.Duration {
	worst := make(chan time.Duration)
	go func() {
		const nap = 10 * time.Millisecond
		overslept := time.Duration(0)
		for {
			start := time.Now()
			select {
			case <-time.After(nap):
				overslept = max(overslept, time.Since(start)-nap)
			case worst <- overslept:
				return
			}
		}
	}()
	return func() time.Duration { return 2*time.Second + 10*<-worst }
}

// once makes one call, the id of which nobody else uses.
func (x *chaos) once(id int) {
	h := x.hosts[rand.IntN(len(x.hosts))]
	limit := time.Duration(20+rand.IntN(980)) * time.Millisecond
	if time.Now().After(x.end) {
		limit *= 20
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if rand.IntN(10) == 0 {
		time.AfterFunc(time.Duration(rand.Int64N(int64(limit))), cancel)
	}
	call := &wiretest.Call{Method: "GET", Path: fmt.Sprint("/", id)}
	if isPost(id) {
		call.Method, call.Body = "POST", []byte(bodyOfCall(id))
	}
	do := func(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
		req.SetHost(h.ln.Addr().String())
		return x.clients[id%len(x.clients)].DoContext(ctx, req, resp)
	}
	start := time.Now()
	r, err := fetchWith(ctx, do, call)
	x.ended(time.Since(start) - limit)
	if err == nil {
		x.answered.Add(1)
		if want := bodyOfCall(id); string(r.Body) != want {
			x.fail("call %d: got %.60q, want %.60q", id, r.Body, want)
		}
	}
}

// verify ends the hosts and looks at what they were sent.
func (x *chaos) verify() {
	sent := 0
	for _, h := range x.hosts {
		h.close()
		for id, n := range h.got {
			if sent += n; n > 1 && (isPost(id) || n > 2) {
				x.fail("call %d was sent %d times", id, n)
			}
		}
	}
	x.t.Logf("%d requests sent, %d answered, the latest %v after its deadline", sent, x.answered.Load(), time.Duration(x.latest.Load()))
	if x.answered.Load() < wantAnswered {
		x.t.Error("hardly any calls are answered")
	}
	x.faultRun.verify(x.t, nil)
}
