package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop/internal/serve"
)

func newServe() *command {
	var (
		port            = portFlag{port: "8080"}
		addr            addrFlag
		cert, key       stringFlag
		log             = choiceFlag{"text", []string{"text", "json", "off"}}
		open, spa, cors boolFlag
		echo, echoAll   boolFlag
		hidden, noIndex boolFlag
		compress        boolFlag
		h2c, http1      boolFlag
		maxBody         = sizeFlag(4 << 20)
		grace           = durationFlag(30 * time.Second)
	)
	c := &command{
		name:  "serve",
		args:  "[DIR]",
		short: "Serve the files of a directory over HTTP",
		long: `
Serves the working directory unless you name DIR. For a directory with an index.html,
browsers show that page. For any other directory, browsers show a list of the files
that you can sort and filter. Clients that prefer application/json get it as JSON.
The path /about also finds about.html. If DIR has a file 404.html, it is sent for
missing files.

The server listens on all network interfaces, so every machine on your network can
reach it. To keep it to this machine, use --addr localhost.

Nothing outside DIR is served: symbolic links work if they are relative and their
target is in DIR. Dotfiles are hidden, except .well-known. The access log goes to
standard output, all other messages to standard error. Ctrl-C lets in-flight
requests finish; a second Ctrl-C stops at once.`,
		flags: []option{
			{"port", "PORT", "port to listen on; 0 picks a free port", &port, "p"},
			{"addr", "HOST:PORT", "address to listen on; omit HOST for all interfaces,\nomit :PORT to use the port of --port", &addr, ""},
			{"open", "", "open the site in your browser", &open, ""},
			{"spa", "", "serve index.html for paths without a file, for single-page\napplications; a missing file with an extension gets a 404", &spa, ""},
			{"cors", "", "let web pages of any origin read the files", &cors, ""},
			{"compress", "", "compress text with gzip, br or zstd; uses FILE.gz, FILE.br\nand FILE.zst unless they are older than FILE", &compress, ""},
			{"no-index", "", "list directories even if they have an index.html", &noIndex, ""},
			{"hidden", "", "serve dotfiles, too", &hidden, ""},
			{"tls-cert", "FILE", "serve HTTPS with this certificate, in PEM", &cert, ""},
			{"tls-key", "FILE", "private key of the certificate, in PEM", &key, ""},
			{"h2c", "", "also accept HTTP/2 without TLS", &h2c, ""},
			{"http1", "", "speak only HTTP/1.1; by default, HTTPS includes HTTP/2", &http1, ""},
			{"log", "FORMAT", "access log: text, json (one object per line) or off", &log, ""},
			{"max-body", "SIZE", "largest request body to accept", &maxBody, ""},
			{"grace", "TIME", "how long in-flight requests may take after Ctrl-C", &grace, ""},
			{"echo", "", "return requests to /_gallop/echo, and to paths below it,\nas JSON", &echo, ""},
			{"echo-all", "", "return requests to every path as JSON and serve no files;\nfor tests, with /_/status/NNN, /_/nobody and /_/stream", &echoAll, ""},
		},
		examples: []example{
			{"Serve the working directory at http://localhost:8080", "gallop serve"},
			{"Serve a site to this machine only, and open it in a browser", "gallop serve ./public --addr localhost --open"},
			{"Serve a single-page application on port 3000", "gallop serve ./dist --spa -p 3000"},
			{"Serve HTTPS", "gallop serve -p 8443 --tls-cert cert.pem --tls-key key.pem"},
			{"See the requests that a client sends", "gallop serve --echo &\n  curl -d hello http://localhost:8080/_gallop/echo"},
			{"Count responses by status", "gallop serve --log json | jq -r .status | sort | uniq -c"},
		},
	}
	c.run = func(env Env, args []string) error {
		config := serve.Config{
			Dir: ".", CertFile: string(cert), KeyFile: string(key), Log: log.word,
			Open: bool(open), SPA: bool(spa), CORS: bool(cors),
			Compress: bool(compress), H2C: bool(h2c), HTTP1: bool(http1), NoIndex: bool(noIndex), Hidden: bool(hidden), Echo: bool(echo), EchoAll: bool(echoAll),
			MaxBody: int(maxBody), Grace: time.Duration(grace),
			Version: version(), Stdout: env.Stdout, Stderr: env.Stderr, Getenv: env.Getenv,
		}
		var agree bool
		if config.Addr, agree = listenAddress(addr, port); !agree {
			return &usageError{fmt.Sprintf("--addr %s and --port %s name different ports", addr, port.port), "Give the port once."}
		}
		if len(args) > 0 {
			config.Dir = args[0]
		}
		if err := checkServe(&config, args); err != nil {
			return err
		}
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		return serve.Run(&config, signals)
	}
	return c
}

// checkServe finds the mistakes that can be found before the server starts.
func checkServe(c *serve.Config, args []string) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("serve takes one directory, but %q is a second one", args[1]),
			"Serve a directory that contains both, or run gallop once for each."}
	case (c.CertFile == "") != (c.KeyFile == ""):
		return &usageError{"--tls-cert and --tls-key need each other", "Give both for HTTPS, or neither for HTTP."}
	case c.H2C && c.HTTP1:
		return &usageError{"--h2c turns HTTP/2 on, but --http1 turns it off", "Leave one of them out."}
	case c.EchoAll && c.SPA:
		return &usageError{"--spa serves files, but --echo-all serves none", "Leave one of them out, or use --echo instead of --echo-all."}
	case c.SPA && c.NoIndex:
		return &usageError{"--spa serves index.html where --no-index lists the directory", "Leave one of them out."}
	case c.EchoAll:
		return nil
	}
	return checkDir(c)
}

// checkDir reports why the directory cannot be served.
func checkDir(c *serve.Config) error {
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &usageError{fmt.Sprintf("DIR: there is no directory %q", c.Dir), "Check the spelling, or leave it out to serve the working directory."}
	case err != nil:
		return &usageError{fmt.Sprintf("DIR: cannot serve %q: %v", c.Dir, err), "Choose a directory that you may read."}
	case !info.IsDir():
		return &usageError{fmt.Sprintf("DIR: %q is a file", c.Dir), "Name the directory that contains it."}
	case !c.SPA:
		return nil
	}
	if info, err := os.Stat(filepath.Join(c.Dir, "index.html")); err != nil || !info.Mode().IsRegular() {
		return &usageError{fmt.Sprintf("--spa: there is no file index.html in %q", c.Dir), "Name the directory that your build writes to, often dist or build."}
	}
	return nil
}
