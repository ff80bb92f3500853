// Command arena serves the workloads on which frameworks are compared, on one handler and four ports: HTTP/1.1, HTTP/1.1 over
// TLS, HTTP/2 without TLS together with gRPC, and HTTP/2 over TLS.
//
//	main.go       flags
//	servers.go    ports and servers
//	routes.go     which path belongs to which workload
//	simple.go     sums, JSON documents and uploads
//	items.go      items in PostgreSQL
//	websocket.go  the WebSocket echo
//	sums.go       the gRPC service
//	profile       what servers on other frameworks share with this one
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

type options struct {
	plain, tls1, h2c, tls2 string
	files, database        string
	cert, key              string
}

func main() {
	var o options
	flag.StringVar(&o.plain, "plain", "127.0.0.1:8080", "TCP address for HTTP/1.1; an empty address turns a port off")
	flag.StringVar(&o.tls1, "tls1", "127.0.0.1:8081", "TCP address for HTTP/1.1 over TLS")
	flag.StringVar(&o.h2c, "h2c", "127.0.0.1:8082", "TCP address for HTTP/2 without TLS, and for gRPC")
	flag.StringVar(&o.tls2, "tls2", "127.0.0.1:8443", "TCP address for HTTP/2 over TLS")
	flag.StringVar(&o.files, "files", "", "directory to serve under /static/; without it, /static/ responds with 404")
	flag.StringVar(&o.database, "database", "", "URL of a PostgreSQL database; without it, the routes that need one respond with 503")
	flag.StringVar(&o.cert, "cert", "", "file with the TLS certificate; without it, there is no TLS")
	flag.StringVar(&o.key, "key", "", "file with the key of the TLS certificate")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) error {
	a, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer a.close()
	listeners, err := listen(o)
	if err != nil {
		return err
	}
	return a.serveAll(ctx, listeners)
}

// open prepares the handler and connects to the database.
func open(ctx context.Context, o options) (*arena, error) {
	a := newArena(o.files)
	if o.database == "" {
		return a, nil
	}
	var err error
	a.items, err = profile.Open(ctx, o.database, tableSize)
	return a, err
}

func (a *arena) close() {
	if a.items != nil {
		a.items.Close()
	}
}
