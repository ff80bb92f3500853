package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop/internal/serve"
)

func newServe() *commandline.Command {
	var (
		port            = portFlag{port: "8080"}
		addr            addrFlag
		cert, key       commandline.String
		log             = commandline.Choice{Word: "text", Words: []string{"text", "json", "off"}}
		open, spa, cors commandline.Bool
		echo, echoAll   commandline.Bool
		hidden, noIndex commandline.Bool
		compress        commandline.Bool
		h2c, http1      commandline.Bool
		maxBody         = sizeFlag(4 << 20)
		grace           = durationFlag(30 * time.Second)
	)
	c := &commandline.Command{
		Name:  "serve",
		Args:  "[DIR]",
		Short: "Serve the files of a directory over HTTP",
		Long: `
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
		Flags: []commandline.Option{
			{Name: "port", Value: "PORT", Help: "port to listen on; 0 picks a free port", Into: &port, Short: "p"},
			{Name: "addr", Value: "HOST:PORT", Help: "address to listen on; omit HOST for all interfaces,\nomit :PORT to use the port of --port", Into: &addr},
			{Name: "open", Help: "open the site in your browser", Into: &open},
			{Name: "spa", Help: "serve index.html for paths without a file, for single-page\napplications; a missing file with an extension gets a 404", Into: &spa},
			{Name: "cors", Help: "let web pages of any origin read the files", Into: &cors},
			{Name: "compress", Help: "compress text with gzip, br or zstd; uses FILE.gz, FILE.br\nand FILE.zst unless they are older than FILE", Into: &compress},
			{Name: "no-index", Help: "list directories even if they have an index.html", Into: &noIndex},
			{Name: "hidden", Help: "serve dotfiles, too", Into: &hidden},
			{Name: "tls-cert", Value: "FILE", Help: "serve HTTPS with this certificate, in PEM", Into: &cert},
			{Name: "tls-key", Value: "FILE", Help: "private key of the certificate, in PEM", Into: &key},
			{Name: "h2c", Help: "also accept HTTP/2 without TLS", Into: &h2c},
			{Name: "http1", Help: "speak only HTTP/1.1; by default, HTTPS includes HTTP/2", Into: &http1},
			{Name: "log", Value: "FORMAT", Help: "access log: text, json (one object per line) or off", Into: &log},
			{Name: "max-body", Value: "SIZE", Help: "largest request body to accept", Into: &maxBody},
			{Name: "grace", Value: "TIME", Help: "how long in-flight requests may take after Ctrl-C", Into: &grace},
			{Name: "echo", Help: "return requests to /_gallop/echo, and to paths below it,\nas JSON", Into: &echo},
			{Name: "echo-all", Help: "return requests to every path as JSON and serve no files;\nfor tests, with /_/status/NNN, /_/nobody and /_/stream", Into: &echoAll},
		},
		Examples: [][2]string{
			{"Serve the working directory at http://localhost:8080", "gallop serve"},
			{"Serve a site to this machine only, and open it in a browser", "gallop serve ./public --addr localhost --open"},
			{"Serve a single-page application on port 3000", "gallop serve ./dist --spa -p 3000"},
			{"Serve HTTPS", "gallop serve -p 8443 --tls-cert cert.pem --tls-key key.pem"},
			{"See the requests that a client sends", "gallop serve --echo &\n  curl -d hello http://localhost:8080/_gallop/echo"},
			{"Count responses by status", "gallop serve --log json | jq -r .status | sort | uniq -c"},
		},
	}
	c.Run = func(env commandline.Env, args []string) error {
		config := serve.Config{
			Dir: ".", CertFile: string(cert), KeyFile: string(key), Log: log.Word,
			Open: bool(open), SPA: bool(spa), CORS: bool(cors),
			Compress: bool(compress), H2C: bool(h2c), HTTP1: bool(http1), NoIndex: bool(noIndex), Hidden: bool(hidden), Echo: bool(echo), EchoAll: bool(echoAll),
			MaxBody: int(maxBody), Grace: time.Duration(grace),
			Version: commandline.Version(), Stdout: env.Stdout, Stderr: env.Stderr, Getenv: env.Getenv,
		}
		var agree bool
		if config.Addr, agree = listenAddress(addr, port); !agree {
			return commandline.Usage(fmt.Sprintf("--addr %s and --port %s name different ports", addr, port.port), "Give the port once.")
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
		return commandline.Usage(fmt.Sprintf("serve takes one directory, but %q is a second one", args[1]),
			"Serve a directory that contains both, or run gallop once for each.")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return commandline.Usage("--tls-cert and --tls-key need each other", "Give both for HTTPS, or neither for HTTP.")
	case c.H2C && c.HTTP1:
		return commandline.Usage("--h2c turns HTTP/2 on, but --http1 turns it off", "Leave one of them out.")
	case c.EchoAll && c.SPA:
		return commandline.Usage("--spa serves files, but --echo-all serves none", "Leave one of them out, or use --echo instead of --echo-all.")
	case c.SPA && c.NoIndex:
		return commandline.Usage("--spa serves index.html where --no-index lists the directory", "Leave one of them out.")
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
		return commandline.Usage(fmt.Sprintf("DIR: there is no directory %q", c.Dir), "Check the spelling, or leave it out to serve the working directory.")
	case err != nil:
		return commandline.Usage(fmt.Sprintf("DIR: cannot serve %q: %v", c.Dir, err), "Choose a directory that you may read.")
	case !info.IsDir():
		return commandline.Usage(fmt.Sprintf("DIR: %q is a file", c.Dir), "Name the directory that contains it.")
	case !c.SPA:
		return nil
	}
	if info, err := os.Stat(filepath.Join(c.Dir, "index.html")); err != nil || !info.Mode().IsRegular() {
		return commandline.Usage(fmt.Sprintf("--spa: there is no file index.html in %q", c.Dir), "Name the directory that your build writes to, often dist or build.")
	}
	return nil
}
