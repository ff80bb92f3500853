package main

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// A session is kept in the store under a random ID, which only the cookie contains.
const (
	sessionCookie = "session"
	sessionTime   = 24 * time.Hour
)

// account is a user who is signed in. There are no passwords: this is a board among friends.
type account struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// login starts a session. It always makes a new session ID, which prevents session fixation.
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

// endSession deletes the client's session, if it has one.
func (b *board) endSession(c *web.Ctx) error {
	if id := c.Cookies(sessionCookie); id != "" {
		return b.store.Delete(c, sessionCookie+":"+id)
	}
	return nil
}

// session returns the account that is signed in, or nil.
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

// whoIsSignedIn is the key for the account of the current request.
var whoIsSignedIn = web.NewKey[*account]()

// signedIn rejects requests without a session.
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

// user returns the account that is signed in. It may only be called after signedIn.
func user(c *web.Ctx) *account {
	who, _ := whoIsSignedIn.Get(c)
	return who
}
