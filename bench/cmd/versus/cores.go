//go:build linux

package main

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// coresPrefix begins the names of servers that are ./alone/cores in one of its arrangements, as in "cores-prefork".
const coresPrefix = "cores-"

// cores is a workload in which programs use all processors in different arrangements. Server and load share the processors, so
// requests/s counts as well as CPU time.
func cores() workload {
	w := workload{about: "hello by a program that uses all processors in one of several arrangements", shared: true}
	for _, name := range []string{"loops", "goroutines", "one-core", "reuseport", "prefork", "prefork-reuseport", "pinned"} {
		w.rivals = append(w.rivals, rival{name, coresPrefix + name, wrk{}})
	}
	return w
}

// arrangement returns what ./alone/cores is told to do for a server, and false if the server is another program.
func arrangement(server string) (name string, ok bool) { return strings.CutPrefix(server, coresPrefix) }

// family is a server's process and the children that it has started.
type family []measure.Process

// familyOf returns a process and the children that it has now.
func familyOf(pid int) family {
	p := measure.Process(pid)
	return append(family{p}, p.Children()...)
}

// CPU returns the processor time of all processes together.
func (f family) CPU() (user, system time.Duration) {
	for _, p := range f {
		u, s := p.CPU()
		user, system = user+u, system+s
	}
	return user, system
}

// Resident returns the resident memory of all processes together, in bytes. Pages that they share count once for each of them.
func (f family) Resident() (n int) {
	for _, p := range f {
		n += p.Resident()
	}
	return n
}

// Alive reports whether all of them run.
func (f family) Alive() bool {
	for _, p := range f {
		if !p.Alive() {
			return false
		}
	}
	return true
}
