//go:build linux

package reliability

import (
	"fmt"
	"time"
)

// exhaustion is R15. A server with 256 descriptors meets 2,000 clients, and a server with a memory limit of 64 MiB
// meets 10,000 connections.
func exhaustion(t *trial) error {
	if err := fewDescriptors(t); err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	if err := littleMemory(t); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// fewDescriptors lets clients occupy all descriptors of the server. The remaining clients wait in the listener's
// queue. The server must not spin meanwhile. When the first clients close their connections, all others have to be
// served.
func fewDescriptors(t *trial) error {
	const clients, limit = 2000, 256
	s, err := t.serveAlone(limit)
	if err != nil {
		return err
	}
	defer s.Stop()
	as, _, err := t.attack(attackConfig{Mode: "hold", Address: s.address, Conns: clients, Opening: get("/ok/1")})
	defer as.stop()
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	used, idle := s.cpu(), 5*time.Second
	time.Sleep(idle)
	share := 100 * float64(s.cpu()-used) / float64(idle)
	held, err := as.tell("stat")
	if err != nil {
		return err
	}
	t.logf("exhausted: %d descriptors, %d clients served (%v), CPU %.1f %%", s.descriptors(), held.Statuses[200], held.Statuses, share)
	t.require(share < 5, "CPU %.1f %% while there are no descriptors", share)
	t.require(held.Statuses[200] >= limit*3/4, "only %d clients were served with %d descriptors", held.Statuses[200], limit)

	released := time.Now()
	if _, err := as.tell("release"); err != nil {
		return err
	}
	err = s.answers()
	recovery := time.Since(released)
	t.require(err == nil, "no response after descriptors were free again: %v", err)
	for held.Gone < clients && time.Since(released) < 15*time.Second {
		time.Sleep(50 * time.Millisecond)
		if held, err = as.tell("stat"); err != nil {
			return err
		}
	}
	dropped := clients - held.Statuses[200] - held.Statuses[503]
	t.logf("recovered: a new client got its response after %v, the last waiting one after %v, statuses %v", round(recovery), round(time.Since(released)), held.Statuses)
	t.count("exhausted CPU %.1f %%, recovery %v, %d of %d served", share, round(recovery), held.Statuses[200], clients)
	t.requireTime(recovery, time.Second, "recovery")
	t.require(dropped == 0, "%d clients were dropped without a response", dropped)
	return nil
}

// answers sends one request over a new connection and checks the response.
func (s *server) answers() error {
	c, err := dial(s.address, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.do(get("/ok/2"), 10*time.Second)
	if err == nil && r.status != 200 {
		err = fmt.Errorf("status %d", r.status)
	}
	return err
}

// littleMemory parks connections on a server with GOMEMLIMIT=64MiB. On most servers the connections need more memory;
// the collector must not use up the processor then.
func littleMemory(t *trial) error {
	const conns = 10_000
	s, err := t.serveAlone(0, "GOMEMLIMIT=64MiB")
	if err != nil {
		return err
	}
	defer s.Stop()
	before, err := s.stat()
	if err != nil {
		return err
	}
	as, sum, err := t.attack(attackConfig{Mode: "hold", Address: s.address, Conns: conns, Opening: get("/ok/1")})
	defer as.stop()
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	used, idle := s.cpu(), 4*time.Second
	time.Sleep(idle)
	share := 100 * float64(s.cpu()-used) / float64(idle)
	if sum, err = as.tell("stat"); err != nil {
		return err
	}
	t.require(sum.Statuses[200] == conns, "%d of %d connections were served", sum.Statuses[200], conns)
	t.require(share < 5, "CPU %.1f %% with idle connections", share)

	good := startGood(s.address, 1000, 16)
	time.Sleep(4 * time.Second)
	good.end()
	during := good.take()
	parked, err := s.stat()
	if err != nil {
		return err
	}
	t.logf("good clients beside them: %v", during)
	t.logf("resident %d MiB, idle CPU %.1f %%", s.rss()>>20, share)
	t.requireParked(before, parked, conns, parkedLimit(parked))
	t.require(s.alive() && during.lost == 0, "%d good requests lost", during.lost)
	t.count("resident %d MiB, idle CPU %.1f %%", s.rss()>>20, share)
	return nil
}
