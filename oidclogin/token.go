package oidclogin

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"golang.org/x/oauth2"
)

// Identity is a user who has logged in.
type Identity struct {
	// Issuer is the provider: Config.Issuer.
	Issuer string

	// Subject identifies the user at the provider, for good. It has 1 to 255 bytes. Names and email addresses can change and can pass to
	// another user, so do not identify users by them.
	Subject string

	// SessionID is the session at the provider, or "" if the provider does not say.
	SessionID string

	// AuthTime is when the user entered a password or another credential, or the zero time if the provider does not say.
	AuthTime time.Time

	// Expiry is when the ID token expires. The session of the user may last longer.
	Expiry time.Time

	// IDToken is the token as the provider sent it, for Config.Logout.
	IDToken string

	// Token has the access token and, if the scopes ask for one, the refresh token.
	Token *oauth2.Token

	claims func(v any) error
}

// Claims fills v, a pointer to a struct or a map, from the claims of the ID token, like json.Unmarshal. Claims such as "email" are only
// as reliable as the provider: see "email_verified".
func (id *Identity) Claims(v any) error { return id.claims(v) }

// StartSession returns a function for Config.Login that starts a session for the user. The session belongs to Identity.Subject. It
// replaces the session that the browser has, and has a new ID. The function value returns what the session keeps. It may return an error,
// such as a web.Error with status 403, to deny a user the login.
func StartSession[T any](sessions *middleware.Session[T], value func(c *web.Ctx, id *Identity) (T, error)) func(*web.Ctx, *Identity) error {
	return func(c *web.Ctx, id *Identity) error {
		v, err := value(c, id)
		if err != nil {
			return err
		}
		return sessions.Start(c, id.Subject, v)
	}
}

// claims are the claims that are checked here and that go-oidc does not return.
type claims struct {
	AuthorizedParty string   `json:"azp"`
	NotBefore       *float64 `json:"nbf"`
	AuthTime        *float64 `json:"auth_time"`
	SessionID       string   `json:"sid"`
}

// maxSubject is how long a subject may be (OpenID Connect Core §2).
const maxSubject = 255

// identify returns the user of an ID token, after all checks of OpenID Connect Core §3.1.3.7.
func (l *Login) identify(c *web.Ctx, p *metadata, token *oauth2.Token, nonce string) (*Identity, error) {
	raw, _ := token.Extra("id_token").(string)
	switch {
	case raw == "":
		return nil, invalidToken(errNoToken)
	case len(raw) > l.config.MaxTokenSize:
		return nil, invalidToken(fmt.Errorf("%w: %d bytes, and %d are allowed", errTokenSize, len(raw), l.config.MaxTokenSize))
	}
	t, err := p.verifier.Verify(c, raw)
	if err != nil {
		return nil, invalidToken(err)
	}
	var more claims
	if err := t.Claims(&more); err != nil {
		return nil, invalidToken(err)
	}
	if err := errors.Join(l.checkParties(t, &more, nonce), l.checkTimes(t, &more), checkHash(t, token)); err != nil {
		return nil, invalidToken(err)
	}
	id := &Identity{Issuer: l.config.Issuer, Subject: t.Subject, SessionID: more.SessionID, Expiry: t.Expiry, IDToken: raw, Token: token, claims: t.Claims}
	if more.AuthTime != nil {
		id.AuthTime = unix(*more.AuthTime)
	}
	return id, nil
}

// checkParties checks for which user, client and login a token is. The issuer and the audience have been checked.
func (l *Login) checkParties(t *oidc.IDToken, more *claims, nonce string) error {
	other := slices.ContainsFunc(t.Audience, func(a string) bool { return a != l.config.ClientID })
	switch {
	case subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) == 0:
		return errNonce
	case more.AuthorizedParty != l.config.ClientID && (more.AuthorizedParty != "" || other):
		return errParty
	case t.Subject == "" || len(t.Subject) > maxSubject:
		return errSubject
	}
	return nil
}

// checkTimes checks the times of a token.
func (l *Login) checkTimes(t *oidc.IDToken, more *claims) error {
	now, leeway := l.now(), l.config.Leeway
	switch {
	case !now.Add(-leeway).Before(t.Expiry):
		return errExpired
	case t.IssuedAt.IsZero() || t.IssuedAt.After(now.Add(leeway)):
		return errIssuedAt
	case more.NotBefore != nil && unix(*more.NotBefore).After(now.Add(leeway)):
		return errNotBefore
	case l.config.MaxAge > 0 && (more.AuthTime == nil || now.Sub(unix(*more.AuthTime)) > l.config.MaxAge+leeway):
		return errTooOld
	}
	return nil
}

// checkHash checks that the access token belongs to the ID token, if the ID token says so.
func checkHash(t *oidc.IDToken, token *oauth2.Token) error {
	if t.AccessTokenHash == "" {
		return nil
	}
	return t.VerifyAccessToken(token.AccessToken)
}

// unix returns the time of a claim. Times that no clock has become the end of time.
func unix(seconds float64) time.Time {
	const latest = 1 << 40
	return time.Unix(int64(math.Min(math.Max(seconds, 0), latest)), 0)
}
