package gallop

import (
	"bytes"
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/filetree"
)

// Compressed copies of cached files. docs/design/0017-compression.md has the reasons for the levels and bounds.

// maxSlowFile is the size in bytes of the largest file that is compressed at a higher level than responses. Above, the
// request that has to wait for the encoder would wait for more than some ten milliseconds.
const maxSlowFile = 256 << 10

// variantLevel returns the level for the copy of a file of this size. The copy is made once, so the level may be higher
// than for responses that are compressed on the fly. It costs about twice as much CPU time.
func variantLevel(c coding.Coding, size int) int {
	if size > maxSlowFile {
		return fileLevel(c)
	}
	switch c {
	case coding.Brotli:
		return 7
	case coding.Zstd:
		return CompressZstdSpeedBetter
	}
	return 8
}

// madeVariant returns the copy of a cached file in coding c, or nil if this response cannot be the copy.
func (h *fileHandler) madeVariant(ctx *RequestCtx, e *filetree.Entry, original *filetree.Variant, c coding.Coding) *filetree.Variant {
	if original.Size < minEncodedSize || original.Size > maxEncodedFile || ctx.Response.Header.forbidsTransform() {
		return nil
	}
	return h.files.Make(e, int(c))
}

// encodeVariant makes the copy of a file for a slot, which is a coding. The copy is absent unless it is smaller by 5 %.
func encodeVariant(original *filetree.Variant, slot int, data []byte) *filetree.Variant {
	c := coding.Coding(slot)
	encoded := coding.AppendEncode(bufpool.Get(len(data)/2), data, c, variantLevel(c, len(data)))
	defer func() { bufpool.Put(encoded) }()
	v := &filetree.Variant{Name: original.Name, Modified: original.Modified, Size: int64(len(encoded))}
	if len(encoded) > len(data)*19/20 {
		v.Absent = true
		return v
	}
	v.Data = bytes.Clone(encoded)
	v.Prepared = original.Prepared
	v.BareTag = variantTag(original.BareTag, c, encoded)
	v.Tag = strconv.AppendQuote(nil, v.BareTag)
	return v
}

// variantTag returns the strong entity tag of a copy, without quotes. It contains a hash of the copy, because another
// version of the encoder makes other bytes of the same file.
func variantTag(original string, c coding.Coding, encoded []byte) string {
	hash := fnv.New64a()
	hash.Write(encoded)
	return original + "-" + hex.EncodeToString(hash.Sum(nil)) + "-" + c.String()
}
