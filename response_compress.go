package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
)

// WriteGzip writes the response like Write, its body in gzip coding. See WriteGzipLevel.
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response like Write, its body in gzip coding at this
// level, and sets Content-Encoding and Vary. A body is left as it is if it has a
// coding already, is part of a larger one, is under 200 bytes, has a type that does
// not compress, a digest or Cache-Control: no-transform, or does not get smaller.
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
	if resp.IsBodyStream() {
		resp.encodeStream(c, level)
	} else if !resp.encodeBytes(c, level) {
		return
	}
	resp.noteEncoded(c)
}

// encodeBytes reports whether that made the body smaller. If not it is as before.
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
