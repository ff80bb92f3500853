package handlers_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// TestCompressPolicy checks which responses the settings of CompressOptions exclude. All of them vary by Accept-Encoding if
// their type and size are compressed at all.
func TestCompressPolicy(t *testing.T) {
	const (
		cookie = "Cookie: session=1"
		auth   = "Authorization: Bearer x"
		cross  = "Sec-Fetch-Site: cross-site"
	)
	usual := gallop.CompressOptions{}
	credentials := gallop.CompressOptions{Guard: gallop.CompressGuardCredentials}
	off := gallop.CompressOptions{Guard: gallop.CompressGuardOff}
	texts := gallop.CompressOptions{Types: []string{"text/*", "application/json", "*+xml"}}
	for _, tc := range []struct {
		name     string
		options  gallop.CompressOptions
		fields   []string // of the request
		response func(*gallop.Response)
		coding   string
		vary     string
	}{
		{"usual", usual, nil, nil, "br", "Accept-Encoding"},
		{"a cookie", usual, []string{cookie}, nil, "br", "Accept-Encoding"},
		{"a cookie from the same site", usual, []string{cookie, "Sec-Fetch-Site: same-origin"}, nil, "br", "Accept-Encoding"},
		{"a cookie from another site", usual, []string{cookie, cross}, nil, "", "Accept-Encoding"},
		{"authorization from another site", usual, []string{auth, "Sec-Fetch-Site: Cross-Site"}, nil, "", "Accept-Encoding"},
		{"another site without credentials", usual, []string{cross}, nil, "br", "Accept-Encoding"},
		{"Set-Cookie", usual, nil, setCookie, "br", "Accept-Encoding"},
		{"credentials: none", credentials, nil, nil, "br", "Accept-Encoding"},
		{"credentials: a cookie", credentials, []string{cookie}, nil, "", "Accept-Encoding"},
		{"credentials: authorization", credentials, []string{auth}, nil, "", "Accept-Encoding"},
		{"credentials: Set-Cookie", credentials, nil, setCookie, "", "Accept-Encoding"},
		{"off", off, []string{cookie, cross}, setCookie, "br", "Accept-Encoding"},

		{"200 bytes", usual, nil, bodyOf(200), "br", "Accept-Encoding"},
		{"199 bytes", usual, nil, bodyOf(199), "", ""},
		{"of at least 1000", gallop.CompressOptions{MinSize: 1000}, nil, bodyOf(999), "", ""},
		{"1000 of at least 1000", gallop.CompressOptions{MinSize: 1000}, nil, bodyOf(1000), "br", "Accept-Encoding"},
		{"100 of at least 50", gallop.CompressOptions{MinSize: 50}, nil, bodyOf(100), "br", "Accept-Encoding"},
		{"negative", gallop.CompressOptions{MinSize: -1}, nil, bodyOf(199), "", ""},

		{"family", texts, nil, ofType("Text/CSS; charset=utf-8"), "br", "Accept-Encoding"},
		{"type", texts, nil, ofType("application/json"), "br", "Accept-Encoding"},
		{"longer type", texts, nil, ofType("application/json5"), "", ""},
		{"suffix", texts, nil, ofType("image/svg+xml"), "br", "Accept-Encoding"},
		{"another type", texts, nil, ofType("application/javascript"), "", ""},
		{"a type that is usual", usual, nil, ofType("application/javascript"), "br", "Accept-Encoding"},
		{"a packed type that is asked for", gallop.CompressOptions{Types: []string{"image/*"}}, nil, ofType("image/png"), "br", "Accept-Encoding"},
		{"no type", gallop.CompressOptions{Types: []string{}}, nil, nil, "", ""},

		{"gzip level", gallop.CompressOptions{Level: 1, Brotli: 1}, []string{"Accept-Encoding: gzip"}, nil, "gzip", "Accept-Encoding"},
		{"identity is not acceptable", usual, []string{"Accept-Encoding: identity;q=0, gzip;q=0.1"}, nil, "gzip", "Accept-Encoding"},
		{"identity is preferred", usual, []string{"Accept-Encoding: identity, br;q=0.5"}, nil, "", "Accept-Encoding"},
		{"br is not acceptable", usual, []string{"Accept-Encoding: br;q=0, *;q=0.5"}, nil, "gzip", "Accept-Encoding"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			h := gallop.CompressHandlerOptions(func(ctx *gallop.RequestCtx) {
				ctx.SetContentType("text/plain")
				ctx.SetBodyString(compressible)
				if tc.response != nil {
					tc.response(&ctx.Response)
				}
			}, tc.options)
			fields := tc.fields
			if len(fields) == 0 || !strings.HasPrefix(fields[0], "Accept-Encoding") {
				fields = append([]string{"Accept-Encoding: br, gzip"}, fields...)
			}
			resp := serveOnce(t, h, method, "/", fields...)
			if got := peek(resp, "Content-Encoding"); got != tc.coding {
				t.Errorf("%s %s: coding %q, want %q", method, tc.name, got, tc.coding)
			}
			if got := peek(resp, "Vary"); got != tc.vary {
				t.Errorf("%s %s: Vary %q, want %q", method, tc.name, got, tc.vary)
			}
		}
	}
}

func setCookie(r *gallop.Response) { r.Header.Set("Set-Cookie", "session=1") }

func bodyOf(size int) func(*gallop.Response) {
	return func(r *gallop.Response) { r.SetBodyString(strings.Repeat("a", size)) }
}

func ofType(contentType string) func(*gallop.Response) {
	return func(r *gallop.Response) { r.Header.SetContentType(contentType) }
}
