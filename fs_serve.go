package gallop

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
	"github.com/gallop-http/gallop/internal/target"
)

// ServeFile responds with the file at the given path, or with a list of files if the path is a directory. If the
// client accepts a compressed response, ServeFile compresses the file, as described at [FS.Compress].
//
// The argument path has URI syntax. ServeFile decodes percent-encoding, and ignores everything from the first '?' or
// '#' on. To use a path unchanged, call ServeFileLiteral. A relative path starts at the working directory. ServeFile
// follows all symlinks. Never build the path from data in a request. To serve files that clients choose, use FS. If
// the path has an empty segment, as in "a//b", the response is 404.
//
// Unlike FS, ServeFile does not check the method of the request. If the handler has already set a status other than
// 200, ServeFile keeps the status (see ServeContent).
func ServeFile(ctx *RequestCtx, path string) { ServeFileLiteral(ctx, decodedPath(path)) }

// ServeFileBytes does the same as [ServeFile], but takes a []byte.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, string(path)) }

// ServeFileUncompressed does the same as [ServeFile], but never compresses the file.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveOSFile(ctx, decodedPath(path), osFiles().plain)
}

// ServeFileBytesUncompressed does the same as [ServeFileUncompressed], but takes a []byte.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, string(path))
}

// ServeFileLiteral does the same as [ServeFile], but uses the path unchanged.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveOSFile(ctx, path, osFiles().coded) }

// ServeFS does the same as [ServeFile], but takes the file from filesystem. ServeFS caches the files of up to 64 different
// embed.FS, or directories of an embed.FS. For files of any other fs.FS, there is no cache: use FS to cache the files of
// [os.DirFS] and [os.Root.FS].
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	ServeFSLiteral(ctx, filesystem, decodedPath(path))
}

// ServeFSLiteral does the same as [ServeFileLiteral], but takes the file from filesystem.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveOneFile(ctx, fsHandler(filesystem), UnsafeBytes(path))
}

// TryServeFile does the same as [ServeFileLiteral], but returns an error if it cannot find or open a regular file at the
// path. In that case, the response is unchanged. For a directory, and for a path with an empty segment, errors.Is(err,
// fs.ErrNotExist) is true. Use TryServeFile to respond to missing files in your own way.
func TryServeFile(ctx *RequestCtx, path string) error {
	if files.HasEmptySegment(path[len(filepath.VolumeName(path)):]) || path == "" || os.IsPathSeparator(path[len(path)-1]) {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return osFiles().coded.tryServe(ctx, filepath.Clean(path))
}

// TryServeFS does the same as [TryServeFile], but takes the file from filesystem. The argument path must be valid according
// to fs.ValidPath.
func TryServeFS(ctx *RequestCtx, filesystem fs.FS, path string) error {
	if !fs.ValidPath(path) {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return fsHandler(filesystem).tryServe(ctx, path)
}

// tryServe responds with a regular file, or returns an error.
func (h *fileHandler) tryServe(ctx *RequestCtx, name string) error {
	if e := h.files.Lookup(UnsafeBytes(name)); e != nil && h.serveEntry(ctx, e) {
		return nil
	}
	view, err := h.files.View()
	if err != nil {
		return err
	}
	defer view.Release()
	f, err := h.find(ctx, &view, name)
	switch {
	case err != nil:
		return err
	case f.info.IsDir():
		f.close()
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	h.serveFound(ctx, &view, &f)
	return nil
}

// SendFile responds with the file at the given path. See [ServeFile]. Never build the path from data in a request.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes does the same as [RequestCtx.SendFile], but takes a []byte.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral responds with the file at the given path, without decoding the path. See [ServeFileLiteral]. Never
// build the path from data in a request.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }

// FileLastModified returns the modification time of the file at the given path.
func FileLastModified(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// codedFiles and plainFiles are how single files are served.
var (
	codedFiles = FS{GenerateIndexPages: true, AcceptByteRange: true, Compress: true, CompressBrotli: true, CompressZstd: true}
	plainFiles = FS{GenerateIndexPages: true, AcceptByteRange: true}
)

// osFiles serve single files of the operating system. They are made when the first file is served, because a program may
// change FSCompressedFileSuffixes before that.
var osFiles = sync.OnceValue(func() (h struct{ coded, plain *fileHandler }) {
	tree := filetree.Host()
	h.coded = codedFiles.handler(tree, tree)
	h.plain = plainFiles.handler(tree, tree)
	return h
})

func serveOSFile(ctx *RequestCtx, name string, h *fileHandler) {
	if files.HasEmptySegment(name[len(filepath.VolumeName(name)):]) {
		h.notFound(ctx)
		return
	}
	asDir := name != "" && os.IsPathSeparator(name[len(name)-1])
	name = filepath.Clean(name)
	if !asDir {
		if e := h.files.Lookup(UnsafeBytes(name)); e != nil && h.serveEntry(ctx, e) {
			return
		}
	}
	h.serveName(ctx, name, asDir)
}

func serveOneFile(ctx *RequestCtx, h *fileHandler, p []byte) {
	name := path.Clean("/" + string(p))[1:]
	switch {
	case files.HasEmptySegment(string(p)):
		h.notFound(ctx)
		return
	case name == "":
		name = "."
	case !endsInSlash(p):
		if e := h.files.Lookup(UnsafeBytes(name)); e != nil && h.serveEntry(ctx, e) {
			return
		}
	}
	h.serveName(ctx, name, endsInSlash(p))
}

// maxFixed is how many file systems ServeFS caches.
const maxFixed = 64

// fixedHandlers serve single files of file systems that never change, one handler for each file system.
var fixedHandlers struct {
	sync.RWMutex
	of map[filetree.Fixed]*fileHandler
}

// fsHandler returns a handler for single files of fsys. It has a cache if the files of fsys never change.
func fsHandler(fsys fs.FS) *fileHandler {
	id, fixed := filetree.FixedOf(fsys)
	if !fixed {
		return codedFiles.handlerOnce(filetree.Of(fsys, "."))
	}
	fixedHandlers.RLock()
	h := fixedHandlers.of[id]
	fixedHandlers.RUnlock()
	if h != nil {
		return h
	}
	tree := filetree.Of(fsys, ".")
	h = codedFiles.handler(tree, tree)
	fixedHandlers.Lock()
	defer fixedHandlers.Unlock()
	if known := fixedHandlers.of[id]; known != nil {
		return known
	}
	if len(fixedHandlers.of) < maxFixed {
		if fixedHandlers.of == nil {
			fixedHandlers.of = map[filetree.Fixed]*fileHandler{}
		}
		fixedHandlers.of[id] = h
	}
	return h
}

// decodedPath returns the path that p, part of a URI, stands for. It may be relative.
func decodedPath(p string) string {
	ref := target.SplitPath(UnsafeBytes(p))
	return string(target.AppendUnescape(nil, ref.Path))
}

// serveCached responds with a file from the cache, and reports whether it could. p is the path of the file, which was not
// checked. The names in the cache were.
func (h *fileHandler) serveCached(ctx *RequestCtx, p []byte) bool {
	name, asDir, ok := cachedName(p)
	if !ok || h.redirect && bytes.HasSuffix(name, []byte(htmlSuffix)) {
		return false
	}
	e := h.files.Lookup(name)
	if e == nil {
		return false
	}
	if e.Index() != "" {
		if e.IsAlias() == (asDir || endsInSlash(ctx.Path())) {
			return false // a redirection, or the directory that has the same name as a page
		}
		e = h.files.Lookup(UnsafeBytes(e.Index()))
		return e != nil && h.serveEntry(ctx, e)
	}
	return !asDir && h.serveEntry(ctx, e)
}

// cachedName returns the name that files.Name would return for a path that it accepts. For any other path, ok is false, or
// the name is not in the cache. asDir reports whether the path ends in a slash.
func cachedName(p []byte) (name []byte, asDir, ok bool) {
	name = bytes.TrimPrefix(p, []byte("/"))
	if asDir = endsInSlash(p); asDir && len(name) > 0 {
		name = name[:len(name)-1]
	}
	switch {
	case len(name) == 0:
		return []byte("."), asDir, len(p) < 2
	case string(name) == ".":
		return nil, false, false
	}
	return name, asDir, true
}

// serveEntry responds with a file from the cache, and reports whether it could. It reports false for the entry of a
// directory, for a file that has changed, and for a variant that is not cached.
func (h *fileHandler) serveEntry(ctx *RequestCtx, e *filetree.Entry) bool {
	if e.Index() != "" {
		return false
	}
	ruled := h.setCacheControl(ctx, e.Name())
	if !h.sendEntry(ctx, e) {
		if ruled {
			ctx.Response.Header.Del(HeaderCacheControl)
		}
		return false
	}
	takeCacheControlBack(ctx, ruled)
	return true
}

// sendEntry is serveEntry for the entry of a file, when Cache-Control is set.
func (h *fileHandler) sendEntry(ctx *RequestCtx, e *filetree.Entry) bool {
	ctx.Response.dropBodyAndCoding()
	head := &ctx.Response.Header
	var room [maxFileCodings]fileCoding
	liked := room[:0]
	negotiated := len(h.codings) > 0 && e.IsNegotiable() && !head.head.Fields.Has(field.ContentEncoding) && !head.hasDigest()
	if negotiated {
		liked = h.liked(ctx, liked)
	}
	v, c := h.cachedVariant(e, liked)
	if v == nil {
		return false
	}
	onTheFly := c == coding.Identity && len(liked) > 0
	if onTheFly {
		if made := h.madeVariant(ctx, e, v, liked[0].coding); made != nil {
			onTheFly = false
			if !made.Absent {
				v, c = made, liked[0].coding
			}
		}
	}
	if !v.Enter() {
		h.files.Drop(e)
		return false
	}
	r := representation{
		name: v.Name, size: v.Size, modified: v.Modified, tag: v.BareTag, cached: v,
		ranges: true, negotiated: negotiated, coding: c,
	}
	if onTheFly {
		h.encodeInMemory(ctx, &r, liked[0].coding)
	}
	r.ranges = r.ranges && h.ranges
	r.send(ctx)
	return true
}

// cachedVariant returns the stored file in the first coding of liked that exists, or the original. It returns nil if a
// file cannot be cached.
func (h *fileHandler) cachedVariant(e *filetree.Entry, liked []fileCoding) (*filetree.Variant, coding.Coding) {
	for i := range liked {
		v := h.files.Load(e, int(liked[i].coding), liked[i].suffixes)
		if v == nil || !v.Absent {
			return v, liked[i].coding
		}
	}
	return h.files.Load(e, 0, nil), coding.Identity
}

// serveFound responds with a file that was found on the disk. From its second use on, the file is in the cache.
func (h *fileHandler) serveFound(ctx *RequestCtx, view *filetree.View, f *found) {
	if e := h.files.Admit(view, f.name, f.info); e != nil && h.serveEntry(ctx, e) {
		f.close()
		return
	}
	h.serveFile(ctx, view, f)
}

// admitIndex caches that a directory has an index file, which is the one with the number i.
func (h *fileHandler) admitIndex(view *filetree.View, dir string, i int) {
	var before []string
	for _, index := range h.indexes[:i] {
		if !h.skipsIndex(index) {
			before = append(before, path.Join(dir, index))
		}
	}
	h.files.AdmitIndex(view, dir, path.Join(dir, h.indexes[i]), before)
}

// skipsIndex reports whether an index file of that name is never served.
func (h *fileHandler) skipsIndex(index string) bool {
	return files.HasEmptySegment(index) || h.hide && files.IsHidden(index)
}

// prepareFile derives from a file what responses say about it. The slot of a variant is its coding.
func prepareFile(v *filetree.Variant, slot int, info fs.FileInfo, start []byte) {
	if v.BareTag = v.Hash; files.HasTime(v.Modified) {
		v.BareTag, _ = files.Tag(info)
	}
	if c := coding.Coding(slot); c != coding.Identity && v.BareTag != "" {
		v.BareTag += "-" + c.String()
	}
	if v.BareTag != "" {
		v.Tag = strconv.AppendQuote(nil, v.BareTag)
	}
	if files.HasTime(v.Modified) {
		v.LastModified = clock.AppendHTTPDate(nil, v.Modified.Truncate(time.Second))
	}
	if v.Type = files.TypeByName(v.Name); v.Type == "" {
		v.Type = files.TypeByContent(start[:min(len(start), files.SniffBytes)])
	}
}

// sendCached makes a part of a cached file the body.
func (r *representation) sendCached(ctx *RequestCtx, span files.Span) {
	if shared := r.cached.Shared; shared != nil {
		section := &fileSection{file: shared.File, at: span.Start, left: span.Length, owner: shared}
		ctx.SetBodyStream(section, streamSize(span.Length))
		return
	}
	if span.Length == 0 && ctx.IsHead() {
		ctx.SetBodyStream(bytes.NewReader(nil), 0) // the length of a body without bytes would be left out
		return
	}
	ctx.Response.SetBodyRaw(r.cached.Data[span.Start : span.Start+span.Length])
}

// seeker returns the whole content. Close it if it is an io.Closer.
func (r *representation) seeker() io.ReadSeeker {
	switch {
	case r.cached == nil:
		return r.reader.(io.ReadSeeker)
	case r.cached.Shared == nil:
		return bytes.NewReader(r.cached.Data)
	}
	return sharedSeeker{io.NewSectionReader(r.cached.Shared.File, 0, r.size), r.cached.Shared}
}

// sharedSeeker reads a file that other responses read too.
type sharedSeeker struct {
	io.ReadSeeker
	io.Closer
}
