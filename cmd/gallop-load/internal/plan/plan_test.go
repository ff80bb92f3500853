package plan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// build parses and builds a scenario file.
func build(t *testing.T, source string) *Plan {
	t.Helper()
	f, err := Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// next returns the next request of a user, who begins a new iteration if necessary.
func next(t *testing.T, u script.User) *script.Request {
	t.Helper()
	for range 2 {
		if r, ok := u.Next(); ok {
			return r
		}
	}
	t.Fatal("an iteration without requests")
	return nil
}

func TestExecutors(t *testing.T) {
	second := time.Second
	for source, want := range map[string]script.Load{
		"":                             {Executor: script.ConstantVUs, VUs: 1, Duration: 10 * second},
		"vus: 25\nduration: 30s":       {Executor: script.ConstantVUs, VUs: 25, Duration: 30 * second},
		"iterations: 1k\nvus: 5":       {Executor: script.SharedIterations, VUs: 5, Iterations: 1000},
		"iterations: 3\nduration: 1m":  {Executor: script.SharedIterations, VUs: 1, Iterations: 3, Duration: 60 * second},
		"rate: 500":                    {Executor: script.ConstantArrivalRate, Rate: 500, Duration: 10 * second},
		"rate: 30/m\nduration: 1m":     {Executor: script.ConstantArrivalRate, Rate: 0.5, Duration: 60 * second},
		"rate: 1\ntimeUnit: 40s":       {Executor: script.ConstantArrivalRate, Rate: 0.025, Duration: 10 * second},
		"rate: 6/500ms\nmax-vus: 7":    {Executor: script.ConstantArrivalRate, Rate: 12, MaxVUs: 7, Duration: 10 * second},
		"rate: 5\narrivals: poisson":   {Executor: script.ConstantArrivalRate, Rate: 5, Poisson: true, Duration: 10 * second},
		"stages: 30s:100,10s:0":        {Executor: script.RampingVUs, Stages: []script.Stage{{Duration: 30 * second, Target: 100}, {Duration: 10 * second}}},
		"stages: [\"30s:100/s\"]":      {Executor: script.RampingArrivalRate, Stages: []script.Stage{{Duration: 30 * second, Target: 100}}},
		"rate: 5\nstages: [\"1s:60\"]": {Executor: script.RampingArrivalRate, Rate: 5, Stages: []script.Stage{{Duration: second, Target: 60}}},
		"executor: per-vu-iterations\nvus: 2\niterations: 4\nmaxDuration: 5s": {Executor: script.PerVUIterations, VUs: 2, Iterations: 4, Duration: 5 * second},
		"executor: shared-iterations":                                         {Executor: script.SharedIterations, VUs: 1, Iterations: 1},
		"executor: ramping-vus\nstartVUs: 3\nstages:\n  - {duration: 0, target: 10}\n  - {duration: 2s, target: 10}": {
			Executor: script.RampingVUs, VUs: 3, Stages: []script.Stage{{Target: 10}, {Duration: 2 * second, Target: 10}}},
		"executor: ramping-arrival-rate\nstartRate: 60\ntimeUnit: 1m\npreAllocatedVUs: 9\nmaxVUs: 10\nstages: [{duration: 1m, target: 120}]": {
			Executor: script.RampingArrivalRate, Rate: 1, VUs: 9, MaxVUs: 10, Stages: []script.Stage{{Duration: 60 * second, Target: 2}}},
		"gracefulStop: 0\nstartTime: 5": {Executor: script.ConstantVUs, VUs: 1, Duration: 10 * second, Grace: -1, StartTime: 5 * second},
	} {
		if want.Grace == 0 {
			want.Grace = 30 * second
		}
		want.Grace = max(want.Grace, 0)
		got := build(t, "target: localhost\n"+source).Scenarios[0].Load
		if !slices.Equal(got.Stages, want.Stages) {
			t.Errorf("%s: %+v", source, got.Stages)
		}
		got.Stages, want.Stages = nil, nil
		if a, b := got, want; a.Executor != b.Executor || a.VUs != b.VUs || a.MaxVUs != b.MaxVUs || a.Iterations != b.Iterations || a.Duration != b.Duration ||
			a.Rate != b.Rate || a.Poisson != b.Poisson || a.StartTime != b.StartTime || a.Grace != b.Grace {
			t.Errorf("%s:\n%+v, want\n%+v", source, got, want)
		}
	}
}

// TestMistakes checks what is said about mistakes, with the line of the file where there is one.
func TestMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"target: x\nvuss: 1":                                          `line 2: unknown key "vuss"; did you mean vus?`,
		"target: x\nrequests:\n  - {ulr: /}":                          `line 3: unknown key "ulr"; did you mean url?`,
		"target: x\nscenarios:\n  a:\n    vsu: 1":                     `line 4: unknown key "vsu"; did you mean vus?`,
		"target: x\nmax_vus: 1":                                       `line 2: unknown key "max_vus"; did you mean max-vus?`,
		"target: x\nfrobnicate: 1":                                    `line 2: unknown key "frobnicate"`,
		"target: x\nduration: soon":                                   `line 2: must be a duration such as 30s, 1m30s or 500ms, not "soon"`,
		"target: x\nduration: -1s":                                    "line 2: must be a duration",
		"target: x\nvus: [1]":                                         "line 2: must be a single value",
		"target: x\nvus: 1.5":                                         "line 2: must be a whole number",
		"target: x\nrate: many":                                       "line 2: must be a rate",
		"target: x\nvus: 1\nvus: 2":                                   "line 3: ",
		"target: [":                                                   "line 1: ",
		"target: x\nstages: [{duration: 3}]":                          "line 2: a stage needs duration and target",
		"target: x\nstages: [{duration: 3, to: 1}]":                   "line 2: a stage has duration and target",
		"target: x\nthresholds:\n  http_req_duration: p95":            "line 3: threshold http_req_duration",
		"target: x\nthresholds:\n  - nothing:p(95)<1":                 "line 3: is wrong: threshold \"nothing\"",
		"target: x\nthresholds:\n  latency: [{limit: 3}]":             "line 3: a threshold has threshold, abortOnFail",
		"target: x\nthresholds: [\"latency{name:y}:avg<1\"]":          `no request is named "y"`,
		"target: x\nthresholds: [\"latency{colour:y}:avg<1\"]":        `no request has the tag "colour"`,
		"target: x\nthresholds: [\"iterations{scenario:y}:count<1\"]": `no scenario is named "y"`,
		"- 1":                "must be names with values",
		"":                   "one YAML document",
		"a: &x 1\nb: *x":     "anchors",
		"vus: 1":             "there is no target",
		"target: ftp://x":    "begins with http:// or https://",
		"target: http://":    "has no host",
		"target: http://u@x": "send the header Authorization",
		"target: x\nexecutor: externally-controlled":                       "there is no executor",
		"target: x\nexecutor: ramping-vus":                                 "needs stages",
		"target: x\nstages: 1s:1\nduration: 3s":                            "lasts as long as its stages",
		"target: x\nexecutor: constant-arrival-rate":                       "needs a rate",
		"target: x\nexecutor: constant-vus\nrate: 5":                       "has no rate",
		"target: x\nexecutor: constant-vus\niterations: 5":                 "has no iterations",
		"target: x\nmax-vus: 5":                                            "for a load with a rate",
		"target: x\nrate: 1\nvus: 10\nmax-vus: 5":                          "less than vus",
		"target: x\nduration: 0":                                           "longer than 0",
		"target: x\nvus: 100M":                                             "at most",
		"target: x\nwarm-up: 10s":                                          "takes the whole run",
		"target: x\narrivals: odd\nrate: 1":                                "even or poisson",
		"target: x\nengine: v8":                                            "auto, raw or client",
		"target: x\nproto: http3":                                          "auto, http1 or http2",
		"target: x\nproto: http2\npipeline: 3":                             "HTTP/2 has streams",
		"target: x\nproto: http1\nstreams: 3":                              "HTTP/1.1 has pipeline",
		"target: x\ninsecure: true":                                        "for targets with https://",
		"target: https://x\ncert: a":                                       "need each other",
		"target: x\nunix: /a\nconnect-to: b:1":                             "leave two of them out",
		"target: x\nconnect-to: b":                                         "must be HOST:PORT",
		"target: x\nresolve: y:80:127.0.0.1":                               "resolve is about y:80",
		"target: x\nlocal: 10.0.0.0/8":                                     "at most 1024 addresses",
		"target: x\nproxy: nonsense":                                       "proxy must be a URL",
		"target: x\nurl: foo":                                              "a path begins with a slash",
		"target: x\nurl: \"http://{{uuid}}/\"":                             "the host cannot have a template",
		"target: x\nurl: \"/a b\"":                                         "percent-encoded",
		"target: x\nmethod: \"G T\"":                                       "is no method",
		"target: x\nheaders: {content-length: 3}":                          "follows from the body",
		"target: x\nheaders: {\"a b\": 3}":                                 "no name of a header",
		"target: x\nheaders: {a: \"b\\nc\"}":                               "line break",
		"target: x\nbody: \"{{.row.a}}\"":                                  "the scenario has no data file",
		"target: x\nexpect: 9xx":                                           "no set of statuses",
		"target: x\nchecks: [colour == 1]":                                 "unknown name colour",
		"target: x\nrequests: [{url: /}]\nsteps: [{url: /}]":               "either requests",
		"target: x\nmethod: PUT\nrequests: [{url: /}]":                     "belong to a single request",
		"target: x\nrequests: [{url: /, weight: 0/s}]":                     "have the weight 0",
		"target: x\nrequests: [{name: a, method: PUT, steps: [{url: /}]}]": "request a: method, url, body and capture belong to its steps",
		"target: x\nsteps: [{url: /}, {name: b, url: \"{{nope}}\"}]":       "step b: url: {{nope}}: there is no function",
		"target: x\nscenarios: {a b: {}}":                                  "no name of a scenario",
		"target: x\nvus: 3\nscenarios: {a: {}, b: {}}":                     "belong to one scenario",
		"target: x\nscenarios: {a: {executor: x}}":                         "scenario a: there is no executor",
		"target: x\ndata: missing.csv":                                     "data: open missing.csv",
		"target: x\nbody: a\nbody-file: b":                                 "either body or body-file",
	} {
		f, err := Parse([]byte(source))
		if err == nil {
			_, err = f.Build()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") && !strings.Contains(want, "unknown name") {
			t.Errorf("%q:\n%v\nwant %q", source, err, want)
		}
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	f, err := Parse([]byte("target: http://a\nvus: 3\nduration: 5s\nheaders: {x: y}\nscenarios:\n  one: {vus: 4, iterations: 7}"))
	if err != nil {
		t.Fatal(err)
	}
	f.Override(&File{Target: "b", Shape: Shape{VUs: 9}})
	p, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Scenarios[0].Load; p.URL != "http://b/" || l.VUs != 9 || l.Iterations != 7 || l.Duration != 5*time.Second {
		t.Errorf("%s %+v", p.URL, l)
	}
}

func TestJSONFile(t *testing.T) {
	p := build(t, `{"target": "http://a:81/x", "scenarios": {"s": {"executor": "constant-vus", "vus": 2, "duration": "3s"}}, "thresholds": {"http_req_failed": ["rate<0.01"]}}`)
	if p.Scenarios[0].Name != "s" || len(p.Thresholds) != 1 || p.Options.Address != "a:81" {
		t.Errorf("%+v", p)
	}
}

// TestTemplateInTarget has templates in the path and in the query of the target. A target without templates is escaped.
func TestTemplateInTarget(t *testing.T) {
	for target, want := range map[string]string{
		"http://x/items/{{seq 7}}":                     "/items/7",
		"x/{{seq}}/ä?a={{rand 3 3}}&b={{seq}}#{{seq}}": "/1/ä?a=3&b=2",
		"http://x?a={{seq}}":                           "/?a=1",
		"http://x/{{seq}}?":                            "/1?",
		"http://x/ä?a=1":                               "/%C3%A4?a=1",
	} {
		p := build(t, "target: \""+target+"\"")
		if got := next(t, p.Scenarios[0].Script.NewUser(1)).Path; got != want {
			t.Errorf("%s: the path is %s, not %s", target, got, want)
		}
	}
}

// TestConstantRequest checks that a request without templates is built once, and that asking for it allocates nothing.
func TestConstantRequest(t *testing.T) {
	p := build(t, "target: http://example.com:80/a?b=c\nheaders: [X-A: 1, x-a: 2]\nbody: {n: [1, two]}\nexpect: [2xx, \"406\"]\nchecks: [status=200]\ntimeout: 3s")
	u := p.Scenarios[0].Script.NewUser(1)
	r := next(t, u)
	const want = "POST /a?b=c HTTP/1.1\r\nHost: example.com\r\nX-A: 1\r\nx-a: 2\r\nUser-Agent: gallop-load\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"n\":[1,\"two\"]}"
	if string(r.Wire) != want {
		t.Errorf("wire:\n%s\nwant:\n%s", r.Wire, want)
	}
	if r.Method != "POST" || r.Path != "/a?b=c" || len(r.Header) != 4 || string(r.Body) != `{"n":[1,"two"]}` || r.Timeout != 3*time.Second {
		t.Errorf("%+v", r)
	}
	if !r.Expect.Has(406) || !r.Expect.Has(204) || r.Expect.Has(301) {
		t.Errorf("expects %+v", r.Expect)
	}
	if _, ok := p.Scenarios[0].Script.(script.Stateless); !ok {
		t.Error("the script is not stateless")
	}
	if n := testing.AllocsPerRun(100, func() { u.Next() }); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}

func TestStateless(t *testing.T) {
	for source, want := range map[string]bool{
		"url: /":                           true,
		"url: \"/{{seq}}\"":                true,
		"url: \"/{{user}}\"":               false,
		"cookies: true":                    false,
		"pause: 1s":                        false,
		"steps: [{url: /a}, {url: /b}]":    false,
		"requests: [{url: /a}, {url: /b}]": true,
		"requests: [{url: /a, checks: status=2xx}, {url: /b}]": false,
		"requests: [{url: /a, capture: {a: status}}]":          false,
	} {
		if _, got := build(t, "target: x\n"+source).Scenarios[0].Script.(script.Stateless); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
}

func TestWeights(t *testing.T) {
	p := build(t, "target: x\nseed: 1\nrequests:\n  - {name: a, url: /a, weight: 3}\n  - {name: b, url: /b}\n  - {name: c, url: /c, weight: 0/s}")
	u, counts := p.Scenarios[0].Script.NewUser(1), map[string]int{}
	for range 4000 {
		counts[next(t, u).Path]++
	}
	if a := counts["/a"]; a < 2850 || a > 3150 || counts["/c"] != 0 {
		t.Errorf("%v", counts)
	}
	if names := p.Scenarios[0].Script.Names(); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%v", names)
	}
}

// TestSteps sends a sequence whose requests depend on responses.
func TestSteps(t *testing.T) {
	p := build(t, `
target: http://x
vars: {tenant: t1}
steps:
  - {name: create, method: POST, url: "/{{.tenant}}/items", capture: {id: json .id, tag: "header:etag"}, checks: [status=201]}
  - {name: read, url: "/items/{{.id}}", headers: {If-None-Match: "{{.tag}}"}, pause: 2s}
`)
	u := p.Scenarios[0].Script.NewUser(1)
	r, ok := u.Next()
	if !ok || r.Path != "/t1/items" || r.Kind != 0 || !r.KeepHead || r.KeepBody != -1 {
		t.Fatalf("%+v", r)
	}
	u.Done(&script.Response{Status: 201, Body: []byte(`{"id": 42}`), Header: []script.Field{{Name: "ETag", Value: "v1"}}})
	r, ok = u.Next()
	if !ok || r.Path != "/items/42" || r.Header[0] != (script.Field{Name: "If-None-Match", Value: "v1"}) || r.Pause != 2*time.Second || r.Kind != 1 {
		t.Fatalf("%+v", r)
	}
	u.Done(&script.Response{Status: 200})
	if _, ok = u.Next(); ok {
		t.Fatal("the iteration has a third request")
	}

	// A value that is missing ends the iteration.
	u.Next()
	u.Done(&script.Response{Status: 500, Body: []byte("no")})
	if r, ok := u.Next(); ok {
		t.Fatalf("the iteration goes on with %s", r.Path)
	}
	u.Next()
	u.Done(&script.Response{Err: errors.New("reset")})
	if _, ok := u.Next(); ok {
		t.Fatal("the iteration goes on after an error")
	}
	checks := p.Scripts[0].Checks()
	if c := checks[0][0]; c.Name != "status=201" || c.Pass != 1 || c.Fail != 2 || !strings.HasPrefix(c.Example, "500") {
		t.Errorf("%+v", c)
	}
	if c := checks[0][1]; c.Name != "capture id" || c.Pass != 1 || c.Fail != 2 {
		t.Errorf("%+v", c)
	}
}

func TestCookies(t *testing.T) {
	p := build(t, "target: http://example.com/a/b\ncookies: true")
	a, b := p.Scenarios[0].Script.NewUser(1), p.Scenarios[0].Script.NewUser(2)
	cookie := func(u script.User) string {
		r := next(t, u)
		for _, h := range r.Header {
			if h.Name == "Cookie" {
				return h.Value
			}
		}
		return ""
	}
	if c := cookie(a); c != "" {
		t.Errorf("the first request has the cookie %q", c)
	}
	a.Done(&script.Response{Status: 200, Header: []script.Field{{Name: "set-cookie", Value: "s=1; Path=/a"}, {Name: "Set-Cookie", Value: "o=2; Path=/other"}}})
	if c := cookie(a); c != "s=1" {
		t.Errorf("cookie %q", c)
	}
	if c := cookie(b); c != "" {
		t.Errorf("another user has the cookie %q", c)
	}
}

func TestData(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "load.yml")
	for name, content := range map[string]string{
		"users.csv": "name,age\nAnn,30\nBob,40\n", "body.txt": "hello {{.row.name}}",
		"load.yml": "target: http://x\ndata: users.csv:per-user\nurl: \"/u?n={{.row.name}}&a={{.row.age}}\"\nbody-file: body.txt",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]string{1: "/u?n=Ann&a=30", 2: "/u?n=Bob&a=40", 3: "/u?n=Ann&a=30"} {
		r := next(t, p.Scenarios[0].Script.NewUser(number))
		if r.Path != want || r.Method != "POST" || !strings.HasPrefix(string(r.Body), "hello ") {
			t.Errorf("user %d: %s %s %s", number, r.Method, r.Path, r.Body)
		}
	}
}

// TestSeed checks that runs with the same seed send the same requests.
func TestSeed(t *testing.T) {
	paths := func(seed string) (all string) {
		p := build(t, "target: x\nurl: \"/{{uuid}}/{{rand 1 1000}}\"\nseed: "+seed)
		for i := range 3 {
			all += next(t, p.Scenarios[0].Script.NewUser(i)).Path
		}
		return all
	}
	first, again, other := paths("1"), paths("1"), paths("2")
	if first != again || first == other {
		t.Error("the seed does not decide about the requests")
	}
}

func TestOptions(t *testing.T) {
	p := build(t, "target: https://example.com/x\nproto: h2\nconns: 4\nstreams: 10\nresolve: \"example.com:443:127.0.0.1\"\nlocal: [127.0.0.2, 127.0.0.4/31]\ninsecure: true\nhold: 7\nper-conn: 3\ntimeout: 2s")
	o := p.Options
	if o.Scheme != "https" || o.Authority != "example.com" || o.Address != "127.0.0.1:443" || o.TLS.ServerName != "example.com" || !o.TLS.InsecureSkipVerify ||
		o.Conns != 4 || o.Streams != 10 || o.Hold != 7 || o.PerConn != 3 || o.Timeout != 2*time.Second || !slices.Equal(o.Local, []string{"127.0.0.2", "127.0.0.4", "127.0.0.5"}) {
		t.Errorf("%+v", o)
	}
	for source, reason := range map[string]string{"proxy: http://p:1": "proxy", "redirects: 3": "redirects", "requests: [{url: \"http://other/\"}]": "another host", "url: http://x/y": ""} {
		if p := build(t, "target: http://x\n"+source); (reason == "") != (p.NeedClient == "") || !strings.Contains(p.NeedClient, reason) {
			t.Errorf("%s: %q", source, p.NeedClient)
		}
	}
	if p := build(t, "target: \":8080\"\nunix: /run/x"); p.Options.Network != "unix" || p.Options.Address != "/run/x" || p.URL != "http://localhost:8080/" {
		t.Errorf("%+v", p)
	}
}

func TestThresholds(t *testing.T) {
	p := build(t, "target: x\nrate: 5\nmax-vus: 3\nrequests: [{name: a, url: /, tags: {kind: read}}]\nthresholds:\n  http_req_duration{name:a}: [p(95)<500, {threshold: avg<1s, abortOnFail: true, delayAbortEval: 10s}]\n  \"latency{kind:read}\": max<1s")
	if n := len(p.Thresholds); n != 4 || !p.Thresholds[1].Abort || p.Thresholds[1].Delay != 10*time.Second || p.Thresholds[3].Metric != "dropped_iterations" {
		t.Errorf("%d: %+v", n, p.Thresholds)
	}
	p = build(t, "target: x\nrate: 5\nmax-vus: 3\nabort-on-fail: true\nthresholds: [\"dropped:count<5\"]")
	if len(p.Thresholds) != 1 || !p.Thresholds[0].Abort {
		t.Errorf("%+v", p.Thresholds)
	}
}

func TestSeveralScenarios(t *testing.T) {
	p := build(t, `
target: http://x
headers: {Accept: a}
tags: {team: core}
requests: [{url: /shared}]
scenarios:
  browse: {vus: 3, duration: 5s, startTime: 1s}
  write:
    executor: constant-arrival-rate
    rate: 10
    duration: 2s
    headers: {Accept: b}
    requests: [{name: w, method: PUT, url: /w, body: x}]
`)
	if len(p.Scenarios) != 2 || p.Scenarios[0].Name != "browse" || p.Length() != 6*time.Second || p.Open() {
		t.Errorf("%+v", p.Scenarios)
	}
	first, second := next(t, p.Scenarios[0].Script.NewUser(1)), next(t, p.Scenarios[1].Script.NewUser(1))
	if first.Path != "/shared" || first.Header[0].Value != "a" || second.Method != "PUT" || second.Header[0].Value != "b" {
		t.Errorf("%+v %+v", first, second)
	}
	if k := p.Scripts[1].Kinds()[0]; k.Method != "PUT" || k.Tags["team"] != "core" {
		t.Errorf("%+v", k)
	}
}

func TestFromCurl(t *testing.T) {
	f, err := FromCurl("curl 'http://example.com/a?b' \\\n  -H 'Accept: */*' -H \"X: \\\"q\\\"\" --data-raw '{\"a\":1}' -k --compressed -u me:pw -m 5")
	if err != nil {
		t.Fatal(err)
	}
	headers := f.Headers.Map()
	if f.Target != "http://example.com/a?b" || headers["Accept"] != "*/*" || headers["X"] != `"q"` || f.Body.Text != `{"a":1}` || !f.Insecure ||
		headers["Authorization"] != "Basic bWU6cHc=" || f.Request.Timeout.Duration != 5*time.Second {
		t.Errorf("%+v", f)
	}
	f, err = FromCurl("curl -XPUT -d a=1 -d b=2 --url=localhost:80")
	if err != nil || f.Method != "PUT" || f.Body.Text != "a=1&b=2" || f.Target != "localhost:80" || f.Headers.Map()["Content-Type"] != "application/x-www-form-urlencoded" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, command := range []string{"curl", "curl --frob x", "curl a b", "curl 'a", "curl -H", `curl "a`} {
		if _, err := FromCurl(command); err == nil {
			t.Errorf("%s is accepted", command)
		}
	}
}

// FuzzParse checks that no file panics, and that requests of accepted files are well-formed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"target: x\nrequests:\n  - {url: \"/{{seq}}\", body: {a: b}, capture: {c: json .d}}\n", "{\"target\": \"http://a\", \"stages\": [{\"duration\": \"1s\", \"target\": 3}]}",
		"target: x\nscenarios: {a: {rate: 5/s, headers: [a: b]}}\nthresholds: {latency: p(95)<3}", "target: https://x\ncookies: true\nsteps: [{url: /}]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "file") || strings.Contains(string(data), "data") || strings.Contains(string(data), "ca") || strings.Contains(string(data), "cert") {
			return // the fuzzer must not read files
		}
		file, err := Parse(data)
		if err != nil {
			return
		}
		p, err := file.Build()
		if err != nil {
			return
		}
		u := p.Scenarios[0].Script.NewUser(1)
		for range 3 {
			if r, ok := u.Next(); ok && (r.Method == "" || !strings.HasPrefix(r.Path, "/") && !strings.Contains(string(data), "{{") || strings.ContainsAny(r.Path, " \r\n")) {
				t.Errorf("%q makes %q %q", data, r.Method, r.Path)
			}
			u.Done(&script.Response{Status: 200})
		}
	})
}
