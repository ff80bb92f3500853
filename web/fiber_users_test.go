package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// The tests below cover problems that users of other frameworks have run into and that no other test covers.

// The context of a handler ends when its client goes away, also one that was derived and set.
func TestAGoneClientEndsTheContext(t *testing.T) {
	for _, derive := range []bool{false, true} {
		app := New(Config{Server: quiet()})
		entered, ended := make(chan struct{}), make(chan error, 1)
		app.Get("/", func(c *Ctx) error {
			if derive {
				ctx, cancel := context.WithCancel(c.Context())
				defer cancel()
				c.SetContext(ctx)
			}
			close(entered)
			<-c.Done()
			ended <- c.Err()
			return nil
		})
		conn := listening(t, app)()
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
		conn.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// Cookies and tokens of single sign-on make heads of many kilobytes.
func TestLongHeads(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.SendString(fmt.Sprint(len(c.Cookies("token")))) })
	if status, body, _ := ask(t, app, "GET", "/", "Cookie: token="+strings.Repeat("x", 40000)); status != 200 || body != "40000" {
		t.Errorf("%d %q", status, body)
	}
}

// Names of fields are found in any case, also when they are passed on as they were written.
func TestNamesOfFieldsInAnyCase(t *testing.T) {
	app := New(Config{Server: &gallop.Server{DisableHeaderNamesNormalizing: true}})
	app.Get("/", func(c *Ctx) error { return c.SendString(c.ReqHeader("X-CSRF-Token") + c.ReqHeader("x-csrf-token")) })
	if _, body, _ := ask(t, app, "GET", "/", "x-Csrf-TOKEN: t"); body != "tt" {
		t.Errorf("%q", body)
	}
}

// QUERY has a body, and binds it.
func TestQueryHasABody(t *testing.T) {
	app := New(Config{})
	app.Query("/", func(c *Ctx) error {
		v, err := Bind[struct {
			Term string `json:"term"`
		}](c)
		return errors.Join(err, c.SendString(v.Term))
	})
	request, err := http.NewRequestWithContext(t.Context(), "QUERY", "/", strings.NewReader(`{"term":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); string(body) != "x" {
		t.Errorf("%d %q", response.StatusCode, body)
	}
}

// HEAD says what GET would send, by the GET route or by its own.
func TestHeadSaysTheLength(t *testing.T) {
	app := New(Config{})
	app.Get("/", says("twelve bytes"))
	app.Get("/own", says("get"))
	app.Head("/own", func(c *Ctx) error { c.SetHeader("Content-Length", "77"); return nil })
	for path, want := range map[string]string{"/": "12", "/own": "77"} {
		if _, body, h := ask(t, app, "HEAD", path); h.Get("Content-Length") != want || body != "" {
			t.Errorf("%s: %s %q", path, h.Get("Content-Length"), body)
		}
	}
}

// One limit holds for a body, however it comes: as it is, compressed, as a form or in parts.
func TestOneLimitForBodies(t *testing.T) {
	app := New(Config{Server: &gallop.Server{MaxRequestBodySize: 1000, Logger: discard{}}})
	app.Post("/", func(c *Ctx) error {
		var v struct {
			A string `form:"a" json:"a"`
		}
		return c.Bind().Body(&v)
	})
	big := strings.Repeat("a", 1500)
	parts := "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + big + "\r\n--b--\r\n"
	for mediaType, body := range map[string]string{"application/json": `{"a":"` + big + `"}`, typeForm: "a=" + big, "multipart/form-data; boundary=b": parts} {
		for _, coding := range []string{"", "gzip"} {
			if coding != "" {
				body = string(gallop.AppendGzipBytes(nil, []byte(body)))
			}
			request, _ := http.NewRequest("POST", "/", strings.NewReader(body))
			request.Header.Set("Content-Type", mediaType)
			if coding != "" {
				request.Header.Set("Content-Encoding", coding)
			}
			response, err := app.Test(request)
			if err != nil || response.StatusCode != 413 {
				t.Errorf("%s %s: %v %v", mediaType, coding, response, err)
			}
		}
	}
}

// A request that matches no route runs the middleware of the application, so that it is logged, but none of a group.
func TestWhatMatchesNothingIsCheap(t *testing.T) {
	app := New(Config{})
	var ran []string
	trace := func(name string) Handler {
		return func(c *Ctx) error { ran = append(ran, name); return c.Next() }
	}
	app.Use(trace("app"))
	app.Group("/wp-admin", trace("group")).Get("/x", says(""))
	serve(app, "/wp-admin/setup.php")
	if got := strings.Join(ran, " "); got != "app" {
		t.Errorf("%s", got)
	}
}
