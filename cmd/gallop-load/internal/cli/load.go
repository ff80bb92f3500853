package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
)

func newLoad() *commandline.Command {
	s := newSettings()
	c := &commandline.Command{
		Name:  "load",
		Args:  "URL",
		Short: "Send requests to a URL; the name of the command may be left out",
		Long: `
Sends GET requests with one user for 10 seconds, unless flags say otherwise. A user
sends a request, waits for the response, and sends the next one (closed loop). With
--rate, requests are sent when they are due, and latencies count from then (open loop).

The path, headers and the body may have templates: {{seq}}, {{user}}, {{uuid}},
{{rand 1 100}}, {{choice a b}}, {{now}}, {{.row.COLUMN}} and {{.VARIABLE}}.

Ctrl-C ends the run and prints the summary. A second Ctrl-C does not wait for requests
in flight.`,
		Flags: s.flags(),
		Examples: [][2]string{
			{"25 users for 30 seconds", "gallop-load -c 25 -d 30s http://localhost:8080/"},
			{"500 requests per second, whatever the server does", "gallop-load -r 500/s -d 1m http://localhost:8080/"},
			{"Ramp up to 100 users, stay, and ramp down", "gallop-load --stage 30s:100 --stage 1m:100 --stage 10s:0 http://localhost:8080/"},
			{"Fail if the server is slow or errs", "gallop-load -r 500 --threshold 'http_req_duration:p(99)<20' \\\n    --threshold 'http_req_failed:rate<0.1%' http://localhost:8080/"},
			{"Post rows of a file as JSON", "gallop-load -X POST --data users.csv -H content-type:application/json \\\n    -b '{\"name\": \"{{.row.name | json}}\"}' http://localhost:8080/users"},
		},
	}
	c.Run = func(env commandline.Env, args []string) error {
		if err := s.fromCurl(); err != nil {
			return err
		}
		switch {
		case len(args) > 1:
			return commandline.Usage(fmt.Sprintf("there is one target, but %q is a second one", args[1]), "Use a scenario file for several URLs: gallop-load help run.")
		case len(args) == 1:
			s.plan.Target = args[0]
		case s.plan.Target == "":
			return commandline.Usage("there is no URL", "Name the target, such as gallop-load http://localhost:8080/.")
		}
		return s.start(env, &s.plan)
	}
	return c
}

func newRun() *commandline.Command {
	s := newSettings()
	c := &commandline.Command{
		Name:  "run",
		Args:  "FILE [URL]",
		Short: "Run a scenario file",
		Long: `
Runs the scenarios of a file in YAML or JSON. The keys of the file are the names of the
flags; flags override the file, and a URL overrides its target. For example:

  target: http://localhost:8080
  vus: 25
  duration: 30s
  requests:                  # an iteration sends one of them
    - name: list
      url: /items
      weight: 3
      checks: [status=2xx, json .items]
    - name: order            # a sequence
      steps:
        - {method: POST, url: /orders, body: {item: 7}, capture: {id: json .id}}
        - {url: "/orders/{{.id}}", pause: 1s}
  thresholds:
    http_req_duration{name:list}: p(95)<500
    checks: rate>0.99

With the key scenarios, several scenarios run side by side, each with its own executor,
requests, and startTime.`,
		Flags: s.flags(),
		Examples: [][2]string{
			{"Run a file", "gallop-load run load.yml"},
			{"Run it against another server, with more users", "gallop-load run -c 100 load.yml https://staging.example.com"},
		},
	}
	c.Run = func(env commandline.Env, args []string) error {
		switch {
		case len(args) == 0:
			return commandline.Usage("there is no scenario file", "Name one, such as gallop-load run load.yml.")
		case len(args) > 2:
			return commandline.Usage(fmt.Sprintf("run takes a file and a URL, but %q is a third argument", args[2]), c.SeeHelp())
		}
		f, err := plan.ReadFile(args[0])
		if err != nil {
			return invalid(err)
		}
		if err := s.fromCurl(); err != nil {
			return err
		}
		f.Override(&s.plan)
		if len(args) == 2 {
			f.Target = args[1]
		}
		return s.start(env, f)
	}
	return c
}

// invalid returns a mistake in a scenario file or in how flags fit together.
func invalid(err error) error { return &statusError{exitInvalid, err} }

// fromCurl takes the request of a curl command.
func (s *settings) fromCurl() error {
	if s.curl == "" {
		return nil
	}
	f, err := plan.FromCurl(string(s.curl))
	if err != nil {
		return commandline.Usage("--from-curl: "+err.Error(), "Give the command in one argument: --from-curl \"curl -H 'a: b' URL\".")
	}
	given := s.plan
	s.plan = *f
	s.plan.Override(&given)
	return nil
}

// start builds the plan and runs it.
func (s *settings) start(env commandline.Env, f *plan.File) error {
	p, err := f.Build()
	if err != nil {
		return invalid(err)
	}
	if err := s.outputs.check(); err != nil {
		return invalid(err)
	}
	return s.execute(env, p, f)
}

// terminal reports whether a file is a terminal that can show a live view.
func terminal(env commandline.Env) bool {
	return env.Terminal && env.Getenv("TERM") != "dumb" && env.Getenv("CI") == ""
}

// IsTerminal reports whether a file is a character device.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !strings.HasSuffix(f.Name(), os.DevNull)
}
