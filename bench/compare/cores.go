//go:build linux

package main

import "strings"

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
