//go:build linux

package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/certificate"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/examples/arena/postgres"
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
	figures
)

var figureNames = [figures]string{"requests/s", "CPU µs", "user µs", "p50 ms", "p95 ms", "p99 ms", "RSS KiB"}

// met reports whether a ratio of the figure is within the limit of a goal.
func (f figure) met(ratio, limit float64) bool {
	if f == rate {
		return ratio >= limit
	}
	return ratio <= limit
}

// sample holds the figures of one round.
type sample [figures]float64

// hall holds what the rounds need: the programs, and Redis, PostgreSQL and another service for workloads that use them.
type hall struct {
	dir      string
	redis    *exec.Cmd
	store    string // address of the Redis server
	service  *exec.Cmd
	neighbor string // address of the other service
	database *postgres.Server
}

// fiberServers are separate programs: the directory fiber with one of two module files.
var fiberServers = map[string]string{"fiber-fasthttp": "go.mod", "fiber-gallop": "gallop.mod"}

// aloneServers are separate programs that contain only one server each. The values are their directories.
var aloneServers = map[string]string{"gallop-alone": "./alone/gallop", "fasthttp-alone": "./alone/fasthttp"}

// uncached ends the names of servers whose file handler has no cache.
const uncached = "-uncached"

// pair is the file with the certificate and key of servers that serve TLS.
const pair = "pair.pem"

// newHall builds what the comparisons need.
func newHall(all []comparison) (h *hall, err error) {
	h = &hall{}
	if h.dir, err = os.MkdirTemp("", "compare"); err != nil {
		return nil, err
	}
	if err := h.furnish(all); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *hall) furnish(all []comparison) error {
	if err := child.Run("go", "build", "-o", h.program("peer"), "./cmd/peer"); err != nil {
		return err
	}
	built := map[string]bool{}
	for _, c := range all {
		for _, r := range c.rivals {
			args := []string{"build", "-o", h.program(r.server)}
			if file := fiberServers[r.server]; file != "" {
				args = []string{"build", "-C", "fiber", "-mod=mod", "-modfile", file, "-o", h.program(r.server), "."}
			} else if dir := aloneServers[r.server]; dir != "" {
				args = append(args, dir)
			} else if _, ok := arrangement(r.server); ok {
				args = []string{"build", "-o", h.program("cores"), "./alone/cores"}
			} else if name, ok := inArena(r.server); ok {
				args = arenaBuild(h, name)
			} else {
				continue
			}
			if built[r.server] {
				continue
			}
			built[r.server] = true
			if err := child.Run("go", args...); err != nil {
				return err
			}
		}
	}
	if err := h.writeFiles(all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c comparison) bool { return c.tls }) {
		if err := certificate.Write(h.program(pair)); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(all, func(c comparison) bool { return c.beside }) {
		if err := h.startService(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(all, func(c comparison) bool { return c.items }) {
		var err error
		if h.database, err = postgres.Start(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(all, func(c comparison) bool { return c.redis }) {
		return h.startRedis()
	}
	return nil
}

// writeFiles writes each set of files that the comparisons need.
func (h *hall) writeFiles(all []comparison) error {
	for _, set := range []*fileSet{few, tiny, many} {
		if !slices.ContainsFunc(all, func(c comparison) bool { return c.files == set }) {
			continue
		}
		dir := h.program(set.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := set.write(dir); err != nil {
			return err
		}
	}
	return nil
}

// startService starts the service that goroutines beside servers call, on the core of the load.
func (h *hall) startService() (err error) {
	if h.neighbor, err = child.FreeAddress(); err != nil {
		return err
	}
	h.service = pinned(false, 1, h.program("peer"), "-server", "nethttp", "-address", h.neighbor)
	child.DieWithParent(h.service)
	if err := h.service.Start(); err != nil {
		h.service = nil
		return err
	}
	return child.AwaitListener(h.neighbor)
}

func (h *hall) program(name string) string { return filepath.Join(h.dir, name) }

func (h *hall) startRedis() error {
	address, err := child.FreeAddress()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	h.store = address
	h.redis = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", h.dir)
	child.DieWithParent(h.redis)
	if err := h.redis.Start(); err != nil {
		h.redis = nil
		return err
	}
	return child.AwaitListener(address)
}

func (h *hall) close() {
	for _, cmd := range []*exec.Cmd{h.redis, h.service} {
		if cmd != nil {
			child.End(cmd)
		}
	}
	if h.database != nil {
		h.database.Stop()
	}
	os.RemoveAll(h.dir)
}

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

// pinned returns a command that runs on one core, or on all cores if shared is set.
func pinned(shared bool, core int, name string, args ...string) *exec.Cmd {
	if shared {
		return exec.Command(name, args...)
	}
	return exec.Command("taskset", append([]string{"-c", strconv.Itoa(core), name}, args...)...)
}

// serve starts a server.
func (h *hall) serve(c comparison, server, address string) (*exec.Cmd, error) {
	kind, app := server, c.app
	if cached, ok := strings.CutSuffix(server, uncached); ok {
		kind, app = cached, app+uncached
	}
	program, args := h.program("peer"), []string{"-server", kind, "-app", app, "-address", address, "-redis", h.store, "-neighbor", "http://" + h.neighbor, "-files", h.files(c.workload)}
	if c.tls {
		args = append(args, "-tls", h.program(pair))
	}
	if fiberServers[server] != "" || aloneServers[server] != "" {
		program, args = h.program(server), []string{address}
	} else if name, ok := arrangement(server); ok {
		program, args = h.program("cores"), []string{address, name}
	}
	if name, ok := inArena(server); ok {
		program, args = arenaCommand(h, c, name, address)
	}
	cmd := pinned(c.shared || c.procs > 1, 0, program, args...)
	if server == "nginx" {
		var err error
		if cmd, err = h.nginx(address, h.files(c.workload)); err != nil {
			return nil, err
		}
	}
	cmd.Stderr = os.Stderr
	cmd.Env = os.Environ()
	if procs := c.processors(); procs > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(procs))
	}
	child.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := child.AwaitListener(address); err != nil {
		child.End(cmd)
		return nil, err
	}
	return cmd, nil
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
