package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/message"
)

// noteVaries adds Accept-Encoding to Vary, because the response depends on it (RFC 9110 §12.5.5).
func (resp *Response) noteVaries() { resp.noteVariesBy(HeaderAcceptEncoding) }

// noteVariesBy adds the name of a request header to Vary.
func (resp *Response) noteVariesBy(name string) {
	fields := &resp.Header.head.Fields
	if !anyLineHasToken(fields, field.Vary, "*") && !anyLineHasToken(fields, field.Vary, name) {
		resp.Header.Add(HeaderVary, name)
	}
}

// noteEncoded updates the head for a body that was compressed with coding c. The length differs, and so would
// ranges. A strong ETag would claim that the bytes are the same, so it becomes weak (RFC 9110 §8.8.1).
func (resp *Response) noteEncoded(c coding.Coding) {
	resp.noteVaries()
	resp.Header.SetContentEncoding(c.String())
	resp.Header.Del(HeaderContentLength)
	resp.Header.Del(HeaderAcceptRanges)
	if tag := resp.Header.head.Fields.PeekID(field.ETag); files.IsStrong(tag) {
		resp.Header.Set(HeaderETag, "W/"+string(tag))
	}
}

// weakenFor makes the tag of a 304 weak if the client has sent the weak tag of a compressed response. The
// strong tag would belong to another representation (RFC 9110 §15.4.5, RFC 9111 §4.3.4).
func (resp *Response) weakenFor(h *RequestHeader) {
	tag := resp.Header.Peek(HeaderETag)
	if !files.IsStrong(tag) {
		return
	}
	weak := "W/" + string(tag)
	for _, line := range h.PeekAll(HeaderIfNoneMatch) {
		if files.HasTag(line, weak) {
			resp.Header.Set(HeaderETag, weak)
			return
		}
	}
}

// compressor compresses responses with a coding that the client accepts. It chooses the coding that the client
// likes best, and the first one among equals.
type compressor struct {
	compressPolicy
	offers []coding.Coding
	levels [coding.Zstd + 1]int
}

// compress compresses resp, the response to req, if that is worthwhile.
//
// The response to HEAD gets the same headers as the response to GET, except for the length, which is unknown
// without compressing (RFC 9110 §9.3.2).
func (c *compressor) compress(req *Request, resp *Response) {
	if resp.StatusCode() == StatusNotModified {
		resp.noteVaries() // because the full response may do so: RFC 9110 §15.4.5
		resp.weakenFor(&req.Header)
		return
	}
	if resp.StatusCode() == StatusPartialContent && c.allowsPart(resp) {
		resp.noteVaries() // because the full response does so: RFC 9110 §15.3.7
		return
	}
	head := req.Header.IsHead()
	if head && !c.isBigEnoughForHead(resp) || !head && !(resp.mayHaveBody() && c.isBigEnough(resp)) || !c.allows(resp) {
		return
	}
	resp.noteVaries()
	to := c.choose(&req.Header.head.Fields)
	switch {
	case to == coding.Identity, c.guard.forbids(req, resp):
	case head:
		resp.ResetBody()
		resp.noteEncoded(to)
	default:
		resp.encode(to, c.levels[to])
	}
}

func (c *compressor) choose(fields *field.List) coding.Coding {
	var accepted acceptedCodings
	accepted.reset()
	for i := fields.FindID(field.AcceptEncoding); i >= 0; i = field.Next(fields, i, field.AcceptEncoding, "") {
		accepted.add(fields.Value(i))
	}
	return accepted.choose(c.offers)
}

// WriteGzip compresses the body with gzip at the default level, and writes the response. See [Response.WriteGzipLevel].
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel compresses the body with gzip at the given level, and writes the response. WriteGzipLevel sets
// Content-Encoding and Vary. The body stays uncompressed in the following cases:
//
//   - The body already has a content coding, or the response is partial (status 206 or Content-Range).
//   - The body has fewer than 200 bytes, or compression does not make the body smaller.
//   - The body has a media type that does not compress well.
//   - The response has a header with a digest of the body, or Cache-Control: no-transform.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	resp.encodeUsual(coding.Gzip, level)
	return resp.Write(w)
}

// WriteDeflate compresses the body with deflate at the default level, and writes the response. See
// [Response.WriteGzipLevel].
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel compresses the body with deflate at the given level, and writes the response. See
// [Response.WriteGzipLevel].
func (resp *Response) WriteDeflateLevel(w *bufio.Writer, level int) error {
	resp.encodeUsual(coding.Deflate, level)
	return resp.Write(w)
}

// encodeUsual compresses the body with coding c, unless the usual policy forbids that.
func (resp *Response) encodeUsual(c coding.Coding, level int) {
	if usualPolicy.isEncodable(resp) {
		resp.encode(c, level)
	}
}

// encode compresses the body with coding c, unless that does not help.
func (resp *Response) encode(c coding.Coding, level int) {
	if resp.IsBodyStream() {
		resp.encodeStream(c, level)
	} else if !resp.encodeBytes(c, level) {
		return
	}
	resp.noteEncoded(c)
}

// encodeBytes compresses a body in memory. It reports whether that made the body smaller. If not, the body
// stays unchanged.
func (resp *Response) encodeBytes(c coding.Coding, level int) bool {
	plain := resp.Body()
	encoded := coding.AppendEncode(bufpool.Get(len(plain)/2), plain, c, level)
	if len(encoded) >= len(plain) {
		bufpool.Put(encoded)
		return false
	}
	resp.ResetBody()
	bufpool.Put(resp.buf)
	resp.buf = encoded
	return true
}

// encodeStream replaces the stream by its compressed form. If the size is unknown, the encoder flushes whenever
// the stream does.
func (resp *Response) encodeStream(c coding.Coding, level int) {
	plain := resp.body
	plain.buf = nil
	write := func(w io.Writer) error {
		z := coding.AcquireWriter(c, level, w)
		defer coding.ReleaseWriter(z)
		var sink io.Writer = z
		if plain.size < 0 {
			sink = flushingEncoder{z}
		}
		if err := plain.consume(sink); err != nil {
			return err
		}
		return z.Close()
	}
	resp.stream, resp.writer, resp.source = &writtenStream{write: write, close: plain.dropStream}, nil, nil
	resp.size = sizeRewritten
}

type flushingEncoder struct{ *coding.Writer }

func (e flushingEncoder) Write(p []byte) (int, error) {
	n, err := e.Writer.Write(p)
	if err == nil {
		err = e.Flush()
	}
	return n, err
}

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
