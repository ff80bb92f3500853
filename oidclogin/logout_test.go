package oidclogin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

// A logout ends the session here, and then goes to the provider with the ID token.
func TestLogout(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, config(i))
	b := s.browser(t)
	b.login()
	if response := b.send("GET", "/logout"); response.StatusCode != 405 || b.cookies["session"] == "" {
		t.Errorf("GET: %d", response.StatusCode)
	}
	response := b.send("POST", "/logout")
	to, _ := url.Parse(response.Header.Get("Location"))
	q := to.Query()
	if response.StatusCode != 303 || !strings.HasPrefix(to.String(), i.server.URL+"/end?") || q.Get("client_id") != "shop" ||
		q.Get("post_logout_redirect_uri") != "http://localhost/bye" || strings.Count(q.Get("id_token_hint"), ".") != 2 {
		t.Errorf("%d to %s", response.StatusCode, to)
	}
	if b.cookies["session"] != "" {
		t.Error("the session has not ended")
	}
	i.set(func() { i.metadata = func(m map[string]any) { m["end_session_endpoint"] = "javascript:alert(1)" } })
	s = newSite(t, config(i))
	b = s.browser(t)
	b.login()
	if response := b.send("POST", "/logout"); response.Header.Get("Location") != "/" || b.cookies["session"] != "" {
		t.Errorf("unsafe endpoint: to %s", response.Header.Get("Location"))
	}
	i.set(func() { i.status = 500 })
	s = newSite(t, config(i))
	if response := s.browser(t).send("POST", "/logout"); response.StatusCode != 303 || response.Header.Get("Location") != "/" {
		t.Errorf("provider down: %d to %s", response.StatusCode, response.Header.Get("Location"))
	}
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

func (i *issuer) logoutClaims(id string) map[string]any {
	c := i.goodClaims()
	c["jti"], c["events"] = id, map[string]any{logoutEvent: map[string]any{}}
	delete(c, "email")
	delete(c, "auth_time")
	return c
}

// tell sends a logout token to the site.
func (s *site) tell(t *testing.T, token string) int {
	t.Helper()
	r := httptest.NewRequest("POST", "/logged-out", strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.app.Test(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %s", response.Header.Get("Cache-Control"))
	}
	return response.StatusCode
}

func (b *browser) loggedIn() bool { return b.send("GET", "/me").StatusCode == http.StatusOK }

func TestBackChannel(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.Store = new(middleware.MemoryStore)
	s := newSite(t, c)
	for name, change := range map[string]func(c map[string]any){
		"subject and session": func(c map[string]any) {},
		"subject only":        func(c map[string]any) { delete(c, "sid") },
		"session only":        func(c map[string]any) { delete(c, "sub") },
	} {
		first, second := s.browser(t), s.browser(t)
		first.login()
		second.login()
		claims := i.logoutClaims(name)
		change(claims)
		if !first.loggedIn() || !second.loggedIn() {
			t.Fatal("not logged in")
		}
		token := signRS256(i.key, map[string]any{"alg": "RS256", "kid": "first", "typ": "logout+jwt"}, claims)
		if status := s.tell(t, token); status != 200 {
			t.Errorf("%s: %d %v", name, status, s.failure)
		}
		if first.loggedIn() || second.loggedIn() {
			t.Errorf("%s: still logged in", name)
		}
		first.login()
		if status := s.tell(t, token); status != 400 || !first.loggedIn() {
			t.Errorf("%s, replayed: %d", name, status)
		}
	}
	claims := i.logoutClaims("unknown session")
	delete(claims, "sub")
	claims["sid"] = "unknown"
	if status := s.tell(t, signRS256(i.key, map[string]any{"alg": "RS256", "kid": "first"}, claims)); status != 200 {
		t.Errorf("unknown session: %d", status)
	}
}

// None of these tokens logs anybody out.
func TestBackChannelAttacks(t *testing.T) {
	i := newIssuer(t)
	c := config(i)
	c.Store = new(middleware.MemoryStore)
	s := newSite(t, c)
	b := s.browser(t)
	b.login()
	now := time.Now().Unix()
	claim := func(name string, value any) func(h, c map[string]any) {
		return func(_, c map[string]any) { c[name] = value }
	}
	without := func(name string) func(h, c map[string]any) { return func(_, c map[string]any) { delete(c, name) } }
	for name, change := range map[string]func(h, c map[string]any){
		"a nonce":           claim("nonce", "x"),
		"no event":          without("events"),
		"another event":     claim("events", map[string]any{"http://example.com": map[string]any{}}),
		"another issuer":    claim("iss", "https://evil.example"),
		"another audience":  claim("aud", "bank"),
		"expired":           claim("exp", now-40),
		"valid for a year":  claim("exp", now+365*86400),
		"no expiry":         without("exp"),
		"no ID":             without("jti"),
		"no time of issue":  without("iat"),
		"in the future":     claim("iat", now+40),
		"nobody":            func(_, c map[string]any) { delete(c, "sub"); delete(c, "sid") },
		"unknown key":       func(h, _ map[string]any) { h["kid"] = "unknown" },
		"an ID token":       func(_, c map[string]any) { delete(c, "events"); delete(c, "jti"); c["nonce"] = "x" },
		"another algorithm": func(h, _ map[string]any) { h["alg"] = "PS256" },
	} {
		header, claims := map[string]any{"alg": "RS256", "kid": "first"}, i.logoutClaims(name)
		change(header, claims)
		if status := s.tell(t, signRS256(i.key, header, claims)); status != 400 {
			t.Errorf("%s: %d", name, status)
		}
	}
	unsignedToken := unsigned(map[string]any{"alg": "none"}, i.logoutClaims("unsigned")) + "."
	for _, token := range []string{"", "x", unsignedToken, strings.Repeat(".", 5000), strings.Repeat("a", 20<<10)} {
		if status := s.tell(t, token); status != 400 {
			t.Errorf("%.20q: %d", token, status)
		}
	}
	if !b.loggedIn() {
		t.Error("logged out by an invalid token")
	}
	// unknown keys do not make the site hammer the provider
	before := i.seen("/keys")
	for range 50 {
		s.tell(t, signRS256(secondKey, map[string]any{"alg": "RS256", "kid": "unknown"}, i.logoutClaims("x")))
	}
	if n := i.seen("/keys") - before; n > 3 {
		t.Errorf("50 logout tokens made the site read the keys %d times", n)
	}
}
