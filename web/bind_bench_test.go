package web

import "testing"

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
		app.Serve(request)
	}
}
