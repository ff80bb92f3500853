package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
)

// settings are the values of the flags of a load. The plan's part has the names of its keys in scenario files.
type settings struct {
	plan    plan.File
	outputs outputsFlag
	summary commandline.Choice
	plain   commandline.Bool
	quiet   commandline.Bool
	repeat  intFlag
	curl    commandline.String
	versus  string
	push    string // URL of --prometheus
}

func newSettings() *settings {
	return &settings{summary: commandline.Choice{Word: "full", Words: []string{"full", "compact", "off"}}, repeat: 1}
}

// flags returns the flags of a load.
func (s *settings) flags() []commandline.Option {
	f := &s.plan
	text := func(to *string) *commandline.String { return (*commandline.String)(to) }
	return []commandline.Option{
		{Name: "vus", Value: "N", Help: "virtual users; with a rate, users created in advance", Into: &f.VUs, Short: "c", Group: "Load"},
		{Name: "duration", Value: "TIME", Help: "how long to send (10s unless iterations or stages\nare given); with iterations, the longest time", Into: &f.Duration, Short: "d"},
		{Name: "iterations", Value: "N", Help: "end after N iterations, which the users share", Into: &f.Iterations, Short: "n"},
		{Name: "rate", Value: "RATE", Help: "start iterations at a rate, such as 500/s or 30/m,\nhowever slow responses are (open loop)", Into: &f.Rate, Short: "r"},
		{Name: "stage", Value: "TIME:TARGET", Help: "move the users (30s:100) or the rate (30s:500/s) to\na target; repeat the flag for further stages", Into: &f.Stages},
		{Name: "executor", Value: "NAME", Help: "executor of k6, such as per-vu-iterations; follows from\nthe other flags", Into: text(&f.Executor)},
		{Name: "max-vus", Value: "N", Help: "with a rate: the most users; iterations that find no\nfree user are dropped, which fails the run", Into: &f.MaxVUs},
		{Name: "arrivals", Value: "KIND", Help: "with a rate: even or poisson (random)", Into: text(&f.Arrivals)},
		{Name: "time-unit", Value: "TIME", Help: "unit of rates without one (1s)", Into: &f.TimeUnit},
		{Name: "warm-up", Value: "TIME", Help: "part of the run whose figures are discarded", Into: &f.WarmUp},
		{Name: "graceful-stop", Value: "TIME", Help: "how long iterations in flight may take at the end (30s)", Into: &f.GracefulStop},
		{Name: "pause", Value: "TIME", Help: "how long a user waits before each request; 1s-3s for\na random time", Into: &f.Pause},
		{Name: "seed", Value: "N", Help: "seed of random values, for runs that repeat", Into: &f.Seed},

		{Name: "method", Value: "METHOD", Help: "method (GET; with a body, POST)", Into: text(&f.Method), Short: "X", Group: "Requests"},
		{Name: "header", Value: "NAME:VALUE", Help: "header; repeat the flag for more", Into: &f.Headers, Short: "H"},
		{Name: "body", Value: "TEXT", Help: "body; @FILE reads a file", Into: &bodyFlag{f}, Short: "b"},
		{Name: "from-curl", Value: "COMMAND", Help: "take URL, method, headers and body from a command of curl", Into: &s.curl},
		{Name: "data", Value: "FILE[:MODE]", Help: "CSV or JSON lines for {{.row.COLUMN}}; modes are\nsequential, random, unique and per-user", Into: &f.Data},
		{Name: "var", Value: "NAME=VALUE", Help: "variable for {{.NAME}}; repeat the flag for more", Into: &f.Vars},
		{Name: "cookies", Help: "keep the cookies of each user", Into: (*commandline.Bool)(&f.Cookies)},
		{Name: "timeout", Value: "TIME", Help: "longest time of a request (1m)", Into: &f.Request.Timeout},
		{Name: "redirects", Value: "N", Help: "follow up to N redirects", Into: &f.Redirects},

		{Name: "expect", Value: "STATUSES", Help: "statuses that are not failures (200-399), such as\n2xx,406", Into: &f.Expect, Group: "Checks and thresholds"},
		{Name: "check", Value: "CHECK", Help: "condition for responses: 'status=2xx', 'body contains ok',\n'header:content-type=application/json', 'json .id == 7',\nor an expression; repeat the flag for more", Into: &f.Checks},
		{Name: "threshold", Value: "THRESHOLD", Help: "condition for the result, as in k6:\n'http_req_duration:p(95)<500', 'http_req_failed:rate<1%',\n'dropped:count==0'; repeat the flag for more", Into: &f.Thresholds},
		{Name: "abort-on-fail", Help: "end the run when a threshold is violated", Into: (*commandline.Bool)(&f.AbortOnFail)},
		{Name: "delay-abort-eval", Value: "TIME", Help: "how long violated thresholds cannot end the run", Into: &f.DelayAbortEval},

		{Name: "proto", Value: "PROTOCOL", Help: "auto, http1 or http2", Into: text(&f.Proto), Group: "Connections"},
		{Name: "conns", Value: "N", Help: "connections (HTTP/1.1: one per user, HTTP/2: one)", Into: &f.Conns},
		{Name: "streams", Value: "N", Help: "HTTP/2: streams per connection at a time (100)", Into: &f.Streams},
		{Name: "pipeline", Value: "N", Help: "HTTP/1.1: requests in flight per connection (1)", Into: &f.Pipeline},
		{Name: "per-conn", Value: "N", Help: "replace connections after N requests", Into: &f.PerConn},
		{Name: "hold", Value: "N", Help: "idle connections to hold open besides", Into: &f.Hold},
		{Name: "unix", Value: "PATH", Help: "connect to a unix socket", Into: text(&f.Unix)},
		{Name: "connect-to", Value: "HOST:PORT", Help: "connect to another address than that of the URL", Into: text(&f.ConnectTo)},
		{Name: "resolve", Value: "HOST:PORT:ADDRESS", Help: "address of the URL's host, as for curl", Into: text(&f.Resolve)},
		{Name: "local", Value: "ADDRESSES", Help: "local addresses to connect from in turn, such as\n127.0.0.0/28", Into: &f.Local},
		{Name: "proxy", Value: "URL", Help: "connect through a proxy", Into: text(&f.Proxy)},
		{Name: "dial-timeout", Value: "TIME", Help: "longest time to connect (10s)", Into: &f.DialTimeout},
		{Name: "insecure", Help: "do not verify the server's certificate", Into: (*commandline.Bool)(&f.Insecure)},
		{Name: "cert", Value: "FILE", Help: "client certificate, in PEM", Into: text(&f.Cert)},
		{Name: "key", Value: "FILE", Help: "private key of the client certificate, in PEM", Into: text(&f.Key)},
		{Name: "ca", Value: "FILE", Help: "certificates to trust, in PEM", Into: text(&f.CA)},
		{Name: "server-name", Value: "NAME", Help: "name for SNI and for verifying the certificate", Into: text(&f.ServerName)},

		{Name: "engine", Value: "ENGINE", Help: "raw (fast), client (proxies, redirects), or auto", Into: text(&f.Engine), Group: "Generator"},
		{Name: "threads", Value: "N", Help: "threads of the raw engine (1)", Into: &f.Threads},
		{Name: "grain", Value: "TIME", Help: "raw engine with a rate: how long to sleep between two\nlooks at the clock", Into: &f.Grain},
		{Name: "server-pid", Value: "PID", Help: "process whose processor time and memory to watch (the\none that listens on the port of a local URL)", Into: &f.ServerPID},

		{Name: "output", Value: "FORMAT[=FILE]", Help: "write the result as " + strings.Join(outputNames(), ", ") + ";\nrepeat the flag for more", Into: &s.outputs, Short: "o", Group: "Results"},
		{Name: "summary", Value: "FORM", Help: "full, compact or off", Into: &s.summary},
		{Name: "repeat", Value: "N", Help: "run N times, for statistics", Into: &s.repeat},
		{Name: "versus", Value: "URL", Help: "put a second target under load in turn with the first\none (6 times each unless --repeat says otherwise), and\ncompare both", Into: text(&s.versus)},
		{Name: "prometheus", Value: "URL", Help: "send the figures of each second by remote write", Into: text(&s.push)},
		{Name: "plain", Help: "print a line per second instead of the live view", Into: &s.plain},
		{Name: "quiet", Help: "print nothing while the run goes on", Into: &s.quiet},
	}
}

// bodyFlag is a body: text, or @FILE.
type bodyFlag struct{ file *plan.File }

func (b *bodyFlag) String() string { return "" }
func (b *bodyFlag) Set(s string) error {
	name, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return b.file.Body.Set(s)
	}
	if _, err := os.Stat(name); err != nil {
		return errors.New("names a file that cannot be read: " + err.Error())
	}
	b.file.BodyFile = name
	return nil
}
