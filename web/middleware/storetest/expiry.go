package storetest

import (
	"math"
	"time"
)

var expiryChecks = []check{
	{name: "Store/expiry", test: func(s *session) {
		s.expires("Set", func(key string, ttl time.Duration) { s.set(key, "one", ttl) })
		s.expires("the second Set", func(key string, ttl time.Duration) {
			s.set(key, "one", time.Hour)
			s.set(key, "two", ttl)
		})
	}},
	{name: "Store/no expiry", test: func(s *session) {
		never, later, longest := s.key("never"), s.key("later"), s.key("longest")
		s.set(never, "one", time.Millisecond)
		s.set(never, "two", 0)
		s.set(later, "one", time.Millisecond)
		s.set(later, "two", time.Hour)
		s.set(longest, "one", math.MaxInt64)
		time.Sleep(20 * time.Millisecond)
		s.want("ttl 0", never, "two")
		s.want("a longer ttl", later, "two")
		s.want("the longest ttl", longest, "one")
	}},
}

// expires checks that a value, which write gives to a key with a ttl, is there as long as that and not forever.
func (s *session) expires(what string, write func(key string, ttl time.Duration)) {
	for _, ttl := range []time.Duration{1, time.Microsecond, 1500 * time.Microsecond, 5*time.Millisecond - 1, 60 * time.Millisecond} {
		key := s.key(what + ttl.String())
		s.lasts(what, ttl, func() { write(key, ttl) }, func() bool { return s.get(key) != missing })
	}
}

// lasts checks that something which begin makes true is true for ttl and not forever. It does not depend on how long a call takes:
// what is over before ttl has passed since the call of begin was over too early in any case.
func (s *session) lasts(what string, ttl time.Duration, begin func(), still func() bool) {
	start := time.Now()
	begin()
	for still() {
		wait := time.Millisecond
		switch lasted := time.Since(start); {
		case lasted > ttl+s.patience:
			s.errorf("%s: with a ttl of %v it is there after %v", what, ttl, lasted)
			return
		case lasted < ttl:
			wait = min(wait, max(ttl/20, time.Microsecond))
		}
		time.Sleep(wait)
	}
	if lasted := time.Since(start); lasted < ttl {
		s.errorf("%s: with a ttl of %v it is gone after %v", what, ttl, lasted)
	}
}
