package gallop

import "github.com/gallop-http/gallop/internal/coding"

// CompressHandler returns a handler that calls h and compresses the response with gzip, zstd or deflate at their default
// levels. See [CompressHandlerLevel]. Programs on package web use middleware.Compress, which has the settings of all three
// functions in a struct.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and compresses the response
// with what the client prefers of gzip, zstd and deflate, or with the first of them
// where it has no preference (RFC 9110 §12.5.3). The level is one of gzip's; zstd
// gets the one of its own that costs about as much.
//
// Left as they are: responses that have a Content-Encoding already ("identity" is one
// to say so with), are under 200 bytes, have a type that does not get smaller, are
// part of something (206), carry a digest of their bytes or Cache-Control:
// no-transform, and bodies that do not get smaller.
//
// Compressed or not, what could have been gets Vary: Accept-Encoding, and so do its parts and a 304,
// which may stand for it. Compression makes a strong ETag weak, also in a 304 for who has the weak
// one, and removes Content-Length and Accept-Ranges. A stream is compressed as it goes out,
// and what it passes on piece by piece, or flushes, arrives piece by piece. The answer to HEAD
// gets the same fields, and no length.
//
// A response that has a secret in it beside text from the request must not be compressed. An attacker who sees how long responses
// are could guess the secret bit by bit (BREACH). Set Cache-Control to "no-transform" in such a response.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return compressing(h, &compressor{
		offers: []coding.Coding{coding.Gzip, coding.Zstd, coding.Deflate},
		levels: compressLevels(coding.DefaultLevel, level),
	})
}

// CompressHandlerBrotliLevel compresses with br, too, and prefers it. brotliLevel is the level of br, and otherLevel that of the
// other codings. See [CompressHandlerLevel].
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	return compressing(h, &compressor{
		offers: []coding.Coding{coding.Brotli, coding.Gzip, coding.Zstd, coding.Deflate},
		levels: compressLevels(brotliLevel, otherLevel),
	})
}

func compressLevels(brotli, other int) (levels [coding.Zstd + 1]int) {
	levels[coding.Brotli] = brotli
	levels[coding.Gzip], levels[coding.Deflate] = other, other
	levels[coding.Zstd] = zstdLevelFor(other)
	return levels
}

// zstdLevelFor returns the level of zstd that costs about as much as this of gzip.
func zstdLevelFor(level int) int {
	switch {
	case level > CompressBestCompression || level < CompressHuffmanOnly || level == -1:
		return CompressZstdDefault
	case level <= CompressBestSpeed:
		return CompressZstdBestSpeed
	case level <= CompressDefaultCompression:
		return CompressZstdDefault
	}
	return CompressZstdSpeedBetter
}

func compressing(h RequestHandler, c *compressor) RequestHandler {
	return func(ctx *RequestCtx) {
		h(ctx)
		// After a timeout the response is still the other handler's.
		if !ctx.Hijacked() && ctx.LastTimeoutErrorResponse() == nil {
			c.compress(&ctx.Request, &ctx.Response)
		}
	}
}
