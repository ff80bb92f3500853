package middleware

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the limit as text, such as "100 requests per 1m0s".
func (r Rate) String() string {
	return strconv.FormatInt(r.Limit, 10) + " requests per " + r.Window.String()
}

// build checks the settings, fills in the defaults and chooses the algorithm. It panics if the settings are not valid.
func (o Limiter) build() *limiter {
	l := &limiter{Limiter: o}
	l.Rates = l.rates()
	if l.Store == nil {
		l.Store = new(MemoryStore)
	} else if l.Name == "" {
		panic("middleware: Limiter needs a Name if Store is set, so that two Limiters do not count together by accident")
	}
	if !isPlainName(l.Name) {
		panic(fmt.Sprintf("middleware: the Name %q of a Limiter has characters that are not allowed", l.Name))
	}
	l.take = l.Algorithm.on(l.Store)
	if store, ok := l.Store.(*MemoryStore); ok && len(l.Rates) == 1 && l.Algorithm != SlidingWindow {
		l.take, l.inKey = l.Algorithm.inMemory(store), true
	}
	if !l.FailClosed {
		l.backup = l.Algorithm.on(new(MemoryStore))
	}
	l.denied = l.newDenials()
	l.prefix = l.Name + ":{"
	for i := range l.Rates {
		l.suffixes = append(l.suffixes, "}:"+l.Rates[i].Name)
	}
	l.policy = ratePolicy(l.Rates)
	l.announced.Set("Ratelimit-Policy", l.policy)
	return l
}

// rates returns a checked copy of Rates.
func (o Limiter) rates() []Rate {
	rates := append([]Rate(nil), o.Rates...)
	if len(rates) == 0 {
		rates = []Rate{{Limit: 100, Window: time.Minute}}
	}
	names := map[string]bool{}
	for i := range rates {
		r := &rates[i]
		r.Name = cmp.Or(r.Name, "default")
		switch {
		case r.Limit <= 0 || r.Window < time.Millisecond || r.Burst < 0:
			panic(fmt.Sprintf("middleware: a Rate of a Limiter needs a positive Limit and a Window of at least a millisecond: %+v", *r))
		case r.Burst > 0 && o.Algorithm != TokenBucket:
			panic("middleware: only a Limiter with the algorithm TokenBucket can have a Burst")
		case !isPlainName(r.Name):
			panic(fmt.Sprintf("middleware: the Name %q of a Rate has characters that are not allowed", r.Name))
		case names[r.Name]:
			panic(fmt.Sprintf("middleware: two Rates of a Limiter have the Name %q", r.Name))
		}
		names[r.Name] = true
		b := Bucket{Limit: r.Limit, Window: r.Window, Burst: r.Burst}
		if _, err := b.plan(); err != nil {
			panic(err.Error())
		}
	}
	return rates
}

// isPlainName reports whether a name is safe in keys and headers. An empty name is.
func isPlainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
	})
}

// ratePolicy returns the value of the header RateLimit-Policy.
func ratePolicy(rates []Rate) string {
	var text strings.Builder
	for i, r := range rates {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%q;q=%d;w=%s", r.Name, r.Limit, seconds(r.Window))
	}
	return text.String()
}

// seconds returns d in whole seconds, rounded up.
func seconds(d time.Duration) string { return strconv.FormatInt(wholeSeconds(d), 10) }

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
