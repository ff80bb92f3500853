package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// The acceptance test of the load generator: the built program and a server that stalls, over TCP. The server keeps a record of
// each request, so that the test knows which latencies are true even if the machine is busy.

// Stalls are a part of each period.
const (
	stallPeriod = time.Second
	stallLength = 400 * time.Millisecond
)

// stalling is a server that responds at once, but not during a stall.
type stalling struct {
	net.Listener
	gate  sync.RWMutex // locked during a stall
	ended chan struct{}

	mu      sync.Mutex
	records []record
}

// record is what the server knows about a request. The response left between began and wrote.
type record struct {
	number                int // the last part of the path
	arrived, began, wrote time.Time
}

func newStalling(t *testing.T) *stalling {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stalling{Listener: ln, ended: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(s.stall)
	all.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		close(s.ended)
		s.Close()
		all.Wait()
	})
	return s
}

// stall locks the gate for a part of each period.
func (s *stalling) stall() {
	for next := time.Now(); ; next = next.Add(stallPeriod) {
		select {
		case <-s.ended:
			return
		case <-time.After(time.Until(next.Add(stallPeriod - stallLength))):
		}
		s.gate.Lock()
		time.Sleep(time.Until(next.Add(stallPeriod)))
		s.gate.Unlock()
	}
}

func (s *stalling) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		r := record{arrived: time.Now()}
		fmt.Sscanf(req.URL.Path, "/%d", &r.number)
		s.gate.RLock()
		r.began = time.Now()
		_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		r.wrote = time.Now()
		s.gate.RUnlock()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.records = append(s.records, r)
		s.mu.Unlock()
	}
}

// taken returns the records so far, and forgets them.
func (s *stalling) taken() []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.records
	s.records = nil
	return all
}

// truth returns the true latencies of requests that were due at a steady rate, in ascending order: at least low and, if the server
// was interrupted while it wrote the response, at most high.
func truth(records []record, every time.Duration) (low, high []time.Duration) {
	due := func(r record) time.Duration { return time.Duration(r.number-1) * every } // after the first one
	first := records[0].arrived.Add(-due(records[0]))
	for _, r := range records {
		if begin := r.arrived.Add(-due(r)); begin.Before(first) {
			first = begin
		}
	}
	for _, r := range records {
		low = append(low, r.began.Sub(first)-due(r))
		high = append(high, r.wrote.Sub(first)-due(r))
	}
	slices.Sort(low)
	slices.Sort(high)
	return low, high
}

// quantile returns the value that a fraction q of the values does not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// differs returns the first percentile that differs from the truth by more than 1 % and a tolerance.
func differs(h *result.Histogram, low, high []time.Duration, tolerance time.Duration) error {
	for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.99} {
		got, least, most := h.Quantile(q), quantile(low, q), quantile(high, q)
		if got < least-least/100-tolerance || got > most+most/100+tolerance {
			return fmt.Errorf("p%g is %v, and by the server's record it is between %v and %v (tolerance 1 %% and %v)", 100*q, got, least, most, tolerance)
		}
	}
	return nil
}

// TestStallInOpenLoop compares the percentiles of an open loop with the server's record. With two connections, requests wait for one,
// and only the service time looks good. Requests that still wait when the run ends are dropped.
//
// The tolerance is 1 %, a millisecond, and the longest time by which the generator was late: then it also reads late. The generator
// measures that at 500 moments per second.
func TestStallInOpenLoop(t *testing.T) {
	const rate, seconds = 500, 3
	for _, engine := range engines {
		for _, conns := range []string{"0", "2"} {
			t.Run(engine+" with "+conns+" connections", func(t *testing.T) {
				t.Parallel()
				s := newStalling(t)
				for try := 0; ; try++ {
					_, summary, r := run(t, "--engine", engine, "--conns", conns, "-r", fmt.Sprintf("%d/s", rate), "-d", fmt.Sprintf("%ds", seconds),
						"http://"+s.Addr().String()+"/{{seq}}")
					all, total := s.taken(), r.Total()
					// Before the run, the program looks at the target without a request.
					if total.Done+total.Dropped != rate*seconds || int64(len(all)) != total.Done || total.Dropped > 0 && conns == "0" || !strings.Contains(summary, "latency from: due time (open loop)") || r.Tool.Engine != engine {
						t.Fatalf("%d requests are done, and the server has seen %d\n%s", total.Done, len(all), summary)
					}
					lag := r.Generator.Lag.Max()
					low, high := truth(all, time.Second/rate)
					if p90 := quantile(low, 0.9); p90 < stallLength/2 {
						t.Fatalf("the server has not stalled: p90 is %v", p90)
					}
					err := differs(&total.Response, low, high, time.Millisecond+lag)
					if err != nil {
						t.Error(err)
					}
					if service := differs(&total.Service, low, high, time.Millisecond+lag); conns == "2" && service == nil {
						t.Error("the service time is said to include the time in which requests wait for a connection")
					}
					if err != nil || lag < 3*time.Millisecond || try == 2 {
						t.Logf("the generator was late by up to %v", lag)
						return
					}
				}
			})
		}
	}
}

// notCounted matches what the summary of a closed loop says about slow responses.
var notCounted = regexp.MustCompile(`not counted: (\d+) responses took over 10 times as long as a user's requests are usually apart: (\d+)% of the users' time\.\s+` +
	`About (\d+) requests were not sent meanwhile\. With them p95 would be (\S+) and p99 (\S+)\.`)

// TestStallInClosedLoop shows that a closed loop hides the stalls, and that the summary says how much it hides: how long users waited,
// by the server's record, and what p95 would be if they had sent requests meanwhile.
func TestStallInClosedLoop(t *testing.T) {
	const users = 10
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newStalling(t)
			_, summary, r := run(t, "--engine", engine, "-c", fmt.Sprint(users), "--pause", "5ms", "-d", "3s", "http://"+s.Addr().String()+"/{{seq}}")
			all, total := s.taken(), r.Total()
			var stalled int
			var waited time.Duration
			for _, r := range all {
				if wait := r.wrote.Sub(r.arrived); wait > stallLength/4 {
					stalled++
					waited += wait
				}
			}
			if stalled < users || total.Response.Quantile(0.95) > stallLength/4 {
				t.Fatalf("%d requests met a stall, p95 is %v", stalled, total.Response.Quantile(0.95))
			}
			if !strings.Contains(summary, "latency from: send (closed loop: waiting is not counted)") {
				t.Errorf("the summary does not say that waiting is not counted\n%s", summary)
			}
			m := notCounted.FindStringSubmatch(strings.ReplaceAll(summary, ",", ""))
			if m == nil {
				t.Fatalf("the summary does not say what is not counted\n%s", summary)
			}
			slow, _ := strconv.Atoi(m[1])
			share, _ := strconv.Atoi(m[2])
			missing, _ := strconv.Atoi(m[3])
			p95, err := time.ParseDuration(m[4])
			// Users have 3 s each, and some responses are slow because the machine is busy.
			if want := int(100 * waited / (users * 3 * time.Second)); slow < stalled || slow > stalled+stalled/2 || share < want-3 || share > want+10 {
				t.Errorf("%d slow responses took %d%%; by the server's record %d took %d%%", slow, share, stalled, want)
			}
			if err != nil || p95 < stallLength*5/8 || p95 > stallLength*9/8 {
				t.Errorf("p95 would be %v, %v; at a steady rate it is 350 ms", p95, err)
			}
			if missing < 100 {
				t.Errorf("%d requests were not sent", missing)
			}
		})
	}
}
