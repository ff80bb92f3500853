package oidclogin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"golang.org/x/oauth2"
)

// Login logs users in at one provider. Make a Login with [New]. A Login may be used concurrently.
type Login struct {
	config   Config
	cookies  *middleware.EncryptCookies
	provider *source
	once     middleware.Adder // nil if there is no Store
	now      func() time.Time
}

// New returns a Login. New does not contact the provider. New panics if the settings are missing or not valid.
func New(config Config) *Login {
	config.defaults()
	config.check()
	if config.Transport == nil {
		config.Transport = nethttp.NewTransport()
	}
	l := &Login{config: config, now: time.Now}
	l.once, _ = config.Store.(middleware.Adder)
	l.cookies = &middleware.EncryptCookies{Keys: config.Keys, Lifetime: config.Lifetime, Insecure: config.Insecure}
	l.provider = newSource(&l.config)
	return l
}

// Begin returns the handler that starts a login. Register it for GET. The query parameter "return" is the path to go to after the login,
// with or without a query. If the parameter is missing, longer than 1,000 bytes or not a path of this site, the login ends at Config.Home.
func (l *Login) Begin() web.Handler {
	return func(c *web.Ctx) error { return l.Redirect(c, c.Query("return")) }
}

// Redirect starts a login: it redirects the browser to the provider. Handlers and middleware call Redirect if a page needs a user. The
// argument returnTo is the path to go to after the login, such as c.OriginalURL(). A client may have chosen returnTo: see [Login.Begin].
//
// A browser can have 5 logins at the same time. Each further login replaces the oldest.
func (l *Login) Redirect(c *web.Ctx, returnTo string) error {
	noStore(c)
	p, err := l.provider.get(c)
	if err != nil {
		return l.unavailable(c, err)
	}
	if !isLocal(returnTo) {
		returnTo = l.config.Home
	}
	begun := newPending(l.now(), returnTo)
	if err := l.keep(c, begun); err != nil {
		return err
	}
	return c.Redirect().To(l.authorizeURL(p, begun))
}

// authorizeURL returns the URL of the provider's login page for a login.
func (l *Login) authorizeURL(p *metadata, begun pending) string {
	secrets := l.derive(begun)
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(secrets.verifier), oauth2.SetAuthURLParam("nonce", secrets.nonce)}
	for name, value := range l.config.Params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	if l.config.MaxAge > 0 {
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(l.config.MaxAge/time.Second))))
	}
	return l.oauth(p).AuthCodeURL(secrets.state, options...)
}

func (l *Login) oauth(p *metadata) *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.config.ClientID, ClientSecret: l.config.ClientSecret, Endpoint: p.endpoint, RedirectURL: l.config.RedirectURL, Scopes: l.config.Scopes,
	}
}

// noStore keeps caches from storing a response, and keeps the URL out of the Referer header.
func noStore(c *web.Ctx) {
	c.SetHeader(gallop.HeaderCacheControl, "no-store")
	c.SetHeader("Referrer-Policy", "no-referrer")
}

// maxReturn is the size in bytes of the longest path to return to. Several of them must fit into one Cookie header.
const maxReturn = 1000

// isLocal reports whether browsers read a reference as a path on the same host. They read a backslash as a slash and ignore control
// characters, and a host follows two slashes.
func isLocal(reference string) bool {
	if !strings.HasPrefix(reference, "/") || strings.HasPrefix(reference, "//") || len(reference) > maxReturn {
		return false
	}
	if strings.ContainsFunc(reference, func(r rune) bool { return r < ' ' || r == 0x7F || r == '\\' }) {
		return false
	}
	u, err := url.Parse(reference)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}

// onlyMethod returns an error if the request has another method. A HEAD request, for example, must not use up a login.
func onlyMethod(c *web.Ctx, method string) error {
	if c.Method() == method {
		return nil
	}
	c.SetHeader(gallop.HeaderAllow, method)
	return &web.Error{Status: http.StatusMethodNotAllowed, Message: http.StatusText(http.StatusMethodNotAllowed)}
}
