//go:build linux

package reliability

import "time"

// siege is a server that is about to be attacked, with the good clients that use it and the state before the attack.
type siege struct {
	*server
	good   *goodLoad
	quiet  goodStat // results of the good clients before the attack
	before serverStat
	open   int // descriptors before the attack
}

// quietPeriod is how long the good clients run before an attack, as the basis for comparison.
const quietPeriod = 3 * time.Second

// besiege starts a server and its good clients. The caller ends it.
func (t *trial) besiege() (*siege, error) {
	s, err := t.serveAlone(0)
	if err != nil {
		return nil, err
	}
	g := startGood(s.address, 1000, 16)
	time.Sleep(500 * time.Millisecond) // until connections are open and buffers are allocated
	g.take()
	time.Sleep(quietPeriod)
	b := &siege{server: s, good: g, quiet: g.take(), open: s.descriptors()}
	if b.before, err = s.stat(); err != nil {
		b.end()
		return nil, err
	}
	return b, nil
}

func (s *siege) end() {
	s.good.end()
	s.Stop()
}

// parked returns the server's own statistics while the attackers occupy it. The latencies of the good clients do not
// count meanwhile.
func (s *siege) parked() (stat serverStat, err error) {
	s.good.aside(func() { stat, err = s.stat() })
	return stat, err
}
