package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
)

// noteVaries adds Accept-Encoding to Vary, because the response depends on it (RFC 9110 §12.5.5).
func (resp *Response) noteVaries() {
	fields := &resp.Header.head.Fields
	if !anyLineHasToken(fields, field.Vary, "*") && !anyLineHasToken(fields, field.Vary, HeaderAcceptEncoding) {
		resp.Header.Add(HeaderVary, HeaderAcceptEncoding)
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
