// Command peer runs one of the servers under comparison with a small app, so that compare, or wrk started by hand,
// can put it under load. On SIGUSR1 it collects garbage and returns unused memory to the system. On SIGTERM it writes
// the CPU profile, if one was requested, and exits.
//
//	go run ./cmd/peer -server fasthttp -app hello
package main

import (
	"errors"
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
	files    string
	prefork  bool
	h2c      bool
	tls      string
	profile  string
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "gallop", "one of "+peers.Names())
	flag.StringVar(&o.app, "app", "hello", "one of "+strings.Join(slices.Sorted(maps.Keys(apps)), ", "))
	flag.StringVar(&o.address, "address", "127.0.0.1:8080", "TCP address to listen on")
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "address of the Redis server for the app redis")
	flag.StringVar(&o.neighbor, "neighbor", "http://127.0.0.1:8081", "URL that the app caller calls")
	flag.StringVar(&o.files, "files", ".", "directory that the app static serves")
	flag.BoolVar(&o.prefork, "prefork", false, "serve with GOMAXPROCS processes that share the port")
	flag.BoolVar(&o.h2c, "h2c", false, "let gallop and nethttp also serve HTTP/2 without TLS")
	flag.StringVar(&o.tls, "tls", "", "serve gallop, nethttp or fasthttp over TLS, with the certificate and the key in this PEM file")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile to this file until SIGTERM")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	newApp := apps[o.app]
	if newApp == nil {
		return fmt.Errorf("unknown app %q", o.app)
	}
	server, err := peers.New(o.server, newApp(o), peers.Options{H2C: o.h2c})
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
	if o.tls != "" {
		return serveTLS(server, l, o.tls)
	}
	return server.Serve(l)
}

// serveTLS serves a listener over TLS. file has the certificate and the key.
func serveTLS(server peers.Server, l net.Listener, file string) error {
	s, ok := server.(interface {
		ServeTLS(l net.Listener, certFile, keyFile string) error
	})
	if !ok {
		return errors.New("this server has no TLS")
	}
	return s.ServeTLS(l, file, file)
}

// silent drops log messages, such as those of prefork about the end of its parent, which is how peer is stopped.
type silent struct{}

func (silent) Printf(string, ...any) {}

// obeySignals installs the handlers of SIGUSR1 and SIGTERM. If profile is not empty, it writes a CPU profile to this
// file until SIGTERM.
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
