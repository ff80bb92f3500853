package gallop

import "github.com/gallop-http/gallop/internal/coding"

// CompressHandler returns a handler that calls h and compresses the response with gzip, zstd or deflate at their
// default levels. See [CompressHandlerLevel]. If you use package web, use middleware.Compress instead, which takes
// its settings as a struct.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and compresses the response with gzip, zstd or deflate. It uses
// the coding that the client prefers, or the first acceptable one if the client has no preference (RFC 9110 §12.5.3).
// level is a gzip level; zstd uses the level that costs about as much.
//
// The response is not compressed in these cases:
//
//   - It already has a Content-Encoding. To opt out, set it to "identity".
//   - Its body has fewer than 200 bytes, or compression does not make it smaller.
//   - Its Content-Type is one that does not compress well.
//   - It is partial content (206).
//   - It has a header with a digest of its body, or Cache-Control: no-transform.
//
// Every response that could be compressed gets Vary: Accept-Encoding, even if it is sent uncompressed. The header is
// also added to a 206 for such a response, and to every 304. Compression makes a strong ETag weak, and removes
// Content-Length and Accept-Ranges. A 304 gets the weak ETag if the request's If-None-Match contains it. A stream is
// compressed while it is sent, and flushed data reaches the client at once. The response to HEAD gets the same
// headers, except for the length.
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
// brotliLevel is the level of br, and otherLevel is the gzip level for the other codings. See [CompressHandlerLevel].
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
