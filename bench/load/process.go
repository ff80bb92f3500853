//go:build linux

package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/gallop-http/gallop/bench/child"
)

// Roles are the roles of processes that run plans or hold connections. A program that starts such processes passes
// Roles to child.Play.
var Roles = child.Roles{"load": playLoad, "hold": playHold}

// Process is a load in a process of its own.
type Process struct{ *child.Process }

// Command returns a command that runs a plan.
func Command(p Plan) (*exec.Cmd, error) { return child.Command("load", p) }

// Start starts a load that Command has returned.
func Start(cmd *exec.Cmd) (Process, error) {
	p, err := child.StartReady(cmd)
	return Process{p}, err
}

// Take returns the result of the load since the last Take.
func (p Process) Take() (r Result, err error) { return r, p.Ask("take", &r) }

// playLoad is the main function of a process that runs a plan.
func playLoad(config []byte) error {
	var p Plan
	if err := json.Unmarshal(config, &p); err != nil {
		return err
	}
	l, err := New(p)
	if err != nil {
		return err
	}
	go func() {
		if err := l.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "load:", err)
			os.Exit(1)
		}
	}()
	return child.Obey("ready", func(string) any { return l.Take() })
}

// Holders are several processes that hold connections, because one process could not hold all of them.
type Holders []*child.Process

// holdConfig is the configuration of a holder, and holdAnswer its reply to a command: "open N" or "ask N".
type (
	holdConfig struct {
		Address string
		Request []byte
		First   int
	}
	holdAnswer struct {
		Took  time.Duration
		Error string
	}
)

// StartHolders starts a holder for each address. It does not open connections yet.
func StartHolders(addresses []string, request []byte) (h Holders, err error) {
	for i, address := range addresses {
		cmd, err := child.Command("hold", holdConfig{address, request, i << 20})
		if err == nil {
			var p *child.Process
			if p, err = child.StartReady(cmd); err == nil {
				h = append(h, p)
				continue
			}
		}
		h.Stop()
		return nil, err
	}
	return h, nil
}

// Open makes each holder open n more connections, all at the same time.
func (h Holders) Open(n int) error {
	_, err := h.all("open", n)
	return err
}

// Ask sends requests on n connections of each holder. It returns the time until the slowest holder had all responses.
func (h Holders) Ask(n int) (time.Duration, error) { return h.all("ask", n) }

func (h Holders) all(command string, n int) (longest time.Duration, err error) {
	for _, p := range h {
		if err := p.Tell(fmt.Sprintf("%s %d", command, n)); err != nil {
			return 0, err
		}
	}
	for _, p := range h {
		var a holdAnswer
		if heard := p.Hear(&a); heard != nil {
			err = heard
		} else if a.Error != "" {
			err = fmt.Errorf("%s", a.Error)
		}
		longest = max(longest, a.Took)
	}
	return longest, err
}

// Stop stops the holders, which closes their connections.
func (h Holders) Stop() {
	for _, p := range h {
		p.Stop()
	}
}

// playHold is the main function of a holder.
func playHold(config []byte) error {
	var c holdConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	h, err := NewHold(c.Address, c.Request, c.First)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, uint64(c.First)))
	return child.Obey("ready", func(command string) any { return h.obey(command, random) })
}

func (h *Hold) obey(command string, random *rand.Rand) (a holdAnswer) {
	var verb string
	var n int
	_, err := fmt.Sscanf(command, "%s %d", &verb, &n)
	if err == nil && verb == "open" {
		err = h.Open(n)
	} else if err == nil {
		a.Took, err = h.Ask(n, random)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
