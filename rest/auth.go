package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Auth adds the credentials of one identity to requests. A client keeps a separate cache and separate rate limits for
// each Auth. A program that acts for several identities needs a separate Client for each identity. If the program
// sets the Authorization header of each request itself, one Client is enough for all identities. An Auth must be safe
// for concurrent use.
//
// See [Bearer], [Basic], [APIKey] and [Tokens] for common credentials, and [AuthFunc] for an Authorization header
// that a function returns.
type Auth interface {
	// Authorize adds credentials to r, for example by calling r.SetHeader. If Authorize returns an error, the request
	// is not sent and the call returns an AuthError. Do not use r after Authorize has returned.
	//
	// If the server responds with 401, the client calls Authorize a second time for the same request. If the second
	// call of Authorize changes a header, the client sends the request again. The client does not repeat a request
	// whose body can be read only once. If the Auth has no better credentials, Authorize should return nil without
	// setting a header.
	Authorize(ctx context.Context, r *AuthRequest) error
}

// AuthFunc is a function that returns the value of the Authorization header (RFC 9110 §11.6.2). AuthFunc implements
// [Auth].
type AuthFunc func(ctx context.Context) (string, error)

// Authorize implements Auth.
func (f AuthFunc) Authorize(ctx context.Context, r *AuthRequest) error {
	value, err := f(ctx)
	if err == nil {
		r.SetHeader("Authorization", value)
	}
	return err
}

// Bearer returns an [Auth] that sends a fixed token (RFC 6750).
func Bearer(token string) Auth { return fixedAuth{"Authorization", "Bearer " + token} }

// Basic returns an [Auth] that sends a user name and a password (RFC 7617). If the user name contains a colon, every
// request fails with an AuthError.
func Basic(user, password string) Auth {
	if strings.Contains(user, ":") {
		return AuthFunc(func(context.Context) (string, error) {
			return "", errors.New("a user name must not contain a colon (RFC 7617 §2)")
		})
	}
	return fixedAuth{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// APIKey returns an [Auth] that sends a key in a header, such as X-Api-Key. If the request already has this header, the
// client sends the request's value instead of the key.
func APIKey(header, value string) Auth { return fixedAuth{header, value} }

// fixedAuth sends a header with a fixed value.
type fixedAuth struct{ name, value string }

// Authorize implements Auth.
func (a fixedAuth) Authorize(_ context.Context, r *AuthRequest) error {
	if !r.x.has(a.name) {
		r.SetHeader(a.name, a.value)
	}
	return nil
}

// AuthRequest is a request to which an [Auth] adds credentials.
type AuthRequest struct {
	x         *exchange
	headers   fields    // the headers that SetHeader set
	room      [4]string // initial memory for headers, because most credentials need one or two
	challenge string
	refused   bool  // the server responded with 401
	changed   bool  // a header changed since Authorize was called
	err       error // the first error of SetHeader
}

// Method returns the method of the request.
func (r *AuthRequest) Method() string { return r.x.method }

// URL returns the URL that the request is sent to, with its query. The URL can contain secrets. After a redirect,
// the method returns the target of the redirect.
func (r *AuthRequest) URL() string { return r.x.to.String() }

// Header returns the first value of a header. A value from SetHeader takes precedence over the request's own value. If
// the header is not set, Header returns "". Headers that the transport adds, such as Host, Content-Length and
// Accept-Encoding, are not included.
func (r *AuthRequest) Header(name string) string {
	if value, ok := r.headers.get(name, foldName); ok {
		return value
	}
	value, _ := r.x.headers.get(name, foldName)
	return value
}

// SetHeader sets a header, replacing any value that the request has. The header is dropped on a redirect to another
// origin. If the header's name or value is invalid, the call returns an AuthError that wraps ErrHeader.
func (r *AuthRequest) SetHeader(name, value string) {
	if err := checkHeader(name, value); err != nil {
		if r.err == nil {
			r.err = err
		}
		return
	}
	if old, ok := r.headers.get(name, foldName); !ok || old != value {
		r.changed = true
		r.headers.set(name, value, foldName)
	}
}

// Body returns a reader of the request body. Use Body for credentials that sign the request body. The reader is never
// nil. Body returns an error if the body can be read only once. The body can be read again if SetBody got a file,
// bytes, or a value that the codec encodes.
func (r *AuthRequest) Body() (io.Reader, error) {
	switch body := r.x.body; {
	case body == nil || body.empty():
		return bytes.NewReader(nil), nil
	case body.source == nil:
		return bytes.NewReader(body.data), nil
	case body.once:
		return nil, errBodyOnce
	default:
		return body.open()
	}
}

// Challenge returns the WWW-Authenticate header of the response (RFC 9110 §11.6.1). Several values are joined with
// commas. The result refused is true if the request was sent and the server responded with 401. After a refusal,
// Header returns the credentials that the server refused.
func (r *AuthRequest) Challenge() (challenge string, refused bool) { return r.challenge, r.refused }

// added returns the headers that were set. r may be nil.
func (r *AuthRequest) added() (f fields) {
	if r != nil {
		f = r.headers
	}
	return f
}

// ask calls Authorize.
func (r *AuthRequest) ask(a Auth) error {
	r.changed = false
	err := a.Authorize(r.x.ctx, r)
	if err == nil {
		err = r.err
	}
	return err
}

// Token is an access token (RFC 6749 §5.1).
type Token struct {
	// Value is the token itself. Value must not be empty.
	Value string
	// Type is the scheme of the Authorization header. Empty means Bearer.
	Type string
	// Expires is when the token expires. Zero means never.
	Expires time.Time
}

// tokenSlack is how long before a token expires the next one is fetched.
const tokenSlack = 10 * time.Second

// Tokens returns an [Auth] that calls the source function to get a token. The Auth calls the source function again
// shortly before the token expires, or when the server responds with 401. If the function returns an error, the old
// token stays in use until it expires. Only one goroutine at a time calls the function. The ctx argument is the context
// of the call that needs the token.
func Tokens(source func(ctx context.Context) (Token, error)) Auth {
	return &tokens{source: source, lock: make(chan struct{}, 1)}
}

type tokens struct {
	source func(context.Context) (Token, error)
	lock   chan struct{} // a channel instead of a mutex, so that a call can be cancelled while it waits
	token  Token
}

// Authorize implements Auth.
func (t *tokens) Authorize(ctx context.Context, r *AuthRequest) error {
	rejected := ""
	if r.refused {
		rejected = r.Header("Authorization")
	}
	value, err := t.get(ctx, rejected)
	if err != nil {
		return err
	}
	r.SetHeader("Authorization", value)
	if r.refused && r.changed {
		r.x.log("token renewed")
	}
	return nil
}

// get returns a token that differs from the rejected one.
func (t *tokens) get(ctx context.Context, rejected string) (string, error) {
	select {
	case t.lock <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-t.lock }()
	old := t.token
	left := time.Duration(0) // time until the old token expires
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
	if err := checkHeader("Authorization", token.header()); err != nil { // do not keep such a token
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

// auth is an Auth with the origins that it serves.
type auth struct {
	source  Auth
	origins []string
	id      string
}

// authFor returns the auth for an origin, or nil.
func (c *Client) authFor(origin string) *auth {
	for _, a := range slices.Backward(c.auths) {
		if slices.Contains(a.origins, origin) {
			return a
		}
	}
	return nil
}

// authorized is the stage that adds the credentials for the origin. After a 401 it asks the Auth once for new ones.
func (c *Client) authorized(next stage) stage {
	if len(c.auths) == 0 {
		return next
	}
	return func(x *exchange) (*Response, error) {
		x.auth = nil
		a := c.authFor(x.to.origin)
		if a == nil || x.has("Authorization") {
			return next(x)
		}
		r := &AuthRequest{x: x}
		x.auth = r
		r.headers = fields{names: r.room[0:0:2], values: r.room[2:2:4]}
		if err := r.ask(a.source); err != nil {
			return nil, x.unauthorized(err)
		}
		resp, err := next(x)
		if err != nil || resp.StatusCode != 401 {
			return resp, err
		}
		r.challenge, r.refused = resp.challenge(), true
		if err := r.ask(a.source); err != nil {
			resp.discard()
			return resp, x.unauthorized(err)
		}
		if !r.changed || !x.body.replayable() { // the next call uses any new credentials
			return resp, nil
		}
		resp.discard()
		return next(x)
	}
}

// challenge returns the WWW-Authenticate header, with several values joined.
func (r *Response) challenge() string { return strings.Join(r.headers.lines("WWW-Authenticate"), ", ") }

func (x *exchange) unauthorized(err error) error {
	if x.ctx.Err() != nil {
		return x.failed(err)
	}
	return &AuthError{Err: hideURL(err)}
}

// credentialOf returns a key for the identity behind a request. It consists of the Auth and a hash of all headers
// that may identify the caller. Headers about the content and conditions do not identify anyone.
func (x *exchange) credentialOf() (id string) {
	if a := x.client.authFor(x.to.origin); a != nil && !x.has("Authorization") {
		id = a.id
	}
	var told []byte
	for i, name := range x.headers.names {
		if !isHarmless(name) && !isAboutContent(name) && !isCondition(name) {
			if told == nil {
				told = make([]byte, 0, 256) // large enough for most keys and tokens
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

// appendCounted appends s with its length in front, so that different lists never produce the same bytes.
func appendCounted(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, ':')
	return append(b, s...)
}
