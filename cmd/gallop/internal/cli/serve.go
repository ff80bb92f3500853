package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop/internal/serve"
)

func newServe() *command {
	var (
		addr            = stringFlag(":8080")
		cert, key       stringFlag
		log             = choiceFlag{"text", []string{"text", "json", "off"}}
		echo, echoAll   boolFlag
		hidden, noIndex boolFlag
		compress        boolFlag
		maxBody         = sizeFlag(4 << 20)
		grace           = durationFlag(30 * time.Second)
	)
	c := &command{
		name:  "serve",
		args:  "[DIR]",
		short: "Serve the files of a directory over HTTP",
		long: `
DIR is the working directory if it is left out. Directories are shown by their
index.html, or as a list. Ranges and conditional requests are understood.

Nothing outside DIR is served: symbolic links are followed if they are relative
and stay in it. Names that begin with a dot are hidden. The access log goes to the
standard output, everything else to the standard error. An interrupt lets requests
that are under way finish; a second one does not.`,
		flags: []option{
			{"addr", "HOST:PORT", "address to listen on; without HOST all there are,\nwith port 0 a free one", &addr},
			{"tls-cert", "FILE", "serve HTTPS with this certificate, in PEM", &cert},
			{"tls-key", "FILE", "private key of the certificate, in PEM", &key},
			{"log", "FORMAT", "access log: text, json (an object a line) or off", &log},
			{"compress", "", "send text in gzip, br or zstd coding, from FILE.gz, FILE.br\nand FILE.zst where these are not older than FILE", &compress},
			{"no-index", "", "list directories even where they have an index.html", &noIndex},
			{"hidden", "", "serve names that begin with a dot as well", &hidden},
			{"echo", "", "answer /_gallop/echo, and what is below it, with the request\nas JSON", &echo},
			{"echo-all", "", "answer every path so, and serve no files; for testing,\nwith /_/status/NNN, /_/nobody and /_/stream", &echoAll},
			{"max-body", "SIZE", "largest request body that is read", &maxBody},
			{"grace", "TIME", "how long requests may take to finish after an interrupt", &grace},
		},
		examples: []example{
			{"Serve the working directory on port 8080", "gallop serve"},
			{"Serve a site to this machine only", "gallop serve ./public --addr localhost:3000"},
			{"Serve over HTTPS", "gallop serve --addr :8443 --tls-cert cert.pem --tls-key key.pem"},
			{"See what a client sends", "gallop serve --echo &\n  curl -d hello http://localhost:8080/_gallop/echo"},
			{"Count answers by status", "gallop serve --log json | jq -r .status | sort | uniq -c"},
		},
	}
	c.run = func(env Env, args []string) error {
		config := serve.Config{
			Dir: ".", Addr: address(string(addr)), CertFile: string(cert), KeyFile: string(key), Log: log.word,
			Compress: bool(compress), NoIndex: bool(noIndex), Hidden: bool(hidden), Echo: bool(echo), EchoAll: bool(echoAll),
			MaxBody: int(maxBody), Grace: time.Duration(grace),
			Version: version(), Stdout: env.Stdout, Stderr: env.Stderr, Getenv: env.Getenv,
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

// address makes what net.Listen takes of a port alone.
func address(s string) string {
	if _, err := strconv.ParseUint(s, 10, 16); err == nil {
		return ":" + s
	}
	return s
}

// checkServe finds the mistakes that can be found before anything is started.
func checkServe(c *serve.Config, args []string) error {
	if len(args) > 1 {
		return &usageError{fmt.Sprintf("serve takes one directory, and %q is a second one", args[1]),
			"Serve a directory that has both, or run gallop once for each."}
	}
	if c.Addr == "" { // a variable of a script that is not set, perhaps; package net would take any port, for everybody
		return &usageError{"--addr is empty", "Give HOST:PORT, or leave it out for port 8080."}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return &usageError{"--tls-cert and --tls-key need each other", "Give both for HTTPS, or none for HTTP."}
	}
	if c.EchoAll {
		return nil
	}
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &usageError{fmt.Sprintf("there is no directory %q", c.Dir), "Check the spelling, or leave it out for the working directory."}
	case err != nil:
		return &usageError{fmt.Sprintf("cannot serve %q: %v", c.Dir, err), "Choose a directory that you may read."}
	case !info.IsDir():
		return &usageError{fmt.Sprintf("%q is a file", c.Dir), "Give the directory that it is in."}
	}
	return nil
}
