package middleware

import (
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Compress compresses answers with what the client prefers of br, gzip, zstd and deflate (RFC 9110
// §12.5.3). What is left as it is, and what happens to Vary, ETag and ranges, is said at gallop.CompressHandler:
// streams pass on what they are flushed, events arrive one by one, and Cache-Control: no-transform
// holds. Errors are not compressed.
//
// A page that has a secret in it beside text from the request must not be compressed. An attacker who sees how long responses
// are could guess the secret bit by bit (BREACH). Leave such pages out with Skip, by groups, or by setting
// Content-Encoding: identity in the handler.
//
// The zero value has the levels that cost little.
type Compress struct {
	// Level is that of gzip, 1 to 9, and zstd gets the one of its own that costs about as much. The
	// default is gallop.CompressDefaultCompression.
	Level int

	// Brotli is the level of br, 1 to 11. The default is gallop.CompressBrotliDefaultCompression.
	Brotli int

	// Skip reports whether to leave a response as it is. It is called when the handlers have returned without an error. To
	// leave out responses to clients that are logged in:
	//
	//	Skip: func(c *web.Ctx) bool { return c.ReqHeader("Cookie") != "" }
	//
	// By default no response is skipped.
	Skip func(c *web.Ctx) bool
}

// Handler returns the middleware.
func (o Compress) Handler() web.Handler {
	if o.Level == 0 {
		o.Level = gallop.CompressDefaultCompression
	}
	if o.Brotli == 0 {
		o.Brotli = gallop.CompressBrotliDefaultCompression
	}
	compress := gallop.CompressHandlerBrotliLevel(func(*gallop.RequestCtx) {}, o.Brotli, o.Level)
	return func(c *web.Ctx) error {
		err := c.Next()
		if err == nil && (o.Skip == nil || !o.Skip(c)) { // with an error, its handler has not responded yet
			compress(c.RequestCtx())
		}
		return err
	}
}
