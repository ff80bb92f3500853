package oidclogin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"golang.org/x/oauth2"
)

// response is what the provider sends through the browser (RFC 6749 §4.1.2, RFC 9207).
type response struct{ state, code, issuer, failure, description string }

// readResponse reads the query of a callback. A parameter must not occur twice (RFC 6749 §3.1).
func readResponse(c *web.Ctx) (r response, err error) {
	args := c.RequestCtx().QueryArgs()
	for name, to := range map[string]*string{"state": &r.state, "code": &r.code, "iss": &r.issuer, "error": &r.failure, "error_description": &r.description} {
		values := args.PeekMulti(name)
		if len(values) > 1 {
			return r, errTwice
		}
		if len(values) == 1 {
			*to = string(values[0])
		}
	}
	return r, nil
}

// Callback returns the handler for the response of the provider. Register it for GET, with the path of Config.RedirectURL.
//
// If the login is not valid, the handler returns a web.Error, which the error handler of the App shows. The client does not learn
// the cause. The error has one of these statuses:
//
//   - 400: The browser has not begun this login, or the login has been used or has expired.
//   - 403: The user has canceled the login, or the provider has denied it.
//   - 502: The response of the provider is not valid.
//   - 503 and 504: The provider cannot be reached.
//
// If the provider has reported an error, errors.As finds a [ProviderError].
func (l *Login) Callback() web.Handler {
	return func(c *web.Ctx) error {
		noStore(c)
		if err := onlyMethod(c, gallop.MethodGet); err != nil {
			return err
		}
		id, returnTo, err := l.finish(c)
		if err != nil {
			return err
		}
		if err := l.rememberSession(c, id); err != nil {
			return l.storeFailed(err)
		}
		if err := l.config.Login(c, id); err != nil {
			return err
		}
		return c.Redirect().Local(returnTo, l.config.Home)
	}
}

// finish ends a login. It returns the user, and the path to return to.
func (l *Login) finish(c *web.Ctx) (id *Identity, returnTo string, err error) {
	r, err := readResponse(c)
	if err != nil {
		return nil, "", invalidLogin(err)
	}
	begun, name, ok := l.find(c, r.state)
	if !ok {
		return nil, "", invalidLogin(errState)
	}
	p, err := l.provider.get(c)
	if err != nil {
		return nil, "", l.unavailable(c, err)
	}
	if err := l.drop(c, name); err != nil {
		return nil, "", err
	}
	if err := l.claim(c, r.state); err != nil {
		return nil, "", err
	}
	switch {
	case r.issuer != l.config.Issuer && (r.issuer != "" || p.sendsIssuer):
		return nil, "", invalidLogin(errMixUp)
	case r.failure != "":
		return nil, "", refused(newProviderError(r.failure, r.description))
	case r.code == "":
		return nil, "", invalidLogin(errNoCode)
	}
	secrets := l.derive(begun)
	token, err := l.exchange(c, p, r.code, secrets.verifier)
	if err != nil {
		return nil, "", err
	}
	if id, err = l.identify(c, p, token, secrets.nonce); err != nil {
		return nil, "", err
	}
	return id, begun.returnTo, nil
}

// claim makes sure that a login is used only once, if there is a Store.
func (l *Login) claim(ctx context.Context, state string) error {
	if l.once == nil {
		return nil
	}
	_, added, err := l.once.Add(ctx, storeKey("state", l.config.Issuer, state), nil, l.config.Lifetime+time.Minute)
	if err != nil {
		return l.storeFailed(err)
	}
	if !added {
		return invalidLogin(errUsed)
	}
	return nil
}

// storeKey returns a key of the Store. The parts come from other parties, so the key has their hash.
func storeKey(kind string, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return "oidclogin:" + kind + ":" + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// exchange exchanges the code for tokens.
func (l *Login) exchange(c *web.Ctx, p *metadata, code, verifier string) (*oauth2.Token, error) {
	ctx := oidc.ClientContext(c, l.provider.client)
	token, err := l.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, exchangeFailed(err)
	}
	return token, nil
}
