package main

import (
	"github.com/gallop-http/gallop/bench/peers"
	"github.com/gallop-http/gallop/web"
)

// The app "negotiate" responds in one of four forms. ../../fiber has the same app for fiber, and ../../compare requests
// them.
func init() {
	apps["negotiate"] = func(options) peers.App { return peers.App{Web: negotiate} }
}

func negotiate(app *web.App) {
	form := func(mediaType, body string) web.Offer {
		return web.Offer{MediaType: mediaType, Handler: func(c *web.Ctx) error { return c.SendString(body) }}
	}
	app.Get("/negotiate", web.Formats(
		form("application/json", `{"hello":"world"}`), form("text/html", "<p>Hello, World!</p>"),
		form("application/xml", "<hello>World</hello>"), form("text/plain", "Hello, World!"),
	))
}
