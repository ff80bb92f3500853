package gallop

import (
	"io/fs"
	"slices"
	"time"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
)

// maxEncodedFile is the size in bytes of the largest file that is compressed in memory.
const maxEncodedFile = 1 << 20

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
	if t := files.TypeByName(name); t == "" || !isCompressible(UnsafeBytes(t)) {
		return nil, false
	}
	return h.liked(ctx), true
}

// encode makes r a representation in one of the codings that the client accepts. Stored files come first. If there is
// none, the file is compressed in the preferred coding, unless something forbids it.
func (h *fileHandler) encode(ctx *RequestCtx, view *filetree.View, r *representation, liked []fileCoding) error {
	if len(liked) == 0 {
		return r.open(view)
	}
	if h.replaceByStored(view, r, liked) {
		return nil
	}
	if err := r.open(view); err != nil || ctx.Response.Header.forbidsTransform() {
		return err
	}
	parts := h.ranges && len(ctx.Request.Header.Peek(HeaderRange)) > 0
	if parts || r.size < minEncodedSize || r.size > maxEncodedFile {
		return nil
	}
	r.coding, r.encode, r.ranges = liked[0].coding, true, false
	if r.tag != "" {
		// Another version of the encoder may make other bytes of the same file.
		r.tag, r.weak = r.tag+"-"+r.coding.String(), true
	}
	return nil
}

// encodeListing puts the response, which is a list of files, in the coding that the client likes
// best.
func (h *fileHandler) encodeListing(ctx *RequestCtx) {
	if len(h.codings) == 0 {
		return
	}
	resp := &ctx.Response
	resp.noteVaries()
	liked := h.liked(ctx)
	if len(liked) == 0 || !resp.isEncodable() {
		return
	}
	if c := liked[0].coding; resp.encodeBytes(c, fileLevel(c)) {
		resp.noteEncoded(c)
	}
}

// liked returns the codings of h that the client accepts, the one it likes best first.
func (h *fileHandler) liked(ctx *RequestCtx) (liked []fileCoding) {
	var accepted acceptedCodings
	accepted.reset()
	for _, line := range ctx.Request.Header.PeekAll(HeaderAcceptEncoding) {
		accepted.add(line)
	}
	var offers []coding.Coding
	for _, c := range h.codings {
		offers = append(offers, c.coding)
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
		r.replace(file, info, c.coding)
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

func (r *representation) replace(file fs.File, info fs.FileInfo, c coding.Coding) {
	r.close()
	stored := newFileRepresentation(r.name, file, info)
	stored.negotiated, stored.coding = true, c
	if stored.tag != "" {
		stored.tag += "-" + c.String()
	}
	*r = stored
}
