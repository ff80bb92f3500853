package middleware_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The model below is RFC 9111 word by word, slow and without a store. It works on directives, not on their text, so it shares no parser
// with the cache.

// directiveSet is Cache-Control as names and seconds; -1 is a directive without an argument.
type directiveSet map[string]int

func (d directiveSet) has(name string) bool { _, ok := d[name]; return ok }

// text spells the directives in one of many ways.
func (d directiveSet) text(r *rand.Rand) string {
	var parts []string
	for name, n := range d {
		if r.IntN(2) == 0 {
			name = strings.ToUpper(name)
		}
		if n >= 0 {
			value := strconv.Itoa(n)
			if r.IntN(4) == 0 {
				value = `"` + value + `"`
			}
			name += "=" + value
		}
		parts = append(parts, name)
	}
	if r.IntN(4) == 0 {
		parts = append(parts, `x="private, no-store, max-age=1\", s-maxage=0"`)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, []string{",", ", ", " ,\t"}[r.IntN(3)])
}

// modelResponse is a response of the handler.
type modelResponse struct {
	status        int
	control       directiveSet
	date, expires time.Duration // relative to when the handler is called; noTime if the header is missing
	modified      time.Duration
	age           int // the header Age, -1 if it is missing
	tag           string
	cookie, star  bool
	takes         time.Duration
	body          string
}

const noTime = time.Duration(1 << 62)

// modelEntry is a stored response.
type modelEntry struct {
	modelResponse
	request, response, dateValue, expiresValue, modifiedValue time.Time
	guessed                                                   bool
	lifetime                                                  time.Duration
}

type modelRequest struct {
	control             directiveSet
	authorization, user bool // user is a cookie
	variant             string
}

type cacheModel struct {
	ttl       time.Duration
	heuristic bool
	entries   map[string]*modelEntry
}

// store returns what is stored of a response: RFC 9111 §3, and what the documentation of Cache adds.
func (m *cacheModel) store(q modelRequest, p modelResponse, called, returned time.Time) *modelEntry {
	e := &modelEntry{modelResponse: p, request: called, response: returned, dateValue: returned}
	at := func(d time.Duration) time.Time { return called.Add(d).Truncate(time.Second) }
	if p.date != noTime {
		e.dateValue = at(p.date)
	}
	if p.expires != noTime {
		e.expiresValue = at(p.expires)
	}
	if p.modified != noTime {
		e.modifiedValue = at(p.modified)
	}
	switch {
	case q.control.has("no-store"), p.control.has("no-store"), p.control.has("private"), p.cookie, p.star:
		return nil
	case p.status != 200 && p.status != 404 && p.status != 302: // of those that the test has
		return nil
	}
	if q.authorization && !p.control.has("public") && !p.control.has("s-maxage") && !p.control.has("must-revalidate") {
		return nil
	}
	switch {
	case p.control.has("s-maxage"):
		e.lifetime = time.Duration(p.control["s-maxage"]) * time.Second
	case p.control.has("max-age"):
		e.lifetime = time.Duration(p.control["max-age"]) * time.Second
	case p.expires != noTime:
		e.lifetime = max(e.expiresValue.Sub(e.dateValue), 0)
	default:
		public := p.control.has("public")
		if !public && (q.authorization || q.user || p.status == 302) {
			return nil
		}
		e.guessed = !public
		e.lifetime = m.ttl
		if m.heuristic && p.modified != noTime {
			e.lifetime = min(max(e.dateValue.Sub(e.modifiedValue)/10, 0), 24*time.Hour)
		}
		if e.lifetime <= 0 && !public && !p.control.has("no-cache") {
			return nil
		}
	}
	if e.kept() <= 0 {
		return nil
	}
	return e
}

// currentAge is §4.2.3.
func (e *modelEntry) currentAge(now time.Time) time.Duration {
	apparentAge := max(0, e.response.Sub(e.dateValue))
	correctedInitialAge := apparentAge
	if e.age > 0 {
		responseDelay := e.response.Sub(e.request)
		correctedAgeValue := time.Duration(e.age)*time.Second + responseDelay
		correctedInitialAge = max(apparentAge, correctedAgeValue)
	}
	residentTime := now.Sub(e.response)
	return correctedInitialAge + residentTime
}

func (e *modelEntry) staleBy(now time.Time) time.Duration { return e.currentAge(now) - e.lifetime }

// mayBeStale is §4.2.4.
func (e *modelEntry) mayBeStale() bool {
	for _, name := range []string{"no-cache", "must-revalidate", "proxy-revalidate", "s-maxage"} {
		if e.control.has(name) {
			return false
		}
	}
	return true
}

// kept is how long the cache keeps the response after storing it.
func (e *modelEntry) kept() time.Duration {
	validators := e.tag != "" || e.modified != noTime
	if e.control.has("no-cache") && !validators {
		return 0
	}
	stale := 0
	if e.mayBeStale() {
		stale = max(e.control["stale-while-revalidate"], e.control["stale-if-error"])
	}
	if validators {
		stale = max(stale, 3600)
	}
	return e.lifetime - e.currentAge(e.response) + time.Duration(stale)*time.Second
}

// reusable is §4, for a request that comes alone: it revalidates what stale-while-revalidate allows.
func (e *modelEntry) reusable(q modelRequest, now time.Time) bool {
	if e.control.has("no-cache") || q.control.has("no-cache") || e.guessed && (q.user || q.authorization) {
		return false
	}
	age, stale := e.currentAge(now), e.staleBy(now)
	if n, ok := q.control["max-age"]; ok && age > time.Duration(n)*time.Second {
		return false
	}
	if n, ok := q.control["min-fresh"]; ok && stale > -time.Duration(n)*time.Second {
		return false
	}
	if stale < 0 {
		return true
	}
	n, ok := q.control["max-stale"]
	return ok && e.mayBeStale() && (n < 0 || stale <= time.Duration(n)*time.Second)
}

// helps is RFC 5861 §4.
func (e *modelEntry) helps(q modelRequest, now time.Time) bool {
	for _, name := range []string{"no-cache", "max-age", "min-fresh"} {
		if q.control.has(name) {
			return false
		}
	}
	n := e.control["stale-if-error"]
	return n > 0 && e.mayBeStale() && e.staleBy(now) <= time.Duration(n)*time.Second
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// some returns some of the directives, with arguments of a few seconds.
func some(r *rand.Rand, chance int, names ...string) directiveSet {
	d := directiveSet{}
	for _, name := range names {
		name, plain := strings.CutSuffix(name, "!")
		if r.IntN(chance) == 0 {
			if d[name] = r.IntN(12); plain || name == "max-stale" && r.IntN(2) == 0 {
				d[name] = -1
			}
		}
	}
	return d
}

func randomResponse(r *rand.Rand, serial int) modelResponse {
	p := modelResponse{
		status:  pick(r, 200, 200, 200, 200, 404, 302, 403, 503),
		control: some(r, 5, "max-age", "max-age", "s-maxage", "public!", "no-cache!", "must-revalidate!", "proxy-revalidate!", "stale-if-error", "stale-while-revalidate"),
		date:    noTime, expires: noTime, modified: noTime, age: -1,
		takes: pick(r, 0, 0, 500*time.Millisecond, 3*time.Second),
		body:  fmt.Sprint("body ", serial),
	}
	if r.IntN(10) == 0 {
		p.control[pick(r, "private", "no-store")] = -1
	}
	if r.IntN(4) == 0 {
		p.date = -time.Duration(r.IntN(9)) * time.Second
	}
	if r.IntN(4) == 0 {
		p.expires = time.Duration(r.IntN(20)-5) * time.Second
	}
	if r.IntN(3) == 0 {
		p.modified = -time.Duration(r.IntN(200)) * time.Second
	}
	if r.IntN(5) == 0 {
		p.age = r.IntN(8)
	}
	if r.IntN(2) == 0 {
		p.tag = fmt.Sprintf(`"%d"`, r.IntN(3))
	}
	p.cookie, p.star = r.IntN(12) == 0, r.IntN(12) == 0
	return p
}

func (p *modelResponse) write(c *web.Ctx, r *rand.Rand) error {
	now := time.Now()
	header := func(name string, d time.Duration) {
		if d != noTime {
			c.SetHeader(name, now.Add(d).UTC().Format(http.TimeFormat))
		}
	}
	header("Date", p.date)
	header("Expires", p.expires)
	header("Last-Modified", p.modified)
	if len(p.control) > 0 {
		c.SetHeader("Cache-Control", p.control.text(r))
	}
	if p.age >= 0 {
		c.SetHeader("Age", strconv.Itoa(p.age))
	}
	if p.tag != "" {
		c.SetHeader("ETag", p.tag)
	}
	if p.cookie {
		c.SetHeader("Set-Cookie", "a=b")
	}
	if p.star {
		c.Vary("*")
	}
	if c.Path() == "/vary" {
		c.Vary("X-Variant")
	}
	time.Sleep(p.takes)
	if p.tag != "" && c.ReqHeader("If-None-Match") == p.tag && p.status == 200 {
		return c.NotModified()
	}
	return c.Status(p.status).SendString(p.body)
}

// Random requests and responses in virtual time: the cache calls the handler when the model does, and clients get what it says.
func TestCacheModel(t *testing.T) {
	t.Parallel()
	rounds := 60
	if os.Getenv("GALLOP_LONG") != "" {
		rounds = 5000
	}
	reused, validated, helped := 0, 0, 0
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 9111))
			m := &cacheModel{entries: map[string]*modelEntry{}}
			if seed%2 == 1 {
				m.ttl = 5 * time.Second
			}
			m.heuristic = seed%3 == 0
			var next modelResponse
			var asked string
			called := 0
			app := newApp(middleware.Cache{TTL: m.ttl, Heuristic: m.heuristic})
			handler := func(c *web.Ctx) error {
				called++
				asked = c.ReqHeader("If-None-Match")
				return next.write(c, r)
			}
			app.Get("/plain", handler)
			app.Get("/vary", handler)
			for step := range 60 {
				time.Sleep(time.Duration(r.IntN(6000)) * time.Millisecond)
				next, called, asked = randomResponse(r, step), 0, ""
				q := modelRequest{control: some(r, 12, "max-age", "min-fresh", "max-stale", "max-stale", "no-cache!", "no-store!"), authorization: r.IntN(9) == 0, user: r.IntN(9) == 0}
				target := pick(r, "/plain", "/plain", "/vary")
				key := target
				var fields []string
				if len(q.control) > 0 {
					fields = append(fields, "Cache-Control: "+q.control.text(r))
				}
				if strings.Contains(strings.Join(fields, ""), `x="`) {
					fields[0] = strings.NewReplacer(`x="private, no-store, max-age=1\", s-maxage=0"`, "x").Replace(fields[0])
				}
				if q.authorization {
					fields = append(fields, "Authorization: Basic x")
				}
				if q.user {
					fields = append(fields, "Cookie: user=1")
				}
				if target == "/vary" {
					q.variant = pick(r, "a", "b")
					fields = append(fields, "X-Variant: "+q.variant)
					key += q.variant
				}
				begun := time.Now()
				e := m.entries[key]
				if e != nil && begun.Sub(e.response) >= e.kept() {
					delete(m.entries, key)
					e = nil
				}
				got := ask(t, app, "GET", target, fields...)
				done := time.Now()
				fail := func(format string, arguments ...any) {
					t.Helper()
					t.Errorf("seed %d, step %d, %s %v: %s\nstored: %+v\nnext: %+v\ngot: %+v", seed, step, target, fields, fmt.Sprintf(format, arguments...), e, next, got)
				}
				want := func(status int, body string) {
					t.Helper()
					if got.status != status || got.body != body {
						fail("want %d %q", status, body)
					}
				}
				switch {
				case e != nil && e.reusable(q, begun):
					reused++
					if want(e.status, e.body); called != 0 {
						fail("the handler was called")
					}
					if age := int(e.currentAge(done) / time.Second); got.header.Get("Age") != strconv.Itoa(age) {
						fail("want Age %d", age)
					}
				case called != 1:
					fail("the handler was called %d times", called)
				case next.status == 503 && e != nil && e.helps(q, done):
					helped++
					want(e.status, e.body)
				case next.status == 200 && asked != "" && asked == next.tag: // a 304
					validated++
					if e == nil || e.tag != asked || e.status != 200 {
						fail("validated %s", asked)
						break
					}
					want(e.status, e.body)
					p := next
					p.body = e.body
					if p.modified == noTime && e.modified != noTime {
						p.modified = e.modifiedValue.Sub(begun)
					}
					if p.expires == noTime && e.expires != noTime {
						p.expires = e.expiresValue.Sub(begun)
					}
					if len(p.control) == 0 {
						p.control = e.control
					}
					if n := m.store(q, p, begun, done); n != nil {
						m.entries[key] = n
					}
				default:
					want(next.status, next.body)
					if n := m.store(q, next, begun, done); n != nil {
						m.entries[key] = n
					}
				}
				if t.Failed() {
					return
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d responses reused, %d validated, %d instead of failures", reused, validated, helped)
	if reused == 0 || validated == 0 || helped == 0 {
		t.Error("the test has not reached all rules")
	}
}
