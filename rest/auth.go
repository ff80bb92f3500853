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

// Auth adds the credentials of one identity to requests. A client keeps what it caches and what it knows about rate limits
// apart by Auth. A program that acts for several identities needs a Client for each, or sets the Authorization header of
// each request itself. An Auth must be safe for concurrent use.
//
// See [Bearer], [Basic], [APIKey] and [Tokens] for common credentials, and [AuthFunc] for an Authorization header that a
// function returns.
type Auth interface {
	// Authorize adds credentials to r, for example by calling r.SetHeader. If it returns an error, the request is not sent
	// and the call returns an AuthError. r is valid until Authorize returns.
	//
	// If the server answers with the status 401, Authorize is called once more for the same request. The request is sent
	// again if Authorize has then changed a header and the body can be sent again. An Auth that has no better
	// credentials returns nil without setting anything.
	Authorize(ctx context.Context, r *AuthRequest) error
}

// AuthFunc is an [Auth] that returns the value of the Authorization header (RFC 9110 §11.6.2).
type AuthFunc func(ctx context.Context) (string, error)

// Authorize implements Auth.
func (f AuthFunc) Authorize(ctx context.Context, r *AuthRequest) error {
	value, err := f(ctx)
	if err == nil {
		r.SetHeader("Authorization", value)
	}
	return err
}

// Bearer returns an [Auth] that sends a token that does not change (RFC 6750).
func Bearer(token string) Auth { return fixedAuth{"Authorization", "Bearer " + token} }

// Basic returns an [Auth] that sends a user name and a password (RFC 7617). A user name must not contain a colon. If it
// does, every request fails with an AuthError.
func Basic(user, password string) Auth {
	if strings.Contains(user, ":") {
		return AuthFunc(func(context.Context) (string, error) {
			return "", errors.New("a user name must not contain a colon (RFC 7617 §2)")
		})
	}
	return fixedAuth{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// APIKey returns an [Auth] that sends a key in a header, such as X-Api-Key. A request that has the header already keeps its
// own value.
func APIKey(header, value string) Auth { return fixedAuth{header, value} }

// fixedAuth is a header that does not change.
type fixedAuth struct{ name, value string }

// Authorize implements Auth.
func (a fixedAuth) Authorize(_ context.Context, r *AuthRequest) error {
	if !r.x.has(a.name) {
		r.SetHeader(a.name, a.value)
	}
	return nil
}

// AuthRequest is a request that an [Auth] adds credentials to.
type AuthRequest struct {
	x         *exchange
	headers   fields    // that were set
	room      [4]string // for headers, as most credentials need one or two
	challenge string
	refused   bool  // with the status 401
	changed   bool  // since the request was sent, if it was
	err       error // of the first header that cannot be sent
}

// Method returns the method of the request.
func (r *AuthRequest) Method() string { return r.x.method }

// URL returns the URL that the request is sent to, with its query. It may contain secrets. After a redirect it is not the
// URL that the call began with.
func (r *AuthRequest) URL() string { return r.x.to.String() }

// Header returns the first value of a header: the one that SetHeader has set, or the one of the request. It returns "" if
// there is none. Headers that the transport adds, such as Host, Content-Length and Accept-Encoding, are missing.
func (r *AuthRequest) Header(name string) string {
	if value, ok := r.headers.get(name, foldName); ok {
		return value
	}
	value, _ := r.x.headers.get(name, foldName)
	return value
}

// SetHeader sets a header of the request, in place of any value that the request has. A redirect to another origin does
// not take it along. If the header cannot be sent, the call returns an AuthError that wraps ErrHeader.
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

// Body returns a reader of the body of the request, for credentials that sign it. The reader is never nil. It is an error if
// the body can be read only once. Use SetBody with something that can be read again in that case: a file, bytes, or a value that
// the codec encodes.
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

// Challenge returns what the server asks for in WWW-Authenticate (RFC 9110 §11.6.1), several challenges with commas between
// them. refused is true if the request was sent and the server answered with the status 401. Header then returns the
// credentials that it refused.
func (r *AuthRequest) Challenge() (challenge string, refused bool) { return r.challenge, r.refused }

// added returns the headers that were set, none if r is nil.
func (r *AuthRequest) added() (f fields) {
	if r != nil {
		f = r.headers
	}
	return f
}

// ask calls the Auth.
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
	Value   string
	Type    string    // "Bearer" if it is empty
	Expires time.Time // never if it is zero
}

// tokenSlack is how long before the end of a token the next one is fetched.
const tokenSlack = 10 * time.Second

// Tokens returns an [Auth] that asks source for a token and uses it until shortly before it expires, or until the server
// answers with the status 401. It then asks source again. If source returns an error, it goes on using the old token until
// that expires. source is called by one goroutine at a time, with the context of a call that needs the token.
func Tokens(source func(ctx context.Context) (Token, error)) Auth {
	return &tokens{source: source, lock: make(chan struct{}, 1)}
}

type tokens struct {
	source func(context.Context) (Token, error)
	lock   chan struct{} // and not a mutex, for calls end while they wait
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
	if err := checkHeader("Authorization", token.header()); err != nil { // such a token is not kept
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
		if !r.changed || !x.body.replayable() { // new credentials are for the next call then
			return resp, nil
		}
		resp.discard()
		return next(x)
	}
}

// challenge returns the value of WWW-Authenticate.
func (r *Response) challenge() string { return strings.Join(r.headers.lines("WWW-Authenticate"), ", ") }

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
