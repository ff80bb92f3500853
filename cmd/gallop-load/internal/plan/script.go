package plan

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/feed"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// Script hands out the requests of a scenario to its users.
type Script struct {
	names   []string
	kinds   []Kind
	choices []choice // an iteration is one of them
	total   float64  // of their weights
	feed    *feed.Feed
	vars    []string // initial values of the variables
	varKeys []string
	jars    bool // each user has a cookie jar
	target  target
	seed    uint64
	seq     atomic.Int64
}

// Kind describes the requests with one name.
type Kind struct {
	Method string
	Tags   map[string]string

	tallies []*tally
}

// choice is a sequence of requests with a weight.
type choice struct {
	upTo  float64 // sum of the weights up to this one
	steps []*request
}

// tally counts the outcomes of a check.
type tally struct {
	name       string
	pass, fail atomic.Int64

	mu      sync.Mutex
	example string // of the first failure
}

func (t *tally) count(ok bool, example func() string) {
	if ok {
		t.pass.Add(1)
		return
	}
	if t.fail.Add(1) == 1 {
		t.mu.Lock()
		t.example = example()
		t.mu.Unlock()
	}
}

// Names returns the names of the requests.
func (s *Script) Names() []string { return s.names }

// Kinds describes the requests, by index of their names.
func (s *Script) Kinds() []Kind { return s.kinds }

// Checks returns the outcomes of the checks so far, by index of the requests' names.
func (s *Script) Checks() [][]result.Check {
	all := make([][]result.Check, len(s.kinds))
	for i, k := range s.kinds {
		for _, t := range k.tallies {
			t.mu.Lock()
			all[i] = append(all[i], result.Check{Name: t.name, Pass: t.pass.Load(), Fail: t.fail.Load(), Example: t.example})
			t.mu.Unlock()
		}
	}
	return all
}

// Warnings returns what was wrong with the data of the scenario.
func (s *Script) Warnings() []string {
	if s.feed != nil {
		if w := s.feed.Warning(); w != "" {
			return []string{w}
		}
	}
	return nil
}

// stateless is a script whose requests do not depend on responses.
type stateless struct{ *Script }

func (stateless) Stateless() {}

// register finds or adds the kind of a request, and the tallies of its checks.
func (c *compiler) register(r *request) {
	s := c.script
	if r.kind = slices.Index(s.names, r.name); r.kind < 0 {
		r.kind = len(s.names)
		s.names = append(s.names, r.name)
		s.kinds = append(s.kinds, Kind{Method: r.shape.Method, Tags: r.tags})
	}
	r.shape.Kind = r.kind
	k := &s.kinds[r.kind]
	for _, one := range r.checks {
		r.tallies = append(r.tallies, k.tally(one.Name))
	}
	for _, one := range r.captures {
		r.tallies = append(r.tallies, k.tally("capture "+c.scope.Vars[one.variable]))
	}
}

func (k *Kind) tally(name string) *tally {
	for _, t := range k.tallies {
		if t.name == name {
			return t
		}
	}
	t := &tally{name: name}
	k.tallies = append(k.tallies, t)
	return t
}

// responded examines the response to a request. It reports whether the iteration can go on.
func (r *request) responded(u *user, resp *script.Response) bool {
	if len(r.tallies) == 0 {
		return resp.Err == nil
	}
	return r.examine(u, resp)
}
