package middleware

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Redirect sends clients to the preferred form of a URL: with https instead of http, on one host, and with or without a slash at the
// end of the path. The query stays the same. If several parts differ, the client gets a single redirect.
//
// Redirect never sends a client to a host that the request itself did not name, except to Host. To accept only known hosts, register
// HostAllow before Redirect.
//
// The zero value redirects nothing.
type Redirect struct {
	// HTTPS redirects requests for http URLs to https. Behind a proxy that terminates TLS, set web.Config.TrustedProxies, or all
	// requests seem to use http.
	HTTPS bool

	// HTTPSPort is the port of the https URLs. Zero means 443, which does not appear in URLs. If Host is set, HTTPSPort has no effect:
	// add the port to Host instead.
	HTTPSPort int

	// Host is the preferred host, such as "www.example.com". Redirect sends requests for all other hosts to Host. Health checks often
	// use an IP address as the host: register their routes before Redirect, or use [Skip]. By default, Redirect keeps the host.
	Host string

	// Slash says whether paths end with a slash. The default, KeepSlash, changes nothing.
	Slash SlashRule

	// Status is the status of the redirect: 301, 302, 303, 307 or 308. Zero means 308, so clients repeat the same method and body.
	Status int
}

// SlashRule says whether the path of a URL ends with a slash.
type SlashRule uint8

const (
	KeepSlash   SlashRule = iota // KeepSlash leaves paths unchanged.
	AddSlash                     // AddSlash appends a slash, unless the last part of the path contains a dot, like a file name.
	RemoveSlash                  // RemoveSlash removes slashes from the end of a path, except from "/".
)

// Handler returns the middleware. Handler panics if a setting is not valid.
func (o Redirect) Handler() web.Handler {
	if o.Status == 0 {
		o.Status = gallop.StatusPermanentRedirect
	}
	switch {
	case !gallop.StatusCodeIsRedirect(o.Status):
		panic("middleware: Redirect has the Status " + strconv.Itoa(o.Status) + ": use 301, 302, 303, 307 or 308")
	case strings.ContainsAny(o.Host, "/\\?#@ "):
		panic(fmt.Sprintf("middleware: Redirect has the Host %q: use a host name, optionally with a port", o.Host))
	case o.HTTPSPort < 0 || o.HTTPSPort > 65535:
		panic("middleware: Redirect has the HTTPSPort " + strconv.Itoa(o.HTTPSPort))
	case o.Slash > RemoveSlash:
		panic("middleware: Redirect has an unknown Slash rule")
	}
	o.Host = strings.ToLower(o.Host)
	return func(c *web.Ctx) error {
		if target, ok := o.target(c); ok && c.Refused() == nil {
			return c.Redirect().Status(o.Status).To(target)
		}
		return c.Next()
	}
}

// target returns the URL to redirect a request to. ok is false if the URL of the request is the preferred one.
func (o *Redirect) target(c *web.Ctx) (target string, ok bool) {
	target = c.OriginalURL()
	if !strings.HasPrefix(target, "/") { // "*", or the target of CONNECT
		return "", false
	}
	path, query := target, ""
	if i := strings.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	slashed, host := o.slashed(path), c.Host()
	moved := o.HTTPS && !c.Secure() || o.Host != "" && host != o.Host
	if !moved && slashed == path || host == "" && o.Host == "" {
		return "", false
	}
	return o.origin(c) + slashed + query, true
}

// origin returns the scheme and the host of the target.
func (o *Redirect) origin(c *web.Ctx) string {
	host, secure := o.Host, c.Secure()
	switch {
	case host != "":
	case secure || !o.HTTPS:
		host = c.Host()
	default: // without the port of the http URL
		if host = c.Hostname(); o.HTTPSPort != 0 && o.HTTPSPort != 443 {
			host += ":" + strconv.Itoa(o.HTTPSPort)
		}
	}
	if secure || o.HTTPS {
		return "https://" + host
	}
	return "http://" + host
}

// slashed applies the slash rule to a path.
func (o *Redirect) slashed(path string) string {
	switch last := path[strings.LastIndexByte(path, '/')+1:]; {
	case o.Slash == AddSlash && last != "" && !strings.Contains(last, "."):
		return path + "/"
	case o.Slash == RemoveSlash && last == "" && len(path) > 1:
		return "/" + strings.Trim(path, "/")
	}
	return path
}
