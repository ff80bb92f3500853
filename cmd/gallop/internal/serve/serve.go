// Package serve implements "gallop serve". It uses only the public API of gallop.
//
// Its files:
//
//	serve.go        runs the server until a signal stops it
//	certificate.go  checks the files for TLS
//	panel.go        writes the start message
//	browser.go      opens a browser
//	files.go        serves the directory
//	list.go         reads and sorts directories
//	listing.go      makes the page that lists a directory
//	listjson.go     makes the list for programs
//	kinds.go        chooses the icons of that page
//	failure.go      makes the error pages
//	page.go         renders the templates in pages/ and sets their content security policy
//	cors.go         lets pages of other origins read responses
//	echo.go         returns requests as JSON
//	accesslog.go    logs requests
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
)

// Config has the settings from the command line, and the parts of the process that the server uses.
type Config struct {
	Dir               string
	Addr              string // for net.Listen
	CertFile, KeyFile string // both or neither
	Log               string // text, json or off
	Open              bool   // opens a browser
	SPA               bool   // index.html stands in for paths without a file
	CORS              bool   // pages of any origin may read responses
	Compress          bool
	H2C               bool // accepts HTTP/2 without TLS
	HTTP1             bool // does not accept HTTP/2
	NoIndex           bool // lists directories even if they have an index.html
	Hidden            bool // serves dotfiles
	Echo, EchoAll     bool
	MaxBody           int           // bytes
	Grace             time.Duration // for in-flight requests when the server stops

	Version        string
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// site is a running server and its state.
type site struct {
	*Config
	server   *gallop.Server
	access   *accessLog
	root     io.Closer // the open directory, nil with EchoAll
	requests atomic.Int64
	began    time.Time
}

// Run serves until a signal arrives. Then it waits for in-flight requests, at most for c.Grace; another
// signal cuts them off. The error says why the server could not start, or that requests were cut off.
func Run(c *Config, signals <-chan os.Signal) error {
	s := &site{Config: c, began: time.Now(), access: newAccessLog(c)}
	handler, err := s.handler()
	if err != nil {
		return fmt.Errorf("cannot serve the directory %q: %w", c.Dir, err)
	}
	if s.root != nil {
		defer s.root.Close()
	}
	defer s.access.close()
	s.server = s.newServer(handler)
	if c.CertFile != "" {
		if err := c.checkCertificate(); err != nil {
			return err
		}
	}
	ln, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return listenError(c.Addr, err)
	}
	s.writePanel(ln.Addr())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ln) }()
	if c.Open {
		s.openBrowser(s.urls(ln.Addr())[0])
	}
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
	var protocols gallop.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!s.HTTP1)
	protocols.SetUnencryptedHTTP2(s.H2C)
	return &gallop.Server{
		Protocols:          &protocols,
		Handler:            s.counted(handler),
		ErrorHandler:       s.refused,
		Logger:             log.New(s.Stderr, "gallop: ", 0),
		MaxRequestBodySize: s.MaxBody,
		// The values below are gallop's defaults. They are set so that the panel can show them.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    64 << 10,
		Concurrency:       gallop.DefaultConcurrency,
	}
}

// handler returns the handler for all requests.
func (s *site) handler() (handler gallop.RequestHandler, err error) {
	if handler = echoAll; !s.EchoAll {
		if handler, err = s.files(); err != nil {
			return nil, err
		}
	}
	if s.CORS {
		handler = withCORS(handler)
	}
	return handler, nil
}

// files returns the handler for the directory, and for /_gallop/echo if that is on.
func (s *site) files() (gallop.RequestHandler, error) {
	d, err := s.directory()
	if err != nil {
		return nil, err
	}
	if !s.Echo {
		return d.handle, nil
	}
	return func(ctx *gallop.RequestCtx) {
		if isBelow(string(ctx.Path()), "/_gallop/echo") {
			echo(ctx)
			return
		}
		d.handle(ctx)
	}, nil
}

func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// counted returns a handler that counts and logs the requests to next.
func (s *site) counted(next gallop.RequestHandler) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		began := time.Now()
		next(ctx)
		s.requests.Add(1)
		s.access.write(ctx, began)
	}
}

// refused logs a request that the server refused before the handler saw it.
func (s *site) refused(ctx *gallop.RequestCtx, _ error) {
	s.requests.Add(1)
	s.access.write(ctx, time.Now())
}

// stop shuts the server down when its in-flight requests are finished, or at once when another signal
// arrives.
func (s *site) stop(signals <-chan os.Signal) error {
	if isTerminal(s.Stderr) {
		fmt.Fprintln(s.Stderr) // the terminal has printed ^C
	}
	fmt.Fprintf(s.Stderr, "gallop: stopping; in-flight requests have %v to finish, interrupt again to cut them off\n", s.Grace)
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
		return errors.New("some requests did not finish in time and were cut off; --grace gives them longer")
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
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("cannot listen on %s: another program already does\nStop that program, or choose another port, for example --port %s", addr, portAfter(addr))
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("cannot listen on %s: permission denied\nPorts below 1024 may need an administrator. Choose another port, for example --port 8080", addr)
	}
	return fmt.Errorf("cannot listen on %s: %w\nChoose another address with --addr, for example --addr localhost:3000", addr, err)
}

// portAfter returns the port that follows that of addr.
func portAfter(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 65535 {
		return strconv.Itoa(n + 1)
	}
	return "8081"
}
