//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop/bench/load"
)

// workload is one way to compare servers.
type workload struct {
	about  string
	app    string // app of cmd/peer
	rivals []rival
	shared bool                   // server and load share all processors instead of having one each
	procs  int                    // the server's GOMAXPROCS; 0 means 1, or the default if processors are shared
	tls    bool                   // the servers serve TLS
	beside bool                   // latencies are those of a goroutine beside the server, and 0 connections are allowed
	redis  bool                   // the app needs a Redis server
	items  bool                   // the servers need PostgreSQL
	files  *fileSet               // what the app static serves, or nil
	check  func(url string) error // checks a server before it is measured, or nil
	goals  []goal
	rounds int           // default number of rounds; 0 means 10
	length time.Duration // default length of a round; 0 means 2s
}

// rival is a server under a load. The other rivals of a workload are compared with its first one.
type rival struct {
	name   string
	server string // from package peers, fiberServers, aloneServers, or an arrangement of cores.go
	load   loader
}

// goal limits a figure of one rival, as a multiple of the figure of another rival. The limit is a maximum, for the
// rate a minimum.
type goal struct {
	figure   figure
	of, over string
	limit    float64
	conns    int // number of connections for which the goal applies; 0 means any
}

// under returns rivals with the same load.
func under(l loader, servers ...string) (rivals []rival) {
	for _, s := range servers {
		rivals = append(rivals, rival{s, s, l})
	}
	return rivals
}

var workloads = map[string]workload{
	"hello": {
		about:  "13 bytes of text",
		app:    "hello",
		rivals: under(wrk{}, "fasthttp", "gallop", "nethttp", "floor"),
		goals: []goal{
			{cpu, "gallop", "fasthttp", .87, 64},
			{user, "gallop", "fasthttp", .35, 64},
			{cpu, "gallop", "fasthttp", .65, 512},
			{cpu, "gallop", "fasthttp", .65, 4096},
			{cpu, "gallop", "floor", 1.08, 0},
		},
	},
	"tls": {
		about:  "hello over TLS 1.3, on connections that stay open",
		app:    "hello",
		tls:    true,
		rivals: under(wrk{}, "fasthttp", "gallop", "nethttp"),
		goals:  []goal{{cpu, "gallop", "fasthttp", 1, 0}},
	},
	"memory": {
		about:  "hello by programs that hold one server each",
		rivals: under(wrk{}, "fasthttp-alone", "gallop-alone"),
		goals:  []goal{{memory, "gallop-alone", "fasthttp-alone", .1, 8000}},
	},
	"baseline": {
		about:  "the arena's baseline: GET, POST and POST in chunks in turn, two or three numbers added",
		app:    "baseline",
		rivals: under(wrk{script: "baseline", path: "/baseline11"}, "fasthttp", "gallop", "nethttp"),
		goals: []goal{
			{cpu, "gallop", "fasthttp", .87, 64},
			{user, "gallop", "fasthttp", .35, 64},
			{cpu, "gallop", "fasthttp", .65, 512},
			{cpu, "gallop", "fasthttp", .65, 4096},
		},
	},
	"pipelined": {
		about:  "hello, 16 requests a write",
		app:    "hello",
		rivals: under(wrk{script: "pipeline"}, "fasthttp", "gallop", "nethttp"),
		goals:  []goal{{cpu, "gallop", "fasthttp", .5, 0}},
	},
	"post": {
		about:  "1 KiB there and back",
		app:    "post",
		rivals: under(wrk{script: "post", path: "/echo"}, "fasthttp", "gallop", "nethttp"),
	},
	"file": {
		about:  "a file of 1 KiB, opened for each request and sent as a stream",
		app:    "file",
		rivals: under(wrk{}, "fasthttp", "gallop", "nethttp"),
		goals:  []goal{{cpu, "gallop", "fasthttp", 1, 0}},
	},
	"static": {
		about:  "20 files by the file handlers, 15 of them with a file in gzip beside them",
		app:    "static",
		rivals: under(wrk{script: "static"}, "fasthttp", "gallop", "nginx", "floor"),
		files:  few,
		check:  checkStatic,
		goals:  []goal{{cpu, "gallop", "nginx", 1.1, 0}, {cpu, "gallop", "fasthttp", .55, 0}},
	},
	"static-empty": tinyFile("an empty file by the file handlers", "empty.txt"),
	"static-1k":    tinyFile("a file of 1 KiB by the file handlers", "1k.txt"),
	"static-zipf": {
		about:  "100,000 files of 1 KiB by the file handlers, requested by Zipf's law",
		app:    "static",
		rivals: under(wrk{script: "zipf"}, "fasthttp"+uncached, "gallop", "gallop"+uncached, "nginx"),
		files:  many,
		check:  checkMany,
		goals:  []goal{{cpu, "gallop", "gallop" + uncached, 1, 0}},
	},
	"limited": {
		about:  "baseline, each connection closed by the client after 10 requests",
		app:    "baseline",
		rivals: under(plan{load.Plan{PerConn: 10, Kinds: baselineKinds}}, "fasthttp", "gallop", "nethttp"),
		goals:  []goal{{cpu, "gallop", "fasthttp", .8, 0}},
	},
	"web": {
		about:  "hello by an application of package web, and by its server alone",
		app:    "hello",
		rivals: under(wrk{}, "gallop", "gallop-web"),
		goals:  []goal{{cpu, "gallop-web", "gallop", 1.08, 0}},
	},
	"negotiate": {
		about:  "a route that answers in four forms, asked with five values of Accept",
		app:    "negotiate",
		rivals: under(wrk{script: "negotiate", path: "/negotiate"}, "fiber-fasthttp", "gallop-web"),
		check:  checkNegotiation,
		goals:  []goal{{cpu, "gallop-web", "fiber-fasthttp", 1, 0}, {p95, "gallop-web", "fiber-fasthttp", 1, 0}},
	},
	"nethttp": {
		about:  "hello by an http.Handler, in net/http's server and in gallop's",
		app:    "hello",
		rivals: under(wrk{}, "nethttp", "gallop-nethttp"),
		goals:  []goal{{cpu, "gallop-nethttp", "nethttp", .7, 0}},
	},
	"nethttp-large": {
		about:  "64 KiB by an http.Handler, in net/http's server and in gallop's",
		app:    "large",
		rivals: under(wrk{}, "nethttp", "gallop-nethttp"),
		goals:  []goal{{cpu, "gallop-nethttp", "nethttp", .75, 0}},
	},
	"nethttp-flushed": {
		about:  "eight pieces of 1 KiB by an http.Handler, each flushed, in net/http's server and in gallop's",
		app:    "flushed",
		rivals: under(wrk{}, "nethttp", "gallop-nethttp"),
		goals:  []goal{{cpu, "gallop-nethttp", "nethttp", .75, 0}},
	},
	"fiber": {
		about:  "hello by fiber v3, on fasthttp and on gallop in its place",
		rivals: under(wrk{}, "fiber-fasthttp", "fiber-gallop"),
		goals: []goal{
			{cpu, "fiber-gallop", "fiber-fasthttp", .9, 64},
			{cpu, "fiber-gallop", "fiber-fasthttp", .75, 512},
		},
	},
	"cores":       cores(),
	"caller1":     besides("caller", "a goroutine beside the server that calls another service", 1),
	"caller2":     besides("caller", "a goroutine beside the server that calls another service", 2),
	"caller4":     besides("caller", "a goroutine beside the server that calls another service", 4),
	"sleeper1":    besides("sleeper", "a goroutine beside the server that sleeps for 1 ms", 1),
	"sleeper2":    besides("sleeper", "a goroutine beside the server that sleeps for 1 ms", 2),
	"sleeper4":    besides("sleeper", "a goroutine beside the server that sleeps for 1 ms", 4),
	"sleep1":      blocking("sleep1", "handlers that sleep for 1 ms", 1.05),
	"sleep10":     blocking("sleep10", "handlers that sleep for 10 ms", 1),
	"burn5":       long(blocking("burn5", "handlers that compute for 5 ms", 1)),
	"alternate":   blocking("alternate", "handlers of which every other one sleeps for 1 ms", 1),
	"redis":       withRedis(blocking("redis", "handlers that ask a Redis server", 1)),
	"mixed-sleep": mixed("mixed-sleep", "1 % of requests sleep for 10 ms on the path of the others, 10,000/s", 10_000),
	"arena-json": arena("the arena's JSON documents of 1 to 50 items, encoded for each request, by frameworks", "arena-json", false,
		goal{cpu, "arena-gallop", "arena-fasthttp", 0.6, 0}),
	"arena-json-comp": arena("the arena's JSON documents, compressed for each request, by frameworks", "arena-json-comp", false,
		goal{cpu, "arena-gallop", "arena-fasthttp", 0.9, 0}),
	"arena-upload": arena("uploads of 500 KB whose bytes are counted, by frameworks", "arena-upload", false,
		goal{cpu, "arena-gallop", "arena-fasthttp", 1, 0}),
	"arena-db": arena("the arena's range queries in PostgreSQL, by frameworks", "arena-db", true,
		goal{rate, "arena-gallop", "arena-fasthttp", 1, 0}),
	"arena-crud": arena("the arena's cached reads, lists and changes of items in PostgreSQL, by frameworks", "arena-crud", true,
		goal{rate, "arena-gallop", "arena-fasthttp", 1, 0}),
	"mixed-burn": mixed("mixed-burn", "1 % of requests compute for 5 ms on the path of the others, 2,000/s", 2_000),
}

// blocking returns a workload whose handlers are slow, and must not delay other requests. least is the minimum rate
// of gallop as a multiple of fasthttp's.
func blocking(app, about string, least float64) workload {
	return workload{
		about:  about,
		app:    app,
		rivals: under(wrk{}, "fasthttp", "gallop"),
		shared: true,
		goals:  []goal{{rate, "gallop", "fasthttp", least, 0}, {p99, "gallop", "fasthttp", 1.1, 0}},
	}
}

// besides returns a workload in which the server shares its process with a goroutine. The goroutine must do about as
// well as beside gallop with a goroutine per connection.
func besides(app, about string, procs int) workload {
	l := beside{wrk{}}
	return workload{
		about:  fmt.Sprintf("latencies of %s, GOMAXPROCS=%d", about, procs),
		app:    app,
		rivals: under(l, "gallop-goroutines", "gallop", "fasthttp"),
		procs:  procs,
		beside: true,
		rounds: 3,
		goals:  []goal{{p50, "gallop", "gallop-goroutines", 1.3, 0}, {p99, "gallop", "gallop-goroutines", 1.3, 0}},
	}
}

// tinyFile returns a workload in which file handlers serve one of tinyFiles.
func tinyFile(about, name string) workload {
	return workload{
		about:  about,
		app:    "static",
		rivals: under(wrk{path: "/" + name}, "fasthttp", "gallop", "nginx"),
		files:  tiny,
		check:  checkTiny(name),
		goals:  []goal{{cpu, "gallop", "fasthttp", 1, 0}},
	}
}

// long gives a workload longer rounds: its requests wait for seconds.
func long(w workload) workload {
	w.rounds, w.length = 3, 12*time.Second
	return w
}

func withRedis(w workload) workload {
	w.redis = true
	return w
}

// mixed compares the fast requests among slow ones with the same number of fast requests alone.
func mixed(app, about string, perSecond float64) workload {
	const slow = .01
	quick := load.Kind{Name: "quick", Share: 1 - slow, Octets: load.Get("/")}
	alone := plan{load.Plan{Rate: perSecond * (1 - slow), Kinds: []load.Kind{quick}}}
	among := plan{load.Plan{Rate: perSecond, Kinds: []load.Kind{quick, {Name: "slow", Share: slow, Octets: load.Get("/?slow=1")}}}}
	w := workload{about: about, app: app, shared: true}
	for _, s := range []string{"fasthttp", "gallop"} {
		w.rivals = append(w.rivals, rival{s + " alone", s, alone}, rival{s + " mixed", s, among})
	}
	w.goals = []goal{{p99, "gallop mixed", "gallop alone", 2, 0}}
	return w
}

// baselineKinds are the requests of the arena's baseline.
var baselineKinds = func() (kinds []load.Kind) {
	const head = " /baseline11?a=13&b=42 HTTP/1.1\r\nHost: load.test\r\n"
	for name, octets := range map[string]string{
		"get":     "GET" + head + "\r\n",
		"post":    "POST" + head + "Content-Length: 2\r\n\r\n20",
		"chunked": "POST" + head + "Transfer-Encoding: chunked\r\n\r\n2\r\n20\r\n0\r\n\r\n",
	} {
		kinds = append(kinds, load.Kind{Name: name, Share: 1, Octets: []byte(octets)})
	}
	return kinds
}()
