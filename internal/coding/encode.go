package coding

import "github.com/klauspost/compress/zstd"

// AppendEncode appends src in coding c to dst. A level that the coding does not
// have is its default level. src must not lie in dst's spare capacity.
func AppendEncode(dst, src []byte, c Coding, level int) []byte {
	if c == Identity {
		return append(dst, src...)
	}
	z := acquireWriter(c, level)
	defer ReleaseWriter(z)
	if enc, ok := z.enc.(*zstd.Encoder); ok {
		// With all of the input at hand the frame says its size, and the decoder
		// gets by without a window of its own.
		return enc.EncodeAll(src, dst)
	}
	z.Reset(nil)
	z.out.b = dst
	z.mustWrite(src)
	return z.out.b
}

// mustWrite writes src as a whole body to memory, where nothing can go wrong.
func (z *Writer) mustWrite(src []byte) {
	_, err := z.Write(src)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("coding: " + err.Error())
	}
}
