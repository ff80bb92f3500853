// Package serve is what "gallop serve" does. It is written against the public API alone.
//
// serve.go runs a server until it is told to stop, files.go serves the directory,
// echo.go the requests themselves, accesslog.go writes what was asked, and panel.go says where
// and how at the start.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
)

// Config is what the command line says, and what there is of the process.
type Config struct {
	Dir               string
	Addr              string // as net.Listen takes it
	CertFile, KeyFile string // both or none
	Log               string // text, json or off
	Compress          bool
	NoIndex           bool // lists even where there is an index.html
	Hidden            bool // serves names that begin with a dot
	Echo, EchoAll     bool
	MaxBody           int           // bytes
	Grace             time.Duration // for requests under way when it stops

	Version        string
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// site is a running server and what belongs to it.
type site struct {
	*Config
	server   *gallop.Server
	access   *accessLog
	root     io.Closer // what is served, nil without files
	requests atomic.Int64
	began    time.Time
}

// Run serves until a signal arrives, and then as long as requests are under way and
// grace lasts; another signal ends it at once. The error says that it could not be
// served, or that requests were cut off.
func Run(c *Config, signals <-chan os.Signal) error {
	s := &site{Config: c, began: time.Now(), access: newAccessLog(c)}
	handler, err := s.handler()
	if err != nil {
		return err
	}
	if s.root != nil {
		defer s.root.Close()
	}
	defer s.access.close()
	s.server = s.newServer(handler)
	if c.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile); err != nil {
			return fmt.Errorf("cannot use the certificate: %w\nBoth files have to be PEM and belong together", err)
		}
	}
	ln, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return listenError(c.Addr, err)
	}
	s.writePanel(ln.Addr())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-signals:
		return s.stop(signals)
	}
}

func (s *site) serve(ln net.Listener) error {
	if s.CertFile != "" {
		return s.server.ServeTLS(ln, s.CertFile, s.KeyFile)
	}
	return s.server.Serve(ln)
}

func (s *site) newServer(handler gallop.RequestHandler) *gallop.Server {
	return &gallop.Server{
		Handler:            s.counted(handler),
		ErrorHandler:       s.refused,
		Logger:             log.New(s.Stderr, "gallop: ", 0),
		MaxRequestBodySize: s.MaxBody,
		// What follows are the defaults; they are here for the panel to show.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    64 << 10,
		Concurrency:       gallop.DefaultConcurrency,
	}
}

// handler returns what answers requests.
func (s *site) handler() (gallop.RequestHandler, error) {
	if s.EchoAll {
		return echoAll, nil
	}
	files, err := s.files()
	if err != nil || !s.Echo {
		return files, err
	}
	return func(ctx *gallop.RequestCtx) {
		if isBelow(string(ctx.Path()), "/_gallop/echo") {
			echo(ctx)
			return
		}
		files(ctx)
	}, nil
}

func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// counted counts and logs the requests that next answers.
func (s *site) counted(next gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		began := time.Now()
		next(ctx)
		s.requests.Add(1)
		s.access.write(ctx, began)
	}
}

// refused logs a request that is refused before the handler sees it.
func (s *site) refused(ctx *gallop.RequestCtx, _ error) {
	s.requests.Add(1)
	s.access.write(ctx, time.Now())
}

// stop ends the server: when all requests under way are answered, or at once with another
// signal.
func (s *site) stop(signals <-chan os.Signal) error {
	if isTerminal(s.Stderr) {
		fmt.Fprintln(s.Stderr) // behind the ^C that it shows
	}
	fmt.Fprintf(s.Stderr, "gallop: stopping; requests under way have %v to finish, interrupt again to cut them off\n", s.Grace)
	ctx, cancel := context.WithTimeout(context.Background(), s.Grace)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.server.ShutdownWithContext(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-signals:
		cancel()
		err = <-ended
	}
	s.access.close()
	n := s.requests.Load()
	fmt.Fprintf(s.Stderr, "gallop: stopped after %v, %s served\n", time.Since(s.began).Round(time.Millisecond), plural(n, "request"))
	if err != nil {
		return errors.New("connections were cut off that did not end in time")
	}
	return nil
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func listenError(addr string, err error) error {
	advice := "Choose another address with --addr, for example --addr localhost:3000"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("cannot listen on %s: something else does already\nEnd that, or choose another port with --addr, for example --addr :8081", addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("cannot listen on %s: not permitted\nPorts below 1024 are for the administrator. %s", addr, advice)
	}
	return fmt.Errorf("cannot listen on %s: %w\n%s", addr, err, advice)
}
