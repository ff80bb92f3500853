//go:build linux

package reliability

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// goodTimeout is how long a good client waits for a response before it counts the request as lost.
const goodTimeout = 10 * time.Second

// goodLoad is a number of well-behaved clients on keep-alive connections. Together they send a steady rate of
// requests and check each response. Latency is measured from the moment when a request was due. A stalled server is
// thus also charged for the requests that could not be sent meanwhile.
type goodLoad struct {
	address string
	every   time.Duration // interval between two requests of one client
	stop    chan struct{}
	wait    sync.WaitGroup

	mu  sync.Mutex
	now goodStat
}

// goodStat holds the results of the good requests of a period.
type goodStat struct {
	latencies []time.Duration // of the requests with a correct response
	lost      int
	errors    map[string]int
}

// startGood starts the clients.
func startGood(address string, rate, clients int) *goodLoad {
	g := &goodLoad{
		address: address,
		every:   time.Duration(clients) * time.Second / time.Duration(rate),
		stop:    make(chan struct{}),
	}
	g.take()
	for i := range clients {
		g.wait.Go(func() { g.client(i, g.every*time.Duration(i)/time.Duration(clients)) })
	}
	return g
}

// take ends the current period, begins the next one and returns the results.
func (g *goodLoad) take() goodStat {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.now
	g.now = goodStat{errors: map[string]int{}}
	slices.Sort(s.latencies)
	return s
}

// aside runs f, in which the judge itself disturbs the server. Lost requests count during f, latencies do not.
func (g *goodLoad) aside(f func()) {
	before := g.take()
	f()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now.latencies = before.latencies
	g.now.lost += before.lost
	for kind, n := range before.errors {
		g.now.errors[kind] += n
	}
}

// end stops the clients.
func (g *goodLoad) end() {
	close(g.stop)
	g.wait.Wait()
}

func (g *goodLoad) client(nth int, offset time.Duration) {
	var c *client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	due := time.Now().Add(offset)
	for n := 0; ; n++ {
		start := due
		if wait := time.Until(due); wait > 0 {
			select {
			case <-time.After(wait):
				start = time.Now()
			case <-g.stop:
				return
			}
		}
		select {
		case <-g.stop:
			return
		default:
		}
		due = due.Add(g.every)
		err := g.request(&c, nth, fmt.Sprintf("%d-%d", nth, n))
		g.record(time.Since(start), err)
	}
}

// request sends one request on the client's connection, and opens one first if necessary.
func (g *goodLoad) request(c **client, nth int, id string) (err error) {
	if *c == nil {
		if *c, err = dial(g.address, nth); err != nil {
			return err
		}
	}
	r, err := (*c).do(get("/ok/"+id), goodTimeout)
	if err == nil && (r.status != 200 || !bytes.Equal(r.body, []byte(id))) {
		err = fmt.Errorf("status %d with a body of %d bytes", r.status, len(r.body))
	}
	if err != nil || r.closes {
		(*c).Close()
		*c = nil
	}
	return err
}

func (g *goodLoad) record(took time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.now.lost++
		g.now.errors[kindOf(err)]++
		return
	}
	g.now.latencies = append(g.now.latencies, took)
}

// get returns a GET request for the path.
func get(path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: reliability.test\r\n\r\n", path)
}

// kindOf removes the parts of an error text that differ between errors of the same kind.
func kindOf(err error) string {
	text := err.Error()
	if i := strings.Index(text, "->"); i >= 0 {
		if j := strings.Index(text[i:], ": "); j >= 0 {
			return text[i+j+2:]
		}
	}
	return text
}

// quantile returns the latency that the share q of the successful requests did not exceed.
func (s goodStat) quantile(q float64) time.Duration {
	if len(s.latencies) == 0 {
		return 0
	}
	return s.latencies[min(int(q*float64(len(s.latencies))), len(s.latencies)-1)]
}

func (s goodStat) String() string {
	text := fmt.Sprintf("%d ok, %d lost, p50 %v, p99 %v, max %v", len(s.latencies), s.lost,
		round(s.quantile(.5)), round(s.quantile(.99)), round(s.quantile(1)))
	for _, kind := range slices.Sorted(maps.Keys(s.errors)) {
		text += fmt.Sprintf("; %d× %s", s.errors[kind], kind)
	}
	return text
}

// requireGood compares the good clients of a period with those of a quiet one. No request may be lost, and the 99th
// percentile may at most double. Latencies below 2 ms pass, because they show the machine's scheduling and not the
// server.
func (t *trial) requireGood(name string, quiet, s goodStat) {
	t.logf("good clients, quiet:     %v", quiet)
	t.logf("good clients, %-9s  %v", name+":", s)
	t.count("good %d p99 %v (quiet %v)", len(s.latencies), round(s.quantile(.99)), round(quiet.quantile(.99)))
	t.require(s.lost == 0 && quiet.lost == 0, "%d good requests lost", s.lost+quiet.lost)
	t.require(len(s.latencies) > 0, "no good request succeeded")
	t.requireTime(s.quantile(.99), max(2*quiet.quantile(.99), 2*time.Millisecond), "p99 of good clients")
}
