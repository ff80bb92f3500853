package web

import (
	"testing"

	"github.com/gallop-http/gallop"
)

// BenchmarkServe is what an application adds to a handler.
func BenchmarkServe(b *testing.B) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.SendString("hello") })
	app.Get("/users/:id/posts/:post", func(c *Ctx) error { return c.Send(c.ParamsBytes("post")) })
	for name, target := range map[string]string{"hello": "/", "params": "/users/7/posts/8"} {
		request := &gallop.RequestCtx{}
		request.Request.SetRequestURI(target)
		request.Request.Header.SetHost("example.com")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request.Response.Reset()
				app.serve(request)
			}
		})
	}
}

func BenchmarkBindQuery(b *testing.B) {
	type T struct {
		Page int    `query:"page" default:"1"`
		Size int    `query:"size"`
		Sort string `query:"sort"`
	}
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { var v T; return c.Bind().Query(&v) })
	request := serve(app, "/?page=3&size=20&sort=name")
	b.ReportAllocs()
	for b.Loop() {
		app.serve(request)
	}
}
