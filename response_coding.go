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

// minEncodedSize is the size in bytes from which compressing a body is worthwhile. Below, the headers cost more
// than compression saves.
const minEncodedSize = 200

// isEncodable reports whether compressing the body is allowed and worthwhile.
func (resp *Response) isEncodable() bool {
	return resp.mayHaveBody() && resp.isBigEnough() && resp.allowsCoding()
}

// isBigEnough reports whether the body is large enough to compress. A stream of unknown size is.
func (resp *Response) isBigEnough() bool {
	if resp.IsBodyStream() {
		return resp.size < 0 || resp.size >= minEncodedSize
	}
	return len(resp.Body()) >= minEncodedSize
}

// isBigEnoughForHead does the same as isBigEnough, but also accepts a handler that has set only the length and
// no body.
func (resp *Response) isBigEnoughForHead() bool {
	if n := resp.Header.sentLength(); n >= 0 && !resp.IsBodyStream() && len(resp.Body()) == 0 {
		return n >= minEncodedSize
	}
	return resp.isBigEnough()
}

// allowsCoding reports whether the head allows compression. The body must be whole, have no coding yet, and be
// of a type that compresses well. The handler must not have set no-transform (RFC 9111 §5.2.2.6) or a digest of
// the uncompressed bytes (RFC 9530 §2 and §3), which would be wrong then.
func (resp *Response) allowsCoding() bool {
	fields := &resp.Header.head.Fields
	if !message.MayHaveBody(resp.StatusCode(), message.OtherMethod) || resp.StatusCode() == StatusPartialContent ||
		fields.Has(field.ContentRange) || fields.Has(field.ContentEncoding) || !isCompressible(resp.Header.ContentType()) {
		return false
	}
	return !resp.Header.hasDigest() && !resp.Header.forbidsTransform()
}

// isPartOfEncodable reports whether the response is a part of a content that could be compressed as a whole.
func (resp *Response) isPartOfEncodable() bool {
	contentType := resp.Header.ContentType()
	return !resp.Header.head.Fields.Has(field.ContentEncoding) && !resp.Header.hasDigest() && !resp.Header.forbidsTransform() &&
		(isCompressible(contentType) || ascii.HasPrefixFold(contentType, "multipart/byteranges"))
}

// isCompressible reports whether bodies of a media type usually compress well.
func isCompressible(contentType []byte) bool {
	mediaType, _ := ascii.Cut(contentType, ';')
	mediaType = ascii.TrimOWS(mediaType)
	for _, packed := range packedTypes {
		if ascii.EqualFold(mediaType, packed) {
			return false
		}
	}
	for _, prefix := range packedFamilies {
		if ascii.HasPrefixFold(mediaType, prefix) {
			return false
		}
	}
	for _, prefix := range [...]string{"text/", "application/", "font/", "model/"} {
		if ascii.HasPrefixFold(mediaType, prefix) {
			return !hasSuffixFold(mediaType, "+zip") && !hasSuffixFold(mediaType, "+gzip") && !hasSuffixFold(mediaType, "+zstd")
		}
	}
	for _, image := range [...]string{"image/svg+xml", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon"} {
		if ascii.EqualFold(mediaType, image) {
			return true
		}
	}
	return len(mediaType) == 0
}

// packedTypes are compressed already, or so often that trying is not worthwhile.
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
	if resp.StatusCode() == StatusPartialContent && resp.isPartOfEncodable() {
		resp.noteVaries() // because the full response does so: RFC 9110 §15.3.7
		return
	}
	head := req.Header.IsHead()
	if !resp.allowsCoding() || !head && !resp.isEncodable() || head && !resp.isBigEnoughForHead() {
		return
	}
	resp.noteVaries()
	to := c.choose(&req.Header.head.Fields)
	switch {
	case to == coding.Identity:
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
	resp.encode(coding.Gzip, level)
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
	resp.encode(coding.Deflate, level)
	return resp.Write(w)
}

// encode compresses the body with coding c, unless that does not help.
func (resp *Response) encode(c coding.Coding, level int) {
	if !resp.isEncodable() {
		return
	}
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
