//go:build linux

package reliability

import (
	"time"

	"github.com/gallop-http/gallop/bench/load"
	"github.com/gallop-http/gallop/bench/measure"
)

// idleSteps is the number of steps in which connections are opened. The memory is read after each step.
const idleSteps = 4

// idleConnections is R22: very many keep-alive connections that are idle after one request. The cost of a connection
// is the slope of the resident memory, so the server's basic memory does not count. Afterwards a thousand of them get
// a request at once, to show that they still work. A process may have 20,000 descriptors, so the full form uses
// several servers.
func idleConnections(t *trial) error {
	servers, each := t.pick(1, 6), t.pick(16_000, 16_668)
	var all []*server
	var addresses []string
	for range servers {
		s, err := t.serveAlone(0)
		if err != nil {
			return err
		}
		defer s.Stop()
		all, addresses = append(all, s), append(addresses, s.address)
	}
	holders, err := load.StartHolders(addresses, get("/ok/1"))
	if err != nil {
		return err
	}
	defer holders.Stop()

	var conns, memory []float64
	var last serverStat
	for step := range idleSteps + 1 {
		if step > 0 {
			if err := holders.Open(each / idleSteps); err != nil {
				return err
			}
		}
		resident := 0
		for _, s := range all {
			if err := s.Ask("trim", &last); err != nil {
				return err
			}
			resident += s.rss()
		}
		conns, memory = append(conns, float64(step*servers*(each/idleSteps))), append(memory, float64(resident))
	}
	if servers > 1 {
		t.logf("%d servers, each with as many connections as a process may have", servers)
	}
	took, err := holders.Ask(1000 / servers)
	if err != nil {
		return err
	}
	n, slope := int(conns[idleSteps]), int64(measure.Slope(conns, memory))
	t.logf("%d idle: resident %d MiB, %d MiB without them", n, int(memory[idleSteps])>>20, int(memory[0])>>20)
	t.count("%d connections, %d B each, 1000 responses in %v", n, slope, round(took))
	limit := int64(10 << 10)
	if last.OnLoops {
		limit = 4 << 10
	}
	t.require(slope <= limit, "%d bytes per connection, limit %d", slope, limit)
	t.requireTime(took, time.Second, "1000 responses")
	return nil
}
