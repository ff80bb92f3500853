package middleware

import (
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Compress compresses responses with the coding that the client prefers: br, gzip, zstd or deflate (RFC 9110 §12.5.3).
// Flushing a stream also flushes the compressor, so server-sent events still arrive one by one. Compress leaves error
// responses and responses with Cache-Control: no-transform uncompressed. The documentation of [gallop.CompressHandler]
// lists more exceptions and describes the effect on Vary, ETag and ranges.
//
// Do not compress a page that contains both a secret and text from the request. An attacker who can observe the length of
// responses could recover the secret (the BREACH attack). By default, Compress leaves responses uncompressed if another site
// has made the browser send the user's credentials: see Guard. To exclude more pages, change Guard, use Skip, leave their
// routes out of the group that uses Compress, or set Content-Encoding: identity in the handler.
//
// The zero value uses the default levels, which need little CPU time.
type Compress struct {
	// Level is the gzip level, 1 to 9. For zstd, Compress uses a level that needs about as much CPU time as the gzip level.
	// Zero means gallop.CompressDefaultCompression.
	Level int

	// Brotli is the br level, 1 to 11. Zero means gallop.CompressBrotliDefaultCompression.
	Brotli int

	// MinSize is the size in bytes of the smallest body that is compressed. The default is 200 bytes. A stream of unknown
	// length is compressed regardless of MinSize.
	MinSize int

	// Types are the media types that are compressed: types such as "application/json", all types that begin alike, such as
	// "text/*", or all types with a suffix, such as "*+json". By default, Compress compresses all types that usually get
	// smaller.
	Types []string

	// Guard says which responses are never compressed because they may contain secrets. With the default,
	// gallop.CompressGuardCrossSite, responses to requests with a Cookie or Authorization header stay uncompressed if another
	// site has caused the request. gallop.CompressGuardCredentials excludes all requests with these headers, and
	// all responses with Set-Cookie. gallop.CompressGuardOff excludes no response.
	Guard gallop.CompressGuard

	// Skip reports whether to send a response uncompressed. Compress calls Skip after the handlers have returned without an
	// error. For example, to exclude clients that send cookies:
	//
	//	Skip: func(c *web.Ctx) bool { return c.ReqHeader("Cookie") != "" }
	//
	// By default, Compress skips no response.
	Skip func(c *web.Ctx) bool
}

// Handler returns the middleware.
func (o Compress) Handler() web.Handler {
	compress := gallop.CompressHandlerOptions(func(*gallop.RequestCtx) {}, gallop.CompressOptions{
		Level: o.Level, Brotli: o.Brotli, MinSize: o.MinSize, Types: o.Types, Guard: o.Guard,
	})
	return func(c *web.Ctx) error {
		err := c.Next()
		if err == nil && (o.Skip == nil || !o.Skip(c)) { // with an error, its handler has not responded yet
			compress(c.RequestCtx())
		}
		return err
	}
}
