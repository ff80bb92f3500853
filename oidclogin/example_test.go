package oidclogin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gallop-http/gallop/oidclogin"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// User is what the session of a user keeps.
type User struct {
	Name    string `json:"name"`
	Email   string `json:"email"`
	IDToken string `json:"id_token,omitempty"` // for the logout
}

// A shop whose users log in at https://login.example.com.
func Example() {
	store := new(middleware.MemoryStore) // several processes need a redisstore.Store
	sessions := &middleware.Session[User]{Store: store}
	auth := oidclogin.New(oidclogin.Config{
		Issuer:        "https://login.example.com",
		ClientID:      "shop",
		ClientSecret:  "from the provider",
		RedirectURL:   "https://shop.example.com/login/callback",
		PostLogoutURL: "https://shop.example.com/",
		Keys:          [][]byte{[]byte("at least 32 random bytes, from a secret store")},
		Store:         store,
		Login: oidclogin.StartSession(sessions, func(c *web.Ctx, id *oidclogin.Identity) (user User, err error) {
			err = id.Claims(&user)
			user.IDToken = id.IDToken
			return user, err
		}),
		Logout: func(c *web.Ctx) (idToken string, err error) {
			user, _, err := sessions.Get(c)
			return user.IDToken, errors.Join(err, sessions.End(c))
		},
		LogoutUser: func(ctx context.Context, user oidclogin.LogoutUser) error {
			return sessions.EndAll(ctx, user.Subject)
		},
	})

	app := web.New(web.Config{})
	app.Use(sessions)
	app.Get("/login", auth.Begin())
	app.Get("/login/callback", auth.Callback())
	app.Post("/logout-token", auth.BackChannel())

	pages := app.Group("/", middleware.CSRF{})
	pages.Post("/logout", auth.Logout())
	pages.Get("/orders", func(c *web.Ctx) error {
		user, found, err := sessions.Get(c)
		if err != nil {
			return err
		}
		if !found {
			return auth.Redirect(c, c.OriginalURL())
		}
		return c.SendString("orders of " + user.Name)
	})
	app.Listen(":8080")
}

// Login decides who may use the site.
func ExampleStartSession() {
	sessions := &middleware.Session[User]{}
	login := oidclogin.StartSession(sessions, func(c *web.Ctx, id *oidclogin.Identity) (user User, err error) {
		var claims struct {
			User
			Groups []string `json:"groups"`
		}
		if err := id.Claims(&claims); err != nil {
			return user, err
		}
		for _, group := range claims.Groups {
			if group == "staff" {
				return claims.User, nil
			}
		}
		return user, web.NewError(http.StatusForbidden, "This site is for the staff.")
	})
	oidclogin.New(oidclogin.Config{
		Issuer: "https://login.example.com", ClientID: "office", RedirectURL: "https://office.example.com/login/callback",
		Keys: [][]byte{[]byte("at least 32 random bytes, from a secret store")}, Login: login,
	})
}

// metadata responds like https://login.example.com, without the network.
type metadata struct{}

func (metadata) RoundTrip(r *http.Request) (*http.Response, error) {
	const text = `{"issuer":"https://login.example.com","authorization_endpoint":"https://login.example.com/authorize",
		"token_endpoint":"https://login.example.com/token","jwks_uri":"https://login.example.com/keys"}`
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// Begin sends the browser to the provider.
func ExampleLogin_Begin() {
	auth := oidclogin.New(oidclogin.Config{
		Issuer: "https://login.example.com", ClientID: "shop", RedirectURL: "https://shop.example.com/login/callback",
		Keys:      [][]byte{[]byte("at least 32 random bytes, from a secret store")},
		Login:     func(c *web.Ctx, id *oidclogin.Identity) error { return nil }, // usually the result of StartSession
		Transport: metadata{},
	})
	app := web.New(web.Config{})
	app.Get("/login", auth.Begin())

	response, err := app.Test(httptest.NewRequest("GET", "/login?return=/cart", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := response.Location()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Host, page.Path)
	fmt.Println(page.Query().Get("client_id"), page.Query().Get("code_challenge_method"), page.Query().Get("redirect_uri"))
	// Output:
	// login.example.com /authorize
	// shop S256 https://shop.example.com/login/callback
}
