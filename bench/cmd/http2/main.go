//go:build linux

// Command http2 puts HTTP/2 servers under the load of h2load, interleaved round by round. It compares gallop with nghttpd, which
// is written in C, and with net/http.
//
//	go run ./cmd/http2                  # all rows
//	go run ./cmd/http2 -n 3 c32m32 tls  # some of them
//	go run ./cmd/http2 -save            # also writes results/http2.txt
//
// Run it in bench/. It needs Linux, two processors, taskset, h2load and nghttpd. Each server has core 0 with GOMAXPROCS=1, and
// h2load has core 1. The figures are the server's user and system time per request, and the rate.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/bench/certificate"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

// row is one load.
type row struct {
	name           string
	app            string
	conns, streams int
	requests       int
	tls            bool
	upload         int // bytes of each request's body
	servers        []string
	goals          []goal
}

// goal bounds gallop's CPU time per request, as a multiple of that of a peer.
type goal struct {
	peer string
	most float64
}

// overHTTP1 is gallop with clients of HTTP/1.1, each of which has one request open at a time.
const overHTTP1 = "gallop/1.1"

var (
	peers     = []string{"gallop", "nghttpd", "nethttp"}
	versions  = []string{"gallop", overHTTP1, "nethttp"}
	rowsOfAll = []row{
		{name: "c32m32", app: "hello", conns: 32, streams: 32, requests: 300_000, servers: peers, goals: []goal{{"nghttpd", 1.1}, {"nethttp", 0.1}}},
		{name: "c1m100", app: "hello", conns: 1, streams: 100, requests: 300_000, servers: peers, goals: []goal{{"nghttpd", 1.1}, {"nethttp", 0.1}}},
		{name: "c64m1", app: "hello", conns: 64, streams: 1, requests: 100_000, servers: peers, goals: []goal{{"nghttpd", 1.15}}},
		{name: "c1m1", app: "hello", conns: 1, streams: 1, requests: 50_000, servers: []string{"gallop", overHTTP1, "nghttpd", "nethttp"}, goals: []goal{{overHTTP1, 1.1}, {"nethttp", 0.45}}},
		{name: "c256m100", app: "hello", conns: 256, streams: 100, requests: 500_000, servers: peers},
		{name: "c4096m100", app: "hello", conns: 4096, streams: 100, requests: 1_000_000, servers: peers[:2]},
		{name: "tls-c32m32", app: "hello", conns: 32, streams: 32, requests: 300_000, tls: true, servers: peers},
		{name: "json-c1024m32", app: "json", conns: 1024, streams: 32, requests: 100_000, servers: versions, goals: []goal{{overHTTP1, 1.11}}},
		{name: "file-c256m32", app: "file", conns: 256, streams: 32, requests: 100_000, tls: true, servers: versions[:2], goals: []goal{{overHTTP1, 1.11}}},
		{name: "download", app: "bulk", conns: 1, streams: 1, requests: 1, servers: versions, goals: []goal{{overHTTP1, 1.25}, {"nethttp", 0.5}}},
		{name: "upload", app: "bulk", conns: 1, streams: 1, requests: 1, upload: 1 << 30, servers: versions, goals: []goal{{overHTTP1, 1.43}}},
	}
)

type options struct {
	rounds int
	save   bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "n", 5, "rounds")
	flag.BoolVar(&o.save, "save", false, "also write results/http2.txt; this takes a clean tree")
	flag.Parse()
	met, err := compare(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "http2:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// compare runs the rows whose names contain one of names, or all, and reports whether gallop meets its goals.
func compare(o options, names []string) (met bool, err error) {
	commit, err := measure.Commit(o.save)
	if err != nil {
		return false, err
	}
	var out io.Writer = os.Stdout
	if o.save {
		f, err := os.Create(filepath.Join("results", "http2.txt"))
		if err != nil {
			return false, err
		}
		defer f.Close()
		out = io.MultiWriter(os.Stdout, f)
	}
	h, err := newHall()
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(h.dir)
	fmt.Fprintf(out, "command: go run ./cmd/http2 -n %d %s\n%s\n", o.rounds, strings.Join(names, " "), measure.About(commit))
	fmt.Fprintf(out, "\nserver on core 0 with GOMAXPROCS=1, h2load on core 1; medians of %d rounds\n\n", o.rounds)
	fmt.Fprintf(out, "%-14s %-10s %10s %12s %10s\n", "row", "server", "CPU µs", "requests/s", "RSS MiB")
	met = true
	for _, r := range rowsOfAll {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(r.name, name) }) {
			continue
		}
		ok, err := h.compare(out, r, o.rounds)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		met = met && ok
	}
	return met, nil
}

// compare runs one row.
func (h *hall) compare(out io.Writer, r row, rounds int) (met bool, err error) {
	running := map[string]*server{}
	defer func() {
		for _, s := range running {
			child.End(s.cmd)
		}
	}()
	for _, name := range r.servers {
		if running[name], err = h.start(name, r); err != nil {
			return false, err
		}
	}
	cpu, rate := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		for _, name := range r.servers {
			c, q, err := running[name].load(h, r)
			if err != nil {
				return false, fmt.Errorf("%s: %w", name, err)
			}
			cpu[name], rate[name] = append(cpu[name], c), append(rate[name], q)
		}
	}
	for _, name := range r.servers {
		fmt.Fprintf(out, "%-14s %-10s %10.2f %12.0f %10.1f\n", r.name, name, measure.Median(cpu[name]), measure.Median(rate[name]),
			float64(measure.Process(running[name].cmd.Process.Pid).Resident())/(1<<20))
	}
	met = true
	for _, peer := range r.servers[1:] {
		ratio := measure.Median(cpu["gallop"]) / measure.Median(cpu[peer])
		verdict := ""
		if i := slices.IndexFunc(r.goals, func(g goal) bool { return g.peer == peer }); i >= 0 {
			verdict = fmt.Sprintf(", goal at most %.3g: met", r.goals[i].most)
			if ratio > r.goals[i].most {
				verdict, met = fmt.Sprintf(", goal at most %.3g: MISSED", r.goals[i].most), false
			}
		}
		fmt.Fprintf(out, "%-14s gallop's CPU time is %.3g of that of %s%s\n", r.name, ratio, peer, verdict)
	}
	fmt.Fprintln(out)
	return met, nil
}

// hall has what the servers need.
type hall struct{ dir, peer, pem, root, upload string }

func newHall() (h *hall, err error) {
	dir, err := os.MkdirTemp("", "http2")
	if err != nil {
		return nil, err
	}
	h = &hall{dir, filepath.Join(dir, "peer"), filepath.Join(dir, "pair.pem"), filepath.Join(dir, "www"), filepath.Join(dir, "upload")}
	if err := child.Run("go", "build", "-o", h.peer, "./cmd/peer"); err != nil {
		return nil, err
	}
	if err := certificate.Write(h.pem); err != nil {
		return nil, err
	}
	if err := os.Mkdir(h.root, 0o700); err != nil {
		return nil, err
	}
	return h, os.WriteFile(filepath.Join(h.root, "index.html"), []byte("Hello, World!"), 0o600)
}

// server is a server under load.
type server struct {
	cmd   *exec.Cmd
	url   string
	http1 bool
}

func (h *hall) start(name string, r row) (*server, error) {
	address, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(address, ":")
	s := &server{url: "http://" + address + "/", http1: name == overHTTP1}
	if s.http1 {
		name = "gallop"
	}
	args := []string{h.peer, "-server", name, "-app", r.app, "-address", address}
	switch {
	case name == "nghttpd" && r.tls:
		args = []string{"nghttpd", "-a", host, "-d", h.root, port, h.pem, h.pem}
	case name == "nghttpd":
		args = []string{"nghttpd", "--no-tls", "-a", host, "-d", h.root, port}
	case r.tls:
		args = append(args, "-tls", h.pem)
	default:
		args = append(args, "-h2c")
	}
	if r.tls {
		s.url = "https://" + address + "/"
	}
	s.cmd = exec.Command("taskset", append([]string{"-c", "0"}, args...)...)
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	child.DieWithParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, child.AwaitListener(address)
}

var (
	ratePattern = regexp.MustCompile(`([0-9.]+) req/s`)
	donePattern = regexp.MustCompile(`(\d+) 2xx`)
)

// load runs h2load once. It returns the server's CPU time per request in microseconds, and the rate.
func (s *server) load(h *hall, r row) (cpu, rate float64, err error) {
	args := []string{"-c", "1", "h2load", "-t1", "-c", strconv.Itoa(r.conns), "-n", strconv.Itoa(r.requests)}
	if s.http1 {
		args = append(args, "--h1", "-m1")
	} else {
		args = append(args, "-m", strconv.Itoa(r.streams))
	}
	if r.upload > 0 {
		if err := os.WriteFile(h.upload, nil, 0o600); err != nil {
			return 0, 0, err
		}
		if err := os.Truncate(h.upload, int64(r.upload)); err != nil {
			return 0, 0, err
		}
		args = append(args, "-d", h.upload)
	}

	p := measure.Process(s.cmd.Process.Pid)
	user, system := p.CPU()
	before := user + system
	out, err := exec.Command("taskset", append(args, s.url)...).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, out)
	}
	user, system = p.CPU()
	took := user + system - before
	if m := donePattern.FindSubmatch(out); m == nil || string(m[1]) != strconv.Itoa(r.requests) {
		return 0, 0, fmt.Errorf("not all requests were served: %s", out)
	}
	if m := ratePattern.FindSubmatch(out); m != nil {
		rate, _ = strconv.ParseFloat(string(m[1]), 64)
	}
	return float64(took.Nanoseconds()) / 1000 / float64(r.requests), rate, nil
}
