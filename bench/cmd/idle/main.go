//go:build linux

// Command idle measures the memory that idle keep-alive connections cost the server's processes. It also measures how soon a
// thousand random connections get a response while all others stay idle.
//
//	go run ./cmd/idle                                    # 19,000 connections to one process of each server
//	go run ./cmd/idle -processes 10 -servers gallop      # 190,000 to ten processes that share a port, with fasthttp's package prefork
//	go run ./cmd/idle -processes 10 -load 5s             # and what a request costs beside the idle connections
//
// The kernel's memory is the growth of its caches of objects (Slab in /proc/meminfo), of which the server has half and the clients have
// half. It counts whatever else the machine does meanwhile.
//
// Each connection is used once. Connections are opened in steps. Before each measurement the server collects garbage and returns
// free memory to the system. The cost of a connection is the slope of the resident memory, which excludes the server's base
// memory and the kernel's sockets. Servers are interleaved round by round.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/load"
	"github.com/gallop-http/gallop/bench/measure"
)

const (
	steps = 4
	asked = 1000
	goal  = 314 // bytes per connection, for gallop
)

// out is where the report goes: the standard output and, with -save, a file.
var out io.Writer

type options struct {
	conns     int // connections to each process
	processes int
	rounds    int
	servers   string
	load      time.Duration
	save      bool
	commit    string // see measure.Commit
}

func main() {
	child.Play(load.Roles)
	var o options
	flag.IntVar(&o.conns, "c", 19_000, "connections to each process; each needs a descriptor")
	flag.IntVar(&o.processes, "processes", 1, "processes of each server, and of the clients")
	flag.IntVar(&o.rounds, "n", 1, "rounds")
	flag.StringVar(&o.servers, "servers", "fasthttp,gallop,nethttp", "servers, separated by commas")
	flag.DurationVar(&o.load, "load", 0, "also put the server under full load for this long with 64 further connections, before and after the others are opened")
	flag.BoolVar(&o.save, "save", false, "also write results/idle-NUMBER.txt; this takes a clean tree")
	flag.Parse()
	met, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

func run(o options) (met bool, err error) {
	if o.commit, err = measure.Commit(o.save); err != nil {
		return false, err
	}
	out = os.Stdout
	if o.save {
		f, err := os.Create(filepath.Join("results", fmt.Sprintf("idle-%d.txt", o.conns*o.processes)))
		if err != nil {
			return false, err
		}
		defer f.Close()
		out = io.MultiWriter(os.Stdout, f)
	}
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	peer := filepath.Join(dir, "peer")
	if err := child.Run("go", "build", "-o", peer, "./cmd/peer"); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "command: go run ./cmd/idle -c %d -processes %d -n %d -servers %s", o.conns, o.processes, o.rounds, o.servers)
	if o.load > 0 {
		fmt.Fprintf(out, " -load %v", o.load)
	}
	fmt.Fprintln(out)
	fmt.Fprintf(out, "%s\n", measure.About(o.commit))
	titles := []string{"connections", "bytes each", "kernel each", "RSS KiB", "without", "1000 in ms"}
	if o.load > 0 {
		titles = append(titles, "requests/s", "alone/s", "CPU µs", "alone µs")
	}
	row("server", titles...)
	servers, all := strings.Split(o.servers, ","), map[string][]cost{}
	for range o.rounds {
		for _, s := range servers {
			c, err := weigh(o, peer, s)
			if err != nil {
				return false, fmt.Errorf("%s: %w", s, err)
			}
			all[s] = append(all[s], c)
			c.print(s)
		}
	}
	fmt.Fprintln(out, "\nmedian")
	for _, s := range servers {
		median(all[s]).print(s)
	}
	met = true
	if gallop := all["gallop"]; gallop != nil {
		each := median(gallop).each
		met = each <= goal
		fmt.Fprintf(out, "goal: at most %d bytes per connection for gallop: %.0f, %s\n", goal, each, map[bool]string{true: "met", false: "MISSED"}[met])
	}
	return met, nil
}

// cost holds the measurements of one round.
type cost struct {
	conns, each, resident, without, answers float64
	kernel                                  float64 // bytes of the kernel per connection
	beside, alone                           burden  // under load, beside the idle connections and without them
}

// burden is what a server does under load.
type burden struct{ rate, cpu float64 }

func (c cost) print(server string) {
	cell := func(f float64) string { return fmt.Sprintf("%.0f", f) }
	cells := []string{cell(c.conns), cell(c.each), cell(c.kernel), cell(c.resident / 1024), cell(c.without / 1024), fmt.Sprintf("%.1f", c.answers)}
	if c.alone.rate > 0 {
		cells = append(cells, cell(c.beside.rate), cell(c.alone.rate), fmt.Sprintf("%.2f", c.beside.cpu), fmt.Sprintf("%.2f", c.alone.cpu))
	}
	row(server, cells...)
}

func row(server string, cells ...string) {
	fmt.Fprintf(out, "%-18s", server)
	for _, cell := range cells {
		fmt.Fprintf(out, " %12s", cell)
	}
	fmt.Fprintln(out)
}

func median(costs []cost) cost {
	of := func(f func(cost) float64) float64 {
		var values []float64
		for _, c := range costs {
			values = append(values, f(c))
		}
		return measure.Median(values)
	}
	return cost{
		of(func(c cost) float64 { return c.conns }), of(func(c cost) float64 { return c.each }),
		of(func(c cost) float64 { return c.resident }), of(func(c cost) float64 { return c.without }),
		of(func(c cost) float64 { return c.answers }), of(func(c cost) float64 { return c.kernel }),
		burden{of(func(c cost) float64 { return c.beside.rate }), of(func(c cost) float64 { return c.beside.cpu })},
		burden{of(func(c cost) float64 { return c.alone.rate }), of(func(c cost) float64 { return c.alone.cpu })},
	}
}

// weigh starts a server, opens connections to it and measures.
func weigh(o options, peer, server string) (c cost, err error) {
	address, err := child.FreeAddress()
	if err != nil {
		return c, err
	}
	cmd, err := serve(o, peer, server, address)
	if err != nil {
		return c, err
	}
	defer child.End(cmd)
	addresses := make([]string, o.processes)
	for i := range addresses {
		addresses[i] = address
	}
	holders, err := load.StartHolders(addresses, load.Get("/"))
	if err != nil {
		return c, err
	}
	defer holders.Stop()
	if c.alone, err = burdened(o, cmd, address); err != nil {
		return c, err
	}
	var conns, resident, kernel []float64
	for step := range steps + 1 {
		if step > 0 {
			if err := holders.Open(o.conns / steps); err != nil {
				return c, err
			}
		}
		conns = append(conns, float64(step*o.processes*(o.conns/steps)))
		resident = append(resident, memory(cmd))
		kernel = append(kernel, float64(measure.Slab()))
	}
	took, err := holders.Ask(asked / o.processes)
	if err != nil {
		return c, err
	}
	c.conns, c.each, c.resident, c.without, c.answers = conns[steps], measure.Slope(conns, resident), resident[steps], resident[0], took.Seconds()*1000
	c.kernel = measure.Slope(conns, kernel) / 2 // the clients' sockets are on this machine, too
	c.beside, err = burdened(o, cmd, address)
	return c, err
}

// burdened puts a server under full load. The load shares the machine with the server.
func burdened(o options, cmd *exec.Cmd, address string) (b burden, err error) {
	if o.load == 0 {
		return b, nil
	}
	program, err := load.Command(load.Plan{Address: address, Conns: 64, Seed: 1, Kinds: []load.Kind{{Name: "get", Octets: load.Get("/")}}})
	if err != nil {
		return b, err
	}
	process, err := load.Start(program)
	if err != nil {
		return b, err
	}
	defer process.Stop()
	time.Sleep(time.Second)
	if _, err := process.Take(); err != nil {
		return b, err
	}
	server := measure.FamilyOf(cmd.Process.Pid)
	user0, system0 := server.CPU()
	time.Sleep(o.load)
	r, err := process.Take()
	user1, system1 := server.CPU()
	if err != nil {
		return b, err
	}
	done, lost := r.Sum()
	if done == 0 || lost > 0 {
		return b, fmt.Errorf("%d responses, %d lost: %v", done, lost, r.Errors)
	}
	return burden{float64(done) / r.Seconds, float64(user1-user0+system1-system0) / float64(time.Microsecond) / float64(done)}, nil
}

func serve(o options, peer, server, address string) (*exec.Cmd, error) {
	args := []string{"-server", server, "-address", address}
	cmd := exec.Command(peer, args...)
	if o.processes > 1 {
		cmd = exec.Command(peer, append(args, "-prefork")...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", o.processes)) // prefork starts one process for each
	}
	cmd.Stderr = os.Stderr
	child.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := child.AwaitListener(address)
	if err == nil && o.processes > 1 {
		err = awaitChildren(cmd, o.processes)
	}
	if err != nil {
		child.End(cmd)
		return nil, err
	}
	return cmd, nil
}

// awaitChildren waits until all processes listen, because connections are only spread over processes that do.
func awaitChildren(cmd *exec.Cmd, n int) error {
	for range 200 {
		ready := 0
		for _, p := range measure.Process(cmd.Process.Pid).Children() {
			if p.Descriptors() >= 5 { // stdin, stdout, stderr, epoll and a socket
				ready++
			}
		}
		if ready == n {
			time.Sleep(time.Second)
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("%d processes did not start listening", n)
}

// memory returns the resident memory of the server's processes after they have returned all unused memory.
func memory(cmd *exec.Cmd) (resident float64) {
	parent := measure.Process(cmd.Process.Pid)
	processes := append(parent.Children(), parent)
	for _, p := range processes {
		syscall.Kill(int(p), syscall.SIGUSR1)
	}
	time.Sleep(time.Second)
	for _, p := range processes {
		resident += float64(p.Resident())
	}
	return resident
}
