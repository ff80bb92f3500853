package middleware_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// fewRounds makes a hash with few rounds, so that tests are fast.
func fewRounds(password string) string { return withRounds(password, 10_000) }

func withRounds(password string, rounds int) string {
	salt := []byte("salt of 16 bytes")
	sum, err := pbkdf2.Key(sha256.New, password, salt, rounds, 32)
	if err != nil {
		panic(err)
	}
	return "pbkdf2-sha256$" + strconv.Itoa(rounds) + "$" + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(sum)
}

func basic(text string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}

// saysUser responds with the name of the user.
func saysUser(c *web.Ctx) error {
	name, ok := middleware.AuthUser(c)
	return c.SendString(name + " " + strconv.FormatBool(ok))
}

func TestBasicAuth(t *testing.T) {
	users := map[string]string{"ada": fewRounds("secret:with:colons"), "bob": fewRounds("pässwörd ✓"), "eve": fewRounds(""), "long": fewRounds(strings.Repeat("x", 500))}
	app := newApp(middleware.BasicAuth{Users: users, Realm: "notes"})
	app.Get("/", saysUser)
	const challenge = `Basic realm="notes", charset="UTF-8"`
	for _, tc := range []struct {
		name   string
		fields []string
		status int
		body   string
	}{
		{"right", []string{basic("ada:secret:with:colons")}, 200, "ada true"},
		{"right again", []string{basic("ada:secret:with:colons")}, 200, "ada true"},
		{"UTF-8", []string{basic("bob:pässwörd ✓")}, 200, "bob true"},
		{"empty password of a user that has one", []string{basic("eve:")}, 200, "eve true"},
		{"more than 72 bytes", []string{basic("long:" + strings.Repeat("x", 500))}, 200, "long true"},
		{"scheme in another case", []string{"Authorization: bASIC " + base64.StdEncoding.EncodeToString([]byte("eve:"))}, 200, "eve true"},
		{"no credentials", nil, 401, ""},
		{"wrong password", []string{basic("ada:wrong")}, 401, ""},
		{"empty password", []string{basic("ada:")}, 401, ""},
		{"prefix of the password", []string{basic("ada:secret")}, 401, ""},
		{"72 equal bytes", []string{basic("long:" + strings.Repeat("x", 499) + "y")}, 401, ""},
		{"the hash as the password", []string{basic("ada:" + users["ada"])}, 401, ""},
		{"password of another user", []string{basic("bob:secret:with:colons")}, 401, ""},
		{"unknown user", []string{basic("mallory:")}, 401, ""},
		{"name in another case", []string{basic("Ada:secret:with:colons")}, 401, ""},
		{"name and password cut elsewhere", []string{basic("ada:secret:with:colons" + "\x00")}, 400, ""},
		{"empty name", []string{basic(":secret")}, 400, ""},
		{"no colon", []string{basic("ada")}, 400, ""},
		{"control character", []string{basic("ada\n:secret")}, 400, ""},
		{"not UTF-8", []string{basic("bob:p\xe4ss")}, 400, ""},
		{"not base64", []string{"Authorization: Basic !!!"}, 400, ""},
		{"base64 of a URL", []string{"Authorization: Basic __-_"}, 400, ""},
		{"nothing after the scheme", []string{"Authorization: Basic"}, 400, ""},
		{"other scheme", []string{"Authorization: Bearer YWRhOnNlY3JldA=="}, 401, ""},
		{"scheme as a prefix", []string{"Authorization: BasicX YWRhOnNlY3JldA=="}, 401, ""},
		{"two headers", []string{basic("eve:"), basic("ada:wrong")}, 400, ""},
		{"too long", []string{"Authorization: Basic " + strings.Repeat("A", 8<<10)}, 400, ""},
		{"in the URL", []string{"X-Authorization: x"}, 401, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, app, "GET", "/", tc.fields...)
			if a.status != tc.status || tc.status == 200 && a.body != tc.body {
				t.Errorf("%d %q", a.status, a.body)
			}
			if tc.status != 200 {
				a.want(t, "WWW-Authenticate", challenge)
			}
		})
	}
}

// An unknown name takes as long as a wrong password, so that the time does not reveal which names exist. A right password is remembered for a
// minute, a wrong one is not.
func TestBasicAuthTime(t *testing.T) {
	app := newApp(middleware.BasicAuth{Users: map[string]string{"ada": withRounds("secret", 100_000)}})
	app.Get("/", saysUser)
	took := func(credentials string) time.Duration {
		start := time.Now()
		ask(t, app, "GET", "/", basic(credentials))
		return time.Since(start)
	}
	usually := func(what string, holds func(wrong time.Duration) bool) { // on a busy machine, one measurement may be off
		t.Helper()
		for range 5 {
			if holds(took("ada:wrong")) {
				return
			}
		}
		t.Error(what)
	}
	usually("an unknown name is faster than a wrong password", func(wrong time.Duration) bool { return took("nobody:wrong") > wrong/3 })
	took("ada:secret")
	usually("a right password is as slow as a wrong one each time", func(wrong time.Duration) bool { return took("ada:secret") < wrong/3 })
	remembered := took("ada:secret")
	usually("a wrong password is remembered", func(wrong time.Duration) bool { return wrong > 3*remembered })
}

func TestBasicAuthCheck(t *testing.T) {
	down := errors.New("the database is down")
	app := newApp(middleware.BasicAuth{Users: map[string]string{"ada": fewRounds("secret")}, Check: func(_ *web.Ctx, user, password string) (bool, error) {
		if user == "down" {
			return true, down
		}
		return user == "root" && password == "toor", nil
	}})
	app.Get("/", saysUser)
	for credentials, want := range map[string]int{"root:toor": 200, "root:wrong": 401, "ada:secret": 200, "ada:toor": 401, "x:toor": 401, "down:x": 500} {
		if a := ask(t, app, "GET", "/", basic(credentials)); a.status != want {
			t.Errorf("%s: %d, want %d", credentials, a.status, want)
		}
	}
}

func TestBasicAuthAtOnce(t *testing.T) {
	t.Parallel()
	app := newApp(middleware.BasicAuth{Users: map[string]string{"ada": fewRounds("1"), "bob": fewRounds("2")}})
	app.Get("/", saysUser)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			for credentials, want := range map[string]string{"ada:1": "ada true", "bob:2": "bob true", "ada:2": "Unauthorized", "bob:" + strconv.Itoa(100+i): "Unauthorized"} {
				if a := ask(t, app, "GET", "/", basic(credentials)); a.body != want {
					t.Errorf("%s: %q", credentials, a.body)
				}
			}
		})
	}
	wait.Wait()
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	hash := fewRounds("secret")
	for _, c := range []struct {
		hash, password string
		want           bool
	}{
		{hash, "secret", true}, {hash, "Secret", false}, {hash, "", false}, {hash[:len(hash)-1], "secret", false},
	} {
		if got := middleware.CheckPassword(c.hash, c.password); got != c.want {
			t.Errorf("CheckPassword(%q, %q) = %v", c.hash, c.password, got)
		}
	}
}

// A user who does not exist takes as long as another one.
func TestCheckPasswordTakesAsLongWithoutUser(t *testing.T) {
	took := func(hash string) time.Duration {
		begun := time.Now()
		if middleware.CheckPassword(hash, "") {
			t.Errorf("the empty password is right for %q", hash)
		}
		return time.Since(begun)
	}
	usual := strings.Replace(fewRounds("secret"), "$10000$", "$600000$", 1) // not a hash of "secret" any more, but it takes as long
	user, nobody := took(usual), took("")
	for try := 0; try < 5 && nobody < user/4; try++ { // the machine may stop one of the measurements
		user, nobody = took(usual), took("")
	}
	if nobody < user/4 {
		t.Errorf("%v for a user, %v for nobody", user, nobody)
	}
}

func TestHashPassword(t *testing.T) {
	t.Parallel()
	one, two := middleware.HashPassword("secret"), middleware.HashPassword("secret")
	if one == two || !strings.HasPrefix(one, "pbkdf2-sha256$600000$") {
		t.Errorf("%s, %s", one, two)
	}
	app := newApp(middleware.BasicAuth{Users: map[string]string{"ada": one}})
	app.Get("/", saysUser)
	if a := ask(t, app, "GET", "/", basic("ada:secret")); a.status != 200 {
		t.Error(a.status)
	}
}

func TestBasicAuthSettings(t *testing.T) {
	mustPanic(t, "lets no user pass", func() { middleware.BasicAuth{}.Handler() })
	good := fewRounds("x")
	parts := strings.Split(good, "$")
	for _, hash := range []string{
		"", "secret", "secret$secret$secret$secret", parts[3], good + "$", good[:len(good)-1], good + "AA", strings.Replace(good, "10000", "9999", 1),
		strings.Replace(good, "10000", "100000000", 1), strings.Replace(good, "10000", "x", 1), parts[0] + "$" + parts[1] + "$$" + parts[3], parts[0] + "$" + parts[1] + "$" + parts[2] + "$", "$2y$10$abcdefghijklmnopqrstuv",
	} {
		mustPanic(t, "not a result of HashPassword", func() { middleware.BasicAuth{Users: map[string]string{"ada": hash}}.Handler() })
	}
	for _, name := range []string{"", "a:b", "a\nb", "\xff"} {
		mustPanic(t, "cannot be the name", func() { middleware.BasicAuth{Users: map[string]string{name: good}}.Handler() })
	}
	for _, realm := range []string{`a"b`, `a\b`, "a\r\nX: y", "é"} {
		mustPanic(t, "Realm", func() { middleware.BasicAuth{Users: map[string]string{"a": good}, Realm: realm}.Handler() })
	}
}
