package middleware_test

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestKeyAuth(t *testing.T) {
	key, hash := middleware.NewAPIKey("shop")
	next, nextHash := middleware.NewAPIKey("shop")
	old, oldHash := middleware.NewAPIKey("shop")
	if key == next || !strings.HasPrefix(key, "shop_") || len(key) != len("shop_")+26 || middleware.HashAPIKey(key) != hash {
		t.Fatalf("%s, %s", key, next)
	}
	keys := []middleware.APIKey{
		{Name: "shop", Hash: hash, Scopes: []string{"read", "write"}}, {Name: "shop", Hash: nextHash, Scopes: []string{"read"}, Expires: time.Now().Add(time.Hour)},
		{Name: "old", Hash: oldHash, Scopes: []string{"read", "write"}, Expires: time.Now()},
	}
	app := newApp(middleware.KeyAuth{Keys: keys, Scopes: []string{"read"}, Realm: "orders"})
	app.Get("/", saysUser)
	app.Post("/", middleware.KeyAuth{Keys: keys, Scopes: []string{"read", "write"}, Realm: "orders"}.Handler(), saysUser)
	keys[0].Name = "changed by the caller"
	const realm = `Bearer realm="orders"`
	const invalid, request = realm + `, error="invalid_token"`, realm + `, error="invalid_request"`
	for _, tc := range []struct {
		name, method, target string
		fields               []string
		status               int
		challenge            string
	}{
		{"key", "GET", "/", []string{"Authorization: Bearer " + key}, 200, ""},
		{"new key beside the old one", "GET", "/", []string{"Authorization: Bearer " + next}, 200, ""},
		{"scheme in another case", "GET", "/", []string{"Authorization: bEARER " + key}, 200, ""},
		{"all scopes", "POST", "/", []string{"Authorization: Bearer " + key}, 200, ""},
		{"scope is missing", "POST", "/", []string{"Authorization: Bearer " + next}, 403, realm + `, error="insufficient_scope", scope="read write"`},
		{"none", "GET", "/", nil, 401, realm},
		{"other scheme", "GET", "/", []string{"Authorization: Basic " + key}, 401, realm},
		{"no scheme", "GET", "/", []string{"Authorization: " + key}, 401, realm},
		{"unknown", "GET", "/", []string{"Authorization: Bearer shop_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, 401, invalid},
		{"expired", "GET", "/", []string{"Authorization: Bearer " + old}, 401, invalid},
		{"another case", "GET", "/", []string{"Authorization: Bearer " + strings.ToLower(key)}, 401, invalid},
		{"prefix", "GET", "/", []string{"Authorization: Bearer " + key[:len(key)-1]}, 401, invalid},
		{"longer", "GET", "/", []string{"Authorization: Bearer " + key + "A"}, 401, invalid},
		{"padded", "GET", "/", []string{"Authorization: Bearer " + key + "="}, 401, invalid},
		{"the hash as a key", "GET", "/", []string{"Authorization: Bearer " + hash}, 401, invalid},
		{"in the query, which is logged", "GET", "/?access_token=" + key + "&api_key=" + key, nil, 401, realm},
		{"in a form", "POST", "/", []string{"Content-Type: application/x-www-form-urlencoded", "Body: access_token=" + key}, 401, realm},
		{"in a cookie", "GET", "/", []string{"Cookie: access_token=" + key}, 401, realm},
		{"in another header", "GET", "/", []string{"X-Api-Key: " + key}, 401, realm},
		{"two headers", "GET", "/", []string{"Authorization: Bearer " + key, "Authorization: Bearer x"}, 400, request},
		{"two equal headers", "GET", "/", []string{"Authorization: Bearer " + key, "Authorization: Bearer " + key}, 400, request},
		{"two keys in one header", "GET", "/", []string{"Authorization: Bearer " + key + ", Bearer x"}, 400, request},
		{"bytes that no key has", "GET", "/", []string{"Authorization: Bearer a\"b"}, 400, request},
		{"empty", "GET", "/", []string{"Authorization: Bearer "}, 400, request},
		{"only padding", "GET", "/", []string{"Authorization: Bearer =="}, 400, request},
		{"too long", "GET", "/", []string{"Authorization: Bearer " + strings.Repeat("A", 8<<10)}, 400, request},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, app, tc.method, tc.target, tc.fields...)
			if a.status != tc.status || a.status == 200 && a.body != "shop true" {
				t.Errorf("%d %q", a.status, a.body)
			}
			a.want(t, "WWW-Authenticate", tc.challenge)
			if strings.Contains(a.body, key) {
				t.Errorf("the response has the key: %q", a.body)
			}
		})
	}
}

func TestKeyAuthHeader(t *testing.T) {
	key, hash := middleware.NewAPIKey("k")
	app := newApp(middleware.KeyAuth{Keys: []middleware.APIKey{{Name: "a", Hash: hash}}, Header: "X-Api-Key"})
	app.Get("/", saysUser)
	for field, want := range map[string]int{"X-Api-Key: " + key: 200, "x-api-key: " + key: 200, "X-Api-Key: Bearer " + key: 400, "Authorization: Bearer " + key: 401, "X-Api-Key: x": 401, "X_Api_Key: " + key: 401} {
		if a := ask(t, app, "GET", "/", field); a.status != want {
			t.Errorf("%s: %d, want %d", field, a.status, want)
		}
	}
}

func TestKeyAuthCheck(t *testing.T) {
	down := errors.New("the database is down")
	app := newApp(middleware.KeyAuth{Scopes: []string{"read"}, Check: func(_ *web.Ctx, key string) (*middleware.APIKey, error) {
		switch key {
		case "good":
			return &middleware.APIKey{Name: "ada", Scopes: []string{"read"}}, nil
		case "old":
			return &middleware.APIKey{Name: "ada", Scopes: []string{"read"}, Expires: time.Now().Add(-time.Second)}, nil
		case "poor":
			return &middleware.APIKey{Name: "ada"}, nil
		case "down":
			return nil, down
		}
		return nil, nil
	}})
	app.Get("/", saysUser)
	for key, want := range map[string]int{"good": 200, "old": 401, "poor": 403, "down": 500, "bad": 401} {
		if a := ask(t, app, "GET", "/", "Authorization: Bearer "+key); a.status != want {
			t.Errorf("%s: %d, want %d", key, a.status, want)
		}
	}
}

func TestKeyAuthSettings(t *testing.T) {
	mustPanic(t, "lets no key pass", func() { middleware.KeyAuth{}.Handler() })
	_, hash := middleware.NewAPIKey("k")
	sum := sha1.Sum([]byte("key"))
	for _, bad := range []string{"", "key", hex.EncodeToString(sum[:]), hash + "00", hash[:62], strings.Repeat("z", 64)} {
		mustPanic(t, "not a result of HashAPIKey", func() { middleware.KeyAuth{Keys: []middleware.APIKey{{Hash: bad}}}.Handler() })
	}
	one := middleware.APIKey{Hash: hash}
	mustPanic(t, "listed twice", func() { middleware.KeyAuth{Keys: []middleware.APIKey{one, one}}.Handler() })
	mustPanic(t, "listed twice", func() {
		middleware.KeyAuth{Keys: []middleware.APIKey{one, {Hash: strings.ToUpper(hash)}}}.Handler()
	})
	for _, scope := range []string{"", "a b", `a"b`, `a\b`, "a\r\nb"} {
		mustPanic(t, "cannot be a scope", func() { middleware.KeyAuth{Keys: []middleware.APIKey{one}, Scopes: []string{scope}}.Handler() })
	}
	mustPanic(t, "not the name of a header", func() { middleware.KeyAuth{Keys: []middleware.APIKey{one}, Header: "a b"}.Handler() })
	mustPanic(t, "Realm", func() { middleware.KeyAuth{Keys: []middleware.APIKey{one}, Realm: `"`}.Handler() })
	for _, prefix := range []string{"a b", "a\"", "a=", "é"} {
		mustPanic(t, "the prefix", func() { middleware.NewAPIKey(prefix) })
	}
}
