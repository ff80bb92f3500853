package gallop

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/field"
)

// CookieJar keeps the cookies that servers set and knows which of them to send where,
// by the rules of RFC 6265bis, as browsers do.
//
// The zero value is an empty jar, ready to use. A CookieJar must not be copied, and may
// be used by several goroutines at once. It is in memory only.
//
//   - A cookie goes to the host that set it, or, with a Domain attribute, to the hosts below
//     that domain as well. A domain under which anybody may register a name
//     ("co.uk", by the list of golang.org/x/net/publicsuffix) is refused.
//   - A Secure cookie is only set and sent over https, to localhost too. A
//     response over http changes no cookie that was set with Secure.
//   - The prefixes __Secure- and __Host- hold what they promise.
//   - Max-Age goes before Expires, and neither lasts for more than 400 days.
//   - SameSite is kept and has no effect: without pages there are no sites to tell apart.
//     None without Secure is refused.
//   - Name and value have at most 4096 bytes together. Of a registrable domain the jar
//     keeps 180 cookies and of all of them 3000. What has expired goes first, then what was
//     not used for longest; in a domain cookies without Secure go before those with it.
//
// The files: cookiejar.go has what is exported, cookiejar_read.go makes a cookie of
// a Set-Cookie field, cookiejar_match.go has hosts, domains and paths,
// cookiejar_store.go keeps and forgets.
type CookieJar struct {
	_ noCopy

	mu    sync.Mutex
	sites map[string][]*jarCookie // by registrable domain
	count int                     // of all cookies in sites
	ticks uint64                  // orders creations and uses
}

// jarCookie is a cookie in a jar. The strings are its own.
type jarCookie struct {
	name, value  string
	domain, path string
	expires      time.Time // zero for one that lasts as long as the jar
	created      uint64    // tick of the jar
	used         uint64    // tick of the jar

	hostOnly, secure, httpOnly, partitioned bool
	sameSite                                CookieSameSite
}

func (c *jarCookie) expired(now time.Time) bool {
	return !c.expires.IsZero() && !c.expires.After(now)
}

// SetCookies keeps the cookies that a response sets which came from u. Those that are
// not allowed to be set there are passed over, and those that have expired are removed.
func (j *CookieJar) SetCookies(u *URI, h *ResponseHeader) {
	l := &h.head.Fields
	i := l.FindID(field.SetCookie)
	if i < 0 {
		return
	}
	at, ok := cookiePlaceOf(u)
	if !ok {
		return
	}
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	for ; i >= 0; i = field.Next(l, i, field.SetCookie, "") {
		if c := at.readCookie(l.Value(i), now); c != nil {
			j.store(c, &at, now)
		}
	}
}

// SetCookie keeps cookie as if a response from u had set it. cookie may be used again.
func (j *CookieJar) SetCookie(u *URI, cookie *Cookie) {
	at, ok := cookiePlaceOf(u)
	if !ok {
		return
	}
	now := time.Now()
	if c := at.readCookie(cookie.AppendBytes(nil), now); c != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.store(c, &at, now)
	}
}

// AppendCookies appends to dst the value of the Cookie field of a request for u,
// nothing if there are no cookies for it: those with longer paths first, and older ones first
// among equals.
func (j *CookieJar) AppendCookies(dst []byte, u *URI) []byte {
	return j.appendCookies(dst, u, nil)
}

// SetRequestCookies puts the cookies for the URI of req behind those that it has. One
// that it has by the same name goes before that of the jar.
func (j *CookieJar) SetRequestCookies(req *Request) {
	h := &req.Header
	var room [256]byte
	value := j.appendCookies(room[:0], req.URI(), h)
	if len(value) > 0 {
		h.joinCookies(value)
	}
}

// Cookies returns copies of the cookies for u, in the order in which they are sent. A
// cookie that was set without a domain has none.
func (j *CookieJar) Cookies(u *URI) []*Cookie {
	at, ok := cookiePlaceOf(u)
	if !ok {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var cookies []*Cookie
	for _, c := range j.matching(nil, &at, time.Now()) {
		cookies = append(cookies, c.cookie())
	}
	return cookies
}

// Len returns the number of cookies, with those that have expired since the jar last
// had to do with their domain.
func (j *CookieJar) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count
}

// Clear removes all cookies.
func (j *CookieJar) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sites, j.count = nil, 0
}

// roundTrip calls do with the cookies of the jar in req, keeps those that resp sets, and
// leaves req with the cookies it had.
func (j *CookieJar) roundTrip(req *Request, resp *Response, do func() error) error {
	var room [256]byte
	own := append(room[:0], req.Header.Peek(HeaderCookie)...)
	defer func() { req.Header.setKnown(field.Cookie, own) }()
	j.SetRequestCookies(req)
	err := do()
	if err == nil {
		j.SetCookies(req.URI(), &resp.Header)
	}
	return err
}

// appendCookies is AppendCookies without the cookies whose names are in have, which
// may be nil.
func (j *CookieJar) appendCookies(dst []byte, u *URI, have *RequestHeader) []byte {
	at, ok := cookiePlaceOf(u)
	if !ok {
		return dst
	}
	var room [16]*jarCookie
	j.mu.Lock()
	defer j.mu.Unlock()
	start := len(dst)
	for _, c := range j.matching(room[:0], &at, time.Now()) {
		if have != nil && have.Cookie(c.name) != nil {
			continue
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		if len(c.name) > 0 {
			dst = append(append(dst, c.name...), '=')
		}
		dst = append(dst, c.value...)
	}
	return dst
}

// matching appends the cookies to send to a place in the order of RFC 6265bis §5.8.3.
// j.mu is held.
func (j *CookieJar) matching(dst []*jarCookie, at *cookiePlace, now time.Time) []*jarCookie {
	// The host's own site is among the domains it is in. To try them all is faster than
	// to ask the list of public suffixes.
	for site := at.host; site != ""; _, site, _ = strings.Cut(site, ".") {
		j.dropExpired(site, now)
		for _, c := range j.sites[site] {
			if c.goesTo(at) {
				dst = append(dst, c)
			}
		}
	}
	slices.SortFunc(dst, func(a, b *jarCookie) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(a.created, b.created))
	})
	for _, c := range dst {
		c.used = j.tick()
	}
	return dst
}

func (j *CookieJar) tick() uint64 {
	j.ticks++
	return j.ticks
}

// cookie returns a copy as the type that programs see.
func (c *jarCookie) cookie() *Cookie {
	out := &Cookie{
		key: []byte(c.name), value: []byte(c.value), path: []byte(c.path), expire: c.expires,
		secure: c.secure, httpOnly: c.httpOnly, partitioned: c.partitioned, sameSite: c.sameSite,
	}
	if !c.hostOnly {
		out.domain = []byte(c.domain)
	}
	return out
}
