package oidclogin

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// maxHint is the size in bytes of the largest ID token that a URL for the provider may have.
const maxHint = 4 << 10

// Logout returns the handler for logouts. It calls Config.Logout, and then redirects the browser to the provider's page for logouts
// (OpenID Connect RP-Initiated Logout). If the provider has no such page or cannot be reached, the handler redirects to Config.Home.
//
// Register the handler for POST, behind middleware.CSRF, so that other sites cannot log users out. If pages have a
// Content-Security-Policy with form-action, such as that of middleware.SecureHeaders, add the provider to form-action. Browsers otherwise
// block the redirect. Logout panics if Config.Logout is not set.
func (l *Login) Logout() web.Handler {
	if l.config.Logout == nil {
		panic("oidclogin: Config.Logout is missing: set a function that ends the session")
	}
	return func(c *web.Ctx) error {
		noStore(c)
		if err := onlyMethod(c, gallop.MethodPost); err != nil {
			return err
		}
		token, err := l.config.Logout(c)
		if err != nil {
			return err
		}
		p, err := l.provider.get(c)
		if err != nil || p.endSession == "" {
			return c.Redirect().To(l.config.Home)
		}
		return c.Redirect().To(l.endSessionURL(p, token))
	}
}

// endSessionURL returns the URL of the provider's page for logouts.
func (l *Login) endSessionURL(p *metadata, token string) string {
	query := url.Values{"client_id": {l.config.ClientID}}
	if token != "" && len(token) <= maxHint {
		query.Set("id_token_hint", token)
	}
	if l.config.PostLogoutURL != "" {
		query.Set("post_logout_redirect_uri", l.config.PostLogoutURL)
	}
	separator := "?"
	if strings.Contains(p.endSession, "?") {
		separator = "&"
	}
	return p.endSession + separator + query.Encode()
}

// LogoutUser is a user who has logged out at the provider.
type LogoutUser struct {
	// Subject is the Identity.Subject of the user.
	Subject string

	// SessionID is the Identity.SessionID of the session that has ended, or "" if all sessions of the user have ended.
	SessionID string
}

// BackChannel returns the handler for logout tokens, which the provider sends when a user logs out (OpenID Connect Back-Channel Logout).
// Register it for POST, outside of middleware.CSRF. The provider needs the URL of the route. The status of the response is 200 if
// Config.LogoutUser has ended the sessions, and 400 if the token is not valid or was already used.
//
// BackChannel panics if Config.LogoutUser or Config.Store is not set.
func (l *Login) BackChannel() web.Handler {
	if l.config.LogoutUser == nil || l.once == nil {
		panic("oidclogin: BackChannel needs Config.LogoutUser and Config.Store")
	}
	return func(c *web.Ctx) error {
		noStore(c)
		if err := onlyMethod(c, gallop.MethodPost); err != nil {
			return err
		}
		if err := l.logoutByToken(c); err != nil {
			return err
		}
		return c.SendStatus(gallop.StatusOK)
	}
}

func (l *Login) logoutByToken(c *web.Ctx) error {
	raw := string(c.RequestCtx().PostArgs().Peek("logout_token"))
	if raw == "" || len(raw) > l.config.MaxTokenSize {
		return invalidLogout(errTokenSize)
	}
	p, err := l.provider.get(c)
	if err != nil {
		return l.unavailable(c, err)
	}
	t, err := p.verifier.VerifyLogout(c, raw)
	if err != nil {
		return invalidLogout(err)
	}
	if err := l.checkLogout(t); err != nil {
		return invalidLogout(err)
	}
	key := storeKey("logout", l.config.Issuer, t.TokenID)
	_, added, err := l.once.Add(c, key, nil, t.Expiry.Sub(l.now())+2*l.config.Leeway)
	if err != nil {
		return l.storeFailed(err)
	}
	if !added {
		return invalidLogout(errUsed)
	}
	if err := l.endSessions(c, t); err != nil {
		l.once.Delete(context.WithoutCancel(c.Context()), key) // so that the provider can try again
		return err
	}
	return nil
}

func invalidLogout(cause error) error {
	return &web.Error{Status: gallop.StatusBadRequest, Message: "The logout token is not valid.", Err: cause}
}

// checkLogout checks the times of a logout token. The parties have been checked.
func (l *Login) checkLogout(t *oidc.LogoutToken) error {
	now, leeway := l.now(), l.config.Leeway
	switch {
	case !now.Add(-leeway).Before(t.Expiry):
		return errExpired
	case t.Expiry.Sub(now) > 24*time.Hour:
		return errLongLived
	case t.IssuedAt.IsZero() || t.IssuedAt.After(now.Add(leeway)):
		return errIssuedAt
	case len(t.Subject) > maxSubject:
		return errSubject
	}
	return nil
}

// endSessions calls LogoutUser. If the token names only a session, the Store knows the user.
func (l *Login) endSessions(c *web.Ctx, t *oidc.LogoutToken) error {
	user := LogoutUser{Subject: t.Subject, SessionID: t.SessionID}
	if user.Subject == "" {
		subject, found, err := l.once.Get(c, storeKey("sid", l.config.Issuer, t.SessionID))
		if err != nil {
			return l.storeFailed(err)
		}
		if !found {
			return nil // the session has ended, or is not known here
		}
		user.Subject = string(subject)
	}
	return l.config.LogoutUser(c, user)
}

// rememberSession stores which user a session at the provider belongs to.
func (l *Login) rememberSession(ctx context.Context, id *Identity) error {
	if l.once == nil || l.config.LogoutUser == nil || id.SessionID == "" {
		return nil
	}
	return l.once.Set(ctx, storeKey("sid", l.config.Issuer, id.SessionID), []byte(id.Subject), l.config.SessionLifetime)
}
