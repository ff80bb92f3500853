package gallop

import (
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/cookie"
	"github.com/gallop-http/gallop/internal/field"
)

// CookieJar stores the cookies that servers set, and chooses which cookies to send with a request. Like browsers, the
// jar follows the rules of RFC 6265bis.
//
// The zero value is an empty jar, ready to use. Do not copy a CookieJar. Several goroutines may use a CookieJar at
// once. The jar keeps cookies in memory only.
//
//   - A cookie without a Domain attribute is sent only to the host that set the cookie. A cookie with a Domain
//     attribute is sent to this domain and its subdomains. The jar refuses a Domain under which anybody can register a
//     name, such as "co.uk". The list of such domains comes from golang.org/x/net/publicsuffix.
//   - A Secure cookie is set and sent over https only, even for localhost. A response over http cannot replace
//     a cookie that was set with Secure.
//   - The jar enforces the rules for cookie names with the prefix __Secure- or __Host-.
//   - Max-Age takes precedence over Expires. No cookie lives longer than 400 days.
//   - The jar stores SameSite but ignores SameSite when it chooses cookies. Only a browser knows which site a request
//     comes from. The jar refuses SameSite=None without Secure.
//   - A cookie's name and value may have up to 4096 bytes in total.
//   - The jar holds at most 180 cookies per registrable domain and 3000 in total. When a limit is exceeded, the jar
//     first removes expired cookies, and then the least recently used cookies. Within a domain, the jar removes cookies
//     without Secure before cookies with Secure.
type CookieJar struct {
	_ noCopy

	mu    sync.Mutex
	store cookie.Store // protected by mu
}

// SetCookies stores the cookies in h, the header of a response from u. SetCookies skips cookies that a response from u
// must not set. If a cookie in h has already expired, SetCookies removes the stored cookie with the same name, domain
// and path.
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
		if c := at.Read(l.Value(i), now); c != nil {
			j.store.Put(c, &at, now)
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
	if c := at.Read(cookie.AppendBytes(nil), now); c != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.store.Put(c, &at, now)
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
// attribute, the Domain of the copy is empty.
func (j *CookieJar) Cookies(u *URI) []*Cookie {
	at, ok := cookiePlaceOf(u)
	if !ok {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var cookies []*Cookie
	for _, c := range j.store.Matching(nil, &at, time.Now()) {
		cookies = append(cookies, &Cookie{set: c.SetCookie()})
	}
	return cookies
}

// Len returns the number of stored cookies. The number can include expired cookies. The jar removes a domain's expired
// cookies when the domain is next looked up.
func (j *CookieJar) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.store.Len()
}

// Clear removes all cookies.
func (j *CookieJar) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.store.Clear()
}

// roundTrip adds the cookies of the jar to req, calls do, and stores the cookies that resp sets. Afterwards, req has only
// its own cookies again.
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

// appendCookies does the same as AppendCookies, but skips cookies whose names are in have. have may be nil.
func (j *CookieJar) appendCookies(dst []byte, u *URI, have *RequestHeader) []byte {
	at, ok := cookiePlaceOf(u)
	if !ok {
		return dst
	}
	var room [16]*cookie.Stored
	j.mu.Lock()
	defer j.mu.Unlock()
	start := len(dst)
	for _, c := range j.store.Matching(room[:0], &at, time.Now()) {
		if have != nil && have.Cookie(c.Name) != nil {
			continue
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		dst = c.AppendPair(dst)
	}
	return dst
}

// cookiePlaceOf returns what cookies depend on in u. It reports false if there are no cookies for u.
func cookiePlaceOf(u *URI) (at cookie.Place, ok bool) {
	return cookie.PlaceOf(UnsafeString(u.Scheme()), UnsafeString(u.Host()), UnsafeString(u.RequestURI()))
}
