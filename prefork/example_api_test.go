package prefork_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/prefork"
)

// A program that serves with four processes until it gets a signal. The parent and all children run this code.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !prefork.IsChild() {
		log.Print("migrating the database") // once
	}
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	err := prefork.Run(ctx, s, prefork.Options{
		Addr:      ":8443",
		CertFile:  "cert.pem",
		KeyFile:   "key.pem",
		Processes: 4,
		OnReady:   func(addr net.Addr, _ []int) { log.Print("listening on ", addr) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A socket for each child spreads connections evenly. The port must be given, because each child opens it.
func ExampleRun_reusePort() {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	err := prefork.Run(context.Background(), s, prefork.Options{
		Addr:      "127.0.0.1:8080",
		ReusePort: true,
		Restarts:  10, // in a minute; more end the program, so that a supervisor notices
	})
	if errors.Is(err, prefork.ErrTooManyRestarts) {
		log.Fatal("the children keep crashing: ", err)
	}
}

// IsChild keeps work that must be done once out of the children.
func ExampleIsChild() {
	if prefork.IsChild() {
		fmt.Println("serve requests")
	} else {
		fmt.Println("migrate the database, then start the children")
	}
	// Output: migrate the database, then start the children
}
