package middleware_test

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// Pages of other sites cannot send requests with the visitor's cookies.
func ExampleCSRF() {
	app := web.New(web.Config{})
	app.Use(middleware.CSRF{Origins: []string{"https://partner.example"}})
	app.Post("/transfer", func(c *web.Ctx) error { return c.SendString("done") })

	show(app, "POST", "/transfer", "", "Sec-Fetch-Site", "same-origin")
	show(app, "POST", "/transfer", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://partner.example")
	show(app, "POST", "/transfer", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	// Output:
	// 200 done
	// 200 done
	// 403 the request may not come from this page
}

// A form has a token, for browsers that send neither Sec-Fetch-Site nor Origin.
func ExampleCSRFToken() {
	key := []byte(strings.Repeat("k", 32)) // use 32 random bytes
	app := web.New(web.Config{})
	app.Use(middleware.CSRF{TokenKey: key})
	app.Get("/form", func(c *web.Ctx) error {
		token, err := middleware.CSRFToken(c)
		if err != nil {
			return err
		}
		return c.HTML(`<form method="post"><input type="hidden" name="csrf_token" value="` + token + `"></form>`)
	})
	app.Post("/form", func(c *web.Ctx) error { return c.SendString("done") })

	response, err := app.Test(httptest.NewRequest("GET", "/form", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	page.ReadFrom(response.Body)
	_, rest, _ := strings.Cut(page.String(), `value="`)
	token, _, _ := strings.Cut(rest, `"`)
	cookie := response.Cookies()[0]

	show(app, "POST", "/form", "", "Cookie", cookie.Name+"="+cookie.Value)
	show(app, "POST", "/form", "csrf_token="+token, "Cookie", cookie.Name+"="+cookie.Value, "Content-Type", "application/x-www-form-urlencoded")
	// Output:
	// 403 the request may not come from this page
	// 200 done
}

// A script in the page runs because it has the nonce of the response.
func ExampleNonce() {
	page := template.Must(template.New("page").Parse(`<script nonce="{{.Nonce}}" src="/app.js"></script>`))
	app := web.New(web.Config{})
	app.Use(middleware.SecureHeaders{})
	app.Get("/", func(c *web.Ctx) error {
		nonce, err := middleware.Nonce(c)
		if err != nil {
			return err
		}
		return page.Execute(c.Type("html"), map[string]string{"Nonce": nonce})
	})

	response, err := app.Test(httptest.NewRequest("GET", "/", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	var body bytes.Buffer
	body.ReadFrom(response.Body)
	_, rest, _ := strings.Cut(body.String(), `nonce="`)
	nonce, _, _ := strings.Cut(rest, `"`)
	fmt.Println(strings.Contains(response.Header.Get("Content-Security-Policy"), "script-src 'nonce-"+nonce+"'"))
	// Output: true
}

// An API without pages needs no scripts.
func ExampleSecureHeaders() {
	app := web.New(web.Config{})
	app.Use(middleware.SecureHeaders{
		CSP:     "default-src 'none'; frame-ancestors 'none'",
		Headers: map[string]string{"Permissions-Policy": "camera=(), microphone=()", "X-Frame-Options": ""},
	})
	app.Get("/", func(c *web.Ctx) error { return c.JSON(map[string]int{"n": 1}) })

	header := show(app, "GET", "/", "")
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Permissions-Policy", "X-Frame-Options"} {
		fmt.Printf("%s: %s\n", name, header.Get(name))
	}
	// Output:
	// 200 {"n":1}
	// Content-Security-Policy: default-src 'none'; frame-ancestors 'none'
	// X-Content-Type-Options: nosniff
	// Permissions-Policy: camera=(), microphone=()
	// X-Frame-Options:
}

// Requests for other hosts get 421.
func ExampleHostAllow() {
	app := web.New(web.Config{})
	app.Use(middleware.HostAllow{Hosts: []string{"example.com", "*.example.com"}})
	app.Get("/", func(c *web.Ctx) error { return c.SendString(c.Hostname()) })

	show(app, "GET", "http://example.com:8080/", "")
	show(app, "GET", "http://www.example.com/", "")
	show(app, "GET", "http://evil.example/", "")
	// Output:
	// 200 example.com
	// 200 www.example.com
	// 421 Misdirected Request
}

// A visitor logs in, changes the session and logs out.
func ExampleSession() {
	type account struct {
		Visits int
	}
	sessions := &middleware.Session[account]{}
	app := web.New(web.Config{})
	app.Use(sessions)
	app.Post("/login", func(c *web.Ctx) error {
		// Check the password here.
		return sessions.Start(c, "ada", account{})
	})
	app.Get("/", func(c *web.Ctx) error {
		user, err := sessions.User(c)
		if err != nil {
			return err
		}
		if user == "" {
			return web.NewError(401, "log in first")
		}
		if err := sessions.Update(c, func(a *account) error { a.Visits++; return nil }); err != nil {
			return err
		}
		a, _, err := sessions.Get(c)
		if err != nil {
			return err
		}
		return c.SendString(fmt.Sprintf("%s, visit %d", user, a.Visits))
	})
	app.Post("/logout", sessions.End)

	show(app, "GET", "/", "")
	header := show(app, "POST", "/login", "")
	cookie := (&http.Response{Header: header}).Cookies()[0]
	for range 2 {
		show(app, "GET", "/", "", "Cookie", cookie.Name+"="+cookie.Value)
	}
	show(app, "POST", "/logout", "", "Cookie", cookie.Name+"="+cookie.Value)
	show(app, "GET", "/", "", "Cookie", cookie.Name+"="+cookie.Value)
	// Output:
	// 401 log in first
	// 200
	// 200 ada, visit 1
	// 200 ada, visit 2
	// 200
	// 401 log in first
}

// A user with a password. HashPassword has made the hash.
func ExampleBasicAuth() {
	app := web.New(web.Config{})
	app.Use(middleware.BasicAuth{Users: map[string]string{
		"ada": "pbkdf2-sha256$10000$c2FsdCBvZiAxNiBieXRlcw$wn4FP94IPSf/zwTHydYljxVpMO9cRvAfCyKxO1Piqao",
	}})
	app.Get("/", func(c *web.Ctx) error {
		user, _ := middleware.AuthUser(c)
		return c.SendString("hello, " + user)
	})

	show(app, "GET", "/", "", "Authorization", "Basic YWRhOnNlY3JldA==") // ada:secret
	header := show(app, "GET", "/", "")
	fmt.Println(header.Get("WWW-Authenticate"))
	// Output:
	// 200 hello, ada
	// 401 Unauthorized
	// Basic realm="Restricted", charset="UTF-8"
}

// A client with a key may read, but not write.
func ExampleKeyAuth() {
	key, hash := middleware.NewAPIKey("shop") // once: give the key to the client, and store the hash
	keys := []middleware.APIKey{{Name: "shop", Hash: hash, Scopes: []string{"read"}}}
	app := web.New(web.Config{})
	app.Use(middleware.KeyAuth{Keys: keys, Scopes: []string{"read"}})
	app.Get("/", func(c *web.Ctx) error {
		client, _ := middleware.AuthUser(c)
		return c.SendString("hello, " + client)
	})
	app.Post("/", middleware.KeyAuth{Keys: keys, Scopes: []string{"write"}}.Handler(), func(c *web.Ctx) error { return c.SendString("written") })

	show(app, "GET", "/", "", "Authorization", "Bearer "+key)
	show(app, "POST", "/", "", "Authorization", "Bearer "+key)
	header := show(app, "GET", "/", "", "Authorization", "Bearer wrong")
	fmt.Println(header.Get("WWW-Authenticate"))
	// Output:
	// 200 hello, shop
	// 403 Forbidden
	// 401 Unauthorized
	// Bearer realm="API", error="invalid_token"
}

// A value that visitors can read, but not change.
func ExampleSignedCookies() {
	prefs := &middleware.SignedCookies{Keys: [][]byte{[]byte(strings.Repeat("k", 32))}} // use 32 random bytes
	app := web.New(web.Config{})
	app.Post("/", func(c *web.Ctx) error { return prefs.Set(c, web.Cookie{Name: "__Host-theme", Value: "dark"}) })
	app.Get("/", func(c *web.Ctx) error {
		theme, ok := prefs.Get(c, "__Host-theme")
		return c.SendString(fmt.Sprint(theme, " ", ok))
	})

	header := show(app, "POST", "/", "")
	cookie := (&http.Response{Header: header}).Cookies()[0]
	show(app, "GET", "/", "", "Cookie", cookie.Name+"="+cookie.Value)
	show(app, "GET", "/", "", "Cookie", cookie.Name+"=light")
	// Output:
	// 200
	// 200 dark true
	// 200  false
}

// A value that visitors can neither read nor change.
func ExampleEncryptCookies() {
	secrets := &middleware.EncryptCookies{Keys: [][]byte{[]byte(strings.Repeat("k", 32))}} // use 32 random bytes
	app := web.New(web.Config{})
	app.Post("/", func(c *web.Ctx) error { return secrets.Set(c, web.Cookie{Name: "__Host-step", Value: "3"}) })
	app.Get("/", func(c *web.Ctx) error {
		step, _ := secrets.Get(c, "__Host-step")
		return c.SendString("step " + step)
	})

	header := show(app, "POST", "/", "")
	cookie := (&http.Response{Header: header}).Cookies()[0]
	show(app, "GET", "/", "", "Cookie", cookie.Name+"="+cookie.Value)
	// Output:
	// 200
	// 200 step 3
}

// A login form checks the password of a user. The hash of an unknown user is empty.
func ExampleCheckPassword() {
	users := map[string]string{"ada": middleware.HashPassword("lovelace")}

	fmt.Println(middleware.CheckPassword(users["ada"], "lovelace"))
	fmt.Println(middleware.CheckPassword(users["eve"], ""))
	// Output:
	// true
	// false
}
