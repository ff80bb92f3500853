package rest

import (
	"net/url"
	"strings"
)

// redirected is the stage that follows redirects (RFC 9110 §15.4).
func (c *Client) redirected(next stage) stage {
	return func(x *exchange) (*Response, error) {
		first := *x
		defer func() {
			x.method, x.to, x.headers, x.body, x.credential = first.method, first.to, first.headers, first.body, first.credential
		}()
		for followed := 0; ; followed++ {
			resp, err := next(x)
			if err != nil || !isRedirect(resp.StatusCode) {
				return resp, err
			}
			if err := x.redirect(resp, followed); err != nil {
				resp.discard()
				return resp, err
			}
			resp.discard()
		}
	}
}

// isRedirect reports whether a response redirects to a Location. A 304 does not.
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

func (x *exchange) mostRedirects() int {
	if own := x.req.redirects; own > 0 {
		return own - 1
	}
	return x.client.maxRedirects
}

// redirect turns x into the request that resp redirects to.
func (x *exchange) redirect(resp *Response, followed int) error {
	to, location, reason := x.location(resp)
	switch {
	case reason != "":
	case followed >= x.mostRedirects():
		reason = "it is one too many for WithRedirects"
	case strings.HasPrefix(x.to.origin, "https:") && !strings.HasPrefix(to.origin, "https:"):
		reason = "it leads from https to http"
	}
	method, keeps := redirectMethod(resp.StatusCode, x.method)
	if reason == "" && keeps && !x.body.replayable() {
		reason = "the body was read, and cannot be sent again"
	}
	if reason != "" {
		return &RedirectError{
			Method: resp.method, URL: redacted(resp.URL()), StatusCode: resp.StatusCode, Location: location, Reason: reason, Response: resp,
		}
	}
	x.method = method
	if !keeps {
		x.acted = true
		x.body = nil
		x.keepHeaders(func(name string) bool { return !isAboutContent(name) })
	}
	if to.origin != x.to.origin {
		x.keepHeaders(isHarmless)
	}
	x.to = to
	x.credential = x.credentialOf()
	return nil
}

// location returns the target that resp redirects to. If it cannot be followed, it returns the reason.
func (x *exchange) location(resp *Response) (to target, location, reason string) {
	switch all := resp.headers.lines("Location"); {
	case len(all) == 0 || all[0] == "":
		return to, "", "it does not say where to"
	case len(all) > 1:
		return to, "", "it has several Location headers"
	default:
		location = resp.absolute(all[0])
	}
	u, err := url.Parse(location)
	if location == "" || err != nil {
		return to, "", "its Location is malformed"
	}
	if to, err = targetOf(u); err != nil {
		return to, location, "it does not lead to http or https"
	}
	if !isQuery(to.query) {
		return to, location, "its Location is malformed"
	}
	return to, location, ""
}

// targetOf returns the target for a URL from a server, normalized so that equal targets compare equal.
func targetOf(u *url.URL) (to target, err error) {
	u.User = nil
	if to.origin, err = originOf(u); err != nil {
		return to, err
	}
	if to.path = u.EscapedPath(); to.path == "" {
		to.path = "/"
	}
	to.query = escapedQuery(u.RawQuery)
	return to, nil
}

// redirectMethod returns the method of the next request, and whether that keeps the body (RFC 9110 §15.4.2 to
// §15.4.9).
func redirectMethod(status int, method string) (next string, keepsBody bool) {
	switch {
	case status == 303 && method != "GET" && method != "HEAD":
		return "GET", false
	case (status == 301 || status == 302) && method == "POST":
		return "GET", false
	}
	return method, true
}

// keepHeaders removes the headers for which keep returns false.
func (x *exchange) keepHeaders(keep func(name string) bool) {
	var kept fields
	for i, name := range x.headers.names {
		if keep(name) {
			kept.add(name, x.headers.values[i], foldName)
		}
	}
	x.headers = kept
}

func isAboutContent(name string) bool {
	const prefix = "content-"
	return len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) ||
		foldName(name, "digest") || foldName(name, "repr-digest") || foldName(name, "last-modified")
}

// harmless are the headers that may go to any origin. Any other header may hold a secret, because API keys are sent
// in headers of many names.
var harmless = []string{
	"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "user-agent", "range", "if-none-match", "if-modified-since",
	"content-type", "content-encoding", "content-language", "prefer", "traceparent", "tracestate", "x-request-id", "idempotency-key",
}

func isHarmless(name string) bool {
	for _, h := range harmless {
		if foldName(h, name) {
			return true
		}
	}
	return false
}
