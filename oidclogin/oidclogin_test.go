package oidclogin

import (
	"context"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

type user struct {
	Email string `json:"email"`
	Token string `json:"token"`
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// site is an app with a login.
type site struct {
	app      *web.App
	auth     *Login
	sessions *middleware.Session[user]
	failure  error // of the last request
}

func config(i *issuer) Config {
	return Config{
		Issuer: i.server.URL, ClientID: "shop", ClientSecret: i.secret, RedirectURL: "http://localhost/login/callback", Insecure: true,
		Keys: [][]byte{[]byte("a secret of at least 32 bytes, for tests")}, PostLogoutURL: "http://localhost/bye", Timeout: 2 * time.Second,
	}
}

func newSite(t testing.TB, c Config) *site {
	s := &site{sessions: &middleware.Session[user]{Insecure: true}}
	if c.Login == nil {
		c.Login = StartSession(s.sessions, func(c *web.Ctx, id *Identity) (u user, err error) {
			u.Token = id.IDToken
			return u, id.Claims(&u)
		})
	}
	c.Logout = func(c *web.Ctx) (string, error) {
		u, _, err := s.sessions.Get(c)
		return u.Token, errors.Join(err, s.sessions.End(c))
	}
	c.LogoutUser = func(ctx context.Context, u LogoutUser) error { return s.sessions.EndAll(ctx, u.Subject) }
	s.auth = New(c)
	s.app = web.New(web.Config{Server: &gallop.Server{Logger: silent{}}, ErrorHandler: func(c *web.Ctx, err error) {
		s.failure = err
		web.DefaultErrorHandler(c, err)
	}})
	s.app.Use(s.sessions)
	s.app.Get("/login", s.auth.Begin())
	s.app.Get("/login/callback", s.auth.Callback())
	s.app.Post("/logout", s.auth.Logout())
	if c.Store != nil {
		s.app.Post("/logged-out", s.auth.BackChannel())
	}
	s.app.Get("/me", func(c *web.Ctx) error {
		u, found, err := s.sessions.Get(c)
		if err != nil {
			return err
		}
		if !found {
			return s.auth.Redirect(c, c.OriginalURL())
		}
		name, _ := s.sessions.User(c)
		return c.SendString(name + " " + u.Email)
	})
	return s
}

func (s *site) browser(t testing.TB) *browser {
	return &browser{t: t, test: s.app.Test, cookies: map[string]string{}}
}

func text(r *http.Response) string {
	body, _ := io.ReadAll(r.Body)
	return string(body)
}

// A login ends at the page that it began for, with a new session.
func TestLogin(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	b := s.browser(t)
	if i.seen("/.well-known/openid-configuration") != 0 {
		t.Error("New has contacted the provider")
	}
	page := b.begin("/me?tab=2")
	if len(b.cookies) != 1 {
		t.Errorf("cookies: %v", b.cookies)
	}
	response := b.send("GET", b.visit(page))
	if to := response.Header.Get("Location"); response.StatusCode != 303 || to != "/me?tab=2" {
		t.Fatalf("%d to %q: %v", response.StatusCode, to, s.failure)
	}
	if got := response.Header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
		t.Errorf("Cache-Control: %s", got)
	}
	if got := text(b.send("GET", "/me")); got != "gopher gopher@example.com" {
		t.Errorf("logged in: %q", got)
	}
	if len(b.cookies) != 1 || b.cookies["session"] == "" {
		t.Errorf("cookies: %v", b.cookies)
	}
	old := b.cookies["session"]
	b.login()
	if b.cookies["session"] == old {
		t.Error("the ID of the session is the same after a second login")
	}
	if n := i.seen("/keys"); n != 1 {
		t.Errorf("the keys were read %d times", n)
	}
}

// Cookies of logins are Secure, HttpOnly, bound to the host and small.
func TestCookie(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.Cookie = "tab-"
	s := newSite(t, c)
	response := s.browser(t).send("GET", "/login?return=/"+strings.Repeat("a", maxReturn-1))
	cookie := response.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.MaxAge != 600 || cookie.Path != "/" || len(cookie.Value) > 1600 {
		t.Errorf("%v, %d bytes", cookie, len(cookie.Value))
	}
	o := Config{}
	if o.defaults(); o.Cookie != "__Host-login-" {
		t.Errorf("default name: %s", o.Cookie)
	}
}

// Each of these callbacks is refused, and leaves no session.
func TestCallbackAttacks(t *testing.T) {
	i := newIssuer(t)
	for name, tc := range map[string]struct {
		change func(q url.Values)
		status int
	}{
		"no state":          {func(q url.Values) { q.Del("state") }, 400},
		"empty state":       {func(q url.Values) { q.Set("state", "") }, 400},
		"wrong state":       {func(q url.Values) { q.Set("state", strings.Repeat("A", 43)) }, 400},
		"end of the state":  {func(q url.Values) { q.Set("state", q.Get("state")[:42]+"!") }, 400},
		"changed state":     {func(q url.Values) { q.Set("state", q.Get("state")[:40]+"AAA") }, 400},
		"cookie injection":  {func(q url.Values) { q.Set("state", "a;b=c\r\n"+strings.Repeat("x", 36)) }, 400},
		"two states":        {func(q url.Values) { q.Add("state", q.Get("state")) }, 400},
		"two codes":         {func(q url.Values) { q.Add("code", "other") }, 400},
		"no code":           {func(q url.Values) { q.Del("code") }, 400},
		"unknown code":      {func(q url.Values) { q.Set("code", "stolen") }, 400},
		"mix-up":            {func(q url.Values) { q.Set("iss", "https://evil.example") }, 400},
		"no iss":            {func(q url.Values) { q.Del("iss") }, 400},
		"error with mix-up": {func(q url.Values) { q.Set("iss", "https://evil.example"); q.Set("error", "access_denied") }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, config(i))
			b := s.browser(t)
			callback, _ := url.Parse(b.visit(b.begin("/login")))
			q := callback.Query()
			tc.change(q)
			callback.RawQuery = q.Encode()
			response := b.send("GET", callback.String())
			if response.StatusCode != tc.status || b.cookies["session"] != "" {
				t.Errorf("%d, cookies %v: %v", response.StatusCode, b.cookies, s.failure)
			}
		})
	}
}

// The callback of an attacker's login does not log in the browser of a victim, even if the victim has begun a login.
func TestLoginCSRF(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	attacker, victim := s.browser(t), s.browser(t)
	callback := attacker.visit(attacker.begin("/login"))
	if response := victim.send("GET", callback); response.StatusCode != 400 || victim.cookies["session"] != "" {
		t.Errorf("without a login: %d", response.StatusCode)
	}
	own := victim.visit(victim.begin("/login"))
	if response := victim.send("GET", callback); response.StatusCode != 400 {
		t.Errorf("with a login: %d", response.StatusCode)
	}
	// the code of the attacker with the state of the victim
	theirs, _ := url.Parse(callback)
	mixed, _ := url.Parse(own)
	q := mixed.Query()
	q.Set("code", theirs.Query().Get("code"))
	mixed.RawQuery = q.Encode()
	if response := victim.send("GET", mixed.String()); response.StatusCode != 400 || victim.cookies["session"] != "" {
		t.Errorf("injected code: %d", response.StatusCode)
	}
	if s.failure == nil || !strings.Contains(s.failure.Error(), "invalid_grant") {
		t.Errorf("injected code: %v", s.failure)
	}
	// the cookie of the attacker under another name
	for name, value := range attacker.cookies {
		victim.cookies[s.auth.config.Cookie+"AAAAAAAA"] = value
		_ = name
	}
	if response := victim.send("GET", "/login/callback?code=x&state="+strings.Repeat("A", 43)); response.StatusCode != 400 {
		t.Errorf("renamed cookie: %d", response.StatusCode)
	}
}

// A callback works once, even for a client that keeps its cookies.
func TestReplay(t *testing.T) {
	for name, store := range map[string]middleware.Store{"without a Store": nil, "with a Store": new(middleware.MemoryStore)} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			c := config(i)
			c.Store = store
			s := newSite(t, c)
			b := s.browser(t)
			callback := b.visit(b.begin("/login"))
			kept := map[string]string{}
			for name, value := range b.cookies {
				kept[name] = value
			}
			if response := b.send("GET", callback); response.StatusCode != 303 {
				t.Fatalf("first: %d, %v", response.StatusCode, s.failure)
			}
			if response := b.send("GET", callback); response.StatusCode != 400 {
				t.Errorf("again: %d", response.StatusCode)
			}
			b.cookies = kept
			if response := b.send("GET", callback); response.StatusCode != 400 || b.cookies["session"] != "" {
				t.Errorf("with the old cookies: %d", response.StatusCode)
			}
			if exchanged := i.seen("/token"); (store != nil) != (exchanged == 1) {
				t.Errorf("%d exchanges: %v", exchanged, s.failure)
			}
		})
	}
}

// Each of these ID tokens is refused.
func TestTokens(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	der, _ := x509.MarshalPKIXPublicKey(&firstKey.PublicKey)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	now := time.Now().Unix()
	claim := func(name string, value any) func() {
		return func() { i.claims = func(c map[string]any) { c[name] = value } }
	}
	sign := func(f func(header, claims map[string]any) string) func() { return func() { i.sign = f } }
	hmacOf := func(key []byte) func() {
		return sign(func(header, claims map[string]any) string {
			header["alg"] = "HS256"
			m := hmac.New(sha256.New, key)
			m.Write([]byte(unsigned(header, claims)))
			return unsigned(header, claims) + "." + encode(m.Sum(nil))
		})
	}
	for name, change := range map[string]func(){
		"another nonce":              claim("nonce", "other"),
		"no nonce":                   func() { i.claims = func(c map[string]any) { delete(c, "nonce") } },
		"another issuer":             claim("iss", "https://evil.example"),
		"the issuer with a slash":    claim("iss", i.server.URL+"/"),
		"another audience":           claim("aud", "bank"),
		"no audience":                func() { i.claims = func(c map[string]any) { delete(c, "aud") } },
		"audience of another type":   claim("aud", map[string]any{"shop": true}),
		"two audiences without azp":  claim("aud", []string{"shop", "bank"}),
		"another authorized party":   claim("azp", "bank"),
		"no subject":                 claim("sub", ""),
		"a long subject":             claim("sub", strings.Repeat("x", 256)),
		"expired":                    claim("exp", now-31),
		"no expiry":                  func() { i.claims = func(c map[string]any) { delete(c, "exp") } },
		"not valid yet":              claim("nbf", now+40),
		"issued in the future":       claim("iat", now+40),
		"no time of issue":           func() { i.claims = func(c map[string]any) { delete(c, "iat") } },
		"hash of another token":      claim("at_hash", "xxxxxxxxxxxxxxxxxxxxxx"),
		"unsigned":                   sign(func(h, c map[string]any) string { h["alg"] = "none"; return unsigned(h, c) + "." }),
		"unsigned, in other letters": sign(func(h, c map[string]any) string { h["alg"] = "nOnE"; return unsigned(h, c) + "." }),
		"without a signature":        sign(func(h, c map[string]any) string { return unsigned(h, c) + "." }),
		"the public key as a secret": hmacOf(public),
		"the client secret":          hmacOf([]byte(i.secret)),
		"another key":                sign(func(h, c map[string]any) string { return signRS256(secondKey, h, c) }),
		"another key, unknown kid":   sign(func(h, c map[string]any) string { h["kid"] = "new"; return signRS256(secondKey, h, c) }),
		"a key in the token": sign(func(h, c map[string]any) string {
			h["jwk"] = jwk()
			delete(h, "kid")
			return signRS256(secondKey, h, c)
		}),
		"changed claims": sign(changedClaims),
		"a critical header": sign(func(h, c map[string]any) string {
			h["crit"] = []string{"x"}
			h["x"] = 1
			return signRS256(firstKey, h, c)
		}),
		"many dots":                    func() { i.token = func(m map[string]any) { m["id_token"] = strings.Repeat(".", 8000) } },
		"too large for MaxTokenSize":   claim("picture", strings.Repeat("x", 16<<10)),
		"too large for any response":   claim("picture", strings.Repeat("x", maxBody)),
		"no token":                     func() { i.token = func(m map[string]any) { delete(m, "id_token") } },
		"a token of another type":      func() { i.token = func(m map[string]any) { m["id_token"] = 7 } },
		"no access token":              func() { i.token = func(m map[string]any) { delete(m, "access_token") } },
		"a logout token":               claim("events", map[string]any{}),
		"an expiry that is not a time": claim("exp", "tomorrow"),
	} {
		t.Run(name, func(t *testing.T) {
			i.set(func() { i.claims, i.sign, i.token = nil, nil, nil; change() })
			if name == "a logout token" { // it has no nonce
				i.set(func() { i.claims = func(c map[string]any) { c["events"] = map[string]any{}; delete(c, "nonce") } })
			}
			b := s.browser(t)
			response := b.login()
			body := text(response)
			if response.StatusCode != 502 || b.cookies["session"] != "" {
				t.Errorf("%d: %v", response.StatusCode, s.failure)
			}
			if body != messageProvider {
				t.Errorf("the client learns the cause: %s", body)
			}
		})
	}
	for name, change := range map[string]func(){
		"expired within the leeway":       claim("exp", now-20),
		"in the future, within leeway":    claim("iat", now+20),
		"not valid within the leeway":     claim("nbf", now+20),
		"two audiences with azp":          func() { i.claims = func(c map[string]any) { c["aud"], c["azp"] = []string{"bank", "shop"}, "shop" } },
		"times with fractions of seconds": claim("nbf", float64(now)+0.5),
	} {
		i.set(func() { i.claims, i.sign, i.token = nil, nil, nil; change() })
		if response := s.browser(t).login(); response.StatusCode != 303 {
			t.Errorf("%s: %d, %v", name, response.StatusCode, s.failure)
		}
	}
}

func jwk() map[string]any {
	return map[string]any{"kty": "RSA", "n": encode(secondKey.N.Bytes()), "e": "AQAB"}
}

// changedClaims returns a token whose claims were changed after it was signed.
func changedClaims(header, claims map[string]any) string {
	parts := strings.Split(signRS256(firstKey, header, claims), ".")
	claims["sub"] = "root"
	return unsigned(header, claims) + "." + parts[2]
}

// After a change of the key, logins work within a second, and the keys are not read more often than that.
func TestKeyRotation(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	if response := s.browser(t).login(); response.StatusCode != 303 {
		t.Fatalf("%d: %v", response.StatusCode, s.failure)
	}
	i.set(func() {
		i.other = map[string]*rsa.PrivateKey{i.keyID: i.key}
		i.key, i.keyID = secondKey, "second"
	})
	time.Sleep(keysEvery)
	if response := s.browser(t).login(); response.StatusCode != 303 {
		t.Errorf("new key: %d, %v", response.StatusCode, s.failure)
	}
	begun := time.Now()
	i.set(func() {
		i.sign = func(h, c map[string]any) string { h["kid"] = "unknown"; return signRS256(firstKey, h, c) }
	})
	for range 20 {
		if response := s.browser(t).login(); response.StatusCode != 502 {
			t.Errorf("unknown key: %d", response.StatusCode)
		}
	}
	if n, most := i.seen("/keys"), 3+int(time.Since(begun)/keysEvery); n > most {
		t.Errorf("the keys were read %d times, want at most %d", n, most)
	}
}

// A login goes only to paths of the site.
func TestReturn(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	for target, want := range map[string]string{
		"/cart": "/cart", "/cart?a=b&c=%2F%2Fx": "/cart?a=b&c=%2F%2Fx", "/a#b": "/a#b", "": "/", "/": "/",
		"//evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/", "https://evil.example/": "/", "HTTPS:evil.example": "/",
		"javascript:alert(1)": "/", "evil.example": "/", "/\t/evil.example": "/", "/\r\nSet-Cookie: a=b": "/", " //evil.example": "/",
		"/a\x00": "/", "user@evil.example": "/", "///evil.example": "/", "/%0a": "/%0a", `/a?\\evil`: "/", "/" + strings.Repeat("a", maxReturn): "/", "/%zz": "/",
	} {
		b := s.browser(t)
		response := b.send("GET", b.visit(b.begin("/login?return="+url.QueryEscape(target))))
		if to := response.Header.Get("Location"); response.StatusCode != 303 || to != want {
			t.Errorf("%q: %d to %q, want %q", target, response.StatusCode, to, want)
		}
	}
}

// Several tabs can log in at the same time, in any order. Too many drop the oldest.
func TestTabs(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	b := s.browser(t)
	var callbacks []string
	for n := range maxPending + 2 {
		callbacks = append(callbacks, b.visit(b.begin(fmt.Sprintf("/login?return=/%d", n))))
		time.Sleep(2 * time.Millisecond) // the cookies have milliseconds
	}
	if len(b.cookies) != maxPending {
		t.Errorf("%d cookies", len(b.cookies))
	}
	for _, n := range []int{6, 2, 4, 3, 5, 0, 1} {
		response := b.send("GET", callbacks[n])
		if to := response.Header.Get("Location"); n > 1 && to != fmt.Sprintf("/%d", n) || n <= 1 && response.StatusCode != 400 {
			t.Errorf("tab %d: %d to %q", n, response.StatusCode, to)
		}
	}
	b = s.browser(t) // cookies that are not valid are dropped first
	good := b.visit(b.begin("/login"))
	for n := range 8 {
		b.cookies[fmt.Sprintf("login-garbage%d", n)] = "x"
	}
	b.begin("/login")
	if response := b.send("GET", good); response.StatusCode != 303 {
		t.Errorf("with garbage: %d", response.StatusCode)
	}
}

// A login expires, and the cookie of one provider or client is useless for another.
func TestPendingBounds(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.Lifetime = time.Second
	s := newSite(t, c)
	b := s.browser(t)
	callback := b.visit(b.begin("/login"))
	kept := b.cookies
	time.Sleep(1100 * time.Millisecond)
	b.cookies = kept
	if response := b.send("GET", callback); response.StatusCode != 400 {
		t.Errorf("expired: %d", response.StatusCode)
	}
	c.Lifetime = 0
	s = newSite(t, c)
	second := newIssuer(t)
	c.Issuer = second.server.URL
	other := newSite(t, c)
	second.metadata = func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
	i.authorize = func(q url.Values) { q.Del("iss") } // so that only the cookie tells the providers apart
	b = s.browser(t)
	callback = b.visit(b.begin("/login"))
	b.test = other.app.Test
	if response := b.send("GET", callback); response.StatusCode != 400 || second.seen("/token") != 0 {
		t.Errorf("another provider: %d", response.StatusCode)
	}
}

// Errors of the provider reach the program without their markup.
func TestProviderErrors(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	for code, want := range map[string]int{
		"access_denied": 403, "login_required": 403, "temporarily_unavailable": 503, "server_error": 502, "<script>alert(1)</script>": 502,
		"x\r\nSet-Cookie: a=b": 502, strings.Repeat("x", 1000): 502,
	} {
		i.set(func() {
			i.authorize = func(q url.Values) {
				q.Set("error", code)
				q.Set("error_description", "<b>no</b>\x1b[2J\n"+strings.Repeat("é", 500))
			}
		})
		response := s.browser(t).login()
		body := text(response)
		var failure *ProviderError
		if response.StatusCode != want || strings.Contains(body, "<") || len(body) > 100 {
			t.Errorf("%q: %d %q", code, response.StatusCode, body)
		}
		if !errors.As(s.failure, &failure) || want == 403 != (failure.Code == code && want == 403) || len([]rune(failure.Description)) > 300 || strings.ContainsAny(failure.Description, "\n\x1b") {
			t.Errorf("%q: %v", code, s.failure)
		}
	}
	i.set(func() { i.authorize = nil; i.secret = "changed" })
	if response := s.browser(t).login(); response.StatusCode != 502 || !strings.Contains(s.failure.Error(), "invalid_client") {
		t.Errorf("wrong secret: %d %v", response.StatusCode, s.failure)
	}
	if strings.Contains(fmt.Sprint(s.failure), "secret & more") {
		t.Errorf("the error has the secret: %v", s.failure)
	}
}

// siteWithoutProvider returns a site whose provider is down, and that has noticed.
func siteWithoutProvider(t *testing.T) (*issuer, *site) {
	for try := 0; ; try++ {
		i := newIssuer(t)
		i.set(func() { i.status = 500 })
		s := newSite(t, config(i))
		begun, wrong := time.Now(), ""
		for range 20 {
			response := s.browser(t).send("GET", "/login")
			if response.StatusCode != 503 || response.Header.Get("Retry-After") != "1" || text(response) != messageDown {
				wrong = fmt.Sprintf("down: %d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
			}
		}
		if n := i.seen("/.well-known/openid-configuration"); n != 1 {
			wrong = fmt.Sprintf("%d requests", n)
		}
		if wrong == "" {
			return i, s
		}
		if time.Since(begun) < 900*time.Millisecond || try == 10 { // after a second, the site asks again
			t.Fatal(wrong)
		}
	}
}

// A site starts while its provider is down, and recovers. Requests do not hammer the provider.
func TestProviderDown(t *testing.T) {
	i, s := siteWithoutProvider(t)
	i.set(func() { i.status = 0 })
	time.Sleep(1100 * time.Millisecond)
	if response := s.browser(t).login(); response.StatusCode != 303 {
		t.Errorf("up again: %d %v", response.StatusCode, s.failure)
	}

	// the provider goes down between the two halves of a login
	b := s.browser(t)
	callback := b.visit(b.begin("/login"))
	i.set(func() { i.status = 503 })
	if response := b.send("GET", callback); response.StatusCode != 502 {
		t.Errorf("down during the login: %d %v", response.StatusCode, s.failure)
	}
	i.set(func() { i.status, i.delay = 0, 5*time.Second })
	c := config(i)
	c.Timeout = 100 * time.Millisecond
	slow := newSite(t, c)
	begun := time.Now()
	if response := slow.browser(t).send("GET", "/login"); response.StatusCode != 503 || time.Since(begun) > 4*time.Second {
		t.Errorf("slow: %d after %v", response.StatusCode, time.Since(begun))
	}
	for c.Timeout = range wiretest.LongerLimits(100 * time.Millisecond) {
		i.set(func() { i.delay = 0 })
		slow = newSite(t, c)
		b = slow.browser(t)
		page := b.send("GET", "/login")
		if page.StatusCode != 303 {
			continue // the machine was too slow to read the metadata in time
		}
		callback = b.visit(page.Header.Get("Location"))
		i.set(func() { i.delay = c.Timeout + 5*time.Second })
		if response := b.send("GET", callback); response.StatusCode != 504 {
			t.Errorf("slow token endpoint: %d %v", response.StatusCode, slow.failure)
		}
		break
	}
	i.server.CloseClientConnections()
	i.server.Listener.Close()
	i.set(func() { i.delay = 0 })
	if response := s.browser(t).send("GET", "/login"); response.StatusCode != 303 {
		t.Errorf("metadata is not kept: %d", response.StatusCode)
	}
}

// Metadata that is not safe is not used.
func TestMetadata(t *testing.T) {
	for name, change := range map[string]func(m map[string]any){
		"another issuer":        func(m map[string]any) { m["issuer"] = "https://evil.example" },
		"a script as endpoint":  func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" },
		"http token endpoint":   func(m map[string]any) { m["token_endpoint"] = "http://example.com/token" },
		"http keys":             func(m map[string]any) { m["jwks_uri"] = "http://example.com/keys" },
		"no token endpoint":     func(m map[string]any) { delete(m, "token_endpoint") },
		"too large":             func(m map[string]any) { m["x"] = strings.Repeat("x", maxBody) },
		"endpoint with a user":  func(m map[string]any) { m["token_endpoint"] = "http://a:b@localhost/token" },
		"not the expected type": func(m map[string]any) { m["jwks_uri"] = 7 },
	} {
		i := newIssuer(t)
		i.metadata = change
		s := newSite(t, config(i))
		if response := s.browser(t).send("GET", "/login"); response.StatusCode != 503 {
			t.Errorf("%s: %d", name, response.StatusCode)
		}
	}
	i := newIssuer(t) // providers without RFC 9207 send no iss
	i.metadata = func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
	i.authorize = func(q url.Values) { q.Del("iss") }
	s := newSite(t, config(i))
	if response := s.browser(t).login(); response.StatusCode != 303 {
		t.Errorf("without iss: %d %v", response.StatusCode, s.failure)
	}
}

func TestMaxAgeAndParams(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.MaxAge, c.Params = time.Minute, map[string]string{"prompt": "login"}
	s := newSite(t, c)
	b := s.browser(t)
	page, _ := url.Parse(b.begin("/login"))
	if q := page.Query(); q.Get("max_age") != "60" || q.Get("prompt") != "login" {
		t.Errorf("%v", q)
	}
	for name, tc := range map[string]struct {
		age    any
		status int
	}{"recent": {time.Now().Unix() - 50, 303}, "long ago": {time.Now().Unix() - 120, 502}, "missing": {nil, 502}} {
		i.set(func() { i.claims = func(c map[string]any) { c["auth_time"] = tc.age } })
		if response := s.browser(t).login(); response.StatusCode != tc.status {
			t.Errorf("%s: %d %v", name, response.StatusCode, s.failure)
		}
	}
}

// A login that the program refuses starts no session. Other methods use up nothing.
func TestRefusedByProgram(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.Login = func(c *web.Ctx, id *Identity) error { return web.NewError(403, "not you") }
	s := newSite(t, c)
	b := s.browser(t)
	callback := b.visit(b.begin("/login"))
	if response := b.send("HEAD", callback); response.StatusCode != 405 || i.seen("/token") != 0 {
		t.Errorf("HEAD: %d", response.StatusCode)
	}
	if response := b.send("GET", callback); response.StatusCode != 403 || b.cookies["session"] != "" {
		t.Errorf("%d, cookies %v", response.StatusCode, b.cookies)
	}
}

func TestSettings(t *testing.T) {
	i := newIssuer(t)
	good := config(i)
	good.Login = func(*web.Ctx, *Identity) error { return nil }
	for want, change := range map[string]func(c *Config){
		"Issuer":                 func(c *Config) { c.Issuer = "" },
		"remove the query":       func(c *Config) { c.Issuer = "https://localhost/?a=b" },
		"set Insecure":           func(c *Config) { c.Insecure = false },
		"with Insecure":          func(c *Config) { c.RedirectURL = "http://example.com/callback" },
		"RedirectURL":            func(c *Config) { c.RedirectURL = "/callback" },
		"PostLogoutURL":          func(c *Config) { c.PostLogoutURL = "https://user@localhost/" },
		"ClientID":               func(c *Config) { c.ClientID = "" },
		"Login is missing":       func(c *Config) { c.Login = nil },
		"no Keys":                func(c *Config) { c.Keys = nil },
		"at least 32":            func(c *Config) { c.Keys = [][]byte{[]byte("short")} },
		"a single slash":         func(c *Config) { c.Home = "//evil.example" },
		"MaxAge":                 func(c *Config) { c.MaxAge = -1 },
		"letters, digits":        func(c *Config) { c.Cookie = "a;b" },
		"only over https":        func(c *Config) { c.Cookie = "__Host-x" },
		`Params has "state"`:     func(c *Config) { c.Params = map[string]string{"state": "x"} },
		"a middleware.Adder":     func(c *Config) { c.Store = struct{ middleware.Store }{} },
		"Logout is missing":      nil,
		"LogoutUser and Config.": nil,
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("panic %q, want one with %q", text, want)
				}
			}()
			c := good
			if change != nil {
				change(&c)
			}
			l := New(c)
			if strings.HasPrefix(want, "Logout is") {
				l.Logout()
			}
			if strings.HasPrefix(want, "LogoutUser") {
				l.BackChannel()
			}
		}()
	}
}

// Concurrent logins read the metadata and the keys once. A client that gives up does not stop the request of the other clients.
func TestConcurrentLogins(t *testing.T) {
	i := newIssuer(t)
	i.set(func() { i.delay = 500 * time.Millisecond })
	s := newSite(t, config(i))
	impatient, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := s.auth.provider.get(impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("impatient client: %v", err)
	}
	i.set(func() { i.delay = 50 * time.Millisecond })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			b := s.browser(t)
			if response := b.login(); response.StatusCode != 303 || !b.loggedIn() {
				t.Errorf("%d", response.StatusCode)
			}
		})
	}
	wg.Wait()
	if metadata, keys := i.seen("/.well-known/openid-configuration"), i.seen("/keys"); metadata != 1 || keys != 1 {
		t.Errorf("the metadata was read %d times, the keys %d times", metadata, keys)
	}
}
