package web

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gallop-http/gallop"
)

// The errors of the framework belong to all requests, so no handler can change them for another one.
func TestSharedErrorsCannotChange(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/changes", func(*Ctx) error {
		var e *Error
		if !errors.As(ErrNotFound, &e) || e.Status != 404 {
			t.Errorf("%v", e)
		}
		e.Status, e.Message = 500, "changed"
		return e.With("gone for good")
	})
	if status, body, _ := ask(t, app, "GET", "/changes"); status != 500 || body != "gone for good" {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(t, app, "GET", "/none"); status != 404 || body != "Not Found" {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(t, app, "POST", "/changes"); status != 405 || body != "Method Not Allowed" {
		t.Errorf("%d %s", status, body)
	}
	if text := ErrNotFound.Error(); text != "web: 404 Not Found" {
		t.Error(text)
	}
}

func TestErrorsWithTheSameStatus(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		err, target error
		want        bool
	}{
		"a sentinel is itself":     {ErrNotFound, ErrNotFound, true},
		"two sentinels":            {ErrNotFound, ErrMethodNotAllowed, false},
		"a bare error":             {NewError(404), ErrNotFound, true},
		"with a message":           {NewError(404, "no such note"), ErrNotFound, true},
		"with a cause":             {&Error{Status: 404, Err: cause}, ErrNotFound, true},
		"wrapped":                  {fmt.Errorf("note 7: %w", NewError(404, "x")), ErrNotFound, true},
		"a sentinel wrapped":       {fmt.Errorf("note 7: %w", ErrNotFound), ErrNotFound, true},
		"another status":           {NewError(410), ErrNotFound, false},
		"405":                      {NewError(405), ErrMethodNotAllowed, true},
		"the cause":                {&Error{Status: 404, Err: cause}, cause, true},
		"a sentinel of one's own":  {NewError(429, "slow down"), NewError(429), true},
		"a sentinel for bare ones": {ErrNotFound, NewError(404), true},
		"another message":          {NewError(404), NewError(404, "no such note"), false},
		"another cause":            {NewError(404), &Error{Status: 404, Err: cause}, false},
		"a nil Error":              {NewError(404), (*Error)(nil), false},
		"another type":             {NewError(404), gallop.ErrBodyTooLarge, false},
	} {
		if got := errors.Is(test.err, test.target); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	var other *BindError
	if errors.As(ErrNotFound, &other) {
		t.Error("a sentinel is a BindError")
	}
}

func TestErrorWith(t *testing.T) {
	cause := errors.New("cause")
	quota := &Error{Status: 429, Message: "slow down", Err: cause}
	more := quota.With("slower")
	if more == quota || *more != (Error{429, "slower", cause}) || quota.Message != "slow down" {
		t.Errorf("%+v, of %+v", more, quota)
	}
}

// Requests that match nothing are the ones that bots send most.
func TestNotFoundAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	app := New(Config{})
	request := &gallop.RequestCtx{}
	request.Request.SetRequestURI("/none")
	if n := testing.AllocsPerRun(100, func() {
		request.Response.Reset()
		app.Handler()(request)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A status that cannot be sent is a mistake in the program, as it is with net/http's WriteHeader.
func TestStatusThatCannotBeSent(t *testing.T) {
	c := &Ctx{request: &gallop.RequestCtx{}}
	for _, status := range []int{-1, 0, 99, 1000, 99999} {
		mustPanic(t, fmt.Sprintf("web: status code %d does not have three digits", status), func() { c.Status(status) })
		mustPanic(t, "does not have three digits", func() { _ = c.SendStatus(status) })
	}
	for _, status := range []int{100, 999} {
		if got := c.Status(status).request.Response.StatusCode(); got != status {
			t.Errorf("%d", got)
		}
	}
	for _, status := range []int{0, 200, 304, 999} {
		mustPanic(t, fmt.Sprintf("web: Redirect.Status: %d is not the status of a redirect", status), func() { c.Redirect().Status(status) })
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		if err := c.Redirect().Status(status).To("/x"); err != nil || c.request.Response.StatusCode() != status {
			t.Errorf("%d: %d %v", status, c.request.Response.StatusCode(), err)
		}
	}
}

func TestNamesThatSetHeaderRefuses(t *testing.T) {
	c := &Ctx{request: &gallop.RequestCtx{}}
	c.SetHeader("X-Fine", "a\r\nX-Evil: b").SetHeader("X Bad", "1").SetHeader("X-Worse: a\r\nX-Evil", "1")
	h := &c.request.Response.Header
	if got := c.RespHeader("X-Fine"); got != "a  X-Evil: b" || len(h.Peek("X Bad")) > 0 || len(h.Peek("X-Evil")) > 0 {
		t.Errorf("%q\n%s", got, h)
	}
}
