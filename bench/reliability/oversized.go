//go:build linux

package reliability

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// probe is an unlimited input: opening, followed by unit n times.
type probe struct {
	name     string
	opening  string
	unit     string
	n        int
	statuses []int
}

const (
	getHead   = "GET / HTTP/1.1\r\nHost: reliability.test\r\n"
	chunkHead = "POST /sum HTTP/1.1\r\nHost: reliability.test\r\nTransfer-Encoding: chunked\r\n\r\n"
	postHead  = "POST /sum HTTP/1.1\r\nHost: reliability.test\r\n"
)

// probes are unlimited inputs for each part of a message. The server must respond with a status that the client can
// read although it is still sending.
var probes = []probe{
	{"chunk extensions of 400 kB for 2 kB", chunkHead, "1;x=" + strings.Repeat("e", 196) + "\r\nd\r\n", 2000, []int{400, 413}},
	{"one chunk extension of 64 MiB", chunkHead + "1;x=", strings.Repeat("e", 1<<16), 1 << 10, []int{400, 413, 431}},
	{"300,000 fields", getHead, "a: b\r\n", 300_000, []int{400, 431}},
	{"a field of 2 MiB", getHead + "a: ", strings.Repeat("v", 1<<16), 32, []int{400, 431}},
	{"a target of 2 MiB", "GET /", strings.Repeat("p", 1<<16), 32, []int{414, 431}},
	{"a method of 2 MiB", "", strings.Repeat("M", 1<<16), 32, []int{400, 414, 431, 501}},
	{"trailers of 2 MiB", chunkHead + "0\r\n", "t: " + strings.Repeat("v", 1<<12) + "\r\n", 512, []int{400, 413, 431}},
	{"one trailer of 2 MiB", chunkHead + "0\r\nt: ", strings.Repeat("v", 1<<16), 32, []int{400, 413, 431}},
	{"a declared length of 2^63-1", postHead + "Content-Length: 9223372036854775807\r\n\r\n", strings.Repeat("b", 1<<16), 160, []int{400, 413}},
	{"a body over the limit", postHead + "Content-Length: 10485760\r\n\r\n", strings.Repeat("b", 1<<16), 160, []int{413}},
	{"a chunk of 2^32+5", chunkHead + "100000005\r\n", strings.Repeat("b", 1<<16), 160, []int{400, 413}},
	{"a chunk of 2^64", chunkHead + "10000000000000000\r\n", strings.Repeat("b", 1<<16), 160, []int{400, 413}},
	{"small chunks over the limit", chunkHead, "400\r\n" + strings.Repeat("b", 1<<10) + "\r\n", 10 << 10, []int{413}},
}

// oversized is S6: unlimited inputs are refused within bounds, and bytes that are announced but not sent cost
// nothing.
func oversized(t *trial) error {
	s, err := t.besiege()
	if err != nil {
		return err
	}
	defer s.end()
	for _, p := range probes {
		t.probe(s.server, p)
	}
	announced := []attackConfig{
		{Opening: post("/sum", 4<<20)},
		{Opening: []byte(chunkHead + "3ff000\r\n")},
		{Opening: []byte(getHead + strings.Repeat("x: "+strings.Repeat("v", 240)+"\r\n", 200))},
	}
	for i, name := range []string{"4 MiB announced", "a chunk of 4 MiB announced", "an unfinished head of 48 KiB"} {
		limit := []int64{64 << 10, 64 << 10, 256 << 10}[i]
		s.waitDescriptors(s.open, 3*time.Second) // wait until the connections of the previous attack are closed
		if err := t.announce(s.server, name, announced[i], limit); err != nil {
			return err
		}
	}
	if err := t.acceptStorm(s.server); err != nil {
		return err
	}
	s.waitDescriptors(s.open, 3*time.Second)
	after, err := s.stat()
	if err != nil {
		return err
	}
	t.logf("heap %d KiB → %d KiB, resident %d MiB", s.before.Heap>>10, after.Heap>>10, s.rss()>>20)
	t.require(after.Heap < s.before.Heap+4<<20, "heap grew from %d KiB to %d KiB", s.before.Heap>>10, after.Heap>>10)
	t.requireLoaded(s.quiet, s.good.take())
	return nil
}

// probe sends one kind of input on several connections at a time.
func (t *trial) probe(s *server, p probe) {
	const at, rounds = 8, 2
	var mu sync.Mutex
	statuses, sent := map[string]int{}, 0
	var wait sync.WaitGroup
	for i := range at {
		wait.Go(func() {
			for range t.pick(rounds, 10*rounds) {
				status, n := p.send(s.address, i)
				mu.Lock()
				statuses[status]++
				sent = max(sent, n)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.logf("%-36s %v, at most %d KiB taken", p.name, statuses, sent>>10)
	allowed := func(status string) bool {
		return slices.ContainsFunc(p.statuses, func(n int) bool { return fmt.Sprint(n) == status })
	}
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		t.require(allowed(status), "%s: %d× %s", p.name, statuses[status], status)
	}
}

// send sends the probe. It returns the status of the response, or what happened instead, and how much was sent until
// then.
func (p probe) send(address string, nth int) (status string, sent int) {
	c, err := dial(address, nth)
	if err != nil {
		return kindOf(err), 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	written := make(chan int)
	go func() {
		n, _ := io.WriteString(c, p.opening)
		pack := bytes.Repeat([]byte(p.unit), max(1, 1<<16/len(p.unit)))
		for left := p.n * len(p.unit); left > 0; left -= len(pack) {
			m, err := c.Write(pack[:min(left, len(pack))])
			if n += m; err != nil {
				break
			}
		}
		written <- n
	}()
	r, err := c.read()
	c.Conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	sent = <-written
	if err != nil {
		return kindOf(err), sent
	}
	return fmt.Sprint(r.status), sent
}

// announce opens connections that announce large bodies and then send nothing, and measures the cost of each.
func (t *trial) announce(s *server, name string, config attackConfig, limit int64) error {
	before, err := s.stat()
	if err != nil {
		return err
	}
	config.Mode, config.Address, config.Conns = "drip", s.address, 1000
	as, _, err := t.attack(config)
	defer as.stop()
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	parked, err := s.stat()
	if err != nil {
		return err
	}
	t.logf("%s:", name)
	t.requireParked(before, parked, config.Conns, limit)
	return nil
}

// acceptStorm opens and resets connections as fast as two threads can.
func (t *trial) acceptStorm(s *server) error {
	as, _, err := t.attack(attackConfig{Mode: "flood", Address: s.address, Conns: 2})
	defer as.stop()
	if err != nil {
		return err
	}
	length := time.Duration(t.pick(4, 60)) * time.Second
	time.Sleep(length)
	sum, err := as.tell("stat")
	t.logf("accept storm: %.0f connections/s, %d could not be opened", float64(sum.made())/length.Seconds(), sum.Failed)
	t.count("accept storm %.0f/s", float64(sum.made())/length.Seconds())
	t.require(s.alive(), "the accept storm ended the process")
	return err
}
