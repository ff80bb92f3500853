package gallop

import "github.com/gallop-http/gallop/internal/coding"

// CompressHandler returns a handler that calls h and compresses the response with gzip, zstd or deflate at their default
// levels. See [CompressHandlerLevel]. Programs on package web use middleware.Compress, which has the settings of all three
// functions in a struct.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and compresses the response with gzip, zstd or deflate. It uses
// the coding that the client prefers, or the first acceptable one if the client has no preference (RFC 9110 §12.5.3).
// level is a gzip level; zstd uses a level of about the same cost.
//
// A response stays uncompressed if one of these applies:
//
//   - It already has a Content-Encoding. Set "identity" to opt out.
//   - Its body has fewer than 200 bytes, or compression does not make it smaller.
//   - Its type does not compress well.
//   - It is partial content (206).
//   - It has a digest of its body, or Cache-Control: no-transform.
//
// Every response that could be compressed gets Vary: Accept-Encoding, even if it is sent uncompressed. So do parts of
// such a response and a 304. Compression makes a strong ETag weak, and removes Content-Length and Accept-Ranges. A
// 304 gets the weak ETag if the client sent it. A stream is compressed while it is sent, and what it flushes reaches
// the client at once. The response to HEAD gets the same headers, but no length.
//
// Do not compress a response that contains both a secret and text from the request. An attacker who sees the length
// of responses could guess the secret bit by bit (BREACH). Set Cache-Control to "no-transform" in such a response.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return compressing(h, &compressor{
		offers: []coding.Coding{coding.Gzip, coding.Zstd, coding.Deflate},
		levels: compressLevels(coding.DefaultLevel, level),
	})
}

// CompressHandlerBrotliLevel returns a handler that calls h and compresses the response, preferably with br.
// brotliLevel is the level of br, and otherLevel that of the other codings. See [CompressHandlerLevel].
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

// zstdLevelFor returns the zstd level that costs about as much as this gzip level.
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
		// After a timeout the response still belongs to the other handler.
		if !ctx.Hijacked() && ctx.LastTimeoutErrorResponse() == nil {
			c.compress(&ctx.Request, &ctx.Response)
		}
	}
}
