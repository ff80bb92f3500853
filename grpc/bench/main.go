// The command bench compares the processor time that gRPC servers need for a unary call.
//
//	go run ./bench -calls 200000
//
// Each server runs in a process of its own, with GOMAXPROCS=1. The client is grpc-go's in all cases: 8 connections with
// 16 calls at a time each, health checks without TLS. The servers are measured in turns. The program prints the median of the turns.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// servers are what is compared. Each function serves a listener forever.
var servers = []struct {
	name  string
	serve func(net.Listener) error
}{
	{"gallop", serveGallop},
	{"grpc-go", serveGRPC},
	{"grpc-go ServeHTTP", serveHTTP},
}

func serveGallop(ln net.Listener) error {
	var rpc gallopgrpc.Server
	healthpb.RegisterHealthServer(&rpc, health.NewServer())
	s := &gallop.Server{}
	rpc.Configure(s)
	return s.Serve(ln)
}

func serveGRPC(ln net.Listener) error {
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	return s.Serve(ln)
}

func serveHTTP(ln net.Listener) error {
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return (&http.Server{Handler: s, Protocols: &protocols}).Serve(ln)
}

func main() {
	child := flag.String("serve", "", "serve with this server (used by the program itself)")
	calls := flag.Int("calls", 100000, "calls in each turn")
	turns := flag.Int("turns", 5, "turns of each server")
	flag.Parse()
	if *child != "" {
		log.Fatal(serve(*child))
	}
	cost := map[string][]time.Duration{}
	for range *turns {
		for _, s := range servers {
			d, err := measure(s.name, *calls)
			if err != nil {
				log.Fatal(err)
			}
			cost[s.name] = append(cost[s.name], d)
		}
	}
	base := median(cost["grpc-go"])
	for _, s := range servers {
		d := median(cost[s.name])
		fmt.Printf("%-20s %8.2f µs of CPU per call  %5.2f× grpc-go\n", s.name, float64(d)/1e3, float64(d)/float64(base))
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// serve is the child process. It prints its address.
func serve(name string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	for _, s := range servers {
		if s.name == name {
			return s.serve(ln)
		}
	}
	return fmt.Errorf("no server is called %q", name)
}

// measure returns the processor time of a server for each call.
func measure(name string, calls int) (time.Duration, error) {
	cmd := exec.Command(os.Args[0], "-serve", name)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, err
	}
	var conns []healthpb.HealthClient
	for range 8 {
		cc, err := grpc.NewClient("passthrough:///"+strings.TrimSpace(addr), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return 0, err
		}
		defer cc.Close()
		conns = append(conns, healthpb.NewHealthClient(cc))
	}
	if err := callAll(conns, calls/10); err != nil { // warm up
		return 0, err
	}
	before, err := cpuTime(cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	if err := callAll(conns, calls); err != nil {
		return 0, err
	}
	after, err := cpuTime(cmd.Process.Pid)
	return (after - before) / time.Duration(calls), err
}

// callAll makes calls on all connections.
func callAll(conns []healthpb.HealthClient, calls int) error {
	var wg sync.WaitGroup
	const each = 16
	errs := make(chan error, each*len(conns))
	for _, c := range conns {
		for range each {
			wg.Go(func() {
				for range calls / each / len(conns) {
					if _, err := c.Check(context.Background(), &healthpb.HealthCheckRequest{}); err != nil {
						errs <- err
						return
					}
				}
			})
		}
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// cpuTime returns the processor time that a process has used, to 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
