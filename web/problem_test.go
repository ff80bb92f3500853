package web

import (
	"errors"
	"strconv"
	"testing"
)

func TestProblemErrorHandler(t *testing.T) {
	app := New(Config{Server: quiet(), ErrorHandler: ProblemErrorHandler})
	for target, test := range map[string]struct {
		handler Handler
		want    string
	}{
		"/status":  {func(*Ctx) error { return NewError(409) }, `409 {"title":"Conflict","status":409}`},
		"/message": {func(*Ctx) error { return NewError(409, "it is <locked>") }, `409 {"title":"Conflict","status":409,"detail":"it is \u003clocked\u003e"}`},
		"/secret":  {func(*Ctx) error { return errors.New("the password is wrong") }, `500 {"title":"Internal Server Error","status":500}`},
		"/range":   {func(*Ctx) error { return NewError(999) }, `500 {"title":"Internal Server Error","status":500}`},
		"/id":      {func(c *Ctx) error { c.SetRequestID("r-1"); return ErrNotFound }, `404 {"title":"Not Found","status":404,"request_id":"r-1"}`},
		"/typed":   {func(c *Ctx) error { c.HTML("<b>"); return NewError(409) }, `409 {"title":"Conflict","status":409}`},
		"/bind": {func(c *Ctx) error {
			var v struct {
				Page int `query:"page"`
			}
			return c.Bind().Query(&v)
		}, `400 {"title":"Bad Request","status":400,"detail":"query \"page\" is not a whole number","errors":[{"in":"query","name":"page","detail":"is not a whole number"}]}`},
	} {
		app.Get(target, test.handler)
		status, body, header := ask(t, app, "GET", target+"?page=x")
		if got := strconv.Itoa(status) + " " + body; got != test.want || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s, want %s (%s)", target, got, test.want, header.Get("Content-Type"))
		}
	}
}
