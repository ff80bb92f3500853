//go:build linux

package main

// group is a named list of rows that belong together.
type group struct {
	name, about string
	rows        []string
}

// groups are the table of contents. Every row is in at least one group.
var groups = []group{
	{"quick", "the most important rows", []string{"hello-64", "pipelined-64", "sleep1-64", "nethttp-64", "arena-json-64"}},
	{"readme", "the table and the plot of README.md", []string{"server", "hello-64", "hello-512", "idle-19000"}},
	{"servers", "servers in memory, on one core", []string{"server", "server-10k", "server-100", "server-overtaken", "server-compress", "parse", "heads"}},
	{"tcp", "servers over TCP", []string{
		"hello-2", "hello-64", "hello-512", "hello-4096", "baseline-64", "baseline-512", "baseline-4096", "pipelined-64", "limited-64", "limited-512", "post-64",
		"tls-64",
	}},
	{"nethttp", "http.Handlers in net/http's server and in gallop's", []string{"nethttp-64", "nethttp-large-64", "nethttp-flushed-64"}},
	{"blocking", "handlers that sleep, compute or query Redis", []string{
		"sleep1-64", "sleep1-512", "sleep10-512", "burn5-512", "alternate-512", "redis-512", "mixed-sleep-512", "mixed-burn-512",
	}},
	{"beside", "latencies of other goroutines in the server's process", []string{
		"caller1-0", "caller1-2", "caller1-64", "caller2-0", "caller2-2", "caller2-64", "caller4-0", "caller4-2", "caller4-64",
		"sleeper1-0", "sleeper1-2", "sleeper1-64", "sleeper2-0", "sleeper2-2", "sleeper2-64", "sleeper4-0", "sleeper4-2", "sleeper4-64",
	}},
	{"file-servers", "files, by the file handlers and nginx", []string{"file-64", "static-64", "static-1024", "static-empty-64", "static-1k-64", "static-zipf-64", "files", "files-zipf"}},
	{"bodies", "bodies of every kind and size, and encoders", []string{"matrix", "encoders"}},
	{"arena", "workloads of the arena, by frameworks", []string{"arena-json-64", "arena-json-comp-64", "arena-upload-64", "arena-db-64", "arena-crud-64"}},
	{"frameworks", "package web, fiber, and other frameworks", []string{"web-64", "fiber-64", "fiber-512", "negotiate-25", "negotiate", "router", "middleware"}},
	{"clients", "HTTP clients", []string{
		"client-memory", "client-callers", "client-10k", "client-wait", "client-tcp1", "client-tcp", "http2client", "json-clients", "json-clients-memory",
	}},
	{"h2", "HTTP/2 servers", []string{"http2"}},
	{"memory", "memory of idle and busy connections", []string{"idle-19000", "idle-190000", "memory-8000"}},
	{"many-cores", "one process or several on all processors", []string{"cores-64"}},
	{"proofs", "behavior under attack, and requests that must not be mixed up", []string{"reliability", "soak-gallop-1e7", "soak-mixed"}},
}

// groupOf returns the group with a name, and false if no group has it. The group all has every row once.
func groupOf(name string) (g group, ok bool) {
	all := group{name: "all", about: "every row"}
	seen := map[string]bool{}
	for _, g := range groups {
		if g.name == name {
			return g, true
		}
		for _, row := range g.rows {
			if !seen[row] {
				seen[row] = true
				all.rows = append(all.rows, row)
			}
		}
	}
	return all, name == all.name
}
