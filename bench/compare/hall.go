//go:build linux

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/bench/certificate"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/examples/arena/postgres"
)

// hall holds what the rounds need: the programs, and Redis, PostgreSQL and another service for workloads that use them.
type hall struct {
	dir      string
	built    map[string]bool // programs, sets of files, and the certificate
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

// newHall returns a hall without anything.
func newHall() (*hall, error) {
	dir, err := os.MkdirTemp("", "compare")
	return &hall{dir: dir, built: map[string]bool{}}, err
}

// furnish adds what a comparison needs, unless an earlier one has needed it.
func (h *hall) furnish(c comparison) error {
	if err := h.build("peer", "build", "-o", h.program("peer"), "./cmd/peer"); err != nil {
		return err
	}
	for _, r := range c.rivals {
		if program, args := h.building(r.server); program != "" {
			if err := h.build(program, args...); err != nil {
				return err
			}
		}
	}
	if c.files != nil {
		if err := h.writeFiles(c.files); err != nil {
			return err
		}
	}
	if c.tls && !h.built[pair] {
		if err := certificate.Write(h.program(pair)); err != nil {
			return err
		}
		h.built[pair] = true
	}
	if c.beside && h.service == nil {
		if err := h.startService(); err != nil {
			return err
		}
	}
	if c.items && h.database == nil {
		var err error
		if h.database, err = postgres.Start(); err != nil {
			return err
		}
	}
	if c.redis && h.redis == nil {
		return h.startRedis()
	}
	return nil
}

// building returns the program of a server and the arguments of go that build it, or "" if the server is ./cmd/peer or nginx.
func (h *hall) building(server string) (program string, args []string) {
	if file := fiberServers[server]; file != "" {
		return server, []string{"build", "-C", "fiber", "-mod=mod", "-modfile", file, "-o", h.program(server), "."}
	}
	if dir := aloneServers[server]; dir != "" {
		return server, []string{"build", "-o", h.program(server), dir}
	}
	if _, ok := arrangement(server); ok {
		return "cores", []string{"build", "-o", h.program("cores"), "./alone/cores"}
	}
	if name, ok := inArena(server); ok {
		return arenaProgram(name), arenaBuild(h, name)
	}
	return "", nil
}

// build builds a program once.
func (h *hall) build(program string, args ...string) error {
	if h.built[program] {
		return nil
	}
	if err := child.Run("go", args...); err != nil {
		return err
	}
	h.built[program] = true
	return nil
}

// writeFiles writes a set of files once.
func (h *hall) writeFiles(set *fileSet) error {
	if h.built[set.name] {
		return nil
	}
	dir := h.program(set.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := set.write(dir); err != nil {
		return err
	}
	h.built[set.name] = true
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
