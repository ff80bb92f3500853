//go:build linux

package reliability

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// badInput is R11: 256 connections send requests that must be refused at full speed, while the good clients run. Each
// request needs a TCP connection, which costs attacker and server about ten system calls each and limits the rate. A
// server that does nothing else is measured first, to find that limit.
func badInput(t *trial) error {
	const goal = 50_000
	cases, err := rejectCases()
	if err != nil {
		return err
	}
	bare, err := t.bareRate(cases)
	if err != nil {
		return err
	}
	s, err := t.besiege()
	if err != nil {
		return err
	}
	defer s.end()

	as, _, err := t.attack(attackConfig{Mode: "flood", Address: s.address, Conns: 256, Cases: cases})
	defer as.stop()
	if err != nil {
		return err
	}
	length := time.Duration(t.pick(20, 600)) * time.Second
	first, err := t.floodFor(s.server, as, length/4)
	if err != nil {
		return err
	}
	cpu := s.cpu()
	last, err := t.floodFor(s.server, as, length-length/4)
	if err != nil {
		return err
	}
	cpu = s.cpu() - cpu
	during := s.good.take()

	rejected := last.sum.Answered - first.sum.Answered
	rate := float64(rejected) / (last.at - first.at).Seconds()
	t.logf("%d cases; %v", len(cases), last.sum.flooded)
	t.logf("server heap %d KiB early, %d KiB late; its CPU time a rejected request %v",
		first.stat.Heap>>10, last.stat.Heap>>10, cpu/time.Duration(max(rejected, 1)))
	t.count("%.0f rejects/s of %d hoped for, a bare server makes %.0f here", rate, goal, bare)
	f := last.sum
	t.require(rejected > 0, "no request was rejected")
	t.require(f.Wrong+f.Silent+f.Stuck == 0, "%d wrong, %d without a response, %d not closed: %v", f.Wrong, f.Silent, f.Stuck, f.worst())
	t.require(last.stat.Heap < first.stat.Heap*11/10+4<<20, "heap grew from %d KiB to %d KiB", first.stat.Heap>>10, last.stat.Heap>>10)
	t.requireLoaded(s.quiet, during)
	return nil
}

// bareRate returns how many connections per second the same flood reaches against a server that only refuses.
func (t *trial) bareRate(cases []floodCase) (float64, error) {
	ln, err := listen()
	if err != nil {
		return 0, err
	}
	defer ln.file.Close()
	s, err := startServer(ln, serverConfig{Kind: "bare"})
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	as, _, err := t.attack(attackConfig{Mode: "flood", Address: s.address, Conns: 256, Cases: cases})
	defer as.stop()
	if err != nil {
		return 0, err
	}
	const length = 4 * time.Second
	time.Sleep(length)
	sum, err := as.tell("stat")
	return float64(sum.made()) / length.Seconds(), err
}

// requireLoaded is like requireGood for an attack that takes the whole machine, including the cores of the good
// clients. No good request may be lost; the latency is only reported.
func (t *trial) requireLoaded(quiet, s goodStat) {
	t.logf("good clients, quiet:     %v", quiet)
	t.logf("good clients, attacked:  %v", s)
	t.count("good %d p99 %v (quiet %v)", len(s.latencies), round(s.quantile(.99)), round(quiet.quantile(.99)))
	t.require(s.lost == 0, "%d good requests lost", s.lost)
	t.require(len(s.latencies) > 0, "no good request succeeded")
}

// floodPoint is the state at one moment of a flood.
type floodPoint struct {
	at   time.Duration // since the start of the machine's monotonic clock
	sum  attackStat
	stat serverStat
}

var processStart = time.Now()

func (t *trial) floodFor(s *server, as attackers, d time.Duration) (p floodPoint, err error) {
	time.Sleep(d)
	if p.sum, err = as.tell("stat"); err != nil {
		return p, err
	}
	p.at = time.Since(processStart)
	p.stat, err = s.stat()
	return p, err
}

// rejectCases reads the requests that every server must refuse, if they are sent in one piece.
func rejectCases() ([]floodCase, error) {
	_, here, _, _ := runtime.Caller(0)
	f, err := os.Open(filepath.Join(filepath.Dir(here), "../../testdata/cases/h1-server-public.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cases []floodCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			ID        string
			Raw       []byte `json:"raw_b64"`
			Steps     json.RawMessage
			HalfClose bool `json:"half_close"`
			Expect    struct {
				Kind     string
				Statuses []int
				Closes   *bool
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		whole := len(c.Raw) > 0 && c.Steps == nil && !c.HalfClose && !bytes.Contains(c.Raw, []byte("100-continue"))
		if whole && c.Expect.Kind == "reject" && c.Expect.Closes != nil && *c.Expect.Closes {
			cases = append(cases, floodCase{c.ID, c.Raw, c.Expect.Statuses})
		}
	}
	return cases, lines.Err()
}

// panics is R14: requests whose handler panics, while the good clients run. Only the connection of such a request may
// be closed.
func panics(t *trial) error {
	s, err := t.besiege()
	if err != nil {
		return err
	}
	defer s.end()

	number := t.pick(30_000, 100_000)
	as, _, err := t.attack(attackConfig{
		Mode: "flood", Address: s.address, Conns: 32, Count: number,
		Cases: []floodCase{{"panic", get("/panic"), []int{0, 500}}},
	})
	defer as.stop()
	if err != nil {
		return err
	}
	var sum attackStat
	start := time.Now()
	for sum.total() < number && s.alive() && time.Since(start) < time.Minute*time.Duration(t.pick(1, 5)) {
		time.Sleep(200 * time.Millisecond)
		if sum, err = as.tell("stat"); err != nil {
			return err
		}
	}
	during := s.good.take()
	t.logf("%d panics in %v: %v", sum.Answered, round(time.Since(start)), sum.flooded)
	t.count("%d panics", sum.Answered)
	if !s.alive() {
		t.require(false, "the first panic ended the process")
		return nil
	}
	t.require(sum.Answered >= number && sum.Wrong+sum.Stuck+sum.Failed == 0, "of %d panics %d got a correct response: %v", number, sum.Answered, sum.flooded)
	t.requireLoaded(s.quiet, during)

	if err := t.requireBack(s.server, s.before, s.open); err != nil {
		return err
	}
	after, err := s.stat()
	t.require(err != nil || after.Logged > 0, "no panic was logged")
	return err
}
