package cookie

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// How many cookies a Store keeps.
const (
	maxSiteCookies = 180  // per registrable domain
	maxCookies     = 3000 // in total
)

// Store holds cookies, grouped by registrable domain. The zero value is empty and ready to use. A Store is not safe for
// concurrent use.
//
// If a limit is exceeded, the least recently used cookie is removed. Before that, expired cookies are removed. Within a
// registrable domain, cookies without Secure are removed before cookies with Secure.
type Store struct {
	sites map[string][]*Stored // by registrable domain
	count int                  // of all cookies in sites
	ticks uint64               // orders creations and uses
}

// Len returns the number of cookies, including expired cookies that were not removed yet.
func (s *Store) Len() int { return s.count }

// Clear removes all cookies.
func (s *Store) Clear() { s.sites, s.count = nil, 0 }

// Put stores c, which Read returned for at (RFC 6265bis §5.7). An expired cookie removes the cookie that it would
// replace.
func (s *Store) Put(c *Stored, at *Place, now time.Time) {
	site := Site(c.Domain)
	s.dropExpired(site, now)
	cookies := s.sites[site]
	if !at.Secure && slices.ContainsFunc(cookies, c.wouldShadow) {
		return
	}
	i := slices.IndexFunc(cookies, c.replaces)
	switch {
	case c.expired(now) && i >= 0:
		s.remove(site, i)
	case c.expired(now):
	case i >= 0:
		c.created, c.used = cookies[i].created, s.tick()
		cookies[i] = c
	default:
		c.created = s.tick()
		c.used = c.created
		s.add(site, c, now)
	}
}

// Matching appends the cookies for a request to at, in the order of RFC 6265bis §5.8.3, and marks them as used.
func (s *Store) Matching(dst []*Stored, at *Place, now time.Time) []*Stored {
	// The registrable domain is one of the domains that the host is in. Trying all of these domains is faster than
	// searching the list of public suffixes.
	for site := at.Host; site != ""; _, site, _ = strings.Cut(site, ".") {
		s.dropExpired(site, now)
		for _, c := range s.sites[site] {
			if c.goesTo(at) {
				dst = append(dst, c)
			}
		}
	}
	slices.SortFunc(dst, func(a, b *Stored) int {
		return cmp.Or(cmp.Compare(len(b.Path), len(a.Path)), cmp.Compare(a.created, b.created))
	})
	for _, c := range dst {
		c.used = s.tick()
	}
	return dst
}

// replaces reports whether c replaces old.
func (c *Stored) replaces(old *Stored) bool {
	return c.Name == old.Name && c.Domain == old.Domain && c.HostOnly == old.HostOnly && c.Path == old.Path
}

// wouldShadow reports whether c, which was set over http, would replace or remove the Secure cookie old, or could be
// mistaken for old.
func (c *Stored) wouldShadow(old *Stored) bool {
	return old.Secure && c.Name == old.Name &&
		(domainMatches(old.Domain, c.Domain) || domainMatches(c.Domain, old.Domain)) &&
		pathMatches(c.Path, old.Path)
}

func (s *Store) add(site string, c *Stored, now time.Time) {
	if s.sites == nil {
		s.sites = make(map[string][]*Stored)
	}
	cookies := s.sites[site]
	if cookies == nil {
		site = strings.Clone(site) // so that the key does not keep a longer domain in memory
	}
	s.sites[site] = append(cookies, c)
	if s.count++; len(cookies) >= maxSiteCookies {
		s.evictFrom(site)
	}
	if s.count > maxCookies {
		s.evict(now)
	}
}

func (s *Store) remove(site string, i int) {
	s.count--
	if cookies := slices.Delete(s.sites[site], i, i+1); len(cookies) > 0 {
		s.sites[site] = cookies
	} else {
		delete(s.sites, site)
	}
}

// dropExpired removes the expired cookies of a site.
func (s *Store) dropExpired(site string, now time.Time) {
	cookies := s.sites[site]
	for i := len(cookies) - 1; i >= 0; i-- {
		if cookies[i].expired(now) {
			s.remove(site, i)
		}
	}
}

// evictFrom removes one cookie of a site: the least recently used cookie without Secure, or, if all have Secure, the
// least recently used cookie.
func (s *Store) evictFrom(site string) {
	cookies := s.sites[site]
	least := 0
	for i, c := range cookies {
		if l := cookies[least]; c.Secure == l.Secure && c.used < l.used || !c.Secure && l.Secure {
			least = i
		}
	}
	s.remove(site, least)
}

// evict removes all expired cookies. If the limit is still exceeded, evict removes the least recently used cookie. It
// looks at every cookie, which is acceptable for 3001 cookies.
func (s *Store) evict(now time.Time) {
	var least *Stored
	var where string
	for site := range s.sites {
		s.dropExpired(site, now)
		for _, c := range s.sites[site] {
			if least == nil || c.used < least.used {
				least, where = c, site
			}
		}
	}
	if s.count > maxCookies {
		s.remove(where, slices.Index(s.sites[where], least))
	}
}

// tick returns a number that is larger than those of all earlier calls.
func (s *Store) tick() uint64 {
	s.ticks++
	return s.ticks
}
