package pool

// If connections carry several calls, many calls that begin together need only one of them. The first call leads: it dials.
// The others follow: they wait for its connection, as calls at the limit wait, but without the limit on such waits. Calls that
// find no room on the connection need another one, which the first of them dials.
//
// If the dial fails, the followers get the same error, unless the dial ended with the call that began it. In that case the
// first follower dials.
//
// If the pool is strict, calls also follow a connection that carries several calls: they wait for room on it. When it accepts no
// further calls, one of them dials.

func (p *Pool) isShared() bool { return p.opts.Shared != nil && p.opts.Shared() }

// mustFollow reports whether a call that needs a connection has to wait. It waits for the dial of another call, or for room on a
// connection that carries several calls. p is locked.
func (p *Pool) mustFollow() bool { return p.many > 0 || p.leading > 0 && p.isShared() }

// stopLeading notes that no call follows d any more, and reports whether calls did. p is locked.
func (p *Pool) stopLeading(d *dialing) bool {
	led := d.leads
	if d.leads = false; led {
		p.leading--
	}
	return led
}

// failFollowers ends the waits of all followers with err. p is locked.
func (p *Pool) failFollowers(err error) {
	for w := p.waiters.First(); w != nil; {
		next := w.place.Next()
		if w.follows {
			p.waiters.Remove(&w.place)
			w.end(nil, err)
		}
		w = next
	}
}

// refusePlace gives back a place that a call does not need, because it has got a connection instead.
func (p *Pool) refusePlace(leads bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if leads {
		p.leading--
	}
	if p.leave(); leads {
		p.settle()
	}
}

// settle gives places to calls that wait, up to the limits. If no call leads afterwards, followers wait for the connections
// that there are, within the limit on such waits. p is locked.
func (p *Pool) settle() {
	for p.open < p.max && !p.mustFollow() && p.givePlace() {
		p.open++
	}
	if p.mustFollow() {
		return
	}
	for w := p.waiters.First(); w != nil; {
		next := w.place.Next()
		if w.follows {
			p.stopFollowing(w)
		}
		w = next
	}
}

// stopFollowing makes w a waiter at the limit. p is locked.
func (p *Pool) stopFollowing(w *waiter) {
	w.follows = false
	limit, late := p.waitLimit(w.deadline, false)
	if limit <= 0 {
		p.waiters.Remove(&w.place)
		w.end(nil, late)
		return
	}
	limit = min(limit, maxWait)
	w.until, w.late = Now()+Moment(limit), late
	p.expireBy(w.until, limit)
}
