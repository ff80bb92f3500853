package redisstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// basket is the value of a session. All words begin with the owner.
type basket struct {
	Owner string
	Words []string
}

// sight is the body of all responses: what the session of the request has.
type sight struct {
	User   string
	Basket basket
}

// serveSessions is the main function of a process that serves sessions until the standard input ends. IDs are replaced often.
func serveSessions(app *web.App, store middleware.Store, addr string) {
	s := &middleware.Session[basket]{Store: store, Insecure: true, RotateEvery: 50 * time.Millisecond}
	app.Use(s)
	show := func(c *web.Ctx) error {
		value, _, err := s.Get(c)
		if err != nil {
			return err
		}
		user, err := s.User(c)
		if err != nil {
			return err
		}
		return c.JSON(sight{user, value})
	}
	then := func(step func(c *web.Ctx) error) web.Handler {
		return func(c *web.Ctx) error {
			if err := step(c); err != nil {
				return err
			}
			return show(c)
		}
	}
	app.Get("/", show)
	app.Post("/login/{name}", then(func(c *web.Ctx) error { return s.Start(c, c.Params("name"), basket{Owner: c.Params("name")}) }))
	app.Post("/add/{word}", then(func(c *web.Ctx) error {
		return s.Update(c, func(b *basket) error { b.Words = append(b.Words, c.Params("word")); return nil })
	}))
	app.Post("/rotate", then(s.Rotate))
	app.Post("/logout", then(s.End))
	app.Post("/logout-all/{name}", then(func(c *web.Ctx) error { return s.EndAll(c, c.Params("name")) }))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		app.Close()
	}()
	if err := app.Listen(addr); err != nil {
		panic(err)
	}
}

// person is a client of two servers. The person logs in, changes the session and logs out, again and again, each time as another user.
type person struct {
	t       *testing.T
	number  int
	servers []*gallop.HostClient
	random  *rand.Rand
	sent    *atomic.Int64 // requests of all persons

	logins int
	name   string // "" if the person is not logged in
	words  []string
	mu     sync.Mutex
	cookie string
	used   map[string]bool // the cookies since the last login
}

// send sends a request with a cookie to one of the servers. It returns the status and what the response shows.
func (p *person) send(server int, method, path, cookie string) (status int, seen sight) {
	p.sent.Add(1)
	request, response := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(request)
	defer gallop.ReleaseResponse(response)
	request.Header.SetMethod(method)
	request.SetRequestURI("http://" + p.servers[server].Addr + path)
	if cookie != "" {
		request.Header.SetCookie("session", cookie)
	}
	if err := p.servers[server].DoTimeout(request, response, time.Minute); err != nil {
		p.t.Errorf("%s: %v", path, err)
		return 0, seen
	}
	status = response.StatusCode()
	if err := json.Unmarshal(response.Body(), &seen); err != nil && status == 200 {
		p.t.Errorf("%s: %v", path, err)
	}
	set := gallop.Cookie{}
	set.SetKey("session")
	if cookie == p.cookie && response.Header.Cookie(&set) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cookie = string(set.Value())
		p.used[p.cookie] = true
	}
	return status, seen
}

// do sends a request with the cookie to any server, and checks that the response shows the data of this person.
func (p *person) do(method, path string) { p.doAt(p.random.IntN(2), method, path, p.cookie) }

func (p *person) doAt(server int, method, path, cookie string) {
	status, seen := p.send(server, method, path, cookie)
	p.mu.Lock()
	defer p.mu.Unlock()
	if status != 200 || seen.User != p.name || seen.Basket.Owner != p.name {
		p.t.Errorf("%s %s of %q: status %d, the response shows %q %v", method, path, p.name, status, seen.User, seen.Basket)
	}
	for _, word := range seen.Basket.Words {
		if !slices.Contains(p.words, word) {
			p.t.Errorf("%s %s of %q shows the word %q", method, path, p.name, word)
		}
	}
	if word, ok := strings.CutPrefix(path, "/add/"); ok && !slices.Contains(seen.Basket.Words, word) || method == "GET" && len(seen.Basket.Words) != len(p.words) {
		p.t.Errorf("%s %s of %q shows %q, want %q", method, path, p.name, seen.Basket.Words, p.words)
	}
}

// word returns a new word of this person.
func (p *person) word() string {
	word := fmt.Sprintf("%s.%d", p.name, len(p.words))
	p.words = append(p.words, word)
	return word
}

// dead checks that cookies open no session at either server.
func (p *person) dead(cookies ...string) {
	for _, cookie := range cookies {
		for i := range p.servers {
			if status, seen := p.send(i, "GET", "/", cookie); status != 200 || seen.User != "" || seen.Basket.Owner != "" {
				p.t.Errorf("an old cookie of %q: status %d, the response shows %q %v", p.name, status, seen.User, seen.Basket)
			}
		}
	}
}

// login logs the person in under a new name. If the person is logged in under another name, that session ends.
func (p *person) login() {
	old := slices.Collect(maps.Keys(p.used))
	p.logins++
	p.name, p.words = fmt.Sprintf("user%d-%d", p.number, p.logins), nil
	p.used = map[string]bool{}
	p.do("POST", "/login/"+p.name)
	p.dead(old[:min(len(old), 2)]...)
}

// change changes the session at both servers at once.
func (p *person) change() {
	paths, cookie := []string{"/add/" + p.word(), "/add/" + p.word()}, p.cookie
	var group sync.WaitGroup
	for i, path := range paths {
		group.Go(func() { p.doAt(i, "POST", path, cookie) })
	}
	group.Wait()
	p.do("GET", "/")
}

func (p *person) rotate() {
	p.do("GET", "/") // so that the cookie is the latest
	old := p.cookie
	p.do("POST", "/rotate")
	p.dead(old)
	p.do("GET", "/")
}

// logout ends the session. All of its cookies are dead then.
func (p *person) logout() {
	path, name, cookie := "/logout", p.name, p.cookie
	if p.random.IntN(4) == 0 {
		path = "/logout-all/" + name
	}
	p.name, p.words = "", nil
	if p.random.IntN(2) == 0 {
		p.doAt(p.random.IntN(2), "POST", path, cookie)
	} else { // the other server rotates at the same time
		first := p.random.IntN(2)
		var group sync.WaitGroup
		group.Go(func() { p.doAt(first, "POST", path, cookie) })
		group.Go(func() {
			if status, seen := p.send(1-first, "POST", "/rotate", cookie); status != 409 && (status != 200 || seen.User != "" && seen.User != name) {
				p.t.Errorf("/rotate of %q: status %d, the response shows %q", name, status, seen.User)
			}
		})
		group.Wait()
	}
	p.dead(slices.Collect(maps.Keys(p.used))...)
	p.cookie = ""
	p.dead("")
}

// live does steps until the persons have sent n requests together.
func (p *person) live(n int64) {
	p.login()
	for p.sent.Load() < n && !p.t.Failed() {
		switch step := p.random.IntN(10); {
		case p.name == "":
			p.login()
		case step < 5:
			p.change()
		case step < 7:
			p.rotate()
		case step < 8:
			p.login()
		default:
			p.logout()
		}
	}
}

// Many persons use two servers at once. Every response shows the data of the session's own user. After a logout, a login as another
// user or a rotation, the old cookie is dead at both servers.
func TestSessions(t *testing.T) {
	store := startServer(t).addr
	var servers []*gallop.HostClient
	for range 2 {
		servers = append(servers, startSessions(t, store))
	}
	n := int64(5000)
	if os.Getenv("GALLOP_LONG") != "" {
		n = 1_000_000
	}
	var sent atomic.Int64
	var group sync.WaitGroup
	for i := range 32 {
		p := &person{t: t, number: i, servers: servers, random: rand.New(rand.NewPCG(uint64(i), 1)), sent: &sent, used: map[string]bool{}}
		group.Go(func() { p.live(n) })
	}
	group.Wait()
	t.Logf("%d requests", sent.Load())
}

// startSessions starts a process that serves sessions, and returns a client for it.
func startSessions(t *testing.T, store string) *gallop.HostClient {
	t.Helper()
	j := job{Addr: store, Listen: wiretest.FreeAddress(t)}
	command := j.command(context.WithoutCancel(t.Context()), t)
	var log bytes.Buffer
	command.Stderr = &log
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil || t.Failed() {
			t.Errorf("process: %v: %s", err, log.String())
		}
	})
	client := &gallop.HostClient{Addr: j.Listen}
	eventually(t, "the process serves", func() error {
		_, _, err := client.Get(nil, "http://"+j.Listen+"/")
		return err
	})
	return client
}
