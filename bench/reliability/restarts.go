//go:build linux

package reliability

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"time"
)

// restarts is R13. Under load, a new server process gets the listening socket and the old one is told to stop, again
// and again. No request may fail, and the old process has to be done soon after its last response.
//
// When a server closes an idle connection, a request may already be on its way. The client then sees a regular close
// without a byte of a response, and may send the request again (RFC 9112 §9.3.1). Such a request counts as raced. A
// reset is a failure. The servers' own counts prove that no raced request was handled.
func restarts(t *trial) error {
	const rate, drainLimit = 10_000, 100 * time.Millisecond
	ln, err := listen()
	if err != nil {
		return err
	}
	defer ln.file.Close()
	current, err := t.serve(ln, 0)
	if err != nil {
		return err
	}
	defer func() { current.Stop() }()
	load := startRestartLoad(ln.address, rate)
	defer load.end()
	start := time.Now()
	var drains []time.Duration
	served, number := 0, t.pick(20, 1000)
	for i := range number {
		time.Sleep(time.Duration(100+t.random.IntN(200)) * time.Millisecond)
		next, err := t.serve(ln, 0)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(t.random.IntN(100)) * time.Millisecond)
		old := current
		current = next
		stat, err := old.retire()
		if err != nil {
			return fmt.Errorf("restart %d: %w", i, err)
		}
		t.require(stat.Error == "", "restart %d: Shutdown: %s", i, stat.Error)
		drains = append(drains, stat.AfterLast)
		served += int(stat.Handled)
	}
	sum := load.end()
	last, err := current.stat()
	if err != nil {
		return err
	}
	served += int(last.Handled)
	slices.Sort(drains)
	longest := drains[len(drains)-1]
	t.logf("%d restarts in %v, %.0f requests/s: %v", number, round(time.Since(start)), float64(sum.done)/time.Since(start).Seconds(), sum)
	t.logf("drained after the last response: median %v, longest %v", round(drains[len(drains)/2]), round(longest))
	t.count("%d restarts, %d requests, %d raced, %d failed, longest drain %v", number, sum.done, sum.raced, sum.failed, round(longest))
	t.require(sum.failed == 0, "%d requests failed", sum.failed)
	t.require(sum.done > 0 && served == sum.done, "the servers handled %d requests, the clients got %d responses", served, sum.done)
	t.requireTime(longest, drainLimit, "drain after the last response")
	return nil
}

// retire shuts a server down and ends its process.
func (s *server) retire() (d drainStat, err error) {
	defer s.Stop()
	return d, s.Ask("shutdown", &d)
}

// restartLoad is a set of clients: on keep-alive connections, on a new connection for each request, and with uploads
// of 64 KiB on both kinds of connections.
type restartLoad struct {
	address string
	stop    chan struct{}
	once    sync.Once
	wait    sync.WaitGroup
	mu      sync.Mutex
	sum     restartSum
}

type restartSum struct {
	done   int // complete and correct responses
	raced  int // sent again because the reused connection had been closed without a reset
	failed int
	errors map[string]int
}

func (s restartSum) String() string {
	text := fmt.Sprintf("%d done, %d raced, %d failed", s.done, s.raced, s.failed)
	for _, kind := range slices.Sorted(maps.Keys(s.errors)) {
		text += fmt.Sprintf("; %d× %s", s.errors[kind], kind)
	}
	return text
}

// restartKind is one kind of client.
type restartKind struct {
	clients int
	share   float64 // share of the total rate
	keep    bool
	upload  bool
}

var restartKinds = []restartKind{
	{clients: 32, share: .75, keep: true},
	{clients: 16, share: .15},
	{clients: 8, share: .05, keep: true, upload: true},
	{clients: 8, share: .05, upload: true},
}

func startRestartLoad(address string, rate int) *restartLoad {
	l := &restartLoad{address: address, stop: make(chan struct{}), sum: restartSum{errors: map[string]int{}}}
	for _, kind := range restartKinds {
		every := time.Duration(float64(kind.clients) / (kind.share * float64(rate)) * float64(time.Second))
		for i := range kind.clients {
			l.wait.Go(func() { l.client(kind, i, every) })
		}
	}
	return l
}

// end stops the clients, once, and returns the sum of their results.
func (l *restartLoad) end() restartSum {
	l.once.Do(func() { close(l.stop) })
	l.wait.Wait()
	return l.sum
}

func (l *restartLoad) client(kind restartKind, nth int, every time.Duration) {
	var c *client
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			if c != nil {
				c.Close()
			}
			return
		case <-tick.C:
		}
		request, want := restartRequest(kind, nth, n)
		raced, err := l.exchange(&c, nth, request, want)
		if c != nil && (!kind.keep || err != nil) {
			c.Close()
			c = nil
		}
		l.record(raced, err)
	}
}

// restartRequest returns a request and the body of the expected response.
func restartRequest(kind restartKind, nth, n int) (request, want []byte) {
	id := fmt.Sprintf("%d-%d", nth, n)
	if !kind.upload {
		return get("/ok/" + id), []byte(id)
	}
	body := bytes.Repeat([]byte(id + "-------")[:8], 64<<10/8)
	return append(post("/sum", len(body)), body...), fmt.Appendf(nil, "%d %08x", len(body), crc32.ChecksumIEEE(body))
}

// exchange sends a request on the client's connection or on a new one. If a reused connection turns out to be closed
// without a reset, exchange sends the request again.
func (l *restartLoad) exchange(c **client, nth int, request, want []byte) (raced bool, err error) {
	for {
		if *c == nil {
			if *c, err = dial(l.address, nth); err != nil {
				return raced, err
			}
		}
		reused := (*c).used
		r, err := (*c).do(request, goodTimeout)
		if err == nil && (r.status != 200 || !bytes.Equal(r.body, want)) {
			err = fmt.Errorf("status %d with a body of %d bytes", r.status, len(r.body))
		}
		if err != nil || r.closes {
			(*c).Close()
			*c = nil
		}
		if !reused || !errors.Is(err, errNoResponse) {
			return raced, err
		}
		raced = true
	}
}

func (l *restartLoad) record(raced bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if raced {
		l.sum.raced++
	}
	if err != nil {
		l.sum.failed++
		l.sum.errors[kindOf(err)]++
		return
	}
	l.sum.done++
}
