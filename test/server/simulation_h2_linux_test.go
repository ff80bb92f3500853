package server_test

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestSimulationHTTP2 is TestSimulation with clients that use HTTP/2. They have many requests at once, small windows, request
// bodies in pieces, tunnels, and they reset streams in every state. GALLOP_SEED and GALLOP_STEPS run other simulations.
//
// Goroutines stop only at calls that the server makes without the lock of a connection. Others wait for that lock without
// letting the virtual time pass.
func TestSimulationHTTP2(t *testing.T) { simulateHTTP2(t, simForm{h2: true}, 30_000, 1_000_000) }

// TestSimulationHTTP2Goroutines has a goroutine serve each connection.
func TestSimulationHTTP2Goroutines(t *testing.T) {
	simulateHTTP2(t, simForm{h2: true, goroutines: true}, 15_000, 500_000)
}

// TestSimulationHTTP2TLS has TLS on event loops.
func TestSimulationHTTP2TLS(t *testing.T) {
	simulateHTTP2(t, simForm{h2: true, tls: true}, 10_000, 500_000)
}

// TestSimulationHTTP2TLSGoroutines has TLS on goroutines.
func TestSimulationHTTP2TLSGoroutines(t *testing.T) {
	simulateHTTP2(t, simForm{h2: true, tls: true, goroutines: true}, 10_000, 500_000)
}

func simulateHTTP2(t *testing.T, form simForm, usual, long int) {
	if !wiretest.Beside(t) {
		return
	}
	if servertest.RaceEnabled {
		usual /= 2
	}
	seed := uint64(number("GALLOP_SEED", 1))
	steps := number("GALLOP_STEPS", longer(usual, long))
	begun := time.Now()
	result := simulate(t, seed, steps, form)
	t.Logf("seed %d: %d steps, %d requests answered, %d batons stolen, %v, trace %x", seed, steps, result.answered, result.stolen, time.Since(begun), result.trace)
}

// simH2 is the HTTP/2 side of a client's connection.
type simH2 struct {
	c       *simClient
	e       http2.Conn
	m       http2.Message
	streams map[uint32]*simStream
	away    bool // the server accepts no more streams
}

// simStream is a request of a simH2.
type simStream struct {
	q      *simRequest
	out    []byte // of its body, not sent yet
	got    []byte
	status int
	xid    string
	open   bool // it is a tunnel, which the client ends by itself
}

// h2Kinds are what is asked for over HTTP/2.
var h2Kinds = []string{
	"/fast", "/fast", "/fast", "/fast", "/fast", "/slow", "/big", "/big", "/writer", "/wait", "/echo", "/echo", "/stream", "/unread",
	"/tunnel", "/panic", "/goexit", "/abort", "/close",
}

func newSimH2(c *simClient) *simH2 {
	h := &simH2{c: c, streams: map[uint32]*simStream{}}
	h.m.Head = new(message.Head)
	h.e.Init(&http2.Config{
		Role: http2.Client, MaxConcurrentStreams: 50, StreamWindow: []uint32{100, 1000, 65535}[c.m.draw(3)], ConnWindow: 65535,
		MaxFrameSize: 16384, MaxSendFrame: []int{50, 1000, 16384}[c.m.draw(3)], HeaderTableSize: []int{1, 100, 4096}[c.m.draw(3)], EncoderTableSize: 4096,
		MaxBlock: 128 << 10, MaxInterims: 5, Header: hpack.Limits{List: 64 << 10, Fields: 100, String: 32 << 10},
	})
	return h
}

func (h *simH2) now() int64 { return time.Now().UnixNano() }

// ask opens a stream.
func (h *simH2) ask() {
	c, m := h.c, h.c.m
	if c.last || h.away || !h.e.CanOpen() || len(c.due) >= 20 {
		return
	}
	m.lastID++
	q := &simRequest{id: m.lastID, kind: h2Kinds[m.draw(len(h2Kinds))], n: m.draw(60)}
	st := &simStream{q: q}
	line := http2.RequestLine{Method: []byte("GET"), Scheme: []byte(h.scheme()), Authority: []byte("a")}
	var fields field.List
	switch q.kind {
	case "/big", "/writer":
		q.n = m.draw(6000)
	case "/echo", "/stream", "/unread":
		q.n = m.draw(3000)
		line.Method, st.out = []byte("POST"), []byte(simBody(q.id, q.n))
		if m.draw(2) == 0 {
			field.Add(&fields, field.ContentLength, "content-length", strconv.Itoa(q.n))
		}
		if m.draw(8) == 0 {
			field.Add(&fields, field.Expect, "expect", "100-continue")
		}
	case "/tunnel":
		q.n = 1 + m.draw(3000)
		line = http2.RequestLine{Method: []byte("CONNECT"), Authority: fmt.Appendf(nil, "%d.%d:1", q.id, q.n)}
		st.out, st.open = []byte(simBody(q.id, q.n)), true
	}
	if !st.open {
		line.Path = []byte(q.String())
	}
	id, _, ok := h.e.Request(&line, &fields, len(st.out) == 0 && string(line.Method) == "GET")
	if !ok {
		m.fail("connection %d: no stream for %v", c.id, q)
		return
	}
	h.streams[id] = st
	c.due = append(c.due, q)
	if string(line.Method) != "GET" {
		h.write(id, st)
	}
}

// write sends what the windows permit of the body of a request.
func (h *simH2) write(id uint32, st *simStream) {
	n, ok := h.e.WriteData(id, st.out, !st.open, h.now())
	if st.out = st.out[n:]; !ok {
		st.out = nil
	}
}

// cancel resets a stream.
func (h *simH2) cancel() {
	if len(h.streams) == 0 {
		return
	}
	ids := make([]uint32, 0, len(h.streams))
	for id := range h.streams {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := ids[h.c.m.draw(len(ids))]
	h.e.Reset(id, http2.Cancel)
	h.forget(id, simGivenUp)
}

// forget ends a stream.
func (h *simH2) forget(id uint32, end simEnd) {
	q := h.streams[id].q
	h.c.m.ends[q.id] = end
	h.e.Release(id)
	delete(h.streams, id)
	h.c.due = slices.DeleteFunc(h.c.due, func(d *simRequest) bool { return d == q })
}

// gather moves frames to what is to be sent.
func (h *simH2) gather() {
	for {
		id, _, ok := h.e.NextWriter()
		if !ok {
			break
		}
		h.write(id, h.streams[id])
	}
	h.c.write(h.e.Out())
	h.e.Sent(len(h.e.Out()))
}

func (h *simH2) scheme() string {
	if h.c.tls != nil {
		return "https"
	}
	return "http"
}

// understand takes frames out of the received bytes.
func (h *simH2) understand(err error) {
	c, m := h.c, h.c.m
	for !m.t.Failed() {
		ev, n := h.e.Next(c.in, &h.m, h.now())
		c.in = c.in[n:]
		if ev.Kind == http2.Full {
			h.gather()
			continue
		}
		if ev.Kind == http2.More {
			break
		}
		if ev.Kind == http2.Failed {
			m.fail("connection %d fails: %v", c.id, ev.Err)
			return
		}
		h.take(&ev)
	}
	h.gather()
	if c.over {
		h.left(err)
	}
}

// take takes an event.
func (h *simH2) take(ev *http2.Event) {
	c, m := h.c, h.c.m
	if ev.Kind == http2.GoingAway {
		h.awayFrom(ev)
		return
	}
	st := h.streams[ev.Stream]
	if st == nil {
		return
	}
	switch ev.Kind {
	case http2.Head:
		st.status = int(h.m.Head.Status)
		for i := range h.m.Head.Fields.Len() {
			if name, value := h.m.Head.Fields.At(i); strings.EqualFold(string(name), "x-id") {
				st.xid = string(value)
			}
		}
	case http2.Data:
		st.got = append(st.got, ev.Data...)
		h.e.Consumed(ev.Stream, len(ev.Data))
	case http2.Reset:
		switch calls := m.called(st.q); {
		case st.q.kind == "/goexit" || st.q.kind == "/abort":
			h.forget(ev.Stream, simGivenUp)
		case ev.Code == http2.RefusedStream && calls == 0:
			h.forget(ev.Stream, simRefused)
		default:
			m.fail("connection %d, %v: reset with %v (%v) after status %d and %d bytes, called %d times", c.id, st.q, ev.Code, ev.Err, st.status, len(st.got), calls)
		}
		return
	}
	if ev.End {
		h.answered(ev.Stream, st)
	}
}

// answered judges a response.
func (h *simH2) answered(id uint32, st *simStream) {
	c, m, q := h.c, h.c.m, st.q
	m.answered++
	want, body := 200, simBody(q.id, q.n)
	switch {
	case q.kind == "/panic":
		want, body = 500, "Internal Server Error"
	case st.xid != strconv.Itoa(q.id):
		m.fail("connection %d, %v: the response to %q", c.id, q, st.xid)
	}
	if calls := m.called(q); st.status != want || string(st.got) != body || calls != 1 {
		m.fail("connection %d, %v: %d, %.200q (%d of %d bytes), and the handler was called %d times", c.id, q, st.status, st.got, len(st.got), len(body), calls)
	}
	h.forget(id, simAnswered)
}

// awayFrom takes GOAWAY. Streams that it does not accept must not reach a handler, because the client may repeat them.
func (h *simH2) awayFrom(ev *http2.Event) {
	c, m := h.c, h.c.m
	h.away = true
	if ev.Code != http2.NoError && !m.timed {
		m.fail("connection %d: GOAWAY with %v", c.id, ev.Code)
	}
	for id, st := range h.streams {
		if id > ev.Stream {
			if calls := m.called(st.q); calls > 0 {
				m.fail("connection %d, %v: not accepted, but the handler was called", c.id, st.q)
			}
			h.forget(id, simRefused)
		}
	}
}

// left judges the end of a connection that leaves requests without a response. If there was a GOAWAY, it has accepted them.
func (h *simH2) left(err error) {
	c, m := h.c, h.c.m
	for _, q := range c.due {
		switch calls := m.called(q); {
		case m.timed:
			m.ends[q.id] = simGivenUp
		case calls == 0 && !h.away && m.ending:
			m.ends[q.id] = simRefused
		default:
			m.fail("connection %d ends, %v, without a response to %v, of which the handler was called %d times; GOAWAY %v", c.id, err, q, calls, h.away)
			return
		}
	}
}

// simEnd is how a request over HTTP/2 has ended.
type simEnd int

const (
	simAnswered simEnd = 1 + iota // with a complete response
	simRefused                    // the server has not accepted it, so no handler may be called for it
	simGivenUp                    // the client has reset it or has hung up, or time was up, or the handler has asked for a reset
)

// balance wants each handler called once, and as many requests answered as the server has accepted.
func (m *simulation) balance() {
	accepted, givenUp := 0, 0
	for id, calls := range m.calls {
		if calls > 1 {
			m.fail("the handler was called %d times for request %d", calls, id)
		}
		if !m.h2 {
			continue
		}
		accepted++
		switch end := m.ends[id]; end {
		case simAnswered:
		case simGivenUp:
			givenUp++
		default:
			m.fail("the handler was called for request %d, which has ended with %d", id, end)
		}
	}
	if m.h2 && accepted-givenUp != m.answered {
		m.fail("%d requests accepted and not given up, %d answered", accepted-givenUp, m.answered)
	}
}

// giveUp gives up all requests of a client that hangs up.
func (c *simClient) giveUp() {
	c.gone = true
	c.tls.end()
	for _, q := range c.due {
		c.m.ends[q.id] = simGivenUp
	}
}

// tunnel serves a CONNECT: it sends back as many bytes as the target says.
func (m *simulation) tunnel(ctx *gallop.RequestCtx) {
	var id, n int
	fmt.Sscanf(string(ctx.Request.Header.RequestURI()), "%d.%d:1", &id, &n)
	m.mu.Lock()
	m.calls[id]++
	m.mu.Unlock()
	ctx.Response.Header.Set("X-Id", strconv.Itoa(id))
	nc, err := ctx.AcceptStream()
	if err != nil {
		return // the client has reset the stream
	}
	go func() {
		defer nc.Close()
		_, _ = io.Copy(nc, io.LimitReader(nc, int64(n)))
	}()
}
