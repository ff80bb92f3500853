package gallop

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/field"
)

// This file has the exported methods of the jar. cookiejar_read.go turns a Set-Cookie header into a cookie,
// cookiejar_match.go compares hosts, domains and paths, and cookiejar_store.go stores and removes cookies.

// CookieJar stores the cookies that servers set, and chooses which cookies to send with a request. Like browsers, the
// jar follows the rules of RFC 6265bis.
//
// The zero value is an empty jar, ready to use. Do not copy a CookieJar. Several goroutines may use a CookieJar at
// once. The jar keeps cookies in memory only.
//
//   - A cookie without a Domain attribute is sent only to the host that set it. A cookie with a Domain attribute is
//     sent to that domain and its subdomains. The jar refuses a Domain under which anybody can register a name, such as
//     "co.uk". The list of such domains comes from golang.org/x/net/publicsuffix.
//   - A Secure cookie is set and sent over https only, even for localhost. A response over http cannot replace
//     a cookie that was set with Secure.
//   - The jar enforces the rules for cookie names with the prefix __Secure- or __Host-.
//   - Max-Age takes precedence over Expires. No cookie lives longer than 400 days.
//   - The jar stores SameSite but ignores SameSite when it chooses cookies. A client that loads no pages cannot know
//     whether a request comes from a different site. The jar refuses SameSite=None without Secure.
//   - A cookie's name and value may have up to 4096 bytes in total.
//   - The jar holds at most 180 cookies per registrable domain and 3000 in total. When a limit is exceeded, expired
//     cookies are removed first, then the least recently used cookies. Within a domain, cookies without Secure are
//     removed before cookies with Secure.
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

// SetCookies stores the cookies in h, the header of a response from u. SetCookies skips cookies that u must not set,
// and removes expired cookies from the jar.
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

// SetCookie stores a copy of cookie as if a response from u had set it. You may reuse cookie afterwards.
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

// AppendCookies appends the cookies for u to dst, in the format of a Cookie header's value. If there are no cookies for
// u, AppendCookies appends nothing. Cookies with longer paths come first. If two paths are equally long, the older
// cookie comes first.
func (j *CookieJar) AppendCookies(dst []byte, u *URI) []byte {
	return j.appendCookies(dst, u, nil)
}

// SetRequestCookies adds the cookies for the URI of req to the request. A cookie that the request already has
// takes precedence over a cookie with the same name in the jar.
func (j *CookieJar) SetRequestCookies(req *Request) {
	h := &req.Header
	var room [256]byte
	value := j.appendCookies(room[:0], req.URI(), h)
	if len(value) > 0 {
		h.joinCookies(value)
	}
}

// Cookies returns copies of the cookies for u, in the same order as AppendCookies. If a cookie was set without a Domain
// attribute, its Domain is empty.
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

// Len returns the number of stored cookies. The number can include expired cookies. The jar removes a domain's expired
// cookies when the domain is next looked up.
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
