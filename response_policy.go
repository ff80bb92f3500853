package gallop

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// minEncodedSize is the default size in bytes from which compressing a body is worthwhile. Below, the headers cost more
// than compression saves.
const minEncodedSize = 200

// compressPolicy decides which responses may be compressed. Everything that compresses responses uses it.
type compressPolicy struct {
	minSize int
	types   []string // patterns of media types; nil means usualTypes
	guard   CompressGuard
}

// usualPolicy is the policy of everything that has no settings of its own.
var usualPolicy = compressPolicy{minSize: minEncodedSize}

// CompressGuard says which responses are never compressed because of the BREACH attack. In that attack, another site makes
// a browser send requests with the user's cookies. The attacker guesses a secret in the responses, and learns from their
// lengths whether a guess was right.
type CompressGuard int

const (
	// CompressGuardCrossSite leaves the responses to requests with a Cookie or Authorization header uncompressed if another
	// site has caused the request. Browsers say so in the header Sec-Fetch-Site, which browsers from before 2023 may lack.
	CompressGuardCrossSite CompressGuard = iota
	// CompressGuardCredentials leaves all responses to requests with a Cookie or Authorization header uncompressed, and all
	// responses with a Set-Cookie header.
	CompressGuardCredentials
	// CompressGuardOff compresses responses regardless of credentials.
	CompressGuardOff
)

// forbids reports whether the response to a request must not be compressed.
func (g CompressGuard) forbids(req *Request, resp *Response) bool {
	if g == CompressGuardOff {
		return false
	}
	fields := &req.Header.head.Fields
	credentials := fields.Has(field.Cookie) || fields.Has(field.Authorization)
	if g == CompressGuardCredentials {
		return credentials || resp.Header.head.Fields.Has(field.SetCookie)
	}
	return credentials && ascii.EqualFold(fields.PeekID(field.SecFetchSite), "cross-site")
}

// isEncodable reports whether compressing the body is allowed and worthwhile.
func (p *compressPolicy) isEncodable(resp *Response) bool {
	return resp.mayHaveBody() && p.isBigEnough(resp) && p.allows(resp)
}

// isBigEnough reports whether the body is large enough to compress. A stream of unknown size is.
func (p *compressPolicy) isBigEnough(resp *Response) bool {
	if resp.IsBodyStream() {
		return resp.size < 0 || resp.size >= p.minSize
	}
	return len(resp.Body()) >= p.minSize
}

// isBigEnoughForHead does the same as isBigEnough, but also accepts a handler that has set only the length and
// no body.
func (p *compressPolicy) isBigEnoughForHead(resp *Response) bool {
	if n := resp.Header.sentLength(); n >= 0 && !resp.IsBodyStream() && len(resp.Body()) == 0 {
		return n >= int64(p.minSize)
	}
	return p.isBigEnough(resp)
}

// allows reports whether the head allows compression. The body must be whole, have no coding yet, and be
// of a type that compresses well. The handler must not have set no-transform (RFC 9111 §5.2.2.6) or a digest of
// the uncompressed bytes (RFC 9530 §2 and §3), which would be wrong then.
func (p *compressPolicy) allows(resp *Response) bool {
	fields := &resp.Header.head.Fields
	return message.MayHaveBody(resp.StatusCode(), message.OtherMethod) && resp.StatusCode() != StatusPartialContent &&
		!fields.Has(field.ContentRange) && p.allowsFields(resp) && p.hasType(resp.Header.ContentType())
}

// allowsPart reports whether the response is a part of a content that could be compressed as a whole.
func (p *compressPolicy) allowsPart(resp *Response) bool {
	contentType := resp.Header.ContentType()
	return p.allowsFields(resp) && (p.hasType(contentType) || ascii.HasPrefixFold(contentType, "multipart/byteranges"))
}

// allowsFields reports whether no header of the response rules out compression.
func (p *compressPolicy) allowsFields(resp *Response) bool {
	h := &resp.Header
	return !h.head.Fields.Has(field.ContentEncoding) && !h.hasDigest() && !h.forbidsTransform()
}

// hasType reports whether bodies of a media type are compressed.
func (p *compressPolicy) hasType(contentType []byte) bool {
	if p.types == nil {
		return isCompressible(contentType)
	}
	mediaType := mediaTypeOf(contentType)
	for _, pattern := range p.types {
		if matchesType(mediaType, pattern) {
			return true
		}
	}
	return false
}

// matchesType reports whether a media type matches a pattern: "text/html", "text/*", or "*+json" for a suffix.
func matchesType(mediaType []byte, pattern string) bool {
	switch n := len(pattern); {
	case n > 1 && pattern[n-2:] == "/*":
		return ascii.HasPrefixFold(mediaType, pattern[:n-1])
	case n > 1 && pattern[:2] == "*+":
		return hasSuffixFold(mediaType, pattern[1:])
	}
	return ascii.EqualFold(mediaType, pattern)
}

// mediaTypeOf returns a Content-Type without its parameters.
func mediaTypeOf(contentType []byte) []byte {
	mediaType, _ := ascii.Cut(contentType, ';')
	return ascii.TrimOWS(mediaType)
}

// isCompressible reports whether bodies of a media type usually compress well.
func isCompressible(contentType []byte) bool {
	mediaType := mediaTypeOf(contentType)
	switch {
	case len(mediaType) == 0, ascii.EqualFold(mediaType, "application/json"): // most responses end here or at text
		return true
	case hasSuffixFold(mediaType, "+zip"), hasSuffixFold(mediaType, "+gzip"), hasSuffixFold(mediaType, "+zstd"):
		return false
	case ascii.HasPrefixFold(mediaType, "text/"), ascii.HasPrefixFold(mediaType, "model/"):
		return true
	case ascii.HasPrefixFold(mediaType, "application/"), ascii.HasPrefixFold(mediaType, "font/"):
		return !isPacked(mediaType)
	}
	for _, image := range [...]string{"image/svg+xml", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon"} {
		if ascii.EqualFold(mediaType, image) {
			return true
		}
	}
	return false
}

// isPacked reports whether bodies of a media type are compressed already, or so often that trying is not worthwhile.
func isPacked(mediaType []byte) bool {
	for _, packed := range packedTypes {
		if ascii.EqualFold(mediaType, packed) {
			return true
		}
	}
	for _, prefix := range packedFamilies {
		if ascii.HasPrefixFold(mediaType, prefix) {
			return true
		}
	}
	return false
}

// packedTypes are the media types of isPacked.
var packedTypes = [...]string{
	"application/gzip", "application/x-gzip", "application/zip", "application/x-zip-compressed", "application/zstd",
	"application/x-7z-compressed", "application/x-bzip", "application/x-bzip2", "application/x-xz", "application/vnd.rar",
	"application/x-rar-compressed", "application/java-archive", "application/vnd.android.package-archive", "application/pdf",
	"application/ogg", "application/mp4", "font/woff", "font/woff2", "application/font-woff",
}

// packedFamilies are prefixes of media types that are zip archives.
var packedFamilies = [...]string{"application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."}

func hasSuffixFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && ascii.EqualFold(b[len(b)-len(suffix):], suffix)
}
