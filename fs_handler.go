package gallop

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
	"github.com/gallop-http/gallop/internal/target"
)

// PathRewriteFunc returns the path that FS looks up for a request. The returned slice may share memory with the
// request's path. If the returned path has an empty segment or a ".." segment, FS responds with 404.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// NewPathPrefixStripper returns a PathRewriteFunc that removes the first prefixSize bytes of the path. For example, if
// prefixSize is 3, "/foo/bar" becomes "o/bar". A path with fewer than prefixSize bytes stays unchanged.
func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		p := ctx.Path()
		if prefixSize > 0 && len(p) >= prefixSize {
			p = p[prefixSize:]
		}
		return p
	}
}

// NewPathSlashesStripper returns a PathRewriteFunc that removes the first slashesCount segments of the path. For
// example, if slashesCount is 1, "/foo/bar" becomes "/bar". If slashesCount is 2, "/foo/bar" becomes "".
func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte { return files.StripSegments(ctx.Path(), slashesCount) }
}

// NewVHostPathRewriter returns a PathRewriteFunc for virtual hosts. The files of each host are in a directory that has
// the name of the host. The PathRewriteFunc removes the first slashesCount segments of the path and puts the requested
// host in front of the rest. For example, if slashesCount is 1 and the host is img.example.com, "/images/a.jpg" becomes
// "/img.example.com/a.jpg". For a request without a host, the path becomes "/invalid-host/".
func NewVHostPathRewriter(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		host := ctx.Host()
		if len(host) == 0 || bytes.IndexByte(host, '/') >= 0 {
			return []byte("/invalid-host/")
		}
		p := append([]byte{'/'}, host...)
		return append(p, files.StripSegments(ctx.Path(), slashesCount)...)
	}
}

// fileHandler is the handler that an FS makes.
type fileHandler struct {
	files, coded *filetree.Tree // coded has the stored files
	rewrite      PathRewriteFunc
	missing      RequestHandler
	indexes      []string
	codings      []fileCoding
	list, ranges bool
	hide         bool // what files.IsHidden says
}

func (h *fileHandler) serve(ctx *RequestCtx) {
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Error(StatusMessage(StatusMethodNotAllowed), StatusMethodNotAllowed)
		ctx.Response.Header.Set(HeaderAllow, "GET, HEAD")
		return
	}
	p := ctx.Path()
	if h.rewrite != nil {
		p = h.rewrite(ctx)
	}
	if bytes.IndexByte(p, 0) >= 0 {
		ctx.Error(StatusMessage(StatusBadRequest), StatusBadRequest)
		return
	}
	if h.serveCached(ctx, p) {
		return
	}
	name, ok := files.Name(p)
	if !ok || h.hide && files.IsHidden(name) {
		h.notFound(ctx)
		return
	}
	h.serveName(ctx, name, endsInSlash(p))
}

func endsInSlash(p []byte) bool { return len(p) > 0 && p[len(p)-1] == '/' }

// serveName answers with the file or directory of that name. asDir says that the path
// ends in a slash, so that only a directory will do, unless a program has put it there.
func (h *fileHandler) serveName(ctx *RequestCtx, name string, asDir bool) {
	view, err := h.files.View()
	if err != nil {
		h.fail(ctx, err)
		return
	}
	defer view.Release()
	if name, err = view.Find(name); err != nil {
		h.fail(ctx, err)
		return
	}
	f, err := h.find(ctx, &view, name)
	switch {
	case err != nil:
		h.fail(ctx, err)
	case f.info.IsDir():
		f.close()
		if (!asDir || h.files.IsHost()) && !endsInSlash(ctx.Path()) {
			redirectToSlash(ctx)
			return
		}
		h.serveDir(ctx, &view, name)
	case asDir && (h.rewrite == nil || endsInSlash(ctx.Path())) && !view.HasOnlyOne():
		f.close()
		h.notFound(ctx)
	default:
		h.serveFound(ctx, &view, &f)
	}
}

// found is a file or directory that was found by its name. It is not open if a stored file may be sent instead of it.
type found struct {
	name       string
	file       fs.File // or nil
	info       fs.FileInfo
	negotiated bool         // the coding of the file depends on the request
	liked      []fileCoding // the codings that the client accepts
}

// find looks for a file or directory.
func (h *fileHandler) find(ctx *RequestCtx, view *filetree.View, name string) (f found, err error) {
	f.name = name
	if f.liked, f.negotiated = h.encodesFile(ctx, name); len(f.liked) > 0 {
		f.info, err = view.Stat(name)
	} else {
		f.file, f.info, err = view.Open(name)
	}
	return f, err
}

func (f *found) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// serveDir answers with the index file of a directory, or with a list.
func (h *fileHandler) serveDir(ctx *RequestCtx, view *filetree.View, dir string) {
	for i, index := range h.indexes {
		if h.skipsIndex(index) {
			continue
		}
		f, err := h.find(ctx, view, path.Join(dir, index))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			h.fail(ctx, err)
			return
		}
		if f.info.IsDir() {
			f.close()
			continue
		}
		h.admitIndex(view, dir, i)
		h.serveFound(ctx, view, &f)
		return
	}
	if !h.list {
		ctx.Error(StatusMessage(StatusForbidden), StatusForbidden)
		return
	}
	tree, dir := view.Dir(dir)
	if err := sendListing(ctx, tree, dir, h.hide); err != nil {
		h.fail(ctx, err)
		return
	}
	h.encodeListing(ctx)
}

// sendListing responds with a page that lists the directory dir of tree. If hide is set, the page omits hidden names.
func sendListing(ctx *RequestCtx, tree fs.FS, dir string, hide bool) error {
	entries, more, err := files.List(tree, dir, hide)
	if err != nil {
		return err
	}
	h := &ctx.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.dropCoding()
	h.Set(HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
	h.Set(HeaderXContentTypeOptions, "nosniff")
	h.Set(HeaderReferrerPolicy, "same-origin")
	if h.forbidsTransform() {
		h.Set(HeaderCacheControl, "no-cache, no-transform")
	} else {
		h.Set(HeaderCacheControl, "no-cache")
	}
	ctx.SetBody(files.AppendListing(nil, string(ctx.Host()), listedPath(ctx.URI()), entries, more))
	return nil
}

// listedPath returns the path as the client sees it when it resolves relative links: an empty segment counts as a
// directory.
func listedPath(u *URI) string { return string(target.AppendWholePath(nil, u.PathOriginal())) }

func (h *fileHandler) serveFile(ctx *RequestCtx, view *filetree.View, f *found) {
	ctx.Response.dropBodyAndCoding()
	r := newFileRepresentation(f.name, f.file, f.info)
	head := &ctx.Response.Header
	var err error
	if plain := head.head.Fields.Has(field.ContentEncoding) || head.hasDigest(); plain || !f.negotiated {
		err = r.open(view)
	} else {
		r.negotiated = true
		err = h.encode(ctx, view, &r, f.liked)
	}
	if err != nil {
		h.fail(ctx, err)
		return
	}
	r.ranges = r.ranges && h.ranges
	r.send(ctx)
}

// newFileRepresentation returns the representation of a file. file is nil if it is not open.
func newFileRepresentation(name string, file fs.File, info fs.FileInfo) representation {
	r := representation{name: name, size: info.Size(), modified: info.ModTime()}
	if file != nil {
		r.reader = file
	}
	_, r.ranges = file.(io.Seeker)
	if files.HasTime(r.modified) {
		r.tag, r.weak = files.Tag(info)
	}
	return r
}

// open opens the file of r, unless it is open. The file may have changed since it was found.
func (r *representation) open(view *filetree.View) error {
	if r.reader != nil {
		return nil
	}
	file, info, err := view.Open(r.name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		file.Close()
		return fs.ErrNotExist
	}
	negotiated := r.negotiated
	*r = newFileRepresentation(r.name, file, info)
	r.negotiated = negotiated
	return nil
}

// redirectToSlash answers with a redirection to the path of the request with a slash
// behind it. It is relative, so that it holds behind a proxy that changes paths, and
// cannot lead to another host.
func redirectToSlash(ctx *RequestCtx) {
	u := ctx.URI()
	raw := u.PathOriginal()
	to := target.AppendSafePath([]byte("./"), raw[bytes.LastIndexByte(raw, '/')+1:])
	to = append(to, '/')
	if query := u.QueryString(); len(query) > 0 {
		to = target.AppendSafeQuery(append(to, '?'), query)
	}
	ctx.Response.Header.set(UnsafeBytes(HeaderLocation), to)
	answerPlain(ctx, StatusMovedPermanently)
}

func (h *fileHandler) notFound(ctx *RequestCtx) {
	if h.missing == nil {
		ctx.NotFound()
		return
	}
	ctx.SetStatusCode(StatusNotFound)
	h.missing(ctx)
}

// fail answers where a file cannot be opened. Errors that are not about the one
// file are the server's; all others, like a link that leads outside, mean that there
// is nothing to be had under this name.
func (h *fileHandler) fail(ctx *RequestCtx, err error) {
	for _, own := range [...]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, own) {
			ctx.Logger().Printf("cannot open a file: %v", own)
			ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
			return
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		ctx.Error(StatusMessage(StatusForbidden), StatusForbidden)
		return
	}
	h.notFound(ctx)
}
