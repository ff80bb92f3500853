//go:build linux

// Command unary measures the CPU time of servers for a unary gRPC call over HTTP/2 without TLS. The servers are grpc-go's
// Server.ServeHTTP and connect-go on net/http and on gallop, and grpc-go's own server. It also measures ServeHTTP without a server.
//
//	go run ./unary                 # all servers
//	go run ./unary -n 3 grpc       # those whose names begin with grpc
//
// Run it in compat/rpc. It needs two processors and taskset. The server has processor 0 and GOMAXPROCS=1. grpc-go's client
// has 8 connections and 16 calls at a time on each. The figures are user and system time of the server per call, the medians
// of several rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

const (
	connections = 8
	callsEach   = 16
)

// servers serve a listener.
var servers = []struct {
	name  string
	serve func(ln net.Listener) error
}{
	{"grpc on net/http", func(ln net.Listener) error { return serveStd(ln, newGRPC()) }},
	{"grpc on gallop", func(ln net.Listener) error { return serveGallop(ln, newGRPC()) }},
	{"grpc", func(ln net.Listener) error { return newGRPC().Serve(ln) }},
	{inMemory, nil},
	{"connect on net/http", func(ln net.Listener) error { return serveStd(ln, newConnect()) }},
	{"connect on gallop", func(ln net.Listener) error { return serveGallop(ln, newConnect()) }},
}

func newGRPC() *grpc.Server {
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	return s
}

func newConnect() http.Handler {
	return connect.NewUnaryHandler(healthpb.Health_Check_FullMethodName,
		func(context.Context, *connect.Request[healthpb.HealthCheckRequest]) (*connect.Response[healthpb.HealthCheckResponse], error) {
			return connect.NewResponse(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}), nil
		})
}

func serveStd(ln net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	return s.Serve(ln)
}

func serveGallop(ln net.Listener, h http.Handler) error {
	s := nethttp.NewServer(h)
	s.Protocols = new(gallop.Protocols)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s.Serve(ln)
}

func main() {
	rounds := flag.Int("n", 5, "rounds")
	length := flag.Duration("t", 2*time.Second, "length of a round")
	role := flag.String("serve", "", "serve as this server, on the address that follows")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the servers to `file`.NAME")
	flag.Parse()
	switch *role {
	case "":
	case inMemory:
		fail(callInMemory(*length))
		return
	default:
		fail(serve(*role, flag.Arg(0), *profile))
	}
	cpu := map[string][]time.Duration{}
	for range *rounds {
		for _, s := range servers {
			if strings.HasPrefix(s.name, flag.Arg(0)) {
				var took time.Duration
				var calls int64
				var err error
				if s.serve == nil {
					took, calls, err = measureInMemory(*length)
				} else {
					took, calls, err = measure(s.name, *profile, *length)
				}
				fail(err)
				cpu[s.name] = append(cpu[s.name], took/time.Duration(calls))
			}
		}
	}
	for _, s := range servers {
		if took := cpu[s.name]; len(took) > 0 {
			slices.Sort(took)
			fmt.Printf("%-20s %6.1f µs of CPU time per call\n", s.name, float64(took[len(took)/2])/1e3)
		}
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "unary:", err)
		os.Exit(1)
	}
}

// serve is the role of a server. It ends with the process that has started it.
func serve(name, addr, profile string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile + "." + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "/", ""))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		go func() {
			os.Stdin.Read(make([]byte, 1))
			pprof.StopCPUProfile()
			os.Exit(0)
		}()
	}
	for _, s := range servers {
		if s.name == name {
			return s.serve(ln)
		}
	}
	return fmt.Errorf("no server %q", name)
}

// measure runs a server and calls it for some time. It returns the CPU time of the server and the number of calls.
func measure(name, profile string, length time.Duration) (cpu time.Duration, calls int64, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	addr := ln.Addr().String()
	ln.Close()
	cmd := exec.Command("taskset", "-c", "0", os.Args[0], "-cpuprofile", profile, "-serve", name, addr)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer cmd.Wait()
	if profile == "" {
		defer cmd.Process.Kill()
	}
	defer stdin.Close()
	clients := make([]healthpb.HealthClient, connections)
	for i := range clients {
		cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return 0, 0, err
		}
		defer cc.Close()
		clients[i] = healthpb.NewHealthClient(cc)
	}
	if _, err := load(clients, length/4); err != nil {
		return 0, 0, err
	}
	before := used(cmd.Process.Pid)
	calls, err = load(clients, length)
	return used(cmd.Process.Pid) - before, calls, err
}

// load makes calls for some time, and returns how many.
func load(clients []healthpb.HealthClient, length time.Duration) (int64, error) {
	var calls atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	until := time.Now().Add(length)
	for _, c := range clients {
		for range callsEach {
			group.Go(func() {
				for time.Now().Before(until) {
					if _, err := c.Check(context.Background(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
						failure.Store(&err)
						return
					}
					calls.Add(1)
				}
			})
		}
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return calls.Load(), nil
}

// used returns the user and system time of a process.
func used(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
