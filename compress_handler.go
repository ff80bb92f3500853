package gallop

import (
	"slices"

	"github.com/gallop-http/gallop/internal/coding"
)

// CompressHandler returns a handler that calls h and compresses the response with gzip, zstd or deflate at the default
// level. See [CompressHandlerLevel]. In programs that use package web, use middleware.Compress instead, which takes its
// settings as a struct.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and compresses the response with gzip, zstd or deflate. The
// handler uses the coding that the client prefers in Accept-Encoding (RFC 9110 §12.5.3). If the client accepts several
// codings equally, the handler chooses gzip over zstd, and zstd over deflate. The argument level is a gzip level. For
// zstd, the handler translates the level to the zstd level that needs about the same CPU time.
//
// The response is not compressed in these cases:
//
//   - The response already has a Content-Encoding. To turn off compression for a response, set Content-Encoding to
//     "identity".
//   - The body has fewer than 200 bytes, or compression does not make the body smaller.
//   - The body has a Content-Type that rarely compresses well, such as image/jpeg.
//   - The response is partial content (206).
//   - The response has a header with a digest of the body, or Cache-Control: no-transform.
//   - The request has a Cookie or Authorization header, and its Sec-Fetch-Site header says that another site has caused it.
//
// Every compressible response gets Vary: Accept-Encoding, even if the response is sent uncompressed. A 206 response
// with compressible content and every 304 response get the Vary header too. When the handler compresses a response, it
// makes a strong ETag weak and removes the Content-Length and Accept-Ranges headers. A 304 response also has the weak
// ETag if the request's If-None-Match header contains the weak ETag. The handler compresses a body stream while the
// stream is sent. A flush of the body stream immediately sends all data that has been written so far. The response to
// HEAD has the same headers as the response to GET, except for Content-Length.
//
// Do not compress a response that contains both a secret and text from the request. By observing the lengths of
// compressed responses, an attacker could guess the secret step by step (the BREACH attack). The last item of the list
// stops this attack in current browsers. Also set Cache-Control: no-transform on a response with a secret, or use
// [CompressHandlerOptions] with CompressGuardCredentials.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return compressing(h, &compressor{
		compressPolicy: usualPolicy,
		offers:         []coding.Coding{coding.Gzip, coding.Zstd, coding.Deflate},
		levels:         compressLevels(coding.DefaultLevel, level),
	})
}

// CompressHandlerBrotliLevel returns a handler that calls h and compresses the response, preferably with br. The
// argument brotliLevel is the level for br. The argument otherLevel is the level for gzip, deflate and zstd, given as a
// gzip level. See [CompressHandlerLevel].
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	return compressing(h, &compressor{
		compressPolicy: usualPolicy,
		offers:         allOffers,
		levels:         compressLevels(brotliLevel, otherLevel),
	})
}

var allOffers = []coding.Coding{coding.Brotli, coding.Gzip, coding.Zstd, coding.Deflate}

// CompressOptions are the settings of [CompressHandlerOptions]. The zero value compresses with br, gzip, zstd or deflate
// at the default levels.
type CompressOptions struct {
	// Level is the gzip level, 1 to 9. For zstd, the handler uses a level that needs about as much CPU time as the gzip
	// level. Zero means CompressDefaultCompression.
	Level int

	// Brotli is the br level, 1 to 11. Zero means CompressBrotliDefaultCompression.
	Brotli int

	// MinSize is the size in bytes of the smallest body that is compressed. The default is 200 bytes: below, the additional
	// headers cost more than compression saves. A stream of unknown length is compressed regardless of MinSize.
	MinSize int

	// Types are the media types that are compressed. Each element is a media type, such as "application/json", all types
	// that begin alike, such as "text/*", or all types with a suffix, such as "*+json". By default, the handler compresses
	// all types that usually get smaller. If Types is not nil, only responses whose Content-Type matches an element are
	// compressed.
	Types []string

	// Guard says which responses are never compressed because they may contain secrets. By default, these are the responses
	// to requests with credentials that another site has caused.
	Guard CompressGuard
}

// CompressHandlerOptions returns a handler that calls h and compresses the response as the options say. See
// [CompressHandlerLevel] for the responses that are never compressed, and for the effect on headers.
func CompressHandlerOptions(h RequestHandler, o CompressOptions) RequestHandler {
	if o.Level == 0 {
		o.Level = CompressDefaultCompression
	}
	if o.Brotli == 0 {
		o.Brotli = CompressBrotliDefaultCompression
	}
	if o.MinSize <= 0 {
		o.MinSize = minEncodedSize
	}
	return compressing(h, &compressor{
		compressPolicy: compressPolicy{minSize: o.MinSize, types: slices.Clone(o.Types), guard: o.Guard},
		offers:         allOffers,
		levels:         compressLevels(o.Brotli, o.Level),
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
