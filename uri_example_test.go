package gallop_test

import (
	"fmt"

	"github.com/gallop-http/gallop"
)

func ExampleURI() {
	var u gallop.URI
	if err := u.Parse(nil, []byte("https://example.com/docs/../a%20b?page=2#top")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", u.Host(), u.Path(), u.QueryArgs().Peek("page"))
	u.QueryArgs().SetUint("page", 3)
	u.Update("c")
	fmt.Println(u.String())
	// Output:
	// example.com /a b 2
	// https://example.com/c
}

func ExampleArgs_All() {
	var args gallop.Args
	args.Parse("q=fast+and+correct&lang=en&lang=de")
	args.Add("page", "1")
	for key, value := range args.All() {
		fmt.Printf("%s: %s\n", key, value)
	}
	// Output:
	// q: fast and correct
	// lang: en
	// lang: de
	// page: 1
}

func ExampleCookie() {
	var c gallop.Cookie
	c.SetKey("session")
	c.SetValue("4f3a")
	c.SetPath("/")
	c.SetHTTPOnly(true)
	c.SetSameSite(gallop.CookieSameSiteNoneMode)
	fmt.Println(c.String())

	c.SetValue("4f3a; domain=evil.example") // refused: a value stays a value
	fmt.Println(c.String())
	// Output:
	// session=4f3a; path=/; HttpOnly; secure; SameSite=None
	// session=; path=/; HttpOnly; secure; SameSite=None
}
