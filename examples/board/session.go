package main

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// A session is kept in the store, under a name that nobody can guess and which only the cookie has.
const (
	sessionCookie = "session"
	sessionTime   = 24 * time.Hour
)

// account is who is signed in. There are no passwords: it is a board among friends.
type account struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// login begins a session, under a new name: one that somebody has slipped in is worth nothing.
func (b *board) login(c *web.Ctx) error {
	var in struct {
		Name string `json:"name"`
	}
	if err := c.Bind().Body(&in); err != nil {
		return err
	}
	in.Name = strings.TrimSpace(in.Name)
	if in.Name == "" || len(in.Name) > 40 {
		return web.NewError(gallop.StatusUnprocessableEntity, "a name has 1 to 40 bytes")
	}
	if err := b.endSession(c); err != nil {
		return err
	}
	who := account{in.Name, time.Now().UTC().Truncate(time.Second)}
	value, err := json.Marshal(who)
	if err != nil {
		return err
	}
	id := rand.Text()
	if err := b.store.Set(c, sessionCookie+":"+id, value, sessionTime); err != nil {
		return err
	}
	if err := c.SetCookie(web.Cookie{Name: sessionCookie, Value: id, MaxAge: int(sessionTime.Seconds()), HTTPOnly: true, Secure: c.Secure()}); err != nil {
		return err
	}
	return c.JSON(who)
}

func (b *board) logout(c *web.Ctx) error {
	if err := b.endSession(c); err != nil {
		return err
	}
	c.ClearCookie(sessionCookie)
	return c.SendStatus(gallop.StatusNoContent)
}

// endSession forgets the session that the client has, if it has one.
func (b *board) endSession(c *web.Ctx) error {
	if id := c.Cookies(sessionCookie); id != "" {
		return b.store.Delete(c, sessionCookie+":"+id)
	}
	return nil
}

// session returns who is signed in, nil if nobody is.
func (b *board) session(c *web.Ctx) (*account, error) {
	id := c.Cookies(sessionCookie)
	if id == "" {
		return nil, nil
	}
	value, found, err := b.store.Get(c, sessionCookie+":"+id)
	if !found || err != nil {
		return nil, err
	}
	who := new(account)
	return who, json.Unmarshal(value, who)
}

// whoIsSignedIn is the account that a request belongs to.
var whoIsSignedIn = web.NewKey[*account]()

// signedIn lets those pass who are signed in.
func (b *board) signedIn(c *web.Ctx) error {
	who, err := b.session(c)
	switch {
	case err != nil:
		return err
	case who == nil:
		return web.NewError(gallop.StatusUnauthorized, "sign in first")
	}
	return whoIsSignedIn.Set(c, who).Next()
}

// user returns who is signed in, behind signedIn.
func user(c *web.Ctx) *account {
	who, _ := whoIsSignedIn.Get(c)
	return who
}
