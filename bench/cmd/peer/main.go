// Command peer serves one of the servers under comparison, with one of a few small apps, for others to put under load:
// cmd/versus, or wrk by hand. SIGUSR1 has it collect garbage and give memory back; SIGTERM ends it, and the profile.
//
//	go run ./cmd/peer -server fasthttp -app hello
package main

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"github.com/gallop-http/gallop/bench/peers"
	"github.com/valyala/fasthttp/prefork"
)

type options struct {
	server   string
	app      string
	address  string
	redis    string
	neighbor string
	prefork  bool
	profile  string
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "gallop", "one of "+peers.Names())
	flag.StringVar(&o.app, "app", "hello", "one of "+strings.Join(slices.Sorted(maps.Keys(apps)), ", "))
	flag.StringVar(&o.address, "address", "127.0.0.1:8080", "TCP address to listen on")
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "address of the Redis server that the app redis asks")
	flag.StringVar(&o.neighbor, "neighbor", "http://127.0.0.1:8081", "URL that the app caller calls")
	flag.BoolVar(&o.prefork, "prefork", false, "serve with GOMAXPROCS processes that share the port")
	flag.StringVar(&o.profile, "cpuprofile", "", "file to write a CPU profile to until SIGTERM")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	newApp := apps[o.app]
	if newApp == nil {
		return fmt.Errorf("no app %q", o.app)
	}
	server, err := peers.New(o.server, newApp(o), peers.Options{})
	if err != nil {
		return err
	}
	if err := obeySignals(o.profile); err != nil {
		return err
	}
	if o.prefork {
		p := prefork.Prefork{Logger: silent{}, ServeFunc: server.Serve, Reuseport: true, OnMasterDeath: func() { os.Exit(1) }}
		return p.ListenAndServe(o.address)
	}
	l, err := net.Listen("tcp4", o.address)
	if err != nil {
		return err
	}
	return server.Serve(l)
}

// silent drops what is logged: that the parent has ended, which is how it is told to.
type silent struct{}

func (silent) Printf(string, ...any) {}

// obeySignals has the process give memory back at SIGUSR1, and end at SIGTERM, with a CPU profile until then if a
// file for it is named.
func obeySignals(profile string) error {
	var f *os.File
	if profile != "" {
		var err error
		if f, err = os.Create(profile); err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	go func() {
		for s := range signals {
			if s == syscall.SIGUSR1 {
				debug.FreeOSMemory()
				continue
			}
			pprof.StopCPUProfile()
			if f != nil {
				f.Close()
			}
			os.Exit(0)
		}
	}()
	return nil
}
