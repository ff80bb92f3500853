package gallop

import (
	"slices"
	"strings"
	"time"
)

// How many cookies a jar keeps.
const (
	maxSiteCookies = 180
	maxJarCookies  = 3000
)

// store puts c, which comes from a place, into the jar (RFC 6265bis §5.7). j.mu is held.
func (j *CookieJar) store(c *jarCookie, at *cookiePlace, now time.Time) {
	site := cookieSite(c.domain)
	j.dropExpired(site, now)
	cookies := j.sites[site]
	if !at.secure && slices.ContainsFunc(cookies, c.wouldShadow) {
		return
	}
	i := slices.IndexFunc(cookies, c.replaces)
	switch {
	case c.expired(now) && i >= 0:
		j.remove(site, i)
	case c.expired(now):
	case i >= 0:
		c.created, c.used = cookies[i].created, j.tick()
		cookies[i] = c
	default:
		c.created = j.tick()
		c.used = c.created
		j.add(site, c, now)
	}
}

// replaces reports whether c takes the place of old.
func (c *jarCookie) replaces(old *jarCookie) bool {
	return c.name == old.name && c.domain == old.domain && c.hostOnly == old.hostOnly && c.path == old.path
}

// wouldShadow reports whether c, which comes over http, could be taken for the Secure
// cookie old, or removes it.
func (c *jarCookie) wouldShadow(old *jarCookie) bool {
	return old.secure && c.name == old.name &&
		(domainMatches(old.domain, c.domain) || domainMatches(c.domain, old.domain)) &&
		pathMatches(c.path, old.path)
}

func (j *CookieJar) add(site string, c *jarCookie, now time.Time) {
	if j.sites == nil {
		j.sites = make(map[string][]*jarCookie)
	}
	cookies := j.sites[site]
	if cookies == nil {
		site = strings.Clone(site) // not the whole of the domain that it is a part of
	}
	j.sites[site] = append(cookies, c)
	if j.count++; len(cookies) >= maxSiteCookies {
		j.evictFrom(site)
	}
	if j.count > maxJarCookies {
		j.evict(now)
	}
}

func (j *CookieJar) remove(site string, i int) {
	j.count--
	if cookies := slices.Delete(j.sites[site], i, i+1); len(cookies) > 0 {
		j.sites[site] = cookies
	} else {
		delete(j.sites, site)
	}
}

// dropExpired removes what has expired of a site.
func (j *CookieJar) dropExpired(site string, now time.Time) {
	cookies := j.sites[site]
	for i := len(cookies) - 1; i >= 0; i-- {
		if cookies[i].expired(now) {
			j.remove(site, i)
		}
	}
}

// evictFrom removes the cookie of a site that is missed least: the one that was not used
// for longest among those without Secure, or else among all.
func (j *CookieJar) evictFrom(site string) {
	cookies := j.sites[site]
	least := 0
	for i, c := range cookies {
		if l := cookies[least]; c.secure == l.secure && c.used < l.used || !c.secure && l.secure {
			least = i
		}
	}
	j.remove(site, least)
}

// evict removes all cookies that have expired, or else the one that was not used for
// longest. Going through all of them is bearable: there are 3001.
func (j *CookieJar) evict(now time.Time) {
	var least *jarCookie
	var where string
	for site := range j.sites {
		j.dropExpired(site, now)
		for _, c := range j.sites[site] {
			if least == nil || c.used < least.used {
				least, where = c, site
			}
		}
	}
	if j.count > maxJarCookies {
		j.remove(where, slices.Index(j.sites[where], least))
	}
}
