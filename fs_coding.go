package gallop

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
)

// maxEncodedFile is the size in bytes of the largest file that is compressed in memory.
const maxEncodedFile = 1 << 20

// maxFileCodings is how many codings files may be sent in.
const maxFileCodings = 3

// fileCoding is a coding that files may be sent in, and what the names of files in
// that coding end in.
type fileCoding struct {
	coding   coding.Coding
	suffixes []string
}

// codings returns those that f allows, the preferred one first.
func (f *FS) codings() []fileCoding {
	if !f.Compress {
		return nil
	}
	var all []fileCoding
	if f.CompressBrotli {
		all = append(all, f.fileCoding(coding.Brotli, ".br"))
	}
	if f.CompressZstd {
		all = append(all, f.fileCoding(coding.Zstd, ".zst"))
	}
	return append(all, f.fileCoding(coding.Gzip, ".gz"))
}

func (f *FS) fileCoding(c coding.Coding, suffix string) fileCoding {
	other := FSCompressedFileSuffixes[c.String()]
	if c == coding.Gzip && f.CompressedFileSuffix != "" {
		other = f.CompressedFileSuffix
	}
	if s := f.CompressedFileSuffixes[c.String()]; s != "" {
		other = s
	}
	fc := fileCoding{coding: c, suffixes: []string{suffix}}
	if other != "" && other != suffix {
		fc.suffixes = append(fc.suffixes, other)
	}
	return fc
}

func fileLevel(c coding.Coding) int {
	switch c {
	case coding.Brotli:
		return CompressBrotliDefaultCompression
	case coding.Zstd:
		return CompressZstdDefault
	}
	return CompressDefaultCompression
}

// encodesFile returns the codings of h that the client accepts, the preferred one first. negotiated reports whether the
// coding of a file with this name depends on the request.
func (h *fileHandler) encodesFile(ctx *RequestCtx, name string) (liked []fileCoding, negotiated bool) {
	if len(h.codings) == 0 {
		return nil, false
	}
	if !isNegotiable(name) {
		return nil, false
	}
	return h.liked(ctx, nil), true
}

// isNegotiable reports whether files with this name may be sent in a coding.
func isNegotiable(name string) bool {
	t := files.TypeByName(name)
	return t != "" && isCompressible(UnsafeBytes(t))
}

// encode makes r a representation in one of the codings that the client accepts. Stored files come first. Without a
// stored file, encode chooses the preferred coding for compression in memory.
func (h *fileHandler) encode(ctx *RequestCtx, view *filetree.View, r *representation, liked []fileCoding) error {
	if len(liked) == 0 {
		return r.open(view)
	}
	if h.replaceByStored(view, r, liked) {
		return nil
	}
	err := r.open(view)
	if err == nil {
		h.encodeInMemory(ctx, r, liked[0].coding)
	}
	return err
}

// encodeInMemory makes r a representation in coding c, unless something forbids that.
func (h *fileHandler) encodeInMemory(ctx *RequestCtx, r *representation, c coding.Coding) {
	if ctx.Response.Header.forbidsTransform() {
		return
	}
	parts := h.ranges && len(ctx.Request.Header.Peek(HeaderRange)) > 0
	if parts || r.size < minEncodedSize || r.size > maxEncodedFile {
		return
	}
	r.coding, r.encode, r.ranges = c, true, false
	if r.tag != "" {
		// Another version of the encoder may make other bytes of the same file.
		r.tag, r.weak = r.tag+"-"+r.coding.String(), true
	}
}

// encodeListing puts the response, which is a list of files, in the coding that the client likes
// best.
func (h *fileHandler) encodeListing(ctx *RequestCtx) {
	if len(h.codings) == 0 {
		return
	}
	resp := &ctx.Response
	resp.noteVaries()
	liked := h.liked(ctx, nil)
	if len(liked) == 0 || !usualPolicy.isEncodable(resp) {
		return
	}
	if c := liked[0].coding; resp.encodeBytes(c, fileLevel(c)) {
		resp.noteEncoded(c)
	}
}

// liked appends the codings of h that the client accepts, the one it likes best first.
func (h *fileHandler) liked(ctx *RequestCtx, liked []fileCoding) []fileCoding {
	lines := ctx.Request.Header.PeekAll(HeaderAcceptEncoding)
	if len(lines) == 0 {
		return liked
	}
	var accepted acceptedCodings
	accepted.reset()
	for _, line := range lines {
		accepted.add(line)
	}
	var room [maxFileCodings]coding.Coding
	offers := room[:0]
	for i := range h.codings {
		offers = append(offers, h.codings[i].coding)
	}
	for {
		best := accepted.choose(offers)
		if best == coding.Identity {
			return liked
		}
		offers = slices.DeleteFunc(offers, func(c coding.Coding) bool { return c == best })
		i := slices.IndexFunc(h.codings, func(c fileCoding) bool { return c.coding == best })
		liked = append(liked, h.codings[i])
	}
}

// replaceByStored makes r a file in one of the codings that the client likes, and reports whether there is one. view is
// of the tree that has the original.
func (h *fileHandler) replaceByStored(view *filetree.View, r *representation, liked []fileCoding) bool {
	if h.coded != h.files {
		coded, err := h.coded.View()
		if err != nil {
			return false
		}
		defer coded.Release()
		view = &coded
	}
	for _, c := range liked {
		if r.useStored(view, c) {
			return true
		}
	}
	return false
}

// useStored makes r the file with the same content in coding c, if there is one that
// is not older, and not empty.
func (r *representation) useStored(view *filetree.View, c fileCoding) bool {
	for _, suffix := range c.suffixes {
		file, info, err := view.Open(r.name + suffix)
		if err != nil {
			continue
		}
		// Nothing in a coding is empty: what is was being written, or its disk was full.
		if info.IsDir() || info.Size() == 0 || isOlder(info.ModTime(), r.modified) {
			file.Close()
			continue
		}
		hash, err := view.Hash(r.name + suffix)
		if err != nil {
			file.Close()
			continue
		}
		r.replace(file, info, c.coding, hash)
		return true
	}
	return false
}

// isOlder reports whether a stored file is older than the one of which it is made. Programs that give it the
// time of that one, as brotli does, and archives keep whole seconds in cases.
func isOlder(stored, original time.Time) bool {
	if stored.Nanosecond() == 0 {
		original = original.Truncate(time.Second)
	}
	return stored.Before(original)
}

// replace makes r the file in coding c. hash is that of the file, or "".
func (r *representation) replace(file fs.File, info fs.FileInfo, c coding.Coding, hash string) {
	r.close()
	stored := newFileRepresentation(r.name, file, info)
	stored.tag = cmp.Or(stored.tag, hash)
	stored.negotiated, stored.coding = true, c
	if stored.tag != "" {
		stored.tag += "-" + c.String()
	}
	*r = stored
}

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
