// Command arena runs the workloads of examples/arena on another framework.
//
//	go run ./cmd/arena -server fasthttp -address 127.0.0.1:8080
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"strings"

	"github.com/gallop-http/gallop/bench/arenas"
	"github.com/gallop-http/gallop/examples/arena/profile"
)

func main() {
	server := flag.String("server", "fasthttp", "one of "+strings.Join(arenas.Names(), ", "))
	address := flag.String("address", "127.0.0.1:8080", "TCP address to listen on")
	database := flag.String("database", "", "URL of a PostgreSQL database; without it, there are no routes that need one")
	var o arenas.Options
	flag.StringVar(&o.Files, "files", "", "directory to serve under /static/")
	flag.BoolVar(&o.H2C, "h2c", false, "serve HTTP/2 without TLS as well, and gRPC (nethttp only)")
	flag.Parse()
	if *database != "" {
		var err error
		if o.Items, err = profile.Open(context.Background(), *database, 100_000); err != nil {
			log.Fatal(err)
		}
	}
	serve, err := arenas.New(*server, o)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp4", *address)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(serve(l))
}
