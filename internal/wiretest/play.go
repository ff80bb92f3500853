package wiretest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// followUp is a request that a test sends after the case. Its response shows whether both sides agree where the
// earlier messages ended.
const followUp = "GET /__probe HTTP/1.1\r\nHost: h1.test\r\n\r\n"

// How long Play waits.
const (
	playTimeout  = 2500 * time.Millisecond // for a response
	closeTimeout = 1500 * time.Millisecond // for the connection to close, if it must
	strayTimeout = 80 * time.Millisecond   // for bytes that must not arrive
	eitherDelay  = 250 * time.Millisecond  // for the connection to close, if it may
)

// Play plays one case over a connection of its own and returns the failures. strict also requires the safer choice
// where the RFC allows two.
func Play(ctx context.Context, dial func() (net.Conn, error), c *Case, strict bool) []string {
	return play(ctx, dial, c, strict, playTimeout)
}

// PlayAll plays the cases, at most jobs at a time, and repeats failed ones with longer timeouts. The result maps the
// id of each failed case to its failures.
func PlayAll(ctx context.Context, dial func() (net.Conn, error), cases []Case, strict bool, jobs int) map[string][]string {
	failures := playAll(ctx, dial, cases, strict, jobs, playTimeout)
	if len(failures) == 0 {
		return failures
	}
	again := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return failures[c.ID] == nil })
	return playAll(ctx, dial, again, strict, max(1, jobs/2), 2*playTimeout)
}

func playAll(ctx context.Context, dial func() (net.Conn, error), cases []Case, strict bool, jobs int, timeout time.Duration) map[string][]string {
	return playEach(cases, jobs, func(c *Case) (string, []string) { return c.ID, play(ctx, dial, c, strict, timeout) })
}

// playEach calls play for each case, at most jobs at a time, and collects the failures.
func playEach[C any](cases []C, jobs int, play func(*C) (id string, failures []string)) map[string][]string {
	var (
		mu    sync.Mutex
		found = map[string][]string{}
		group sync.WaitGroup
		slots = make(chan struct{}, jobs)
	)
	for i := range cases {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if id, failures := play(&cases[i]); len(failures) > 0 {
				mu.Lock()
				defer mu.Unlock()
				found[id] = failures
			}
		})
	}
	group.Wait()
	return found
}

// player holds the state while one case is played.
type player struct {
	*Case
	*peer
	ctx      context.Context
	strict   bool
	timeout  time.Duration
	failures []string
}

func play(ctx context.Context, dial func() (net.Conn, error), c *Case, strict bool, timeout time.Duration) []string {
	conn, err := dial()
	if err != nil {
		return []string{"connect: " + err.Error()}
	}
	p := &player{
		Case: c, peer: newPeer(conn, slices.Clone(c.Methods)), ctx: ctx, strict: strict,
		timeout: max(timeout, time.Duration(c.TimeoutMS)*time.Millisecond),
	}
	defer p.close()
	if !p.sendAll() || !p.awaitResponses() {
		return p.failures
	}
	p.checkFirst()
	p.checkEnd()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checkCount()
	p.checkContent()
	return p.failures
}

// fail records a failure. It always returns false, so callers can return its result.
func (p *player) fail(format string, args ...any) bool {
	p.failures = append(p.failures, fmt.Sprintf(format, args...))
	return false
}

func (p *player) wait(limit time.Duration, cond func() bool) bool { return p.until(p.ctx, limit, cond) }

// sendAll executes the steps of the case and reports whether all could be executed.
func (p *player) sendAll() bool {
	rest := p.Bytes()
	steps := p.Steps
	if len(steps) == 0 {
		steps = []Step{{Send: len(rest)}}
	}
	for _, s := range steps {
		n := min(s.Send, len(rest))
		p.sendPart(rest[:n])
		rest = rest[n:]
		if !p.step(s) {
			return false
		}
	}
	if p.HalfClose {
		p.wait(p.timeout, p.flushed)
		if err := p.closeWrite(); err != nil {
			return p.fail("%v", err)
		}
	}
	return true
}

func (p *player) step(s Step) bool {
	switch {
	case s.SleepMS > 0:
		p.wait(time.Duration(s.SleepMS)*time.Millisecond, func() bool { return false })
	case s.WaitInterim > 0:
		arrived := func() bool { return slices.Contains(p.interims, s.WaitInterim) || len(p.finals) > 0 }
		if !p.wait(p.timeout, func() bool { return arrived() || p.junk != nil }) || !p.holds(arrived) {
			return p.fail("no %d interim within %v", s.WaitInterim, p.timeout)
		}
	case s.WaitAny > 0:
		if !p.wait(p.timeout, func() bool { return len(p.interims)+len(p.finals) > 0 || p.junk != nil }) {
			return p.fail("neither an interim nor a final response arrived")
		}
	case s.WaitResponses > 0:
		if !p.wait(p.timeout, func() bool { return len(p.finals) >= s.WaitResponses || p.junk != nil }) {
			return p.fail("response %d did not arrive", s.WaitResponses)
		}
	}
	return true
}

func (p *player) holds(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

func (p *player) sendPart(b []byte) {
	size := p.WriteSize
	if size == 0 {
		size = max(len(b), 1)
	}
	for part := range slices.Chunk(b, size) {
		p.send(p.ctx, part, p.timeout)
		if p.WriteDelayMS > 0 {
			p.wait(time.Duration(p.WriteDelayMS)*time.Millisecond, func() bool { return false })
		}
		if p.holds(func() bool { return p.eof }) {
			return
		}
	}
}

// allowed returns the allowed numbers of final responses.
func (p *player) allowed() []int {
	if len(p.Expect.Responses) == 0 || p.rejected() {
		return []int{1}
	}
	return p.Expect.Responses
}

// rejected reports whether the first response refuses the request in a case that allows that.
func (p *player) rejected() bool {
	return len(p.finals) > 0 && p.finals[0].Status >= 400 && p.Expect.Kind != "accept"
}

// awaitResponses waits for the expected responses. It reports whether there is a response to check.
func (p *player) awaitResponses() bool {
	p.wait(p.timeout, func() bool {
		return p.junk != nil || len(p.finals) >= max(1, slices.Max(p.allowed()))
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.Expect
	switch {
	case p.junk != nil:
		// the fourth byte of a SETTINGS frame is its type
		if x.H2OK && len(p.junkHead) >= 4 && p.junkHead[3] == 4 {
			return false
		}
		return p.fail("unparsable bytes from server: %v", p.junk)
	case len(p.finals) > 0:
		return true
	case !p.eof:
		return p.fail("no response and no close within %v, want %v", p.timeout, x.Statuses)
	case !slices.Contains(x.Statuses, 0):
		return p.fail("connection ended (reset: %v) without a response, want %v", p.rst, x.Statuses)
	}
	return false
}

func (p *player) checkFirst() {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.Expect
	if first := p.finals[0].Status; !slices.Contains(x.Statuses, first) {
		p.fail("status %d, want %v", first, x.Statuses)
	}
	if p.strict && x.Kind == "either" && x.Prefer == "reject" && !p.rejected() {
		p.fail("strict: accepted, prefer reject")
	}
}

// surplus reports whether more responses than allowed, or other bytes, arrived.
func (p *player) surplus() bool { return p.junk != nil || len(p.finals) > slices.Max(p.allowed()) }

// checkEnd checks whether the connection is closed or stays open, as the case expects.
func (p *player) checkEnd() {
	closes := p.Expect.Closes
	if closes != nil && !*closes && p.holds(p.rejected) && p.Expect.Kind == "either" {
		closes = nil
	}
	if closes != nil && *closes {
		p.wait(min(p.timeout, closeTimeout), p.surplus)
		if !p.holds(func() bool { return p.eof }) {
			p.fail("connection left open")
		}
	} else {
		delay := eitherDelay
		if closes != nil {
			delay = strayTimeout
		}
		p.checkPersistence(delay, closes != nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.junk != nil {
		p.fail("unparsable bytes after the response: %v", p.junk)
	}
}

// checkPersistence sends a probe if the connection is still open. If the server disagrees where the messages ended,
// it responds wrongly or not at all.
func (p *player) checkPersistence(delay time.Duration, must bool) {
	p.wait(delay, p.surplus)
	p.mu.Lock()
	last := p.finals[len(p.finals)-1]
	skip := p.surplus() || p.HalfClose || p.NoProbe || last.Framing == ForTunnel
	ended := p.eof
	p.mu.Unlock()
	switch {
	case skip:
	case ended && must:
		p.fail("connection closed, should persist")
	case ended:
	case p.Expect.KeepAliveEcho && !containsFold(last.Values("Connection"), "keep-alive"):
		p.fail("HTTP/1.0 connection kept open without Connection: keep-alive in the response")
	default:
		p.probe(must)
	}
}

func (p *player) probe(must bool) {
	p.mu.Lock()
	n := len(p.finals)
	p.methods = p.methods[:min(n, len(p.methods))]
	p.mu.Unlock()
	p.send(p.ctx, []byte(followUp), p.timeout)
	p.wait(p.timeout, func() bool { return p.junk != nil || len(p.finals) > n })
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.finals) > n:
		r := p.finals[len(p.finals)-1]
		p.finals = p.finals[:len(p.finals)-1]
		if e := ParseEcho(r.Body); r.Status != 200 || e == nil || e.Path != "/__probe" {
			p.fail("DESYNC: follow-up request answered %d %.60q", r.Status, r.Body)
		}
	case p.junk != nil:
	case !p.eof:
		p.fail("follow-up request on the kept-open connection got no answer (DESYNC or hang)")
	case must:
		p.fail("connection closed at the request, should persist")
	}
}

func (p *player) checkCount() {
	n := len(p.finals)
	if !slices.Contains(p.allowed(), n) && !(p.rejected() && !p.eof && n == 1) {
		p.fail("%d responses, want %v", n, p.allowed())
	}
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(v string) bool { return strings.Contains(strings.ToLower(v), strings.ToLower(s)) })
}
