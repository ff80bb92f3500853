package handlers_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
)

// TestTryServe serves regular files. For anything else, it returns an error and leaves the response alone.
func TestTryServe(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.txt": "content", "b%20c.txt": "literal", "d/x": ""})
	files := fstest.MapFS{"a.txt": {Data: []byte("content")}, "b%20c.txt": {Data: []byte("literal")}, "d/x": {}}
	time.Sleep(ripe)
	for _, tc := range []struct {
		path, want string // "" is an error
		err        error
	}{
		{"/a.txt", "content", nil},
		{"/b%20c.txt", "literal", nil},
		{"/none", "", fs.ErrNotExist},
		{"/d", "", fs.ErrNotExist},
		{"/d/", "", fs.ErrNotExist},
		{"//a.txt", "", fs.ErrNotExist},
		{"/a.txt/", "", fs.ErrNotExist},
	} {
		for name, try := range map[string]func(ctx *gallop.RequestCtx) error{
			"TryServeFile": func(ctx *gallop.RequestCtx) error { return gallop.TryServeFile(ctx, dir+tc.path) },
			"TryServeFS":   func(ctx *gallop.RequestCtx) error { return gallop.TryServeFS(ctx, files, tc.path[1:]) },
		} {
			for i := range 4 {
				var err error
				resp := serveOnce(t, func(ctx *gallop.RequestCtx) {
					ctx.Response.Header.Set("X-Before", "yes")
					ctx.SetStatusCode(203)
					ctx.SetBodyString("before")
					err = try(ctx)
				}, "GET", "/")
				body := string(resp.Body())
				switch {
				case resp.StatusCode() != 203 || peek(resp, "X-Before") != "yes":
					t.Errorf("%s of %s, request %d: %d, X-Before %q", name, tc.path, i, resp.StatusCode(), peek(resp, "X-Before"))
				case tc.err != nil && (!errors.Is(err, tc.err) || body != "before"):
					t.Errorf("%s of %s, request %d: %q, %v", name, tc.path, i, body, err)
				case tc.err == nil && (err != nil || body != tc.want):
					t.Errorf("%s of %s, request %d: %q, %v", name, tc.path, i, body, err)
				}
			}
		}
	}
	for _, path := range []string{"", "/", ".", "x/../a.txt"} {
		if err := gallop.TryServeFS(new(gallop.RequestCtx), files, path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := gallop.TryServeFile(new(gallop.RequestCtx), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty path: %v", err)
	}
}
