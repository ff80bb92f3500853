package coding

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// gzipDecoder reads members until the input ends. It advances from member to member itself, because an incomplete
// header of a member must not count as the end of the body.
type gzipDecoder struct {
	z  gzip.Reader
	in *bufio.Reader
}

func (d *gzipDecoder) start(in *bufio.Reader) error {
	d.in = in
	return d.member()
}

func (d *gzipDecoder) member() error {
	if err := d.z.Reset(d.in); err != nil {
		return noEOF(err)
	}
	d.z.Multistream(false)
	return nil
}

func (d *gzipDecoder) Read(p []byte) (int, error) {
	for {
		n, err := d.z.Read(p)
		if err != io.EOF || n > 0 {
			return n, notAtEnd(n, err)
		}
		if _, err := d.in.Peek(1); err != nil {
			return 0, err
		}
		if err := d.member(); err != nil {
			return 0, err
		}
	}
}

// notAtEnd drops io.EOF if there are bytes as well. The next call returns it.
func notAtEnd(n int, err error) error {
	if n > 0 && err == io.EOF {
		return nil
	}
	return err
}

// deflateDecoder reads the zlib format, or the bare deflate format if the input does not begin with a zlib header.
type deflateDecoder struct {
	zlib io.ReadCloser
	raw  io.ReadCloser
	io.Reader
}

func (d *deflateDecoder) start(in *bufio.Reader) error {
	head, err := in.Peek(2)
	if err == nil && isZlib(head[0], head[1]) {
		return d.startZlib(in)
	}
	if err != nil && err != io.EOF {
		return err
	}
	return d.startRaw(in)
}

// isZlib reports whether the bytes are a header of RFC 1950 §2.2: deflate, a window of at most 32 KiB, and the check
// bits. A bare stream begins like that only with a stored block whose padding is not zero, which no encoder writes.
func isZlib(cmf, flg byte) bool {
	return cmf&15 == 8 && cmf>>4 <= 7 && (uint(cmf)<<8|uint(flg))%31 == 0
}

func (d *deflateDecoder) startZlib(in *bufio.Reader) (err error) {
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(in)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(in, nil)
	}
	d.Reader = d.zlib
	return err
}

func (d *deflateDecoder) startRaw(in *bufio.Reader) (err error) {
	if d.raw == nil {
		d.raw = flate.NewReader(in)
	} else {
		err = d.raw.(flate.Resetter).Reset(in, nil)
	}
	d.Reader = d.raw
	return err
}
