package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
)

// settings are the values of the flags of a load. The plan's part has the names of its keys in scenario files.
type settings struct {
	plan    plan.File
	outputs outputsFlag
	summary string
	plain   boolFlag
	quiet   boolFlag
	repeat  intFlag
	curl    stringFlag
	versus  string
	push    string // URL of --prometheus
}

func newSettings() *settings { return &settings{summary: "full", repeat: 1} }

// flags returns the flags of a load.
func (s *settings) flags() []option {
	f := &s.plan
	text := func(to *string) *stringFlag { return (*stringFlag)(to) }
	return []option{
		{name: "vus", value: "N", help: "virtual users; with a rate, users created in advance", into: &f.VUs, short: "c", group: "Load"},
		{name: "duration", value: "TIME", help: "how long to send (10s unless iterations or stages\nare given); with iterations, the longest time", into: &f.Duration, short: "d"},
		{name: "iterations", value: "N", help: "end after N iterations, which the users share", into: &f.Iterations, short: "n"},
		{name: "rate", value: "RATE", help: "start iterations at a rate, such as 500/s or 30/m,\nhowever slow responses are (open loop)", into: &f.Rate, short: "r"},
		{name: "stage", value: "TIME:TARGET", help: "move the users (30s:100) or the rate (30s:500/s) to\na target; repeat the flag for further stages", into: &f.Stages},
		{name: "executor", value: "NAME", help: "executor of k6, such as per-vu-iterations; follows from\nthe other flags", into: text(&f.Executor)},
		{name: "max-vus", value: "N", help: "with a rate: the most users; iterations that find no\nfree user are dropped, which fails the run", into: &f.MaxVUs},
		{name: "arrivals", value: "KIND", help: "with a rate: even or poisson (random)", into: text(&f.Arrivals)},
		{name: "time-unit", value: "TIME", help: "unit of rates without one (1s)", into: &f.TimeUnit},
		{name: "warm-up", value: "TIME", help: "part of the run whose figures are discarded", into: &f.WarmUp},
		{name: "graceful-stop", value: "TIME", help: "how long iterations in flight may take at the end (30s)", into: &f.GracefulStop},
		{name: "pause", value: "TIME", help: "how long a user waits before each request; 1s-3s for\na random time", into: &f.Pause},
		{name: "seed", value: "N", help: "seed of random values, for runs that repeat", into: &f.Seed},

		{name: "method", value: "METHOD", help: "method (GET; with a body, POST)", into: text(&f.Method), short: "X", group: "Requests"},
		{name: "header", value: "NAME:VALUE", help: "header; repeat the flag for more", into: &f.Headers, short: "H"},
		{name: "body", value: "TEXT", help: "body; @FILE reads a file", into: &bodyFlag{f}, short: "b"},
		{name: "from-curl", value: "COMMAND", help: "take URL, method, headers and body from a command of curl", into: &s.curl},
		{name: "data", value: "FILE[:MODE]", help: "CSV or JSON lines for {{.row.COLUMN}}; modes are\nsequential, random, unique and per-user", into: &f.Data},
		{name: "var", value: "NAME=VALUE", help: "variable for {{.NAME}}; repeat the flag for more", into: &f.Vars},
		{name: "cookies", help: "keep the cookies of each user", into: (*boolFlag)(&f.Cookies)},
		{name: "timeout", value: "TIME", help: "longest time of a request (1m)", into: &f.Request.Timeout},
		{name: "redirects", value: "N", help: "follow up to N redirects", into: &f.Redirects},

		{name: "expect", value: "STATUSES", help: "statuses that are not failures (200-399), such as\n2xx,406", into: &f.Expect, group: "Checks and thresholds"},
		{name: "check", value: "CHECK", help: "condition for responses: 'status=2xx', 'body contains ok',\n'header:content-type=application/json', 'json .id == 7',\nor an expression; repeat the flag for more", into: &f.Checks},
		{name: "threshold", value: "THRESHOLD", help: "condition for the result, as in k6:\n'http_req_duration:p(95)<500', 'http_req_failed:rate<1%',\n'dropped:count==0'; repeat the flag for more", into: &f.Thresholds},
		{name: "abort-on-fail", help: "end the run when a threshold is violated", into: (*boolFlag)(&f.AbortOnFail)},
		{name: "delay-abort-eval", value: "TIME", help: "how long violated thresholds cannot end the run", into: &f.DelayAbortEval},

		{name: "proto", value: "PROTOCOL", help: "auto, http1 or http2", into: text(&f.Proto), group: "Connections"},
		{name: "conns", value: "N", help: "connections (HTTP/1.1: one per user, HTTP/2: one)", into: &f.Conns},
		{name: "streams", value: "N", help: "HTTP/2: streams per connection at a time (100)", into: &f.Streams},
		{name: "pipeline", value: "N", help: "HTTP/1.1: requests in flight per connection (1)", into: &f.Pipeline},
		{name: "per-conn", value: "N", help: "replace connections after N requests", into: &f.PerConn},
		{name: "hold", value: "N", help: "idle connections to hold open besides", into: &f.Hold},
		{name: "unix", value: "PATH", help: "connect to a unix socket", into: text(&f.Unix)},
		{name: "connect-to", value: "HOST:PORT", help: "connect to another address than that of the URL", into: text(&f.ConnectTo)},
		{name: "resolve", value: "HOST:PORT:ADDRESS", help: "address of the URL's host, as for curl", into: text(&f.Resolve)},
		{name: "local", value: "ADDRESSES", help: "local addresses to connect from in turn, such as\n127.0.0.0/28", into: &f.Local},
		{name: "proxy", value: "URL", help: "connect through a proxy", into: text(&f.Proxy)},
		{name: "dial-timeout", value: "TIME", help: "longest time to connect (10s)", into: &f.DialTimeout},
		{name: "insecure", help: "do not verify the server's certificate", into: (*boolFlag)(&f.Insecure)},
		{name: "cert", value: "FILE", help: "client certificate, in PEM", into: text(&f.Cert)},
		{name: "key", value: "FILE", help: "private key of the client certificate, in PEM", into: text(&f.Key)},
		{name: "ca", value: "FILE", help: "certificates to trust, in PEM", into: text(&f.CA)},
		{name: "server-name", value: "NAME", help: "name for SNI and for verifying the certificate", into: text(&f.ServerName)},

		{name: "engine", value: "ENGINE", help: "raw (fast), client (proxies, redirects), or auto", into: text(&f.Engine), group: "Generator"},
		{name: "threads", value: "N", help: "threads of the raw engine (1)", into: &f.Threads},
		{name: "grain", value: "TIME", help: "raw engine with a rate: how long to sleep between two\nlooks at the clock", into: &f.Grain},
		{name: "server-pid", value: "PID", help: "process whose processor time and memory to watch (the\none that listens on the port of a local URL)", into: &f.ServerPID},

		{name: "output", value: "FORMAT[=FILE]", help: "write the result as " + strings.Join(outputNames(), ", ") + ";\nrepeat the flag for more", into: &s.outputs, short: "o", group: "Results"},
		{name: "summary", value: "FORM", help: "full, compact or off", into: &choiceFlag{&s.summary, []string{"full", "compact", "off"}}},
		{name: "repeat", value: "N", help: "run N times, for statistics", into: &s.repeat},
		{name: "versus", value: "URL", help: "put a second target under load in turn with the first\none (6 times each unless --repeat says otherwise), and\ncompare both", into: text(&s.versus)},
		{name: "prometheus", value: "URL", help: "send the figures of each second by remote write", into: text(&s.push)},
		{name: "plain", help: "print a line per second instead of the live view", into: &s.plain},
		{name: "quiet", help: "print nothing while the run goes on", into: &s.quiet},
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
