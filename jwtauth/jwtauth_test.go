package jwtauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/golang-jwt/jwt/v5"
)

type claims struct {
	jwt.RegisteredClaims
	Role string `json:"role"`
}

// keys of all kinds.
var (
	secret    = []byte("a secret of at least 32 bytes, for tests")
	rsaKey, _ = rsa.GenerateKey(rand.Reader, 2048)
	ecKey, _  = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ec521, _  = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	edKey     = ed25519.NewKeyFromSeed(make([]byte, 32))
)

// good returns claims that every test accepts.
func good() claims {
	return claims{jwt.RegisteredClaims{
		Issuer: "issuer", Subject: "gopher", Audience: jwt.ClaimStrings{"other", "api"}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}, "admin"}
}

func sign(t testing.TB, method jwt.SigningMethod, key any, c jwt.Claims, header ...string) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	for i := 0; i < len(header); i += 2 {
		token.Header[header[i]] = header[i+1]
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func newApp(config Config) *web.App {
	auth := New[claims](config)
	app := web.New(web.Config{Server: &gallop.Server{Logger: silent{}, MaxHeaderBytes: 1 << 20}})
	app.Use(auth)
	app.Get("/", func(c *web.Ctx) error {
		claims, ok := auth.Claims(c)
		if !ok {
			return c.SendString("nobody")
		}
		return c.SendString(claims.Subject + " " + claims.Role)
	})
	return app
}

// ask sends a request with lines of the Authorization header.
func ask(t *testing.T, app *web.App, lines ...string) (status int, body, challenge string) {
	t.Helper()
	request := httptest.NewRequest("GET", "/", nil)
	for _, line := range lines {
		request.Header.Add("Authorization", line)
	}
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text), response.Header.Get("WWW-Authenticate")
}

func TestKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		method jwt.SigningMethod
		sign   any
		verify any
	}{
		"HS256": {jwt.SigningMethodHS256, secret, secret},
		"RS256": {jwt.SigningMethodRS256, rsaKey, &rsaKey.PublicKey},
		"PS384": {jwt.SigningMethodPS384, rsaKey, &rsaKey.PublicKey},
		"ES256": {jwt.SigningMethodES256, ecKey, &ecKey.PublicKey},
		"ES512": {jwt.SigningMethodES512, ec521, &ec521.PublicKey},
		"EdDSA": {jwt.SigningMethodEdDSA, edKey, edKey.Public().(ed25519.PublicKey)},
	} {
		t.Run(name, func(t *testing.T) {
			token := sign(t, tc.method, tc.sign, good())
			for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
				if status, body, _ := ask(t, newApp(Config{Key: tc.verify, Issuer: "issuer", Audience: "api"}), scheme+" "+token); status != 200 || body != "gopher admin" {
					t.Errorf("%s: %d %s", scheme, status, body)
				}
			}
		})
	}
}

// with returns claims with a change.
func with(change func(c *claims)) claims {
	c := good()
	change(&c)
	return c
}

// Each of these tokens is refused.
func TestRefused(t *testing.T) {
	config := Config{Key: &rsaKey.PublicKey, Issuer: "issuer", Audience: "api"}
	app := newApp(config)
	rs := func(c claims) string { return "Bearer " + sign(t, jwt.SigningMethodRS256, rsaKey, c) }
	der, _ := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	token := strings.TrimPrefix(rs(good()), "Bearer ")
	parts := strings.Split(token, ".")
	encode := base64.RawURLEncoding.EncodeToString
	other, _ := rsa.GenerateKey(rand.Reader, 2048)
	at := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(time.Now().Add(d)) }
	for name, line := range map[string]string{
		"unsigned":                       "Bearer " + sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good()),
		"unsigned, in other letters":     "Bearer " + encode([]byte(`{"alg":"nOnE"}`)) + "." + parts[1] + ".",
		"without a signature":            "Bearer " + parts[0] + "." + parts[1] + ".",
		"the public key as a secret":     "Bearer " + sign(t, jwt.SigningMethodHS256, public, good()),
		"the DER public key as a secret": "Bearer " + sign(t, jwt.SigningMethodHS256, der, good()),
		"another key":                    "Bearer " + sign(t, jwt.SigningMethodRS256, other, good()),
		"another kind of key":            "Bearer " + sign(t, jwt.SigningMethodES256, ecKey, good()),
		"other claims":                   "Bearer " + parts[0] + "." + encode([]byte(`{"sub":"root","aud":"api","iss":"issuer","exp":99999999999}`)) + "." + parts[2],
		"expired":                        rs(with(func(c *claims) { c.ExpiresAt = at(-31 * time.Second) })),
		"no expiry":                      rs(with(func(c *claims) { c.ExpiresAt = nil })),
		"not valid yet":                  rs(with(func(c *claims) { c.NotBefore = at(35 * time.Second) })),
		"issued in the future":           rs(with(func(c *claims) { c.IssuedAt = at(35 * time.Second) })),
		"another issuer":                 rs(with(func(c *claims) { c.Issuer = "issuer2" })),
		"no issuer":                      rs(with(func(c *claims) { c.Issuer = "" })),
		"another audience":               rs(with(func(c *claims) { c.Audience = jwt.ClaimStrings{"apis"} })),
		"no audience":                    rs(with(func(c *claims) { c.Audience = nil })),
		"an empty audience":              rs(with(func(c *claims) { c.Audience = jwt.ClaimStrings{""} })),
		"many dots":                      "Bearer " + strings.Repeat(".", 8000), // CVE-2025-30204
		"too large":                      "Bearer " + token + strings.Repeat("A", 8<<10),
		"padding":                        "Bearer " + token + "=",
		"a byte behind it":               "Bearer " + token + " x",
		"a fourth part":                  "Bearer " + token + "." + parts[2],
		"garbage":                        "Bearer \xff\xfe",
		"empty":                          "Bearer ",
		"no scheme":                      token,
		"another scheme":                 "Basic " + token,
	} {
		t.Run(name, func(t *testing.T) {
			status, _, challenge := ask(t, app, line)
			if status != 401 || challenge != `Bearer error="invalid_token"` {
				t.Errorf("%d %s", status, challenge)
			}
		})
	}
	if status, _, _ := ask(t, app, rs(good()), rs(good())); status != 401 {
		t.Errorf("two lines: %d", status)
	}
	if status, _, challenge := ask(t, app); status != 401 || challenge != "Bearer" {
		t.Errorf("no token: %d %s", status, challenge)
	}
	for name, c := range map[string]claims{
		"expired within the leeway":   with(func(c *claims) { c.ExpiresAt = at(-25 * time.Second) }),
		"not valid within the leeway": with(func(c *claims) { c.NotBefore = at(25 * time.Second) }),
	} {
		if status, _, _ := ask(t, app, rs(c)); status != 200 {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// The ID of the key selects the key, and each key has its own algorithms.
func TestKeyIDs(t *testing.T) {
	down := errors.New("key server is down")
	for name, config := range map[string]Config{
		"Keys": {Keys: map[string]any{"old": secret, "new": &ecKey.PublicKey}},
		"KeyFunc": {KeyFunc: func(_ context.Context, id string) (any, error) {
			switch id {
			case "old":
				return secret, nil
			case "new":
				return &ecKey.PublicKey, nil
			case "weak":
				return []byte("short"), nil
			case "down":
				return nil, down
			}
			return nil, nil
		}},
	} {
		app := newApp(config)
		for _, tc := range []struct {
			method jwt.SigningMethod
			key    crypto.PrivateKey
			id     string
			status int
		}{
			{jwt.SigningMethodHS256, secret, "old", 200}, {jwt.SigningMethodES256, ecKey, "new", 200}, {jwt.SigningMethodHS256, secret, "new", 401},
			{jwt.SigningMethodHS256, secret, "", 401}, {jwt.SigningMethodHS256, secret, "../old", 401}, {jwt.SigningMethodHS256, []byte("short"), "weak", 401},
			{jwt.SigningMethodHS256, secret, "down", 401},
		} {
			if status, _, _ := ask(t, app, "Bearer "+sign(t, tc.method, tc.key, good(), "kid", tc.id)); status != tc.status {
				t.Errorf("%s, %q: %d, want %d", name, tc.id, status, tc.status)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	token := "Bearer " + sign(t, jwt.SigningMethodHS256, secret, good(), "typ", "application/AT+JWT")
	for kind, want := range map[string]int{"": 200, "at+jwt": 200, "jwt": 401} {
		if status, _, _ := ask(t, newApp(Config{Key: secret, Type: kind}), token); status != want {
			t.Errorf("type %q: %d, want %d", kind, status, want)
		}
	}
	optional := newApp(Config{Key: secret, Optional: true, Realm: "api", MaxSize: 1000})
	if status, body, _ := ask(t, optional); status != 200 || body != "nobody" {
		t.Errorf("optional, without a token: %d %s", status, body)
	}
	if status, _, challenge := ask(t, optional, "Bearer wrong"); status != 401 || challenge != `Bearer realm="api", error="invalid_token"` {
		t.Errorf("optional, with a wrong token: %d %s", status, challenge)
	}
	for want, f := range map[string]func(){
		"exactly one":     func() { New[claims](Config{}) },
		"at least 32":     func() { New[claims](Config{Key: []byte("short")}) },
		"not supported":   func() { New[claims](Config{Keys: map[string]any{"a": "text"}}) },
		"jwt.Claims":      func() { New[struct{}](Config{Key: secret}) },
		"not allowed":     func() { New[claims](Config{Key: secret, Realm: `a"b`}) },
		"of Key, Keys":    func() { New[claims](Config{Key: secret, Keys: map[string]any{"a": secret}}) },
		"*rsa.PrivateKey": func() { New[claims](Config{Key: rsaKey}) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("panic %q, want one with %q", text, want)
				}
			}()
			f()
		}()
	}
}

func BenchmarkAuth(b *testing.B) {
	serve := newApp(Config{Key: edKey.Public().(ed25519.PublicKey)}).Handler()
	ctx := new(gallop.RequestCtx)
	ctx.Request.SetRequestURI("http://example.com/")
	ctx.Request.Header.Set("Authorization", "Bearer "+sign(b, jwt.SigningMethodEdDSA, edKey, good()))
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		serve(ctx)
	}
}

func Example() {
	key := []byte("a secret of at least 32 random bytes")
	auth := New[claims](Config{Key: key, Issuer: "example"})
	app := web.New(web.Config{})
	app.Use(auth)
	app.Get("/", func(c *web.Ctx) error {
		claims, _ := auth.Claims(c)
		return c.SendString("hello, " + claims.Subject)
	})

	token, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: "example", Subject: "gopher", ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}).SignedString(key)
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := app.Test(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(body))
	// Output:
	// 200 hello, gopher
}
