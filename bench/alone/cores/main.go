//go:build linux

// Command cores is a hello world of gallop that uses the processors in one of several arrangements. ../../compare compares them in
// the workload cores.
//
//	cores ADDRESS ARRANGEMENT
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/listen"
	"github.com/gallop-http/gallop/prefork"
)

// arrangements are functions that serve on an address.
var arrangements = map[string]func(ctx context.Context, addr string) error{
	"loops":             func(_ context.Context, addr string) error { return server().ListenAndServe(addr) },
	"goroutines":        serveOnGoroutines,
	"one-core":          serveOnOneCore,
	"reuseport":         serveOnManyListeners,
	"prefork":           func(ctx context.Context, addr string) error { return serveWithChildren(ctx, addr, false) },
	"prefork-reuseport": func(ctx context.Context, addr string) error { return serveWithChildren(ctx, addr, true) },
	"pinned":            serveWithPinnedChildren,
	"pinned-child":      serveOnSharedPort,
}

func main() {
	if len(os.Args) != 3 || arrangements[os.Args[2]] == nil {
		log.Fatal("usage: cores ADDRESS ARRANGEMENT")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := arrangements[os.Args[2]](ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func server() *gallop.Server {
	return &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("Hello, World!")
	}}
}

func serveOnGoroutines(_ context.Context, addr string) error {
	s := server()
	s.Engine = gallop.EngineGoroutine
	return s.ListenAndServe(addr)
}

func serveOnOneCore(_ context.Context, addr string) error {
	runtime.GOMAXPROCS(1)
	return server().ListenAndServe(addr)
}

// serveOnManyListeners serves a listener for each processor, all with one server.
func serveOnManyListeners(ctx context.Context, addr string) error {
	s := server()
	ended := make(chan error)
	for range runtime.GOMAXPROCS(0) {
		ln, err := (&listen.TCP{ReusePort: true}).Listen(ctx, "tcp4", addr)
		if err != nil {
			return err
		}
		go func() { ended <- s.Serve(ln) }()
	}
	return <-ended
}

// serveWithChildren serves with a process for each processor, each of which has GOMAXPROCS=1.
func serveWithChildren(ctx context.Context, addr string, reusePort bool) error {
	return prefork.Run(ctx, server(), prefork.Options{Addr: addr, Network: "tcp4", ReusePort: reusePort})
}

// serveWithPinnedChildren starts a process for each processor, which runs on that processor only.
func serveWithPinnedChildren(_ context.Context, addr string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // children die with the thread that started them
	ended := make(chan error)
	for core := range runtime.NumCPU() {
		cmd := exec.Command(self, addr, "pinned-child")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		if err := child.Pin(cmd, core); err != nil {
			return err
		}
		child.DieWithParent(cmd)
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { ended <- fmt.Errorf("child on core %d: %w", core, cmd.Wait()) }()
	}
	return <-ended
}

// serveOnSharedPort serves a socket of its own on an address that other processes listen on, too.
func serveOnSharedPort(ctx context.Context, addr string) error {
	ln, err := (&listen.TCP{ReusePort: true}).Listen(ctx, "tcp4", addr)
	if err != nil {
		return err
	}
	return server().Run(ctx, ln)
}
