package main

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func TestLogin(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	cookie := ""
	for _, step := range []struct {
		rule               string
		method, path, body string
		header             []string
		status             int
		part               string // of the body
	}{
		{"not signed in", "GET", "/", "", nil, 401, "sign in first"},
		{"wrong password", "POST", "/login", "name=ada&password=byron", nil, 401, "is wrong"},
		{"unknown user", "POST", "/login", "name=eve&password=", nil, 401, "is wrong"},
		{"another site", "POST", "/login", "name=ada&password=lovelace", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"signing in", "POST", "/login", "name=ada&password=lovelace", nil, 303, ""},
		{"first view", "GET", "/", "", nil, 200, `{"user":"ada","views":1}`},
		{"second view", "GET", "/", "", nil, 200, `{"user":"ada","views":2}`},
		{"signing in again", "POST", "/login", "name=ada&password=lovelace", nil, 303, ""},
		{"a new session", "GET", "/", "", nil, 200, `{"user":"ada","views":1}`},
		{"signing out", "POST", "/logout", "", nil, 204, ""},
		{"signed out", "GET", "/", "", nil, 401, "sign in first"},
	} {
		header := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie}, step.header...)
		before := cookie
		response, body := p.Do(step.method, step.path, step.body, header...)
		if response.StatusCode != step.status || !strings.Contains(body, step.part) {
			t.Errorf("%s: %d %s", step.rule, response.StatusCode, body)
		}
		for _, c := range response.Cookies() {
			cookie = c.Name + "=" + c.Value
			if !c.HttpOnly || c.MaxAge >= 0 && cookie == before {
				t.Errorf("%s: the cookie is %v", step.rule, c)
			}
		}
		if step.rule == "signed out" && before != "" {
			response, _ := p.Do("GET", "/", "", "Cookie", before)
			if response.StatusCode != 401 {
				t.Errorf("the old cookie still works: %d", response.StatusCode)
			}
		}
	}
}

// Passwords cannot be tried out.
func TestLoginIsLimited(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	for range 5 {
		if response, _ := p.Do("POST", "/login", "", "Content-Type", "text/plain"); response.StatusCode != 401 {
			t.Fatal(response.Status)
		}
	}
	if response, _ := p.Do("POST", "/login", ""); response.StatusCode != 429 || response.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After: %q", response.Status, response.Header.Get("Retry-After"))
	}
}
