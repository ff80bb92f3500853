//go:build linux

package reliability

import "time"

// A siege is a server that is about to be attacked, with good clients that use it meanwhile, and how things stood before.
type siege struct {
	*server
	good   *goodLoad
	quiet  goodStat // of the good clients while they had it for themselves
	before serverStat
	open   int // descriptors
}

// quietPeriod is how long the good clients run before an attack, to have something to compare with.
const quietPeriod = 3 * time.Second

// besiege starts a server and its good clients. The caller ends it.
func (t *trial) besiege() (*siege, error) {
	s, err := t.serveAlone(0)
	if err != nil {
		return nil, err
	}
	g := startGood(s.address, 1000, 16)
	time.Sleep(500 * time.Millisecond) // until connections stand and buffers are warm
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

// parked is what the server says of itself while the attackers hold it; the good clients do not count how long it needs
// to do so.
func (s *siege) parked() (stat serverStat, err error) {
	s.good.aside(func() { stat, err = s.stat() })
	return stat, err
}
