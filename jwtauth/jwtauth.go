// Package jwtauth is middleware that accepts requests with a JSON Web Token (RFC 7519) in the Authorization header:
//
//	type Claims struct {
//		jwt.RegisteredClaims
//		Role string `json:"role"`
//	}
//
//	auth := jwtauth.New[Claims](jwtauth.Config{Key: publicKey, Issuer: "https://login.example.com", Audience: "api"})
//	app.Use(auth)
//	app.Get("/me", func(c *web.Ctx) error {
//		claims, _ := auth.Claims(c)
//		return c.SendString(claims.Subject)
//	})
//
// Tokens are parsed and verified by github.com/golang-jwt/jwt.
package jwtauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/golang-jwt/jwt/v5"
)

// Config is the settings of an [Auth].
type Config struct {
	// Key verifies the tokens: a []byte of at least 32 bytes for HS256, HS384 and HS512, an *rsa.PublicKey, an *ecdsa.PublicKey or an
	// ed25519.PublicKey. The type of the key determines which algorithms a token may use. The token's own header never does.
	Key any

	// Keys are keys by their ID. If Keys is set, a token needs the ID of a key in its header "kid". Set either Key or Keys. To replace a
	// key, accept both keys for a while.
	Keys map[string]any

	// KeyFunc returns the key with an ID, for keys that change at runtime, such as a JSON Web Key Set. The ID is empty if the token has
	// none. KeyFunc must limit how often it fetches keys, because clients can send any ID. It may be called concurrently.
	KeyFunc func(ctx context.Context, id string) (key any, err error)

	// Issuer is the required issuer of a token. An empty Issuer accepts every issuer.
	Issuer string

	// Audience is the name of this service. A token must contain Audience in its claim "aud". An empty Audience accepts every audience,
	// which is only safe if the issuer makes tokens for no other service.
	Audience string

	// Type is the required header "typ" of a token, such as "at+jwt" for access tokens (RFC 9068). An empty Type accepts every type.
	Type string

	// Leeway is how much the clocks of the issuer and of this machine may differ. Zero means 30 seconds. Values over a minute are
	// reduced to one minute.
	Leeway time.Duration

	// MaxSize is the size in bytes of the largest token. Zero means 8 KiB.
	MaxSize int

	// Realm is the realm in the WWW-Authenticate header. The default is no realm.
	Realm string

	// Optional lets requests without an Authorization header pass, without claims. A request with an invalid token is still refused.
	Optional bool
}

// Auth is middleware that accepts requests with a valid token. C is the type of the claims; *C must implement jwt.Claims, which a struct
// with an embedded jwt.RegisteredClaims does. An expired token is refused, and so is a token without an expiry.
type Auth[C any] struct {
	config Config
	parser *jwt.Parser
	claims web.Key[*C]
}

// New returns an Auth. New panics if the settings contradict each other, or if *C does not implement jwt.Claims.
func New[C any](config Config) *Auth[C] {
	if _, ok := any(new(C)).(jwt.Claims); !ok {
		panic(fmt.Sprintf("jwtauth: *%T does not implement jwt.Claims: embed jwt.RegisteredClaims", *new(C)))
	}
	config.check()
	if config.Leeway <= 0 {
		config.Leeway = 30 * time.Second
	}
	if config.MaxSize <= 0 {
		config.MaxSize = 8 << 10
	}
	options := []jwt.ParserOption{jwt.WithLeeway(min(config.Leeway, time.Minute)), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithStrictDecoding()}
	if config.Issuer != "" {
		options = append(options, jwt.WithIssuer(config.Issuer))
	}
	if config.Audience != "" {
		options = append(options, jwt.WithAudience(config.Audience))
	}
	return &Auth[C]{config: config, parser: jwt.NewParser(options...), claims: web.NewKey[*C]()}
}

// check panics if the settings contradict each other.
func (o *Config) check() {
	sources := 0
	for _, set := range []bool{o.Key != nil, len(o.Keys) > 0, o.KeyFunc != nil} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		panic("jwtauth: set exactly one of Key, Keys and KeyFunc")
	}
	keys := []any{o.Key}
	for _, key := range o.Keys {
		keys = append(keys, key)
	}
	for _, key := range keys {
		if key == nil {
			continue
		}
		if _, err := algorithms(key); err != nil {
			panic(err.Error())
		}
	}
	if strings.ContainsAny(o.Realm, "\"\\\r\n") {
		panic(fmt.Sprintf("jwtauth: the Realm %q has characters that are not allowed", o.Realm))
	}
}

// algorithms returns the prefixes of the algorithms for a key.
func algorithms(key any) ([]string, error) {
	switch key := key.(type) {
	case []byte:
		if len(key) < 32 {
			return nil, fmt.Errorf("jwtauth: the secret has %d bytes, but needs at least 32", len(key))
		}
		return []string{"HS256", "HS384", "HS512"}, nil
	case *rsa.PublicKey:
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, nil
	case *ecdsa.PublicKey:
		return []string{fmt.Sprintf("ES%d", min(key.Curve.Params().BitSize, 512))}, nil // P-521 is for ES512
	case ed25519.PublicKey:
		return []string{"EdDSA"}, nil
	}
	return nil, fmt.Errorf("jwtauth: a key of type %T is not supported: use []byte, *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey", key)
}

// Claims returns the claims of the token. The result ok is false if the request has no token, or if the middleware has not run. Pass the
// Ctx or a context derived from the Ctx.
func (a *Auth[C]) Claims(ctx context.Context) (claims *C, ok bool) { return a.claims.Get(ctx) }

// Errors of tokens. They are causes of a [web.Error] with status 401.
var (
	errNoToken   = errors.New("jwtauth: the request has no bearer token")
	errMalformed = errors.New("jwtauth: the Authorization header is malformed")
	errTooLarge  = errors.New("jwtauth: the token is too large")
	errAlgorithm = errors.New("jwtauth: the algorithm of the token does not fit the key")
	errType      = errors.New("jwtauth: the token has another type")
	errKeyID     = errors.New("jwtauth: no key has the token's key ID")
)

// Handler returns the middleware. It responds with status 401 and a WWW-Authenticate header (RFC 6750 §3) if the token is missing or not
// valid.
func (a *Auth[C]) Handler() web.Handler {
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		token, err := a.token(c)
		switch {
		case err == errNoToken && a.config.Optional:
			return c.Next()
		case err != nil:
			return a.refuse(c, err)
		}
		claims := new(C)
		if _, err := a.parser.ParseWithClaims(token, any(claims).(jwt.Claims), func(t *jwt.Token) (any, error) { return a.key(c, t) }); err != nil {
			return a.refuse(c, err)
		}
		a.claims.Set(c, claims)
		return c.Next()
	}
}

// token returns the bearer token of a request.
func (a *Auth[C]) token(c *web.Ctx) (string, error) {
	lines := c.RequestCtx().Request.Header.PeekAll(gallop.HeaderAuthorization)
	if len(lines) == 0 {
		return "", errNoToken
	}
	scheme, token, ok := strings.Cut(string(lines[0]), " ")
	switch token = strings.TrimLeft(token, " "); {
	case len(lines) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", errMalformed
	case len(token) > a.config.MaxSize:
		return "", errTooLarge
	}
	return token, nil
}

// key returns the key for a token whose signature has not been verified yet.
func (a *Auth[C]) key(c *web.Ctx, t *jwt.Token) (any, error) {
	if typ, _ := t.Header["typ"].(string); a.config.Type != "" && !strings.EqualFold(strings.TrimPrefix(strings.ToLower(typ), "application/"), a.config.Type) {
		return nil, errType
	}
	id, _ := t.Header["kid"].(string)
	key := a.config.Key
	if a.config.Keys != nil {
		key = a.config.Keys[id]
	}
	if a.config.KeyFunc != nil {
		var err error
		if key, err = a.config.KeyFunc(c, id); err != nil {
			return nil, err
		}
	}
	if key == nil {
		return nil, errKeyID
	}
	allowed, err := algorithms(key)
	if err != nil {
		return nil, err
	}
	for _, name := range allowed {
		if t.Method.Alg() == name {
			return key, nil
		}
	}
	return nil, errAlgorithm
}

// refuse returns the error for a request without a valid token. The client does not learn what is wrong with a token.
func (a *Auth[C]) refuse(c *web.Ctx, cause error) error {
	challenge := "Bearer"
	if a.config.Realm != "" {
		challenge += ` realm="` + a.config.Realm + `"`
	}
	if cause != errNoToken {
		if a.config.Realm != "" {
			challenge += ","
		}
		challenge += ` error="invalid_token"`
	}
	c.SetHeader(gallop.HeaderWWWAuthenticate, challenge)
	return &web.Error{Status: gallop.StatusUnauthorized, Message: gallop.StatusMessage(gallop.StatusUnauthorized), Err: cause}
}
