package pool

// A connection with room for several calls is in one of these states:
//
//	           calls   in Pool.idle   in Pool.shared
//	idle         0         yes              no
//	shared    < room        no             yes
//	full      ≥ room        no              no
//	draining  room = 0, or the pool has too many connections: in no list, and closed after its last call
//
// Calls use a shared connection before an idle one, so that idle connections can expire. A connection with room for
// one call is never shared.

// file puts m into the list of shared connections, or removes it, as its calls and its room require. p is locked.
func (p *Pool) file(m *Member) {
	shares := m.calls > 0 && m.calls < m.room && p.open <= p.max
	if shares == m.shares {
		return
	}
	if m.shares = shares; shares {
		p.shared.Push(&m.place, m)
	} else {
		p.shared.Remove(&m.place)
	}
}

// setRoom sets the room of m. p is locked.
func (p *Pool) setRoom(m *Member, n int) {
	m.room = n
	counts := p.opts.Strict && m.Many && n > 0
	switch {
	case counts && !m.counted:
		p.many++
	case !counts && m.counted:
		p.many--
	}
	m.counted = counts
}

// offer gives the room of m to calls that wait. p is locked.
func (p *Pool) offer(m *Member) {
	for m.calls < m.room && p.open <= p.max && p.give(m) {
	}
	p.file(m)
}

// putShared does what Put does first, in the general case. It reports whether m must become idle. p is locked, and is
// not afterwards unless m must become idle.
func (p *Pool) putShared(m *Member) (idle bool) {
	p.offer(m)
	switch {
	case m.calls > 0 || m.room == gone:
		p.mu.Unlock()
	case m.room > 0 && p.open <= p.max:
		return true
	default:
		p.setRoom(m, gone)
		p.mu.Unlock()
		p.drop(m)
	}
	return false
}

// RoomChanged asks the connection of m again how much room it has. Calls that wait get the new room. If the connection
// has no room anymore, it is closed as soon as no call uses it.
func (p *Pool) RoomChanged(m *Member) {
	p.mu.Lock()
	if m.room != gone {
		p.setRoom(m, max(m.conn.Room(), 0))
	}
	unused := m.room == 0 && m.calls == 0 && p.idle.Remove(&m.place)
	switch {
	case unused:
		p.setRoom(m, gone)
	case m.calls > 0:
		p.offer(m)
	}
	if p.opts.Strict { // this may have been the connection that calls waited for
		p.settle()
	}
	p.mu.Unlock()
	if unused {
		p.drop(m)
	}
}
