package messages_test

import (
	"bufio"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

func TestContentTypeHasADefault(t *testing.T) {
	var h gallop.ResponseHeader
	if got := string(h.ContentType()); got != "text/plain; charset=utf-8" {
		t.Errorf("%q", got)
	}
	if string(h.Peek("content-type")) != string(h.ContentType()) || string(h.PeekBytes([]byte("Content-Type"))) != string(h.ContentType()) {
		t.Error("Peek does not know the default")
	}
	if all := h.PeekAll("content-type"); len(all) != 1 || string(all[0]) != string(h.ContentType()) || h.Len() != 0 {
		t.Errorf("%q, %d fields", all, h.Len())
	}
	h.SetNoDefaultContentType(true)
	if got := h.ContentType(); got != nil || len(h.PeekAll("Content-Type")) != 0 {
		t.Errorf("%q", got)
	}
	h.SetContentType("a/b")
	if got := string(h.ContentType()); got != "a/b" || len(h.PeekAll("Content-Type")) != 1 {
		t.Errorf("%q", got)
	}
}

func TestReasonPhrase(t *testing.T) {
	received := func(h *gallop.ResponseHeader) {
		_ = h.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 Fine\r\nContent-Length: 0\r\n\r\n")))
	}
	for name, c := range map[string]struct {
		build func(h *gallop.ResponseHeader)
		want  string
	}{
		"by the code":                   {func(h *gallop.ResponseHeader) { h.SetStatusCode(404) }, "404 Not Found"},
		"set before the code":           {func(h *gallop.ResponseHeader) { h.SetStatusMessage([]byte("X")); h.SetStatusCode(404) }, "404 X"},
		"unset":                         {func(h *gallop.ResponseHeader) { h.SetStatusCode(404); h.SetStatusCode(0) }, "200 OK"},
		"control characters":            {func(h *gallop.ResponseHeader) { h.SetStatusMessage([]byte("A\r\nB: \x00c")) }, "200 A  B:  c"},
		"set and undone":                {func(h *gallop.ResponseHeader) { h.SetStatusMessage([]byte("X")); h.SetStatusMessage(nil) }, "200 OK"},
		"received":                      {received, "200 Fine"},
		"received, with another code":   {func(h *gallop.ResponseHeader) { received(h); h.SetStatusCode(404) }, "404 Not Found"},
		"received, with the same code":  {func(h *gallop.ResponseHeader) { received(h); h.SetStatusCode(200) }, "200 Fine"},
		"received, with another phrase": {func(h *gallop.ResponseHeader) { received(h); h.SetStatusMessage([]byte("X")); h.SetStatusCode(201) }, "201 X"},
	} {
		t.Run(name, func(t *testing.T) {
			var h gallop.ResponseHeader
			c.build(&h)
			if got, _, _ := strings.Cut(h.String(), "\r\n"); got != "HTTP/1.1 "+c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// A status code that a status line cannot hold is a mistake of the program, which it
// learns of where it made it.
func TestStatusCodeHasThreeDigits(t *testing.T) {
	for _, code := range []int{math.MinInt, -200, -1, 0, 1, 42, 99, 100, 200, 404, 799, 999, 1000, 20000, math.MaxInt} {
		valid := code == 0 || code >= 100 && code <= 999
		for name, set := range map[string]func(*gallop.RequestCtx){
			"ResponseHeader": func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetStatusCode(code) },
			"Response":       func(ctx *gallop.RequestCtx) { ctx.Response.SetStatusCode(code) },
			"RequestCtx":     func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(code) },
			"Error":          func(ctx *gallop.RequestCtx) { ctx.Error("x", code) },
			"TimeoutErrorWithCode": func(ctx *gallop.RequestCtx) {
				ctx.TimeoutErrorWithCode("x", code)
				ctx.LastTimeoutErrorResponse().CopyTo(&ctx.Response)
			},
			"TimeoutWithCodeHandler": func(ctx *gallop.RequestCtx) {
				gallop.TimeoutWithCodeHandler(func(*gallop.RequestCtx) {}, time.Second, "x", code)
				ctx.SetStatusCode(code)
			},
		} {
			ctx := &gallop.RequestCtx{}
			ctx.SetStatusCode(gallop.StatusTeapot)
			panicked := func() (value any) {
				defer func() { value = recover() }()
				set(ctx)
				return nil
			}()
			if (panicked == nil) != valid {
				t.Errorf("%s(%d): panic %v", name, code, panicked)
			}
			want := code
			if code == 0 {
				want = gallop.StatusOK
			}
			if valid && ctx.Response.StatusCode() != want {
				t.Errorf("%s(%d): the status is %d", name, code, ctx.Response.StatusCode())
			}
		}
	}
}

func TestSetContentRange(t *testing.T) {
	for _, c := range []struct {
		start, end, length int
		want               string
	}{
		{0, 4, 10, "bytes 0-4/10"}, {0, 4, -1, "bytes 0-4/*"}, {-1, 0, 10, "bytes */10"},
	} {
		var h gallop.ResponseHeader
		h.SetContentRange(c.start, c.end, c.length)
		if got := string(h.Peek("Content-Range")); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestResponseFieldsByName(t *testing.T) {
	var h gallop.ResponseHeader
	h.SetServer("s")
	h.SetServerBytes([]byte("S"))
	h.SetLastModified(time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC))
	if got := lines(&h); got != "Server: S\nLast-Modified: Fri, 20 Nov 2026 12:00:00 GMT\n" || string(h.Server()) != "S" {
		t.Errorf("%q", got)
	}
}
