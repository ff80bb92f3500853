package oidclogin

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// Config is the settings of a [Login].
type Config struct {
	// Issuer is the URL of the provider, exactly as the provider writes it in its tokens. Issuer must be an https URL.
	Issuer string

	// ClientID is the name under which this site is registered at the provider.
	ClientID string

	// ClientSecret is the password of this site at the provider. An empty ClientSecret means that the site is a public client, which is
	// protected by PKCE only.
	ClientSecret string

	// RedirectURL is the https URL of the route that serves [Login.Callback], as it is registered at the provider. Logins must begin on
	// the host of RedirectURL, because the browser keeps the cookie of a login for this host.
	RedirectURL string

	// Keys are secrets of at least 32 random bytes, which encrypt the cookies of logins. The first key encrypts, and all keys are
	// accepted. All processes of a site need the same Keys. Keys may be the same as for middleware.EncryptCookies.
	Keys [][]byte

	// Login is called when a user has logged in. Login decides whether the user may use this site, and starts a session. If Login
	// returns an error, the handler of [Login.Callback] returns the error. See [StartSession].
	Login func(c *web.Ctx, id *Identity) error

	// Scopes are the scopes to ask for. The default is openid, profile and email. The scope openid is always added.
	Scopes []string

	// Params are more parameters for the provider's login page, such as "prompt" or "hd". They cannot replace the parameters of the
	// protocol, such as "state".
	Params map[string]string

	// MaxAge is how long ago the user may have entered a password or another credential at the provider. If it was longer ago, the
	// provider asks the user again. Zero means that any age is accepted. MaxAge is rounded down to seconds.
	MaxAge time.Duration

	// Home is the path to redirect to after a login or a logout, if there is no other path. The default is "/".
	Home string

	// Lifetime is how much time a user has for a login. Zero means 10 minutes. Values over an hour are reduced to an hour.
	Lifetime time.Duration

	// Leeway is how much the clocks of the provider and of this machine may differ. Zero means 30 seconds. Values over a minute are
	// reduced to one minute.
	Leeway time.Duration

	// MaxTokenSize is the size in bytes of the largest ID token. Zero means 16 KiB.
	MaxTokenSize int

	// Timeout limits each request to the provider. Zero means 10 seconds.
	Timeout time.Duration

	// Transport sends the requests to the provider. The default is a new nethttp.Transport.
	Transport http.RoundTripper

	// Logout ends the session of a user who logs out, for [Login.Logout]. The result is the ID token of the login, Identity.IDToken, if
	// the session has kept it. The provider needs the token to know which login to end. Without the token, most providers ask the user.
	Logout func(c *web.Ctx) (idToken string, err error)

	// PostLogoutURL is where the provider sends the browser after a logout. PostLogoutURL must be registered at the provider. If
	// PostLogoutURL is empty, the provider shows a page of its own.
	PostLogoutURL string

	// LogoutUser ends the sessions of a user, for [Login.BackChannel]. It may be called several times for one logout. With StartSession,
	// call Session.EndAll with the subject.
	LogoutUser func(ctx context.Context, user LogoutUser) error

	// Store remembers which logins and logout tokens have been used, and which user a session at the provider belongs to. All processes
	// of a site must share the Store. Store must be a middleware.Adder. BackChannel needs a Store. Without a Store, only the provider
	// and the deleted cookie keep a browser from repeating its own callback.
	Store middleware.Store

	// SessionLifetime is how long sessions last at most. For this time, the Store remembers the user of each session at the provider.
	// Zero means 24 hours, like Session.Absolute.
	SessionLifetime time.Duration

	// Cookie is the beginning of the names of cookies. The default is "__Host-login-". Two Logins on one host need different names.
	Cookie string

	// Insecure allows http, for development. The hosts of Issuer and RedirectURL must then be localhost or loopback addresses. The
	// default of Cookie is then "login-".
	Insecure bool
}

// reserved are the parameters that Params cannot set.
var reserved = []string{"client_id", "client_secret", "code_challenge", "code_challenge_method", "max_age", "nonce", "redirect_uri", "request", "request_uri",
	"response_mode", "response_type", "scope", "state"}

// check panics if the settings are missing or not valid.
func (o *Config) check() {
	o.checkURL("Issuer", o.Issuer, false)
	o.checkURL("RedirectURL", o.RedirectURL, true)
	if o.PostLogoutURL != "" {
		o.checkURL("PostLogoutURL", o.PostLogoutURL, true)
	}
	switch {
	case o.ClientID == "":
		panic("oidclogin: the ClientID is missing")
	case o.Login == nil:
		panic("oidclogin: Login is missing: set a function that starts a session, such as the result of StartSession")
	case !isLocal(o.Home):
		panic(fmt.Sprintf("oidclogin: Home is %q: use a path that begins with a single slash", o.Home))
	case o.MaxAge < 0:
		panic("oidclogin: MaxAge is negative")
	case strings.ContainsFunc(o.Cookie, func(r rune) bool { return !isNameByte(byte(min(r, 0x7F))) }) || len(o.Cookie) > 40:
		panic(fmt.Sprintf("oidclogin: Cookie is %q: use up to 40 letters, digits and characters of -_", o.Cookie))
	case o.Insecure && strings.HasPrefix(o.Cookie, "__"):
		panic(fmt.Sprintf("oidclogin: browsers accept the cookie %q only over https: choose another name, or unset Insecure", o.Cookie))
	}
	if len(o.Keys) == 0 {
		panic("oidclogin: there are no Keys: set one of at least 32 random bytes")
	}
	for i, key := range o.Keys {
		if len(key) < 32 {
			panic(fmt.Sprintf("oidclogin: key %d has %d bytes: use at least 32 random bytes", i, len(key)))
		}
	}
	for name := range o.Params {
		if slices.Contains(reserved, name) {
			panic(fmt.Sprintf("oidclogin: Params has %q, which the protocol sets", name))
		}
	}
	if o.Store != nil {
		if _, ok := o.Store.(middleware.Adder); !ok {
			panic(fmt.Sprintf("oidclogin: the Store must be a middleware.Adder, such as MemoryStore; %T is not", o.Store))
		}
	}
}

// checkURL panics if a setting is not the URL of an https server.
func (o *Config) checkURL(name, text string, query bool) {
	if err := o.usable(text); err != nil {
		panic(fmt.Sprintf("oidclogin: %s is %q: %v", name, text, err))
	}
	if !query && strings.Contains(text, "?") {
		panic(fmt.Sprintf("oidclogin: %s is %q: remove the query", name, text))
	}
}

// usable returns why a URL of the settings or of the provider's metadata cannot be used.
func (o *Config) usable(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Contains(text, "#"):
		return fmt.Errorf("use a URL such as https://example.com/path, without a user and a fragment")
	case o.Insecure && !isLoopback(u.Hostname()):
		return fmt.Errorf("with Insecure, use localhost or a loopback address")
	case u.Scheme == "https", u.Scheme == "http" && o.Insecure:
		return nil
	}
	return fmt.Errorf("use https, or set Insecure for development on this machine")
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// defaults fills in the settings that are zero.
func (o *Config) defaults() {
	o.Home = orElse(o.Home, "/")
	if o.Insecure {
		o.Cookie = orElse(o.Cookie, "login-")
	}
	o.Cookie = orElse(o.Cookie, "__Host-login-")
	o.Lifetime = min(positive(o.Lifetime, 10*time.Minute), time.Hour)
	o.Leeway = min(positive(o.Leeway, 30*time.Second), time.Minute)
	o.Timeout = positive(o.Timeout, 10*time.Second)
	o.SessionLifetime = positive(o.SessionLifetime, 24*time.Hour)
	o.MaxTokenSize = positive(o.MaxTokenSize, 16<<10)
	if len(o.Scopes) == 0 {
		o.Scopes = []string{"profile", "email"}
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		o.Scopes = append([]string{oidc.ScopeOpenID}, o.Scopes...)
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// positive returns n, or otherwise if n is not positive.
func positive[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}
