package raw

import (
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// courier carries periods to the collector and back, so that the thread does not wait for the collector.
type courier struct {
	t     *thread
	full  chan *result.Period
	empty chan *result.Period
	cpu   time.Duration // of the process at the start of the period
	cuts  uint64        // of the Control that the thread has followed
}

func (m *courier) init(t *thread) {
	m.t = t
	m.full, m.empty = make(chan *result.Period), make(chan *result.Period, 1)
	m.empty <- t.shared.period()
	m.cpu = processCPU()
	go func() {
		for p := range m.full {
			m.empty <- t.shared.sink(p)
		}
		close(m.empty)
	}()
}

// send hands the period over, unless the collector still has the previous one. Then the period goes on, and send reports false.
func (m *courier) send() bool {
	select {
	case next := <-m.empty:
		m.finish()
		m.full <- m.t.period
		next.Start = m.t.now
		m.t.period = next
		return true
	default:
		return false
	}
}

// cut hands the period over if somebody has asked for that.
func (m *courier) cut() {
	if cuts := m.t.Control.Cuts(); cuts != m.cuts {
		m.t.tick()
		if m.send() {
			m.cuts = cuts
		}
	}
}

// stop hands the last period over, and waits until the collector has it.
func (m *courier) stop() {
	<-m.empty
	m.t.tick()
	m.finish()
	m.full <- m.t.period
	close(m.full)
	for range m.empty {
	}
}

// finish sets what is known at the end of a period.
func (m *courier) finish() {
	t := m.t
	p := t.period
	p.End, p.Cut = t.now, t.Control.Cuts()
	p.InFlight = t.flying
	for _, c := range t.conns {
		if c.state == opened {
			p.Conns++
		}
	}
	for i, sc := range t.scenarios {
		p.Users[i].Active, p.Users[i].Most = int64(sc.active), int64(sc.most)
		sc.most = sc.active
	}
	if t.part.Index == 0 {
		now := processCPU()
		p.CPU, m.cpu = now-m.cpu, now
	}
}
