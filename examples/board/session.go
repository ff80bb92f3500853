package main

import (
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// sessionTime is how long users stay signed in.
const sessionTime = 24 * time.Hour

// newSessions returns sessions that last a day and outlive a restart of the browser. Over http, users can sign in on this machine only.
func newSessions(store middleware.Store) *middleware.Session[account] {
	return &middleware.Session[account]{Store: store, Idle: sessionTime, Absolute: sessionTime, Persistent: true, Insecure: true}
}

// account is a user who is signed in. There are no passwords: this is a board among friends.
type account struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// login starts a session with a new ID.
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
	who := account{in.Name, time.Now().UTC().Truncate(time.Second)}
	if err := b.sessions.Start(c, who.Name, who); err != nil {
		return err
	}
	return c.JSON(who)
}

func (b *board) logout(c *web.Ctx) error {
	if err := b.sessions.End(c); err != nil {
		return err
	}
	return c.SendStatus(gallop.StatusNoContent)
}

// session returns the account that is signed in, or nil.
func (b *board) session(c *web.Ctx) (*account, error) {
	who, found, err := b.sessions.Get(c)
	if !found || err != nil {
		return nil, err
	}
	return &who, nil
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

// userName returns the key by which the limit on notes counts. It may only be called after signedIn.
func userName(c *web.Ctx) string { return user(c).Name }

// user returns the account that is signed in. It may only be called after signedIn.
func user(c *web.Ctx) *account {
	who, _ := whoIsSignedIn.Get(c)
	return who
}
