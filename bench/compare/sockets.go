//go:build linux

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comparison is a workload with a number of connections.
type comparison struct {
	name string
	workload
	conns    int
	original string // name of the rival that has a twin, or ""
}

// parseComparison parses a name such as hello-64. If servers is not empty, only those rivals remain.
func parseComparison(name, servers string) (c comparison, err error) {
	i := strings.LastIndexByte(name, '-')
	known := false
	if i > 0 {
		c.workload, known = workloads[name[:i]]
		c.conns, err = strconv.Atoi(name[i+1:])
	}
	if !known || err != nil || c.conns < 0 || c.conns == 0 && !c.beside {
		return c, fmt.Errorf("%q is neither a group nor a row such as hello-64; go run ./compare lists them", name)
	}
	c.name = name
	c.rivals, err = only(c.rivals, servers)
	return c, err
}

// only returns the rivals whose name or server is in names, a list separated by commas.
func only(rivals []rival, names string) ([]rival, error) {
	if names == "" {
		return rivals, nil
	}
	wanted := strings.Split(names, ",")
	left := slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool {
		return !slices.Contains(wanted, r.name) && !slices.Contains(wanted, r.server)
	})
	if len(left) == 0 {
		return nil, errors.New("none of the servers is in the workload")
	}
	return left, nil
}

func (c comparison) title() string { return c.name }
func (c comparison) what() string  { return c.about }

// filled returns the options with the workload's own rounds and length where the flags name none.
func (c comparison) filled(o options) options {
	o.rounds, o.length = cmp.Or(o.rounds, c.rounds, 10), cmp.Or(o.length, c.length, 2*time.Second)
	return o
}

// turn is how long starting and checking a server takes, about.
const turn = 400 * time.Millisecond

func (c comparison) takes(o options) time.Duration {
	o = c.filled(o)
	rivals := len(c.rivals)
	if o.twin > 0 && !c.beside {
		rivals++
	}
	return time.Duration(o.rounds*rivals) * (o.length + warmUp + turn)
}

// run puts the rivals under load, round by round, and adds the results to the record.
func (c comparison) run(s *session) (verdict, map[string]string, error) {
	o := c.filled(s.options)
	if o.twin > 0 {
		c = c.withTwin()
	}
	if err := s.hall.furnish(c); err != nil {
		return failed, nil, err
	}
	var text bytes.Buffer
	r := newReport(io.MultiWriter(os.Stdout, &text), c)
	r.head(o)
	for range o.rounds {
		for _, rival := range c.rivals {
			sample, err := s.hall.round(c, rival, o.length)
			if err != nil {
				return failed, nil, fmt.Errorf("%s: %w", rival.name, err)
			}
			r.add(rival.name, sample)
		}
	}
	v := met
	if !r.finish() {
		v = missed
	}
	doubt := r.doubt(o.twin)
	if doubt != "" {
		fmt.Fprintf(r, "%s\n\n", doubt)
		v = refused
	}
	s.total.add(r, o, doubt)
	return v, map[string]string{"tcp-" + c.name + ".txt": text.String()}, nil
}
