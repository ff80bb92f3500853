//go:build linux

package reliability

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// slowHeaders is R9: connections that send one byte of a request head every five seconds. The server has to close
// each one at its header timeout, despite the dripping bytes, and to serve the good clients meanwhile.
func slowHeaders(t *trial) error {
	const headerTimeout = 10 * time.Second
	conns := t.pick(4000, 19_500) // a process may have 20,000 descriptors
	s, err := t.besiege()
	if err != nil {
		return err
	}
	defer s.end()

	as, sum, err := t.attack(attackConfig{
		Mode: "drip", Address: s.address, Conns: conns, Rate: t.pick(1000, 2500), Drip: 1, Every: 5 * time.Second,
		Endless: []byte("GET / HTTP/1.1\r\nHost: reliability.test\r\nX: " + strings.Repeat("a", 100)),
	})
	defer as.stop()
	if err != nil {
		return err
	}
	t.logf("%d attackers connected, server has %d descriptors", sum.Connected, s.descriptors())
	time.Sleep(time.Second)
	parked, err := s.parked()
	if err != nil {
		return err
	}
	t.requireParked(s.before, parked, conns, parkedLimit(parked))
	_, ended := s.waitDescriptors(s.open+conns/100, headerTimeout+3*time.Second)
	during := s.good.take()
	time.Sleep(500 * time.Millisecond)
	if sum, err = as.tell("stat"); err != nil {
		return err
	}
	t.logf("attackers gone %d of %d, first after %v, last after %v, statuses %v",
		sum.Gone, sum.Connected, round(sum.First), round(sum.Last), sum.Statuses)
	t.count("%d attackers", sum.Connected)
	t.count("last gone after %v", round(sum.Last))
	t.require(sum.Gone == sum.Connected && ended, "%d attackers were never cut", sum.Connected-sum.Gone)
	t.requireTime(sum.Last, headerTimeout+time.Second, "last attacker gone after")
	t.requireGood("attacked", s.quiet, during)
	return nil
}

// parkedLimit returns the maximum memory of a waiting connection: a small struct on event loops, or a goroutine.
func parkedLimit(s serverStat) int64 {
	if s.OnLoops {
		return 4 << 10
	}
	return 12 << 10
}

// requireParked compares the memory that n parked connections added with a limit for each connection.
func (t *trial) requireParked(before, parked serverStat, n int, limit int64) {
	each := (int64(parked.Heap+parked.Stack) - int64(before.Heap+before.Stack)) / int64(n)
	t.logf("%d parked: heap %d KiB, stacks %d KiB, goroutines %d: %d bytes per connection",
		n, parked.Heap>>10, parked.Stack>>10, parked.Goroutines, each)
	t.count("%d B a parked connection", each)
	t.require(each <= limit, "%d bytes per parked connection, limit %d", each, limit)
}

// slowBodies is R10: half of the attackers send a body of 1 MiB at 10 bytes per second, the other half read a
// response of 1 MiB at that rate. The minimum body rate ends the senders, and the limit on write progress ends the
// readers.
func slowBodies(t *trial) error {
	const floorAfter, noProgress = 5 * time.Second, 30 * time.Second
	conns := t.pick(1000, 5000)
	s, err := t.besiege()
	if err != nil {
		return err
	}
	defer s.end()

	readers, _, err := t.attack(attackConfig{
		Mode: "sip", Address: s.address, Conns: conns, Rate: 1000, Opening: get("/big"), Drip: 10, Every: time.Second,
	})
	defer readers.stop()
	if err != nil {
		return err
	}
	start := time.Now()
	writers, _, err := t.attack(attackConfig{
		Mode: "drip", Address: s.address, Conns: conns, Rate: 1000, Opening: post("/sum", 1<<20), Drip: 10, Every: time.Second,
		Endless: bytes.Repeat([]byte("0123456789"), 10),
	})
	defer writers.stop()
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	parked, err := s.parked()
	if err != nil {
		return err
	}
	t.logf("%d slow bodies and %d slow readers, server has %d descriptors", conns, conns, s.descriptors())
	t.requireParked(s.before, parked, 2*conns, 64<<10)

	time.Sleep(floorAfter + 2*time.Second)
	cut, err := writers.tell("stat")
	if err != nil {
		return err
	}
	t.logf("slow bodies gone %d of %d, last after %v, statuses %v", cut.Gone, cut.Connected, round(cut.Last), cut.Statuses)
	t.count("%d slow bodies, last cut after %v", cut.Connected, round(cut.Last))
	t.require(cut.Gone == cut.Connected, "%d slow bodies were not cut %v after the floor", cut.Connected-cut.Gone, 2*time.Second)
	t.requireTime(cut.Last, floorAfter+2*time.Second, "last slow body cut after")

	// The server's socket accepts the last bytes up to a few seconds after the client's window is full.
	_, ended := s.waitDescriptors(s.open, time.Until(start.Add(noProgress+5*time.Second)))
	t.count("%d slow readers cut after %v", conns, round(time.Since(start)))
	t.require(ended, "%d connections still open %v after they stopped making progress", s.descriptors()-s.open, noProgress)
	t.requireGood("attacked", s.quiet, s.good.take())
	return nil
}

// post returns the head of a POST request with a body of the given length.
func post(path string, length int) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: reliability.test\r\nContent-Length: %d\r\n\r\n", path, length)
}
