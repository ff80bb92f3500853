package main

import (
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/valyala/fasthttp"
)

// TestFile shows that each response has the whole file.
func TestFile(t *testing.T) {
	app := apps["file"](options{})
	for range 2 {
		runtime.GC() // closes a file that nothing refers to
		var ctx fasthttp.RequestCtx
		app.Handle(&ctx)
		if n := ctx.Response.Header.ContentLength(); n != fileSize || !ctx.Response.IsBodyStream() {
			t.Errorf("a length of %d, a stream: %v", n, ctx.Response.IsBodyStream())
		}
		if got := string(ctx.Response.Body()); got != string(page[:fileSize]) {
			t.Errorf("%d bytes: %.20q", len(got), got)
		}
		w := httptest.NewRecorder()
		app.Standard(w, httptest.NewRequest("GET", "/", nil))
		if got := w.Body.String(); got != string(page[:fileSize]) {
			t.Errorf("%d bytes in net/http: %.20q", len(got), got)
		}
	}
}
