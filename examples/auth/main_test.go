package main

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// secrets runs the program with -new, and returns what it prints.
func secrets(t *testing.T) (key, keyHash, password, passwordHash string) {
	t.Helper()
	p := program.Start(t, 0, "-new")
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)Bearer (\S+)' .*-key '(\S+)'.*-u admin:(\S+) .*-admin '(\S+)'`).FindStringSubmatch(p.Log())
	if found == nil {
		t.Fatal(p.Log())
	}
	return found[1], found[2], found[3], found[4]
}

func TestAuth(t *testing.T) {
	key, keyHash, password, passwordHash := secrets(t)
	p := program.Start(t, 1, "-addr", "127.0.0.1:0", "-key", keyHash, "-admin", passwordHash)
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, tc := range []struct {
		rule, method, path, authorization string
		status                            int
		part                              string // of the body, or of WWW-Authenticate if the status is 401 or 403
	}{
		{"no key", "GET", "/api/status", "", 401, `Bearer realm="API"`},
		{"a key", "GET", "/api/status", "Bearer " + key, 200, `{"user":"robot"}`},
		{"another key", "GET", "/api/status", "Bearer " + key + "A", 401, "invalid_token"},
		{"the hash is no key", "GET", "/api/status", "Bearer " + keyHash, 401, "invalid_token"},
		{"a scope is missing", "DELETE", "/api/status", "Bearer " + key, 403, `scope="write"`},
		{"a password is no key", "GET", "/api/status", basic("admin:" + password), 401, ""},
		{"no password", "GET", "/admin/", "", 401, "Basic realm="},
		{"a password", "GET", "/admin/", basic("admin:" + password), 200, `{"user":"admin"}`},
		{"another password", "GET", "/admin/", basic("admin:" + password + "A"), 401, "Basic realm="},
		{"another user", "GET", "/admin/", basic("root:" + password), 401, "Basic realm="},
		{"a key is no password", "GET", "/admin/", "Bearer " + key, 401, "Basic realm="},
	} {
		response, body := p.Do(tc.method, tc.path, "", "Authorization", tc.authorization)
		if tc.status >= 400 {
			body = response.Header.Get("WWW-Authenticate")
		}
		if response.StatusCode != tc.status || !strings.Contains(body, tc.part) {
			t.Errorf("%s: %d %s", tc.rule, response.StatusCode, body)
		}
	}
	response, _ := p.Do("POST", "/admin/", "", "Authorization", basic("admin:"+password), "Sec-Fetch-Site", "cross-site")
	if response.StatusCode != 403 {
		t.Errorf("a form of another site: %s", response.Status)
	}
}
