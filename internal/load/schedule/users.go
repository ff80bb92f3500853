package schedule

import (
	"math"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// Users says how many users a closed loop has. The zero value has none.
type Users struct {
	constant int64
	ramping  bool
	start    float64
	stages   []script.Stage
	length   time.Duration
	part     Part
}

// NewUsers returns the users of a part of a load with a closed loop.
func NewUsers(l *script.Load, part Part) *Users {
	u := &Users{constant: int64(max(l.VUs, 1)), length: l.Length(), part: part}
	if l.Executor == script.RampingVUs {
		u.ramping, u.start, u.stages = true, float64(l.VUs), l.Stages
	}
	return u
}

// whole returns the number of users of all parts at the time t, and when it changes next. Between two targets, the number
// changes at the moments at which the line reaches the next whole number.
func (u *Users) whole(t time.Duration) (n int64, next time.Duration) {
	if !u.ramping {
		return u.constant, u.length
	}
	from, begin := u.start, time.Duration(0)
	for _, s := range u.stages {
		if t < begin+s.Duration {
			return u.within(t-begin, from, begin, s)
		}
		from, begin = s.Target, begin+s.Duration
	}
	return int64(from), u.length
}

// within is whole for a time x after the begin of a stage.
func (u *Users) within(x time.Duration, from float64, begin time.Duration, s script.Stage) (n int64, next time.Duration) {
	slope := (s.Target - from) / s.Duration.Seconds()
	line := from + slope*x.Seconds()
	rounding := math.Abs(slope)*0.6e-9 + 1e-12 // times are whole nanoseconds
	var after float64                          // the next whole number on the line
	switch {
	case s.Target > from:
		n = int64(math.Floor(line + rounding))
		after = float64(n + 1)
	case s.Target < from:
		n = int64(math.Ceil(line - rounding))
		after = float64(n - 1)
	default:
		return int64(from), begin + s.Duration
	}
	return n, min(begin+max(seconds((after-from)/slope), x+1), begin+s.Duration)
}

// At returns the number of users of this part at the time t, and when the number of users changes next. From the end
// of the load on, the number is 0.
func (u *Users) At(t time.Duration) (n int, next time.Duration) {
	if t >= u.length {
		return 0, math.MaxInt64
	}
	all, next := u.whole(t)
	return int(u.part.Share(all)), next
}

// Most returns how many users this part has at most.
func (u *Users) Most() int {
	most := float64(u.constant)
	if u.ramping {
		most = u.start
		for _, s := range u.stages {
			most = max(most, s.Target)
		}
	}
	return int(u.part.Share(int64(most)))
}
