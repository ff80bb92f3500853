// Package plan turns scenario files and flags into plans: what to send, how to start it, how to connect, and what to expect.
//
//	plan.go         a plan, and how a file becomes one
//	file.go         scenario files
//	names.go        other spellings of keys, and suggestions
//	nodes.go        values that may have several forms in a file
//	values.go       durations, rates, stages and other values
//	extras.go       data files and thresholds as values
//	target.go       URLs
//	options.go      how to connect
//	conditions.go   thresholds of a plan
//	load.go         shapes of load, with their defaults
//	request.go      compiling requests
//	script.go       the requests of a scenario, and counting their checks
//	user.go         users, who send them
//	curl.go         requests from command lines of curl
package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/feed"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/script"
)

// Plan is a validated plan.
type Plan struct {
	Name       string
	URL        string
	Engine     string // raw, client or auto
	Options    engine.Options
	Scenarios  []engine.Scenario
	Scripts    []*Script // of the scenarios, by index
	Thresholds []*threshold.Threshold
	WarmUp     time.Duration
	ServerPID  int    // 0: the process that listens on the target's port
	NeedClient string // why only the engine client can run the plan, or ""
}

// Length returns how long the plan lasts at most, without the time for iterations in flight at its end.
func (p *Plan) Length() (length time.Duration) {
	for _, s := range p.Scenarios {
		length = max(length, s.Load.StartTime+s.Load.Length())
	}
	return length
}

// Open reports whether all scenarios are open loops.
func (p *Plan) Open() bool {
	return !slices.ContainsFunc(p.Scenarios, func(s engine.Scenario) bool { return !s.Load.Executor.Open() })
}

// Build validates the file and compiles its scenarios.
func (f *File) Build() (*Plan, error) {
	if f.Target == "" {
		return nil, errors.New("there is no target; name its URL")
	}
	t, err := parseTarget(f.Target)
	if err != nil {
		return nil, err
	}
	p := &Plan{Name: f.Name, URL: t.scheme + "://" + t.authority + t.path, Engine: cmpString(f.Engine, "auto"), WarmUp: f.WarmUp.Duration, ServerPID: int(f.ServerPID)}
	if !slices.Contains([]string{"auto", "raw", "client"}, p.Engine) {
		return nil, fmt.Errorf("engine must be auto, raw or client, not %q", f.Engine)
	}
	if err := f.options(p, t); err != nil {
		return nil, err
	}
	if err := f.scenarios(p, t); err != nil {
		return nil, err
	}
	if p.WarmUp > 0 && p.WarmUp >= p.Length() {
		return nil, fmt.Errorf("warm-up %v takes the whole run of %v", p.WarmUp, p.Length())
	}
	return p, f.thresholds(p)
}

// scenarios compiles the scenarios, or the file itself if it has none.
func (f *File) scenarios(p *Plan, t target) error {
	all := f.Scenarios
	if len(all) == 0 {
		all = Scenarios{{Name: "default", Shape: f.Shape, Content: f.Content}}
	} else if err := f.merge(all); err != nil {
		return err
	}
	if f.single(all) {
		one := Request{Method: f.Method, URL: f.URL, Body: f.Body, BodyFile: f.BodyFile} // the other values are defaults
		all[0].Content.Requests = []Item{{Request: one}}
	} else if f.Method != "" || f.URL != "" || f.Body.Given || f.BodyFile != "" {
		return errors.New("method, url and body belong to a single request, and the file has requests with their own")
	}
	for _, s := range all {
		if err := f.scenario(p, t, s); err != nil {
			if len(all) > 1 || len(f.Scenarios) > 0 {
				err = fmt.Errorf("scenario %s: %w", s.Name, err)
			}
			return err
		}
	}
	return nil
}

// single reports whether the file describes one request by its own values.
func (f *File) single(all Scenarios) bool {
	return len(all) == 1 && len(all[0].Requests) == 0 && len(all[0].Steps) == 0
}

// merge gives scenarios the values of the file. Flags can change the shape of a single scenario only.
func (f *File) merge(all Scenarios) error {
	if given := fmt.Sprint(f.Shape) != fmt.Sprint(Shape{}); given && len(all) > 1 {
		return errors.New("vus, duration, rate and the like belong to one scenario, and the file has several; change them in the file")
	}
	for _, s := range all {
		if len(all) == 1 {
			s.Shape.override(&f.Shape)
		}
		if len(s.Requests) == 0 && len(s.Steps) == 0 {
			s.Requests, s.Steps = f.Requests, f.Steps
		}
		if s.Data.File == "" {
			s.Data = f.Data
		}
		s.Cookies = s.Cookies || f.Cookies
	}
	return nil
}

func (f *File) scenario(p *Plan, t target, s *Scenario) error {
	if !validName(s.Name) {
		return fmt.Errorf("%q is no name of a scenario; names have letters, digits, - and _", s.Name)
	}
	load, err := s.Shape.load()
	if err != nil {
		return err
	}
	sc, usage, err := f.script(t, s, int(p.Options.Seed), len(p.Scripts))
	if err != nil {
		return err
	}
	if usage.elsewhere {
		p.NeedClient = "a request goes to another host than the target"
	}
	p.Scripts = append(p.Scripts, sc)
	one := engine.Scenario{Name: s.Name, Load: load, Script: sc}
	if sc.isStateless(usage) {
		one.Script = stateless{sc}
	}
	p.Scenarios = append(p.Scenarios, one)
	return nil
}

func validName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != ""
}

// script compiles the requests of a scenario.
func (f *File) script(t target, s *Scenario, seed, index int) (*Script, usage, error) {
	sc := &Script{jars: s.Cookies, target: t, seed: uint64(seed) + uint64(index)<<32}
	c := &compiler{target: t, dir: f.dir, script: sc}
	if len(s.Requests) > 0 && len(s.Steps) > 0 {
		return nil, c.usage, errors.New("a scenario has either requests, of which an iteration sends one, or steps, of which it sends all")
	}
	if s.Data.File != "" {
		var err error
		if sc.feed, err = feed.Open(c.file(s.Data.File), s.Data.Mode); err != nil {
			return nil, c.usage, fmt.Errorf("data: %w", err)
		}
		c.scope.Columns = sc.feed.Columns
	}
	items := s.Requests
	if len(s.Steps) > 0 {
		items = []Item{{Steps: s.Steps}}
	}
	c.variables(f.Vars, items)
	defaults := inherit(s.Request, f.Request)
	for i, item := range items {
		if err := c.choice(item, defaults); err != nil {
			if name := item.Name; name != "" {
				return nil, c.usage, fmt.Errorf("request %s: %w", name, err)
			} else if len(items) > 1 {
				err = fmt.Errorf("request %d: %w", i+1, err)
			}
			return nil, c.usage, err
		}
	}
	if sc.total <= 0 {
		return nil, c.usage, errors.New("all requests have the weight 0")
	}
	if !c.usage.row && sc.feed != nil {
		return nil, c.usage, errors.New("data: no request uses a column, such as {{.row." + sc.feed.Columns[0] + "}}")
	}
	return sc, c.usage, nil
}

// variables collects the names of all variables, with their initial values.
func (c *compiler) variables(vars Pairs, all []Item) {
	add := func(name, value string) {
		if i := slices.Index(c.scope.Vars, name); i < 0 {
			c.scope.Vars, c.script.vars = append(c.scope.Vars, name), append(c.script.vars, value)
		}
	}
	for _, v := range vars {
		add(v.Name, v.Value)
	}
	var walk func(items []Item)
	walk = func(items []Item) {
		for _, item := range items {
			for _, captured := range item.Capture {
				add(captured.Name, "")
			}
			walk(item.Steps)
		}
	}
	walk(all)
	c.script.varKeys = c.scope.Vars
}

// choice compiles one of the sequences of requests.
func (c *compiler) choice(item Item, defaults Request) error {
	weight := 1.0
	if item.Weight != (Rate{}) {
		weight = item.Weight.Count
	}
	steps := item.Steps
	if len(steps) == 0 {
		steps = []Item{item}
	} else {
		defaults = inherit(item.Request, defaults)
		if item.Method != "" || item.URL != "" || item.Body.Given || item.BodyFile != "" || len(item.Capture) > 0 {
			return errors.New("method, url, body and capture belong to its steps")
		}
	}
	one := choice{}
	for i, step := range steps {
		if len(step.Steps) > 0 && len(item.Steps) > 0 {
			return errors.New("steps cannot have steps")
		}
		step.Request = inherit(step.Request, defaults)
		r, err := c.compile(step)
		if err != nil {
			if len(item.Steps) > 0 {
				err = fmt.Errorf("step %s: %w", cmpString(step.Name, fmt.Sprint(i+1)), err)
			}
			return err
		}
		one.steps = append(one.steps, r)
	}
	c.script.total += weight
	one.upTo = c.script.total
	c.script.choices = append(c.script.choices, one)
	return nil
}

// isStateless reports whether one user can have many requests in flight. Then iterations are single requests without pauses, and no
// request depends on an earlier response. If there are checks, there is only one request, because responses do not say to which
// request they belong.
func (s *Script) isStateless(u usage) bool {
	if u.responses || u.user || s.jars || s.feed != nil && s.feed.Mode == feed.PerUser {
		return false
	}
	for _, c := range s.choices {
		for _, r := range c.steps {
			if len(c.steps) > 1 || r.pause != (Span{}) || len(r.checks) > 0 && len(s.choices) > 1 {
				return false
			}
		}
	}
	return true
}

// seedOf returns the seed of a plan, or a random one.
func seedOf(given Count) uint64 {
	if given != 0 {
		return uint64(given)
	}
	return uint64(rand.Uint32()) + 1
}

var _ script.Script = stateless{}
