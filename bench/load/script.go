//go:build linux

package load

import (
	"math/rand/v2"
	"strings"

	"github.com/gallop-http/gallop/internal/load/script"
)

// mix is a script whose requests are chosen at random, according to their shares.
type mix struct {
	names    []string
	requests []script.Request
	upTo     []float64 // sum of the shares of this kind and of those before it
	seed     uint64
}

func newMix(kinds []Kind, seed uint64, alone bool) *mix {
	m := &mix{seed: seed}
	total := 0.0
	for i, k := range kinds {
		method, _, _ := strings.Cut(string(k.Octets), " ")
		r := script.Request{Kind: i, Method: method, Wire: k.Octets, After: k.After.script(), Alone: alone}
		r.Expect.Add(200, 299)
		if k.After == Refusal {
			r.Expect = script.Statuses{}
			r.Expect.Add(400, 499)
		}
		total += k.Share
		m.names, m.requests, m.upTo = append(m.names, k.Name), append(m.requests, r), append(m.upTo, total)
	}
	return m
}

func (a After) script() script.After {
	return [...]script.After{Keep: script.Keep, Refusal: script.Close, Shut: script.Shut, Reset: script.Reset}[a]
}

func (m *mix) Names() []string { return m.names }

// Stateless says that requests do not depend on responses.
func (m *mix) Stateless() {}

func (m *mix) NewUser(number int) script.User {
	return &chooser{m, rand.New(rand.NewPCG(m.seed, uint64(number)))}
}

// chooser chooses requests.
type chooser struct {
	*mix
	random *rand.Rand
}

func (c *chooser) Next() (*script.Request, bool) {
	last := len(c.requests) - 1
	if last == 0 {
		return &c.requests[0], true
	}
	at := c.random.Float64() * c.upTo[last]
	for i := range last {
		if at < c.upTo[i] {
			return &c.requests[i], true
		}
	}
	return &c.requests[last], true
}

func (c *chooser) Done(*script.Response) {}
