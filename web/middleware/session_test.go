package middleware_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// visit is the value of the sessions in these tests.
type visit struct {
	N    int
	Name string
}

const sessionName = "__Host-session"

// spyStore counts the calls of a MemoryStore, keeps its keys, and fails on demand.
type spyStore struct {
	middleware.MemoryStore
	mu            sync.Mutex
	reads, writes int
	values        map[string][]byte
	err           error
	noTTL         bool                               // nothing expires
	before        func(operation string, key string) // called before each operation
}

var errStoreAway = errors.New("the store is away")

func (s *spyStore) note(operation, key string, value []byte) error {
	if s.before != nil {
		s.before(operation, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation == "get" {
		s.reads++
	} else {
		s.writes++
	}
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	if value != nil && s.err == nil {
		s.values[key] = bytes.Clone(value) // it belongs to the caller
	}
	return s.err
}

func (s *spyStore) ttl(ttl time.Duration) time.Duration {
	if s.noTTL {
		return 0
	}
	return ttl
}

func (s *spyStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.note("get", key, nil); err != nil {
		return nil, false, err
	}
	return s.MemoryStore.Get(ctx, key)
}

func (s *spyStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.note("set", key, value); err != nil {
		return err
	}
	return s.MemoryStore.Set(ctx, key, value, s.ttl(ttl))
}

func (s *spyStore) Delete(ctx context.Context, key string) error {
	if err := s.note("delete", key, nil); err != nil {
		return err
	}
	return s.MemoryStore.Delete(ctx, key)
}

func (s *spyStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	if err := s.note("add", key, value); err != nil {
		return nil, false, err
	}
	return s.MemoryStore.Add(ctx, key, value, s.ttl(ttl))
}

func (s *spyStore) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	if err := s.note("swap", key, replacement); err != nil {
		return false, err
	}
	return s.MemoryStore.CompareAndSwap(ctx, key, old, replacement, s.ttl(ttl))
}

func (s *spyStore) CompareAndDelete(ctx context.Context, key string, old []byte) (bool, error) {
	if err := s.note("remove", key, nil); err != nil {
		return false, err
	}
	return s.MemoryStore.CompareAndDelete(ctx, key, old)
}

// all returns a copy of what was stored.
func (s *spyStore) all() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

// fail makes the store fail with err, or work again.
func (s *spyStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// count returns the numbers of reads and writes since the last call.
func (s *spyStore) count() (reads, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reads, writes = s.reads, s.writes
	s.reads, s.writes = 0, 0
	return reads, writes
}

// sessionApp returns an app, as one of several processes, with routes for everything that sessions can do.
func sessionApp(s *middleware.Session[visit]) *web.App {
	app := newApp(s)
	app.Get("/none", says("none"))
	app.Get("/get", func(c *web.Ctx) error {
		v, found, err := s.Get(c)
		if err != nil {
			return err
		}
		user, err := s.User(c)
		if err != nil {
			return err
		}
		return c.SendString(v.Name + " " + strconv.Itoa(v.N) + " " + strconv.FormatBool(found) + " " + user)
	})
	app.Post("/add", func(c *web.Ctx) error {
		err := s.Update(c, func(v *visit) error { v.N++; return nil })
		if err != nil {
			return err
		}
		v, _, err := s.Get(c)
		if err != nil {
			return err
		}
		return c.SendString(strconv.Itoa(v.N))
	})
	app.Post("/same", func(c *web.Ctx) error { return s.Update(c, func(*visit) error { return nil }) })
	app.Post("/fail", func(c *web.Ctx) error {
		return s.Update(c, func(v *visit) error { v.N = 999; return web.NewError(422, "no") })
	})
	app.Post("/login/{name}", func(c *web.Ctx) error { return s.Start(c, c.Params("name"), visit{Name: c.Params("name")}) })
	app.Post("/rotate", s.Rotate)
	app.Post("/logout", s.End)
	app.Post("/logout-all/{name}", func(c *web.Ctx) error { return s.EndAll(c, c.Params("name")) })
	return app
}

// visitor is a client that keeps the cookie of a session.
type visitor struct {
	t      *testing.T
	app    *web.App
	name   string
	cookie string
}

func newVisitor(t *testing.T, app *web.App) *visitor {
	return &visitor{t: t, app: app, name: sessionName}
}

// do sends a request and keeps the cookie of the response.
func (v *visitor) do(method, target string, fields ...string) answer {
	v.t.Helper()
	if v.cookie != "" {
		fields = append(fields, "Cookie: other=1; "+v.name+"="+v.cookie)
	}
	a := ask(v.t, v.app, method, target, fields...)
	if value, set := cookieOf(a.header, v.name); set {
		v.cookie = value
	}
	return a
}

// want sends a request and compares the response.
func (v *visitor) want(method, target string, status int, body string) {
	v.t.Helper()
	if a := v.do(method, target); a.status != status || a.body != body {
		v.t.Errorf("%s %s: %d %q, want %d %q", method, target, a.status, a.body, status, body)
	}
}

// cookieOf returns the value of a cookie that a response sets.
func cookieOf(h http.Header, name string) (value string, set bool) {
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if c.Name == name {
			value, set = c.Value, true
		}
	}
	return value, set
}

// shortIdle makes the idle timeout end before the absolute one.
const shortIdle = 10 * time.Minute

func TestSession(t *testing.T) {
	app := sessionApp(&middleware.Session[visit]{})
	ada := newVisitor(t, app)
	ada.want("GET", "/get", 200, " 0 false ")
	if ada.cookie != "" {
		t.Error("a visitor without a session got a cookie")
	}
	a := ada.do("POST", "/add")
	set := a.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "Secure", "SameSite=Lax", "path=/"} {
		if !strings.Contains(strings.ToLower(set), strings.ToLower(part)) {
			t.Errorf("the cookie is not %s: %s", part, set)
		}
	}
	if strings.Contains(strings.ToLower(set), "domain") || strings.Contains(strings.ToLower(set), "max-age") || !strings.HasPrefix(set, sessionName+"=") {
		t.Errorf("Set-Cookie: %s", set)
	}
	if a = ada.do("POST", "/add"); a.body != "2" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%q, Set-Cookie %q", a.body, a.header.Get("Set-Cookie"))
	}
	if a := ada.do("POST", "/fail"); a.status != 422 {
		t.Errorf("%d %q", a.status, a.body)
	}
	ada.want("GET", "/get", 200, " 2 true ")
	newVisitor(t, app).want("GET", "/get", 200, " 0 false ")

	ada.do("POST", "/login/ada")
	ada.want("GET", "/get", 200, "ada 0 true ada")
	ada.do("POST", "/logout")
	if ada.cookie != "" {
		t.Errorf("the cookie is %q after logout", ada.cookie)
	}
	ada.want("GET", "/get", 200, " 0 false ")
}

// The cookie is Secure under each name.
func TestSessionCookieIsSecure(t *testing.T) {
	for _, name := range []string{"sid", "__Host-x", "__Secure-x"} {
		v := newVisitor(t, sessionApp(&middleware.Session[visit]{Cookie: name, SameSite: gallop.CookieSameSiteStrictMode}))
		v.name = name
		a := v.do("POST", "/add")
		if set := strings.ToLower(a.header.Get("Set-Cookie")); !strings.HasPrefix(set, strings.ToLower(name)+"=") || !strings.Contains(set, "; secure") || !strings.Contains(set, "samesite=strict") {
			t.Errorf("Set-Cookie: %s", set)
		}
		a = v.do("POST", "/logout")
		if set := strings.ToLower(a.header.Get("Set-Cookie")); !strings.Contains(set, "; secure") || !strings.Contains(set, "expires=") && !strings.Contains(set, "max-age=0") {
			t.Errorf("after logout: %s", set)
		}
	}
}

// A visitor whose session has a user that logs out cannot go on with a copy of the cookie.
func TestSessionLogoutIsOnTheServer(t *testing.T) {
	app := sessionApp(&middleware.Session[visit]{})
	ada := newVisitor(t, app)
	ada.do("POST", "/login/ada")
	thief := *ada
	thief.want("GET", "/get", 200, "ada 0 true ada")
	ada.do("POST", "/logout")
	thief.want("GET", "/get", 200, " 0 false ")
}

// The server never adopts an ID that it did not make: CVE-2024-38513, and fiber's issue 4469, in which reading was enough.
func TestSessionAdoptsNoForeignID(t *testing.T) {
	for _, id := range []string{
		strings.Repeat("A", 26), strings.Repeat("A", 25), strings.Repeat("A", 27), strings.Repeat("A", 4000), "a" + strings.Repeat("A", 25), "1" + strings.Repeat("A", 25),
		"chosen-by-the-attacker", "../../etc/passwd", "0", "%00", "__Host-session", strings.Repeat("A", 24) + "==",
	} {
		store := &spyStore{}
		app := sessionApp(&middleware.Session[visit]{Store: store})
		victim := newVisitor(t, app)
		victim.cookie = id
		victim.want("GET", "/get", 200, " 0 false ")
		victim.do("POST", "/rotate")
		victim.do("POST", "/logout")
		if len(store.all()) > 0 {
			t.Errorf("%.30q: a request that changes nothing stored %d values", id, len(store.all()))
		}
		if reads, _ := store.count(); len(id) != 26 && reads > 0 {
			t.Errorf("%.30q: the store was asked for an ID that no server makes", id)
		}
		for _, target := range []string{"/add", "/login/ada"} {
			victim.cookie = id
			if victim.do("POST", target); victim.cookie == id || len(victim.cookie) != 26 {
				t.Errorf("%s with the ID %.30q: the ID is %q", target, id, victim.cookie)
			}
			attacker := newVisitor(t, app)
			attacker.cookie = id
			attacker.want("GET", "/get", 200, " 0 false ")
		}
	}
}

// An attacker plants the ID of an own session and waits for the victim to log in (session fixation).
func TestSessionFixation(t *testing.T) {
	app := sessionApp(&middleware.Session[visit]{})
	attacker := newVisitor(t, app)
	attacker.do("POST", "/add")
	victim := *attacker
	victim.do("POST", "/login/victim")
	if victim.cookie == attacker.cookie {
		t.Error("login kept the ID")
	}
	victim.want("GET", "/get", 200, "victim 0 true victim")
	attacker.want("GET", "/get", 200, " 0 false ")

	victim.do("POST", "/add")
	before := victim
	victim.do("POST", "/rotate")
	if victim.cookie == before.cookie {
		t.Error("Rotate kept the ID")
	}
	victim.want("GET", "/get", 200, "victim 1 true victim")
	before.want("GET", "/get", 200, " 0 false ")
}

// IDs differ, and each character of them varies: CVE-2025-66630 made IDs weak.
func TestSessionIDs(t *testing.T) {
	app := sessionApp(&middleware.Session[visit]{})
	seen := map[string]bool{}
	var varied [26]map[byte]bool
	for range 300 {
		v := newVisitor(t, app)
		v.do("POST", "/add")
		if seen[v.cookie] || len(v.cookie) != 26 {
			t.Fatalf("the ID %q", v.cookie)
		}
		seen[v.cookie] = true
		for i := range varied {
			if varied[i] == nil {
				varied[i] = map[byte]bool{}
			}
			varied[i][v.cookie[i]] = true
		}
	}
	for i := range varied {
		if len(varied[i]) < 25 {
			t.Errorf("character %d has only %d values", i, len(varied[i]))
		}
	}
}

// Nobody can log in with a copy of the store: it has neither IDs nor anything that works as one.
func TestSessionStoreHasNoIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &spyStore{}
		app := sessionApp(&middleware.Session[visit]{Store: store})
		ada := newVisitor(t, app)
		ids := []string{}
		ada.do("POST", "/login/ada-lovelace")
		ids = append(ids, ada.cookie)
		time.Sleep(16 * time.Minute)
		ada.do("GET", "/get") // gets a new ID
		ids = append(ids, ada.cookie)
		if ids[0] == ids[1] {
			t.Fatal("the ID was not replaced after 16 minutes")
		}
		thief := newVisitor(t, app)
		for key, value := range store.all() {
			for _, id := range ids {
				if strings.Contains(key, id) || strings.Contains(string(value), id) {
					t.Errorf("%q has the ID: %q", key, value)
				}
			}
			if strings.Contains(key, "ada") {
				t.Errorf("the key %q has the name of the user", key)
			}
			hash := key[strings.LastIndexAny(key, ":@")+1:]
			raw, _ := base64.RawURLEncoding.DecodeString(hash)
			tries := []string{key, hash, hash[:26], strings.ToUpper(hash[:26]), string(raw)}
			if len(value) >= 26 {
				tries = append(tries, string(value[len(value)-26:]))
			}
			for _, try := range tries {
				if strings.ContainsAny(try, "\r\n\x00;") {
					continue
				}
				thief.cookie = base64.StdEncoding.EncodeToString([]byte(try))
				thief.want("GET", "/get", 200, " 0 false ")
				if isPrintable(try) {
					thief.cookie = try
					thief.want("GET", "/get", 200, " 0 false ")
				}
			}
		}
		sum := sha256.Sum256([]byte(ids[1]))
		if key := "session:" + sessionName + ":" + base64.RawURLEncoding.EncodeToString(sum[:]); store.all()[key] == nil {
			t.Errorf("no value under %q, but the test expects hashes there", key)
		}
	})
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func TestSessionTimeouts(t *testing.T) {
	for name, noTTL := range map[string]bool{"with a store that expires": false, "with a store that keeps everything": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := sessionApp(&middleware.Session[visit]{Store: &spyStore{noTTL: noTTL}, Idle: shortIdle, Absolute: time.Hour})
				ada := newVisitor(t, app)
				ada.do("POST", "/login/ada")
				time.Sleep(shortIdle)
				ada.want("GET", "/get", 200, " 0 false ")

				ada.do("POST", "/login/ada")
				start := time.Now()
				for time.Since(start) < time.Hour-shortIdle {
					time.Sleep(shortIdle - time.Second)
					ada.want("GET", "/get", 200, "ada 0 true ada")
				}
				time.Sleep(time.Until(start.Add(time.Hour - time.Second)))
				ada.want("GET", "/get", 200, "ada 0 true ada")
				time.Sleep(time.Second)
				ada.want("GET", "/get", 200, " 0 false ")
			})
		})
	}
}

func TestSessionWithoutTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := sessionApp(&middleware.Session[visit]{Idle: -1, Absolute: -1, RotateEvery: -1})
		ada := newVisitor(t, app)
		ada.do("POST", "/login/ada")
		id := ada.cookie
		time.Sleep(1000 * time.Hour)
		ada.want("GET", "/get", 200, "ada 0 true ada")
		if ada.cookie != id {
			t.Error("the ID was replaced")
		}
	})
}

// The ID is replaced from time to time. Parallel requests with the old ID find the same session, and get the new ID too, because the
// first response with it may be lost.
func TestSessionRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &middleware.MemoryStore{}
		one, two := sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: time.Minute}), sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: time.Minute})
		ada := newVisitor(t, one)
		ada.do("POST", "/login/ada")
		old := *ada
		time.Sleep(59 * time.Second)
		if ada.do("GET", "/get"); ada.cookie != old.cookie {
			t.Error("replaced too early")
		}
		time.Sleep(time.Second)
		if ada.do("GET", "/none"); ada.cookie != old.cookie {
			t.Error("replaced by a request that does not use the session")
		}
		if ada.do("GET", "/get"); ada.cookie == old.cookie {
			t.Error("not replaced")
		}
		parallel := old
		parallel.app = two
		parallel.want("POST", "/add", 200, "1")
		if parallel.cookie != ada.cookie {
			t.Errorf("the old ID led to %q, not to %q", parallel.cookie, ada.cookie)
		}
		ada.want("GET", "/get", 200, "ada 1 true ada")
		time.Sleep(29 * time.Second)
		late := old
		late.want("GET", "/get", 200, "ada 1 true ada")
		time.Sleep(time.Second)
		old.want("GET", "/get", 200, " 0 false ")
		ada.want("GET", "/get", 200, "ada 1 true ada")
	})
}

// Of many parallel requests only one replaces the ID, and a logout among them ends the session under each ID.
func TestSessionRotationAndLogoutAtOnce(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			app := sessionApp(&middleware.Session[visit]{RotateEvery: time.Minute})
			ada := newVisitor(t, app)
			ada.do("POST", "/login/ada")
			time.Sleep(time.Minute)
			var wait sync.WaitGroup
			clients := make([]visitor, 8)
			for i := range clients {
				clients[i] = *ada
				wait.Go(func() {
					if i == 3 {
						clients[i].do("POST", "/logout")
					} else {
						clients[i].do("GET", "/get")
					}
				})
			}
			wait.Wait()
			for i := range clients {
				clients[i].want("GET", "/get", 200, " 0 false ")
			}
			ada.want("GET", "/get", 200, " 0 false ")
		})
	}
}

// Another process gives the session a new ID just before a logout deletes the old one. The session ends nevertheless.
func TestSessionLogoutFollowsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, target := range []string{"/logout", "/login/bob"} {
			store := &spyStore{}
			one, two := sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: -1}), sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: time.Minute})
			ada := newVisitor(t, one)
			ada.do("POST", "/login/ada")
			other := *ada
			other.app = two
			time.Sleep(time.Minute)
			var once atomic.Bool
			store.before = func(operation, key string) {
				if operation == "remove" && once.CompareAndSwap(false, true) {
					other.do("GET", "/get")
				}
			}
			if a := ada.do("POST", target); a.status != 200 || other.cookie == ada.cookie || !once.Load() {
				t.Errorf("%s: %d", target, a.status)
			}
			other.want("GET", "/get", 200, " 0 false ")
		}
	})
}

// A logout ends a session that Rotate gives a new ID at the same time, whichever of the two requests is first. The old ID is good for
// nothing else.
func TestSessionLogoutEndsARotatedSession(t *testing.T) {
	for _, target := range []string{"/logout", "/login/bob"} {
		for _, when := range []string{"get", "remove", "later", "too late"} { // the step of the logout before which the other request rotates
			t.Run(target+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &spyStore{}
					app := sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: -1})
					ada := newVisitor(t, app)
					ada.do("POST", "/login/ada")
					other, old := *ada, *ada
					var once atomic.Bool
					rotate := func(operation, _ string) {
						if (operation == when || operation == "") && once.CompareAndSwap(false, true) {
							other.want("POST", "/rotate", 200, "")
							other.want("POST", "/rotate", 200, "")
						}
					}
					store.before = rotate
					if when == "later" || when == "too late" {
						rotate("", "")
						old.want("GET", "/get", 200, " 0 false ")
						old.want("POST", "/rotate", 200, "")
					}
					want := " 0 false "
					if when == "too late" {
						time.Sleep(31 * time.Second)
						want = "ada 0 true ada"
					}
					ada.want("POST", target, 200, "")
					if !once.Load() || other.cookie == old.cookie {
						t.Error("Rotate was not called")
					}
					other.want("GET", "/get", 200, want)
					old.want("GET", "/get", 200, " 0 false ")
				})
			})
		}
	}
}

// Two processes change one session at once, and no change is lost.
func TestSessionLosesNoUpdate(t *testing.T) {
	store := &middleware.MemoryStore{}
	apps := []*web.App{sessionApp(&middleware.Session[visit]{Store: store}), sessionApp(&middleware.Session[visit]{Store: store})}
	ada := newVisitor(t, apps[0])
	ada.do("POST", "/login/ada")
	const clients, each = 16, 25
	var wait sync.WaitGroup
	for i := range clients {
		client := *ada
		client.app = apps[i%2]
		wait.Go(func() {
			for range each {
				if a := client.do("POST", "/add"); a.status != 200 {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	wait.Wait()
	ada.want("GET", "/get", 200, "ada "+strconv.Itoa(clients*each)+" true ada")
}

// No visitor sees the session of another one, although requests share memory.
func TestSessionsDoNotMix(t *testing.T) {
	store := &middleware.MemoryStore{}
	apps := []*web.App{sessionApp(&middleware.Session[visit]{Store: store}), sessionApp(&middleware.Session[visit]{Store: store})}
	var wait sync.WaitGroup
	for i := range 16 {
		name := "user" + strconv.Itoa(i)
		client := newVisitor(t, apps[i%2])
		wait.Go(func() {
			for n := range 20 {
				client.app = apps[n%2]
				if n%5 == 0 {
					client.do("POST", "/login/"+name)
				}
				client.want("GET", "/get", 200, name+" "+strconv.Itoa(n%5)+" true "+name)
				client.do("POST", "/add")
				if n%7 == 0 {
					client.do("POST", "/rotate")
				}
			}
			client.do("POST", "/logout")
			client.want("GET", "/get", 200, " 0 false ")
		})
	}
	wait.Wait()
}

// A change of one request is written to the session under its new ID, and never brings an ended session back.
func TestSessionUpdateAfterTheEnd(t *testing.T) {
	store := &spyStore{}
	s := &middleware.Session[visit]{Store: store}
	app := sessionApp(s)
	ada := newVisitor(t, app)
	ada.do("POST", "/login/ada")
	other := *ada
	var once atomic.Bool
	store.before = func(operation, key string) {
		if operation == "swap" && !strings.Contains(key, "@") && once.CompareAndSwap(false, true) {
			other.do("POST", "/logout")
		}
	}
	if a := ada.do("POST", "/add"); a.status != 409 {
		t.Errorf("%d %q", a.status, a.body)
	}
	store.before = nil
	ada.want("GET", "/get", 200, " 0 false ")
}

// Reading writes nothing, a change that changes nothing writes nothing, and visitors without a session cost nothing.
func TestSessionWritesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &spyStore{}
		app := sessionApp(&middleware.Session[visit]{Store: store, RotateEvery: -1})
		want := func(what string, reads, writes int) {
			t.Helper()
			if r, w := store.count(); r != reads || w != writes {
				t.Errorf("%s: %d reads and %d writes, want %d and %d", what, r, w, reads, writes)
			}
		}
		ada := newVisitor(t, app)
		ada.do("GET", "/get")
		want("a visitor without a session", 0, 0)
		ada.do("POST", "/add")
		want("a new session", 0, 1)
		ada.do("GET", "/none")
		want("a handler that does not use the session", 0, 0)
		ada.do("GET", "/get")
		want("reading", 1, 0)
		ada.do("POST", "/same")
		want("a change that changes nothing", 1, 0)
		ada.do("POST", "/add")
		want("a change", 1, 1)
		for range 60 {
			time.Sleep(30 * time.Second)
			ada.do("GET", "/get")
		}
		want("30 minutes of reading, as long as Idle", 60, 10)
	})
}

// If the store fails, no request is served as if the visitor had no session.
func TestSessionStoreAway(t *testing.T) {
	store := &spyStore{}
	app := sessionApp(&middleware.Session[visit]{Store: store})
	ada := newVisitor(t, app)
	ada.do("POST", "/login/ada")
	id := ada.cookie
	store.fail(errStoreAway)
	for _, request := range [][2]string{{"GET", "/get"}, {"POST", "/add"}, {"POST", "/login/ada"}, {"POST", "/rotate"}, {"POST", "/logout"}, {"POST", "/logout-all/ada"}} {
		a := ada.do(request[0], request[1])
		if a.status != 503 || a.body != "Service Unavailable" || ada.cookie != id {
			t.Errorf("%s: %d %q, the cookie is %q", request[1], a.status, a.body, ada.cookie)
		}
	}
	newVisitor(t, app).want("GET", "/get", 200, " 0 false ")
	newVisitor(t, app).want("POST", "/login/bob", 503, "Service Unavailable")
	store.fail(nil)
	ada.want("GET", "/get", 200, "ada 0 true ada")
}

// A store that fails at any single step never leaves a session under an ID that the client has and the user has given up.
func TestSessionStoreFailsAtEachStep(t *testing.T) {
	for step := range 8 {
		store := &spyStore{}
		app := sessionApp(&middleware.Session[visit]{Store: store})
		ada := newVisitor(t, app)
		ada.do("POST", "/login/ada")
		before := *ada
		n := 0
		store.before = func(string, string) {
			store.mu.Lock()
			defer store.mu.Unlock()
			if store.err = nil; n == step {
				store.err = errStoreAway
			}
			n++
		}
		a := ada.do("POST", "/rotate")
		store.before = nil
		store.fail(nil)
		if a.status == 200 && ada.cookie != before.cookie {
			before.want("GET", "/get", 200, " 0 false ")
		}
		if a := ada.do("GET", "/get"); a.body != "ada 0 true ada" && a.body != " 0 false " {
			t.Errorf("step %d: %q", step, a.body)
		}
	}
}

func TestSessionEndAll(t *testing.T) {
	store := &spyStore{}
	one, two := sessionApp(&middleware.Session[visit]{Store: store}), sessionApp(&middleware.Session[visit]{Store: store})
	phone, laptop, bob := newVisitor(t, one), newVisitor(t, two), newVisitor(t, two)
	phone.do("POST", "/login/ada")
	laptop.do("POST", "/login/ada")
	bob.do("POST", "/login/bob")
	phone.want("GET", "/get", 200, "ada 0 true ada")
	laptop.want("GET", "/get", 200, "ada 0 true ada")
	phone.do("POST", "/logout-all/ada")
	phone.want("GET", "/get", 200, " 0 false ")
	laptop.want("GET", "/get", 200, " 0 false ")
	bob.want("GET", "/get", 200, "bob 0 true bob")
	phone.do("POST", "/login/ada")
	phone.want("GET", "/get", 200, "ada 0 true ada")
	laptop.want("GET", "/get", 200, " 0 false ")

	// If the store drops the user's epoch, the sessions end. They must not live on, since EndAll could not end them any more.
	for key := range store.all() {
		if strings.Contains(key, "@") {
			store.MemoryStore.Delete(t.Context(), key)
		}
	}
	phone.want("GET", "/get", 200, " 0 false ")
}

// EndAll within a request ends the session of the request, even if the handler has read it before.
func TestSessionEndAllOfTheRequest(t *testing.T) {
	s := &middleware.Session[visit]{}
	app := sessionApp(s)
	app.Post("/password", func(c *web.Ctx) error {
		user, err := s.User(c)
		if err != nil {
			return err
		}
		if err := s.EndAll(c, user); err != nil {
			return err
		}
		if _, found, err := s.Get(c); found || err != nil {
			t.Errorf("the session is still there, %v", err)
		}
		return s.Start(c, user, visit{Name: "again"})
	})
	ada := newVisitor(t, app)
	ada.do("POST", "/login/ada")
	thief := *ada
	ada.do("POST", "/password")
	ada.want("GET", "/get", 200, "again 0 true ada")
	thief.want("GET", "/get", 200, " 0 false ")
	if err := s.EndAll(t.Context(), ""); err == nil {
		t.Error("EndAll accepts an empty user")
	}
}

// Shared caches must not mix visitors up, even if a handler allows caching.
func TestSessionAndCaches(t *testing.T) {
	s := &middleware.Session[visit]{}
	app := sessionApp(s)
	for path, control := range map[string]string{"/public": "public, max-age=60", "/smax": "s-maxage=60", "/plain": "max-age=60", "/store": "no-store", "/own": "private, max-age=60", "/header": `max-age=60, private="x-a"`, "/upper": "No-Store"} {
		app.Post(path, func(c *web.Ctx) error {
			c.SetHeader("Cache-Control", control)
			return s.Update(c, func(v *visit) error { v.N++; return nil })
		})
	}
	for path, want := range map[string]string{
		"/public": "private, no-cache", "/smax": "private, no-cache", "/plain": "private, no-cache", "/store": "no-store", "/own": "private, max-age=60", "/header": "private, no-cache", "/upper": "No-Store", "/add": "private, no-cache",
	} {
		a := newVisitor(t, app).do("POST", path)
		a.want(t, "Cache-Control", want)
		a.want(t, "Vary", "Cookie")
	}
	a := newVisitor(t, app).do("GET", "/get")
	a.want(t, "Cache-Control", "private, no-cache")
	a.want(t, "Vary", "Cookie")
	a = newVisitor(t, app).do("GET", "/none")
	a.want(t, "Cache-Control", "")
	a.want(t, "Vary", "")
}

// The session is in the store and its cookie in the header before the first byte of a stream.
func TestSessionBeforeStreams(t *testing.T) {
	store := &middleware.MemoryStore{}
	s := &middleware.Session[visit]{Store: store, Insecure: true}
	app := sessionApp(s)
	add := func(v *visit) error { v.N++; return nil }
	app.Get("/stream", func(c *web.Ctx) error {
		if err := s.Update(c, add); err != nil {
			return err
		}
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			w.WriteString("first\n")
			w.Flush()
			<-c.Done()
			return nil
		})
	})
	app.Get("/sse", func(c *web.Ctx) error {
		if err := s.Update(c, add); err != nil {
			return err
		}
		return c.SSE(func(e *web.EventStream) error { e.Comment("first"); <-c.Done(); return nil })
	})
	app.Get("/late", func(c *web.Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			w.WriteString("first\n")
			w.Flush()
			var text string
			if err := s.Update(c, add); err != nil {
				text = err.Error()
			}
			_, err := w.WriteString(text + "\n")
			return err
		})
	})
	app.Get("/nethttp", web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := web.CtxOf(r)
		if err := s.Update(c, add); err != nil {
			t.Error(err)
		}
		w.Write([]byte("first\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
	layer := web.FromMiddleware(func(next http.Handler) http.Handler { return next })
	layered := app.Group("/layered", layer)
	layered.Get("/stream", func(c *web.Ctx) error {
		if err := s.Update(c, add); err != nil {
			return err
		}
		return c.SendStreamWriter(func(w *bufio.Writer) error { _, err := w.WriteString("first\n"); return err })
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(ln)
	t.Cleanup(func() { app.Close() })

	for _, path := range []string{"/stream", "/sse", "/nethttp", "/layered/stream"} {
		ctx, cancel := context.WithCancel(t.Context())
		response, err := http.DefaultClient.Do(get(ctx, "http://"+ln.Addr().String()+path))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || !strings.Contains(line, "first") {
			t.Errorf("%s: %q, %v", path, line, err)
		}
		id, set := cookieOf(response.Header, "session")
		if !set {
			t.Errorf("%s: the header has no cookie", path)
		}
		v := newVisitor(t, app)
		v.name, v.cookie = "session", id
		v.want("GET", "/get", 200, " 1 true ") // while the stream goes on
		cancel()
		response.Body.Close()
	}

	v := newVisitor(t, app)
	v.name = "session"
	if a := v.do("GET", "/late"); !strings.Contains(a.body, "response has begun") || v.cookie != "" {
		t.Errorf("%q, the cookie is %q", a.body, v.cookie)
	}
	v.do("POST", "/add")
	if a := v.do("GET", "/late"); a.body != "first\n\n" { // no cookie is needed
		t.Errorf("%q", a.body)
	}
	v.want("GET", "/get", 200, " 2 true ")
}

func TestSessionBehindNetHTTP(t *testing.T) {
	app := sessionApp(&middleware.Session[visit]{})
	recorder := &recorded{header: http.Header{}}
	request, _ := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/add", nil)
	app.ServeHTTP(recorder, request)
	if id, set := cookieOf(recorder.header, sessionName); !set || len(id) != 26 {
		t.Errorf("Set-Cookie: %q", recorder.header["Set-Cookie"])
	}
}

// recorded is the ResponseWriter of a test.
type recorded struct {
	header http.Header
	body   []byte
}

func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(int) {}

func (r *recorded) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

func TestSessionInsecure(t *testing.T) {
	s := &middleware.Session[visit]{Insecure: true}
	app := sessionApp(s)
	v := newVisitor(t, app)
	v.name = "session"
	serve := func(remote string) answer {
		request := &gallop.RequestCtx{}
		address, err := net.ResolveTCPAddr("tcp", remote)
		if err != nil {
			t.Fatal(err)
		}
		request.Init(&gallop.Request{}, address, nil)
		request.Request.Header.SetMethod("POST")
		request.Request.SetRequestURI("/add")
		request.Request.Header.SetHost("example.com")
		app.Handler()(request)
		h := http.Header{}
		for name, value := range request.Response.Header.All() {
			h.Add(string(name), string(value))
		}
		return answer{request.Response.StatusCode(), string(request.Response.Body()), h}
	}
	a := serve("127.0.0.1:1")
	if id, set := cookieOf(a.header, "session"); a.status != 200 || !set || len(id) != 26 || strings.Contains(strings.ToLower(a.header.Get("Set-Cookie")), "secure") {
		t.Errorf("%d, %q", a.status, a.header.Get("Set-Cookie"))
	}
	if a := serve("192.0.2.1:1"); a.status != 500 || a.header.Get("Set-Cookie") != "" {
		t.Errorf("from another machine: %d, %q", a.status, a.header.Get("Set-Cookie"))
	}
}

func TestSessionPersistent(t *testing.T) {
	for want, s := range map[string]*middleware.Session[visit]{
		"max-age=86400":    {Persistent: true},
		"max-age=3600":     {Persistent: true, Absolute: time.Hour},
		"max-age=34560000": {Persistent: true, Absolute: -1},
	} {
		a := newVisitor(t, sessionApp(s)).do("POST", "/add")
		if set := strings.ToLower(a.header.Get("Set-Cookie")); !strings.Contains(set, want) {
			t.Errorf("%s, want %s", set, want)
		}
	}
}

// After a new version of the program has changed the type of the sessions, old sessions count as missing.
func TestSessionOfAnotherType(t *testing.T) {
	store := &spyStore{}
	old := &middleware.Session[string]{Store: store}
	app := newApp(old)
	app.Post("/", func(c *web.Ctx) error { return old.Start(c, "ada", "text") })
	ada := newVisitor(t, app)
	for _, use := range [][2]string{{"GET", "/get"}, {"POST", "/add"}} {
		ada.app = app
		ada.do("POST", "/")
		ada.app = sessionApp(&middleware.Session[visit]{Store: store})
		if a := ada.do(use[0], use[1]); a.status != 200 {
			t.Errorf("%d %q", a.status, a.body)
		}
	}
	ada.want("GET", "/get", 200, " 1 true ")

	for key, value := range store.all() { // and so do values of another format
		for _, other := range [][]byte{nil, {}, {2}, append([]byte{2}, value[1:]...), value[:2], value[:len(value)/2], []byte("{}")} {
			store.MemoryStore.Set(t.Context(), key, other, 0)
			if a := ada.do("GET", "/get"); a.status != 200 {
				t.Errorf("%q: %d %q", other, a.status, a.body)
			}
		}
	}
}

func TestSessionSettings(t *testing.T) {
	mustPanic(t, "needs a Store that is also", func() { (&middleware.Session[visit]{Store: plainStore{}}).Handler() })
	for _, name := range []string{"a b", "a;b", "a=b", strings.Repeat("x", 65), "é"} {
		mustPanic(t, "cannot be the name of a cookie", func() { (&middleware.Session[visit]{Cookie: name}).Handler() })
	}
	for _, name := range []string{"__Host-id", "__SECURE-id"} {
		mustPanic(t, "only over https", func() { (&middleware.Session[visit]{Cookie: name, Insecure: true}).Handler() })
	}
	unused := &middleware.Session[visit]{}
	unused.Handler()
	app := newApp()
	app.Get("/", func(c *web.Ctx) error {
		if _, _, err := unused.Get(c); err == nil || !strings.Contains(err.Error(), "did not pass through") {
			t.Error(err)
		}
		return nil
	})
	ask(t, app, "GET", "/")
	s := &middleware.Session[visit]{}
	app = newApp(s)
	app.Post("/", func(c *web.Ctx) error { return s.Start(c, strings.Repeat("x", 201), visit{}) })
	if a := ask(t, app, "POST", "/"); a.status != 500 || a.header.Get("Set-Cookie") != "" {
		t.Errorf("a user that is too long: %d", a.status)
	}
}

// plainStore has no atomic operations.
type plainStore struct{ middleware.Store }

// Two Sessions in one store, and one that is added twice.
func TestSessionsSideBySide(t *testing.T) {
	store := &middleware.MemoryStore{}
	a, b := &middleware.Session[visit]{Store: store}, &middleware.Session[visit]{Store: store, Cookie: "__Host-admin"}
	app := newApp(a, b, a)
	app.Post("/", func(c *web.Ctx) error {
		return errors.Join(a.Start(c, "ada", visit{N: 1}), b.Start(c, "root", visit{N: 2}))
	})
	app.Get("/", func(c *web.Ctx) error {
		one, _, err1 := a.Get(c)
		two, _, err2 := b.Get(c)
		c.SendString(strconv.Itoa(one.N) + strconv.Itoa(two.N))
		return errors.Join(err1, err2)
	})
	first := ask(t, app, "POST", "/")
	id1, _ := cookieOf(first.header, sessionName)
	id2, _ := cookieOf(first.header, "__Host-admin")
	if got := ask(t, app, "GET", "/", "Cookie: "+sessionName+"="+id1+"; __Host-admin="+id2); got.body != "12" {
		t.Errorf("%q", got.body)
	}
	if got := ask(t, app, "GET", "/", "Cookie: "+sessionName+"="+id2+"; __Host-admin="+id1); got.body != "00" {
		t.Errorf("with the cookies exchanged: %q", got.body)
	}
}

// A cookie that browsers drop gets one line in the log, which names the ways out.
func TestSessionHintsAtDroppedCookies(t *testing.T) {
	for name, test := range map[string]struct {
		session *middleware.Session[int]
		trusted string
		want    int
	}{
		"http":                  {&middleware.Session[int]{}, "", 1},
		"Insecure":              {&middleware.Session[int]{Insecure: true}, "", 0},
		"a trusted proxy":       {&middleware.Session[int]{}, "192.0.2.0/24", 0},
		"a proxy without trust": {&middleware.Session[int]{}, "198.51.100.0/24", 1},
	} {
		log := &records{}
		config := web.Config{NoListenLog: true, Server: &gallop.Server{ErrorLog: slog.New(slog.NewTextHandler(log, nil))}}
		if test.trusted != "" {
			config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(test.trusted)}
		}
		app := web.New(config)
		app.Use(test.session)
		app.Get("/", func(c *web.Ctx) error {
			if test.session.Insecure {
				c.RequestCtx().SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			}
			return test.session.Start(c, "", 7)
		})
		serve := app.Handler()
		for range 3 {
			request := &gallop.RequestCtx{}
			request.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)})
			request.Request.SetRequestURI("/")
			request.Request.Header.Set("X-Forwarded-Proto", "https")
			serve(request)
			if n := len(request.Response.Header.Peek("Set-Cookie")); n == 0 || request.Response.StatusCode() != 200 {
				t.Errorf("%s: status %d, cookie of %d bytes", name, request.Response.StatusCode(), n)
			}
			request.ResetUserValues()
		}
		n := strings.Count(log.String(), "level=WARN")
		if n != test.want || n > 0 && (!strings.Contains(log.String(), "set Session.Insecure") || !strings.Contains(log.String(), "Config.TrustedProxies")) {
			t.Errorf("%s: %d lines, want %d: %s", name, n, test.want, log)
		}
	}
}
