// Command login lets users sign in with a password, and keeps them signed in with a session.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// visit is what the server remembers about a visitor.
type visit struct{ Views int }

// Insecure lets visitors on this machine sign in over http. Leave it out if the program or a proxy in front of it has a certificate.
var sessions = &middleware.Session[visit]{Insecure: true}

// users are the users with the hashes of their passwords. A larger program has them in a database.
var users = map[string]string{"ada": middleware.HashPassword("lovelace")}

// login is slow on purpose: see CheckPassword. It takes as long for a user who does not exist.
func login(c *web.Ctx) error {
	name := c.FormValue("name")
	if !middleware.CheckPassword(users[name], c.FormValue("password")) {
		return web.NewError(gallop.StatusUnauthorized, "the name or the password is wrong")
	}
	if err := sessions.Start(c, name, visit{}); err != nil {
		return err
	}
	return c.Redirect().To("/")
}

func logout(c *web.Ctx) error {
	if err := sessions.End(c); err != nil {
		return err
	}
	return c.SendStatus(gallop.StatusNoContent)
}

// home counts how often the user has seen it.
func home(c *web.Ctx) error {
	user, err := sessions.User(c)
	switch {
	case err != nil:
		return err // the store does not work; the user is not logged out
	case user == "":
		return web.NewError(gallop.StatusUnauthorized, "sign in first")
	}
	seen := visit{}
	if err := sessions.Update(c, func(v *visit) error { v.Views++; seen = *v; return nil }); err != nil {
		return err
	}
	return c.JSON(map[string]any{"user": user, "views": seen.Views})
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "TCP address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := web.New(web.Config{})
	app.Use(middleware.Recover{}, middleware.SecureHeaders{}, middleware.BodyLimit{Size: 16 << 10}, sessions, middleware.CSRF{})
	app.Get("/", home)
	app.Post("/login", middleware.Limiter{Rates: []middleware.Rate{{Limit: 5, Window: 15 * time.Minute}}}.Handler(), login)
	app.Post("/logout", logout)
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		err = app.Run(ctx, ln)
	}
	if err != nil {
		log.Fatal(err)
	}
}
