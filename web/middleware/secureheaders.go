package middleware

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// SecureHeaders sets response headers that protect pages in browsers. Handlers can replace each header. Add SecureHeaders to the App,
// before middleware that can reject requests, so that error pages have the headers, too.
//
// The zero value sets these headers:
//
//   - Content-Security-Policy: scripts run only if they have the nonce of the response: see [Nonce]. All other content must come from
//     the app's own origin. No page can embed the app in a frame.
//   - Strict-Transport-Security: for two years, browsers use only https for the host and its subdomains. SecureHeaders sends the
//     header only over https: see [web.Ctx.Secure].
//   - X-Content-Type-Options: nosniff, X-Frame-Options: DENY, and Referrer-Policy: strict-origin-when-cross-origin.
//   - Cross-Origin-Opener-Policy and Cross-Origin-Resource-Policy: same-origin, and Origin-Agent-Cluster: ?1.
//   - X-XSS-Protection: 0, because the filters of old browsers added holes.
//
// For an API without pages, set CSP to "default-src 'none'; frame-ancestors 'none'".
type SecureHeaders struct {
	// CSP is the Content-Security-Policy. In CSP, {nonce} stands for the nonce, as in "script-src 'nonce-{nonce}'". In responses
	// without a nonce, SecureHeaders leaves out each source that contains {nonce}. Empty means [DefaultCSP].
	CSP string

	// CSPReportOnly sends CSP as Content-Security-Policy-Report-Only. Browsers then report violations and block nothing. CSP should have
	// the directive report-to or report-uri.
	CSPReportOnly bool

	// HSTS is how long browsers use only https for the host, in whole seconds. Zero means two years. A negative value leaves
	// Strict-Transport-Security out.
	HSTS time.Duration

	// HSTSHostOnly leaves subdomains out of Strict-Transport-Security. The default is false: subdomains need https, too.
	HSTSHostOnly bool

	// HSTSPreload asks browsers to put the domain on the list that they are delivered with. It takes months to remove a domain from the
	// list. HSTSPreload needs an HSTS of at least one year, and contradicts HSTSHostOnly.
	HSTSPreload bool

	// Headers sets more headers, such as Permissions-Policy, or replaces the headers above. An empty value leaves a header out. Set CSP
	// and HSTS in their own fields.
	Headers map[string]string
}

// DefaultCSP is the Content-Security-Policy that [SecureHeaders] sends by default.
const DefaultCSP = "default-src 'self'; script-src 'nonce-{nonce}' 'strict-dynamic'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Handler returns the middleware. Handler panics if a header is not valid, or if HSTSPreload contradicts the other fields.
func (o SecureHeaders) Handler() web.Handler {
	h := &secureHeaders{csp: newPolicy(o)}
	set := map[string]string{
		gallop.HeaderXContentTypeOptions: "nosniff", gallop.HeaderXFrameOptions: "DENY", gallop.HeaderReferrerPolicy: "strict-origin-when-cross-origin",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Origin-Agent-Cluster": "?1", "X-Xss-Protection": "0",
	}
	for name, value := range o.Headers {
		name = canonical(name, value)
		if value == "" {
			delete(set, name)
			continue
		}
		set[name] = value
	}
	set[h.csp.name] = h.csp.plain
	for _, name := range slices.Sorted(maps.Keys(set)) {
		h.http.SetCanonical([]byte(name), []byte(set[name]))
	}
	if hsts := o.hsts(); hsts != "" {
		h.https = &gallop.ResponseHeader{}
		h.http.CopyTo(h.https)
		h.https.Set(gallop.HeaderStrictTransportSecurity, hsts)
	}
	return h.serve
}

// canonical returns the name of one of Headers. It panics if the header is not valid.
func canonical(name, value string) string {
	var h gallop.ResponseHeader
	if value == "" {
		value = "x"
	}
	if err := h.TrySet(name, value); err != nil || strings.ContainsAny(value, "\r\n\x00") {
		panic(fmt.Sprintf("middleware: SecureHeaders: the header %q: %q is not valid", name, value))
	}
	for key := range h.All() {
		if strings.EqualFold(string(key), name) {
			name = string(key)
		}
	}
	switch name {
	case gallop.HeaderContentSecurityPolicy, gallop.HeaderContentSecurityPolicyReportOnly:
		panic("middleware: SecureHeaders: set the policy in the field CSP, not in Headers")
	case gallop.HeaderStrictTransportSecurity:
		panic("middleware: SecureHeaders: set the field HSTS instead of Strict-Transport-Security in Headers")
	}
	return name
}

// hsts returns the value of Strict-Transport-Security, or "".
func (o SecureHeaders) hsts() string {
	if o.HSTS == 0 {
		o.HSTS = 2 * 365 * 24 * time.Hour
	}
	if o.HSTSPreload && (o.HSTSHostOnly || o.HSTS < 365*24*time.Hour) {
		panic("middleware: SecureHeaders: HSTSPreload needs subdomains and an HSTS of at least one year: unset HSTSHostOnly, and raise HSTS")
	}
	if o.HSTS < 0 {
		return ""
	}
	value := "max-age=" + strconv.FormatInt(int64(o.HSTS/time.Second), 10)
	if !o.HSTSHostOnly {
		value += "; includeSubDomains"
	}
	if o.HSTSPreload {
		value += "; preload"
	}
	return value
}

// secureHeaders is a SecureHeaders with its headers prepared.
type secureHeaders struct {
	http  gallop.ResponseHeader
	https *gallop.ResponseHeader // also has Strict-Transport-Security; nil if that is off
	csp   *policy
}

func (h *secureHeaders) serve(c *web.Ctx) error {
	prepared := &h.http
	if h.https != nil && c.Secure() {
		prepared = h.https
	}
	c.RequestCtx().Response.Header.SetAll(prepared)
	if h.csp.parts != nil {
		policyKey.Set(c, h.csp)
	}
	return c.Next()
}

// policy is a Content-Security-Policy.
type policy struct {
	name  string   // of the header
	plain string   // without the sources that have a nonce
	parts []string // around the nonces; nil if the policy has none
}

const noncePlace = "{nonce}"

func newPolicy(o SecureHeaders) *policy {
	text, name := o.CSP, gallop.HeaderContentSecurityPolicy
	if text == "" {
		text = DefaultCSP
	}
	if o.CSPReportOnly {
		name = gallop.HeaderContentSecurityPolicyReportOnly
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		panic("middleware: SecureHeaders: CSP has bytes that are not printable ASCII: encode them")
	}
	p := &policy{name: name, plain: withoutNonces(text)}
	if strings.Contains(text, noncePlace) {
		p.parts = strings.Split(text, noncePlace)
	}
	return p
}

// withoutNonces removes the sources with a nonce from a policy. A directive that had only such sources allows nothing.
func withoutNonces(text string) string {
	if !strings.Contains(text, noncePlace) {
		return text
	}
	var directives []string
	for directive := range strings.SplitSeq(text, ";") {
		words := strings.Fields(directive)
		left := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(word, noncePlace) })
		if len(left) == 1 && len(words) > 1 {
			left = append(left, "'none'")
		}
		if len(left) > 0 {
			directives = append(directives, strings.Join(left, " "))
		}
	}
	return strings.Join(directives, "; ")
}

var (
	policyKey = web.NewKey[*policy]()
	nonceKey  = web.NewKey[string]()
)

var errNoNonce = errors.New("middleware: Nonce: no SecureHeaders whose CSP contains {nonce} handles the request, or the response has begun")

// Nonce returns the nonce of the response, for the attribute nonce of script elements. Pass the nonce to templates as a part of their
// data:
//
//	<script nonce="{{.Nonce}}" src="/app.js"></script>
//
// The first call makes a nonce with 130 random bits, and puts it into the Content-Security-Policy. The first call also sets
// Cache-Control: private, no-store, because an attacker could read the nonce of a response that many visitors get.
//
// Nonce returns an error if no [SecureHeaders] handles the request, if its CSP has no {nonce}, or if the response has begun.
func Nonce(c *web.Ctx) (string, error) {
	if nonce, ok := nonceKey.Get(c); ok {
		return nonce, nil
	}
	p, ok := policyKey.Get(c)
	if !ok || isTaken(c.RequestCtx()) {
		return "", errNoNonce
	}
	nonce := rand.Text()
	nonceKey.Set(c, nonce)
	c.RequestCtx().Response.Header.Set(p.name, strings.Join(p.parts, nonce))
	c.SetHeader(gallop.HeaderCacheControl, "private, no-store")
	return nonce, nil
}
