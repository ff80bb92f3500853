package gallop

import (
	"bufio"
	"bytes"
	"io"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// minEncodedSize is the size in bytes of a body below which a coding is not worth
// its header field.
const minEncodedSize = 200

// WriteGzip writes the response like Write, its body in gzip coding. See WriteGzipLevel.
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response like Write, its body in gzip coding at this
// level, and sets Content-Encoding and Vary. A body is left as it is if it has a coding already, is
// part of a larger one, is under 200 bytes, or has a type that does not compress.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	resp.encode(coding.Gzip, level)
	return resp.Write(w)
}

// WriteDeflate is WriteGzip for the deflate coding.
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel is WriteGzipLevel for the deflate coding.
func (resp *Response) WriteDeflateLevel(w *bufio.Writer, level int) error {
	resp.encode(coding.Deflate, level)
	return resp.Write(w)
}

// encode puts the body in coding c, unless that is of no use.
func (resp *Response) encode(c coding.Coding, level int) {
	if !resp.isEncodable() {
		return
	}
	if !resp.IsBodyStream() {
		resp.encodeBytes(c, level)
	} else {
		resp.encodeStream(c, level)
	}
	resp.Header.SetContentEncoding(c.String())
	resp.noteEncoded()
}

func (resp *Response) isEncodable() bool {
	fields := &resp.Header.head.Fields
	switch {
	case !resp.mayHaveBody(), resp.StatusCode() == StatusPartialContent, fields.Has(field.ContentRange),
		fields.Has(field.ContentEncoding), !isCompressible(resp.Header.ContentType()):
		return false
	}
	return resp.IsBodyStream() || len(resp.Body()) >= minEncodedSize
}

// isCompressible reports whether a media type is one of text, or of something that is
// written in text.
func isCompressible(contentType []byte) bool {
	mediaType, _ := ascii.Cut(contentType, ';')
	mediaType = bytes.TrimSpace(mediaType)
	switch {
	case ascii.HasPrefixFold(mediaType, "text/"), ascii.HasPrefixFold(mediaType, "application/"),
		ascii.HasPrefixFold(mediaType, "font/"), ascii.EqualFold(mediaType, "image/svg+xml"),
		ascii.EqualFold(mediaType, "image/bmp"), ascii.EqualFold(mediaType, "image/x-icon"):
		return true
	}
	return len(mediaType) == 0
}

func (resp *Response) encodeBytes(c coding.Coding, level int) {
	plain := resp.Body()
	encoded := coding.AppendEncode(bufpool.Get(len(plain)/2), plain, c, level)
	resp.ResetBody()
	bufpool.Put(resp.buf)
	resp.buf = encoded
}

// encodeStream puts the encoded stream in the place of the plain one. What that
// passes on piece by piece, its size not being known, the encoder does, too.
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
		if err := plain.BodyWriteTo(sink); err != nil {
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

// noteEncoded makes the header fit a coded body: it varies with Accept-Encoding (RFC 9110
// §12.5.5), and is no longer the same byte for byte (§8.8.1).
func (resp *Response) noteEncoded() {
	fields := &resp.Header.head.Fields
	varies := false
	for i := fields.FindID(field.Vary); i >= 0; i = field.Next(fields, i, field.Vary, "") {
		varies = varies || ascii.HasToken(fields.Value(i), "*") || ascii.HasToken(fields.Value(i), HeaderAcceptEncoding)
	}
	if !varies {
		resp.Header.Add(HeaderVary, HeaderAcceptEncoding)
	}
	if tag := fields.PeekID(field.ETag); len(tag) > 0 && tag[0] == '"' {
		resp.Header.Set(HeaderETag, "W/"+string(tag))
	}
}
