// Command hello serves one of three small workloads with the server named,
// for tcp.sh to put under load:
//
//	hello     any request is answered with "Hello, World!"
//	baseline  /baseline11?a=1&b=2 is answered with a + b, plus the number
//	          that the body of a POST holds; /pipeline with "ok"
//	post      the body is sent back
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/pprof"
	"sort"
	"strings"
	"syscall"
)

// servers maps a name to a function that serves l in one of the modes and
// does not return before l fails.
var servers = map[string]func(l net.Listener, mode string) error{
	"gallop":         serveGallop,
	"gallop-nethttp": serveGallopNetHTTP, // the handler of net/http's server
	"fasthttp":       serveFasthttp,
	"nethttp":        serveNetHTTP,
}

func main() {
	server := flag.String("server", "gallop", "one of "+names())
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	mode := flag.String("mode", "hello", "hello, baseline or post")
	profile := flag.String("cpuprofile", "", "file to write a CPU profile to until SIGTERM")
	flag.Parse()
	if *profile != "" {
		if err := profileUntilTerm(*profile); err != nil {
			fmt.Fprintln(os.Stderr, "hello:", err)
			os.Exit(1)
		}
	}
	if err := run(*server, *addr, *mode); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func run(server, addr, mode string) error {
	serve := servers[server]
	if serve == nil {
		return fmt.Errorf("no server %q, want one of %s", server, names())
	}
	switch mode {
	case "hello", "baseline", "post":
	default:
		return fmt.Errorf("no mode %q, want hello, baseline or post", mode)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return serve(l, mode)
}

// profileUntilTerm writes a CPU profile and, at SIGTERM, ends it and the program.
func profileUntilTerm(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		pprof.StopCPUProfile()
		f.Close()
		os.Exit(0)
	}()
	return nil
}

func names() string {
	var all []string
	for name := range servers {
		all = append(all, name)
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}

const hello = "Hello, World!"

// number reads a whole number as baseline's clients write it, and 0 where
// there is none.
func number(b []byte) (n int64) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}
