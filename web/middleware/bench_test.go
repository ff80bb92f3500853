package middleware_test

import (
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// benchmarkApp measures a request to an App, without a connection. Pairs of names and values follow for its header.
func benchmarkApp(b *testing.B, app *web.App, header ...string) {
	b.Helper()
	serve := app.Handler()
	request := &gallop.RequestCtx{}
	request.Request.SetRequestURI("/")
	request.Request.Header.SetHost("example.com")
	for i := 0; i < len(header); i += 2 {
		request.Request.Header.Set(header[i], header[i+1])
	}
	b.ReportAllocs()
	for b.Loop() {
		request.Response.Reset()
		serve(request)
	}
}
