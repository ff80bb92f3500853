package web

import "testing"

// A struct without strings is filled without new memory.
func TestBindAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	type T struct {
		Page int    `query:"page" default:"1"`
		Size int    `query:"size"`
		On   bool   `query:"on"`
		Key  uint64 `header:"X-Key"`
		ID   int    `uri:"id"`
	}
	app := New(Config{})
	var v T
	var err error
	app.Get("/items/:id", func(c *Ctx) error { err = c.Bind().All(&v); return nil })
	request := serve(app, "/items/7?page=3&size=20&on=1", "X-Key: 9")
	if err != nil || v != (T{3, 20, true, 9, 7}) {
		t.Fatalf("%+v %v", v, err)
	}
	if n := testing.AllocsPerRun(100, func() { app.serve(request) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
