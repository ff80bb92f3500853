package nethttp_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// Handlers announce trailers of their own, one after the other. A handler of gallop around them may have announced others.
func TestAnnouncedTrailers(t *testing.T) {
	inner := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, list := range strings.Split(r.URL.Query().Get("announce"), "|") {
			w.Header().Add("Trailer", list)
		}
		io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		w.Header().Set("X-One", "1")
		w.Header().Set("X-Two", "2\n2\x01")
		w.Header().Set("Content-Length", "3")
	}))
	s := nethttp.NewServer(http.NotFoundHandler())
	s.Handler = func(ctx *gallop.RequestCtx) {
		if ctx.QueryArgs().Has("outer") {
			ctx.Response.Header.SetTrailer("X-Outer, X-Two")
			ctx.Response.Header.Set("X-Outer", "3")
		}
		inner(ctx)
	}
	url, client := startGallopOverH2(t, s, false)
	for range 2 {
		for _, tc := range []struct{ query, want string }{
			{"announce=X-One", "X-One=1"},
			{"announce=x-two,X-None", "X-None= X-Two=2 2"},
			{"announce=X-One|X-Two", "X-One=1 X-Two=2 2"},
			{"announce=Content-Length,X-Two", "X-Two=2 2"},
			{"announce=Content-Length", ""},
			{"announce=X-One,X-One", "X-One=1"},
			{"announce=X-One&outer", "X-One=1 X-Outer=3 X-Two=2 2"},
		} {
			resp := do(t, client, requestTo(t, "GET", url+"/?"+tc.query, nil))
			if body := bodyOf(t, resp); body != "x" {
				t.Errorf("%s: got %q", tc.query, body)
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(resp.Trailer)) {
				got = append(got, fmt.Sprintf("%s=%s", name, strings.Join(resp.Trailer[name], ",")))
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.query, got, tc.want)
			}
		}
	}
}
