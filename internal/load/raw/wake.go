package raw

import "time"

// alarm wakes a user.
type alarm struct {
	at    time.Duration
	user  *user
	round uint64 // of the user; an alarm of an earlier round is void
}

// alarms is a heap of alarms, the earliest one first.
type alarms []alarm

func (a *alarms) add(at time.Duration, u *user) {
	*a = append(*a, alarm{at, u, u.round})
	h := *a
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// take removes the earliest alarm, which must exist.
func (a *alarms) take() alarm {
	h := *a
	first := h[0]
	last := len(h) - 1
	h[0], h[last] = h[last], alarm{}
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < last && h[down+1].at < h[down].at {
			down++
		}
		if down >= last || h[i].at <= h[down].at {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	*a = h
	return first
}
