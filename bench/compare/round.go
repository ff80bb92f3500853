//go:build linux

package main

import (
	"errors"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

// figure is one of the figures of a round.
type figure int

const (
	rate   figure = iota // requests/s
	cpu                  // µs per request, user and system
	user                 // µs per request
	p50                  // ms
	p95                  // ms
	p99                  // ms
	memory               // KiB
	figureCount
)

var figureNames = [figureCount]string{"requests/s", "CPU µs", "user µs", "p50 ms", "p95 ms", "p99 ms", "RSS KiB"}

// met reports whether a ratio of the figure is within the limit of a goal.
func (f figure) met(ratio, limit float64) bool {
	if f == rate {
		return ratio >= limit
	}
	return ratio <= limit
}

// sample holds the figures of one round.
type sample [figureCount]float64

// target says which server gets the load, and how.
type target struct {
	address string
	conns   int
	length  time.Duration
	shared  bool
	tls     bool
}

// url returns the URL of a path on the server.
func (t target) url(path string) string {
	if t.tls {
		return "https://" + t.address + path
	}
	return "http://" + t.address + path
}

// processors returns the server's GOMAXPROCS, or 0 for the default.
func (w workload) processors() int {
	if w.procs == 0 && !w.shared {
		return 1
	}
	return w.procs
}

// warmUp is how long a server is under load before it is measured.
const warmUp = time.Second

// round puts one server under load once.
func (h *hall) round(c comparison, r rival, length time.Duration) (s sample, err error) {
	address, err := child.FreeAddress()
	if err != nil {
		return s, err
	}
	cmd, err := h.serve(c, r.server, address)
	if err != nil {
		return s, err
	}
	defer child.End(cmd)
	if c.check != nil {
		if err := c.check("http://" + address); err != nil {
			return s, err
		}
	}
	running, err := r.load.start(target{address, c.conns, length, c.shared, c.tls})
	if err != nil {
		return s, err
	}
	defer running.stop()

	server := measure.FamilyOf(cmd.Process.Pid)
	user0, system0 := server.CPU()
	resident := make(chan int, 1)
	timer := time.AfterFunc(length*3/4, func() { resident <- server.Resident() })
	what, err := running.measure()
	user1, system1 := server.CPU()
	early := timer.Stop()
	if err == nil && !server.Alive() {
		err = syscall.ESRCH
	}
	if err == nil && early {
		err = errors.New("the load ended early")
	}
	if err != nil {
		return s, err
	}
	each := func(d time.Duration) float64 {
		return float64(d) / float64(time.Microsecond) / float64(max(what.answers, 1))
	}
	s[rate] = what.rate
	s[user] = each(user1 - user0)
	s[cpu] = s[user] + each(system1-system0)
	s[p50] = float64(what.p50) / float64(time.Millisecond)
	s[p95] = float64(what.p95) / float64(time.Millisecond)
	s[p99] = float64(what.p99) / float64(time.Millisecond)
	s[memory] = float64(<-resident >> 10)
	return s, nil
}
