package rest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Auth has the credentials of one identity: a client keeps apart what it knows about
// rate limits, and its cache, by Auth. Who speaks for several has a Client for each, or sets
// the Authorization of requests. It is used by many goroutines.
type Auth interface {
	// Authorization returns the value of the field (RFC 9110 §11.6.2).
	Authorization(ctx context.Context) (string, error)
}

// Bearer is a token that does not change (RFC 6750).
func Bearer(token string) Auth { return fixedAuth("Bearer " + token) }

// Basic is a name with its password (RFC 7617). With a colon in the name, which would be another name and password, requests
// get an AuthError.
func Basic(user, password string) Auth {
	if strings.Contains(user, ":") {
		return noAuth{errors.New("the name of a user must not have a colon (RFC 7617 §2)")}
	}
	return fixedAuth("Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

type fixedAuth string

// Authorization implements Auth.
func (a fixedAuth) Authorization(context.Context) (string, error) { return string(a), nil }

// noAuth is why there are no credentials.
type noAuth struct{ err error }

// Authorization implements Auth.
func (a noAuth) Authorization(context.Context) (string, error) { return "", a.err }

// Token is an access token (RFC 6749 §5.1).
type Token struct {
	Value   string
	Type    string    // "Bearer" if it is empty
	Expires time.Time // never if it is zero
}

// tokenSlack is how long before the end of a token the next one is fetched.
const tokenSlack = 10 * time.Second

// Tokens is an Auth that asks source for a token, keeps it until shortly before it expires or until the
// server says 401 to it, and then asks again. One that has not expired yet is used when source returns an error. source is called by one goroutine at
// a time, with the context of a call that needs it.
func Tokens(source func(ctx context.Context) (Token, error)) Auth {
	return &tokens{source: source, lock: make(chan struct{}, 1)}
}

type tokens struct {
	source func(context.Context) (Token, error)
	lock   chan struct{} // and not a mutex, for calls end while they wait
	token  Token
}

// Authorization implements Auth.
func (t *tokens) Authorization(ctx context.Context) (string, error) { return t.get(ctx, "") }

// get returns a token that is not the one that was rejected.
func (t *tokens) get(ctx context.Context, rejected string) (string, error) {
	select {
	case t.lock <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-t.lock }()
	old := t.token
	left := time.Duration(0) // of the life of the old one
	switch {
	case old.Value == "" || old.header() == rejected:
	case old.Expires.IsZero():
		return old.header(), nil
	default:
		left = time.Until(old.Expires)
	}
	if left > tokenSlack {
		return old.header(), nil
	}
	token, err := t.source(ctx)
	if err != nil {
		if left > 0 {
			return old.header(), nil
		}
		return "", err
	}
	if token.Value == "" {
		return "", errors.New("the source returned an empty token")
	}
	if _, err := credentials(token.header(), nil); err != nil { // which is not kept
		return "", err
	}
	t.token = token
	return token.header(), nil
}

func (t *Token) header() string {
	if t.Type == "" || strings.EqualFold(t.Type, "bearer") {
		return "Bearer " + t.Value
	}
	return t.Type + " " + t.Value
}

// auth is an Auth, and the origins that get it.
type auth struct {
	source  Auth
	origins []string
	id      string
}

// authFor returns who has the credentials of an origin, nil if nobody.
func (c *Client) authFor(origin string) *auth {
	for _, a := range slices.Backward(c.auths) {
		if slices.Contains(a.origins, origin) {
			return a
		}
	}
	return nil
}

// authorized is the stage that adds the credentials of the origin. A token that is refused is
// replaced once.
func (c *Client) authorized(next stage) stage {
	if len(c.auths) == 0 {
		return next
	}
	return func(x *exchange) (*Response, error) {
		x.authorization = ""
		a := c.authFor(x.to.origin)
		if a == nil || x.has("Authorization") {
			return next(x)
		}
		var err error
		if x.authorization, err = credentials(a.source.Authorization(x.ctx)); err != nil {
			return nil, x.unauthorized(err)
		}
		resp, err := next(x)
		t, renews := a.source.(*tokens)
		if err != nil || resp.StatusCode != 401 || !renews {
			return resp, err
		}
		renewed, err := credentials(t.get(x.ctx, x.authorization))
		if err != nil {
			resp.discard()
			return resp, x.unauthorized(err)
		}
		if renewed == x.authorization || !x.body.replayable() { // then it is for the next call
			return resp, nil
		}
		resp.discard()
		x.authorization = renewed
		return next(x)
	}
}

// credentials checks what an Auth returns.
func credentials(value string, err error) (string, error) {
	if err == nil && !httpguts.ValidHeaderFieldValue(value) {
		err = fmt.Errorf("%w: credentials with control characters", ErrHeader)
	}
	return value, err
}

func (x *exchange) unauthorized(err error) error {
	if x.ctx.Err() != nil {
		return x.failed(err)
	}
	return &AuthError{Err: hideURL(err)}
}

// credentialOf returns what tells those apart who ask: the Auth, and whatever in the header
// may say who it is, hashed. What it says about content, or wants to be the case, is nobody's name.
func (x *exchange) credentialOf() (id string) {
	if a := x.client.authFor(x.to.origin); a != nil && !x.has("Authorization") {
		id = a.id
	}
	var told []byte
	for i, name := range x.headers.names {
		if !isHarmless(name) && !isAboutContent(name) && !isCondition(name) {
			if told == nil {
				told = make([]byte, 0, 256) // enough for most keys and tokens
			}
			told = appendCounted(told, strings.ToLower(name))
			told = appendCounted(told, x.headers.values[i])
		}
	}
	if told == nil {
		return id
	}
	sum := sha256.Sum256(told)
	return id + string(sum[:])
}

// appendCounted appends s so that one sees where it ends.
func appendCounted(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}
