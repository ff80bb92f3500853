package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
)

// WriteGzip writes the response with its body compressed by gzip at the default level. See [Response.WriteGzipLevel].
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response with its body compressed by gzip at this level. WriteGzipLevel sets
// Content-Encoding and Vary. The body stays uncompressed in the following cases:
//
//   - The body already has a content coding, or the response is partial (status 206 or Content-Range).
//   - The body has fewer than 200 bytes, or compression does not make the body smaller.
//   - The body has a media type that does not compress well.
//   - The response has a digest of the body, or Cache-Control: no-transform.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	resp.encode(coding.Gzip, level)
	return resp.Write(w)
}

// WriteDeflate writes the response with its body compressed by deflate at the default level. See
// [Response.WriteGzipLevel].
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel writes the response with its body compressed by deflate at this level. See
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
