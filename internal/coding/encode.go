package coding

import "github.com/klauspost/compress/zstd"

// AppendEncode appends src, encoded with c, to dst. A level that c does not have is replaced by the default level.
// src must not overlap dst's spare capacity.
func AppendEncode(dst, src []byte, c Coding, level int) []byte {
	if c == Identity {
		return append(dst, src...)
	}
	if level = c.clamp(level); c == Brotli && level >= firstSlowBrotli {
		return appendSlowBrotli(dst, src, level)
	}
	z := acquireWriter(c, level)
	if enc, ok := z.enc.(*zstd.Encoder); ok {
		// With the whole input at hand, the frame states its size, and the decoder needs no window of its own.
		dst = enc.EncodeAll(src, dst)
	} else {
		z.Reset(nil)
		z.out.b = dst
		z.mustWrite(src)
		dst = z.out.b
	}
	ReleaseWriter(z) // not deferred: an encoder that panicked is not used again
	return dst
}

// mustWrite writes src as a whole body to memory, which cannot fail.
func (z *Writer) mustWrite(src []byte) {
	_, err := z.Write(src)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("coding: " + err.Error())
	}
}
