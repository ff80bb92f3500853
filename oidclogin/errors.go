package oidclogin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"golang.org/x/oauth2"
)

// ProviderError is an error that the provider has reported. [Login.Callback] returns it as the cause of a web.Error.
type ProviderError struct {
	// Code is the error code, such as "access_denied" (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). It has up to 64 letters,
	// digits, "-", "_" and ".". Any other code becomes "invalid".
	Code string

	// Description is for developers, not for users, and may be empty. Up to 300 printable characters of the description are kept.
	// Description comes through the browser, so a page that shows it must escape it.
	Description string
}

// Error implements error.
func (e *ProviderError) Error() string {
	if e.Description == "" {
		return "oidclogin: the provider reports " + e.Code
	}
	return fmt.Sprintf("oidclogin: the provider reports %s: %q", e.Code, e.Description)
}

func newProviderError(code, description string) *ProviderError {
	if code == "" || len(code) > 64 || strings.ContainsFunc(code, func(r rune) bool { return r > 0x7F || !isNameByte(byte(r)) && r != '.' }) {
		code = "invalid"
	}
	description = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, description)
	if runes := []rune(description); len(runes) > 300 {
		description = string(runes[:300])
	}
	return &ProviderError{code, description}
}

// Causes of invalid logins.
var (
	errState     = errors.New("oidclogin: this browser has no login with this state: the login has expired, was used, began in another browser, or began on a host other than that of RedirectURL")
	errTwice     = errors.New("oidclogin: a parameter of the callback occurs twice")
	errUsed      = errors.New("oidclogin: the login was already used")
	errMixUp     = errors.New("oidclogin: the parameter iss of the callback is missing or names another provider")
	errNoCode    = errors.New("oidclogin: the callback has no code")
	errNoToken   = errors.New("oidclogin: the provider sent no ID token")
	errTokenSize = errors.New("oidclogin: the token is too large")
	errNonce     = errors.New("oidclogin: the ID token has another nonce")
	errParty     = errors.New("oidclogin: the ID token was made for another client (azp)")
	errSubject   = errors.New("oidclogin: the ID token has no valid subject")
	errExpired   = errors.New("oidclogin: the token has expired")
	errIssuedAt  = errors.New("oidclogin: the token was issued in the future, or does not say when")
	errNotBefore = errors.New("oidclogin: the ID token is not valid yet")
	errTooOld    = errors.New("oidclogin: the user has entered the credential too long ago (auth_time)")
	errLongLived = errors.New("oidclogin: the logout token is valid for more than a day")
)

// Messages for the client.
const (
	messageLogin    = "The login is not valid or has expired. Please log in again."
	messageDenied   = "The login was canceled or denied."
	messageProvider = "The login service sent an invalid response. Please try again."
	messageDown     = "The login service is not available. Please try again later."
)

func invalidLogin(cause error) error {
	return &web.Error{Status: gallop.StatusBadRequest, Message: messageLogin, Err: cause}
}

func invalidToken(cause error) error {
	return &web.Error{Status: gallop.StatusBadGateway, Message: messageProvider, Err: cause}
}

// refused returns the error for a login that the provider has refused.
func refused(cause *ProviderError) error {
	switch cause.Code {
	case "access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required":
		return &web.Error{Status: gallop.StatusForbidden, Message: messageDenied, Err: cause}
	case "temporarily_unavailable":
		return &web.Error{Status: gallop.StatusServiceUnavailable, Message: messageDown, Err: cause}
	}
	return invalidToken(cause)
}

// exchangeFailed returns the error for a code that could not be exchanged.
func exchangeFailed(err error) error {
	var retrieve *oauth2.RetrieveError
	var network net.Error
	switch {
	case errors.As(err, &retrieve) && retrieve.ErrorCode == "invalid_grant":
		return invalidLogin(newProviderError(retrieve.ErrorCode, retrieve.ErrorDescription))
	case errors.As(err, &retrieve) && retrieve.ErrorCode != "":
		return invalidToken(newProviderError(retrieve.ErrorCode, retrieve.ErrorDescription))
	case errors.As(err, &retrieve): // the text of err has the body, which may have tokens
		return invalidToken(fmt.Errorf("oidclogin: the token endpoint responded with status %d", retrieve.Response.StatusCode))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &web.Error{Status: gallop.StatusGatewayTimeout, Message: messageDown, Err: err}
	case errors.As(err, &network):
		return &web.Error{Status: gallop.StatusServiceUnavailable, Message: messageDown, Err: err}
	}
	return invalidToken(err)
}

// unavailable returns the error for a provider whose metadata could not be read.
func (l *Login) unavailable(c *web.Ctx, cause error) error {
	wait := (l.provider.pause() + time.Second - 1) / time.Second
	c.SetHeader(gallop.HeaderRetryAfter, strconv.Itoa(int(max(wait, 1))))
	return &web.Error{Status: gallop.StatusServiceUnavailable, Message: messageDown, Err: cause}
}

func (l *Login) storeFailed(cause error) error {
	return &web.Error{Status: gallop.StatusServiceUnavailable, Message: gallop.StatusMessage(gallop.StatusServiceUnavailable), Err: cause}
}
