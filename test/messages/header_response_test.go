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

func TestSetAll(t *testing.T) {
	for _, c := range []struct{ name, there, from, want string }{
		{"into an empty header", "", "X-A: 1|Etag: 2", "X-A: 1|ETag: 2"},
		{"other names", "X-C: 0|Server: s", "X-A: 1|ETag: 2", "X-C: 0|Server: s|X-A: 1|ETag: 2"},
		{"an unknown name that is there", "x-a: 0|x-b: 0", "X-A: 1|X-C: 2", "X-A: 1|X-B: 0|X-C: 2"},
		{"a known name that is there", "Vary: 0|X-B: 0", "Vary: 1|X-C: 2", "Vary: 1|X-B: 0|X-C: 2"},
		{"several lines replace one", "Link: 0|X-B: 0", "Link: 1|Link: 2", "Link: 1|X-B: 0|Link: 2"},
		{"several lines", "X-B: 0", "Link: 1|Link: 2", "X-B: 0|Link: 1|Link: 2"},
		{"one line replaces several", "Link: 0|X-B: 0|Link: 0", "Link: 1", "Link: 1|X-B: 0"},
		{"cookies are kept", "Set-Cookie: a=1", "Set-Cookie: b=2|Set-Cookie: c=3", "Set-Cookie: a=1|Set-Cookie: b=2|Set-Cookie: c=3"},
		{"the connection", "Connection: close", "Connection: x-a|X-A: 1", "Connection: x-a|X-A: 1"},
		{"nothing", "X-B: 0", "", "X-B: 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parse := func(text string) (h *gallop.ResponseHeader) {
				h = &gallop.ResponseHeader{}
				for line := range strings.SplitSeq(text, "|") {
					if name, value, ok := strings.Cut(line, ": "); ok {
						h.Add(name, value)
					}
				}
				return h
			}
			h, from := parse(c.there), parse(c.from)
			before := lines(from)
			h.SetAll(from)
			if want := strings.ReplaceAll(c.want, "|", "\n"); strings.TrimSuffix(lines(h), "\n") != want {
				t.Errorf("%q, and not %q", lines(h), want)
			}
			if lines(from) != before {
				t.Errorf("from has become %q", lines(from))
			}
		})
	}
}

func TestSetAllOfHeadersThatSteer(t *testing.T) {
	var h, from gallop.ResponseHeader
	from.SetStatusCode(404)
	from.SetConnectionClose()
	from.SetContentLength(7)
	if err := from.SetTrailer("X-Sum"); err != nil {
		t.Fatal(err)
	}
	from.Set("X-Sum", "1")
	from.DisableNormalizing()
	from.Set("x-small", "2")
	h.SetAll(&from)
	if h.StatusCode() != 200 || !h.ConnectionClose() || h.ContentLength() != 7 || h.Peek("Trailer") != nil || h.Peek("X-Sum") != nil {
		t.Errorf("%q", h.String())
	}
	if text := h.String(); !strings.Contains(text, "\r\nx-small: 2\r\n") {
		t.Errorf("%q", text)
	}
	h.Set("x-other", "3")
	if text := h.String(); !strings.Contains(text, "\r\nX-Other: 3\r\n") {
		t.Errorf("SetAll has turned off normalizing: %q", text)
	}
	h.SetAll(&h)
	if got := lines(&h); strings.Count(got, "\n") != h.Len() || h.Len() < 3 {
		t.Errorf("after SetAll of itself: %q", got)
	}
}

// A name that is announced as a trailer goes to the trailers, also if it comes from SetAll.
func TestSetAllSetsTrailers(t *testing.T) {
	var h, from gallop.ResponseHeader
	from.Set("X-Sum", "1")
	h.SetTrailer("X-Sum")
	h.SetAll(&from)
	if strings.Contains(h.String(), "X-Sum: 1") || string(h.Peek("X-Sum")) != "1" {
		t.Errorf("%q", h.String())
	}
}

func TestSetAllSharesNothing(t *testing.T) {
	var h, from gallop.ResponseHeader
	from.Set("X-A", "1")
	h.SetAll(&from)
	from.Reset()
	from.Set("X-B", "2")
	if got := lines(&h); got != "X-A: 1\n" {
		t.Errorf("%q", got)
	}
	if n := testing.AllocsPerRun(100, func() { h.Reset(); h.SetAll(&from) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
