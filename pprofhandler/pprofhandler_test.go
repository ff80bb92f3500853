package pprofhandler_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/pprofhandler"
)

func TestHandler(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		status       int
		kind, body   string // a part of the body
	}{
		{"list", "/debug/pprof/", 200, "text/html; charset=utf-8", "goroutine"},
		{"profile by name", "/debug/pprof/goroutine?debug=1", 200, "text/plain; charset=utf-8", "goroutine profile: total"},
		{"profile for tools", "/debug/pprof/heap", 200, "application/octet-stream", "\x1f\x8b"},
		{"command line", "/debug/pprof/cmdline", 200, "text/plain; charset=utf-8", "pprofhandler"},
		{"symbols", "/debug/pprof/symbol", 200, "text/plain; charset=utf-8", "num_symbols"},
		{"list without its slash", "/debug/pprof", 301, "text/html; charset=utf-8", `"/debug/pprof/"`},
		{"no such profile", "/debug/pprof/no-such-profile", 404, "text/plain; charset=utf-8", "Unknown profile"},
		{"slash behind a profile", "/debug/pprof/heap/", 404, "text/plain; charset=utf-8", ""},
		{"another path", "/debug/", 404, "text/plain; charset=utf-8", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			ctx.Request.SetRequestURI("http://localhost" + tt.target)
			pprofhandler.Handler(&ctx)
			resp := &ctx.Response
			if resp.StatusCode() != tt.status || string(resp.Header.ContentType()) != tt.kind || !strings.Contains(string(resp.Body()), tt.body) {
				t.Errorf("%d, %q, %.200q", resp.StatusCode(), resp.Header.ContentType(), resp.Body())
			}
		})
	}
}
