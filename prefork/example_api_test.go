package prefork_test

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/prefork"
)

// A program that serves with four processes until it is told to end. All of it runs in the parent and in the children.
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
