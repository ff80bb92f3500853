package gallop

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"syscall"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
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
	files, coded fileTree
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
	tree, err := h.files.open()
	if err != nil {
		h.fail(ctx, err)
		return
	}
	defer tree.close()
	if name, err = tree.find(name); err != nil {
		h.fail(ctx, err)
		return
	}
	file, info, err := tree.openFile(name)
	switch {
	case err != nil:
		h.fail(ctx, err)
	case info.IsDir():
		file.Close()
		if !asDir && !endsInSlash(ctx.Path()) {
			redirectToSlash(ctx)
			return
		}
		h.serveDir(ctx, &tree, name)
	case asDir && (h.rewrite == nil || endsInSlash(ctx.Path())) && tree.only == "":
		file.Close()
		h.notFound(ctx)
	default:
		h.serveFile(ctx, name, file, info)
	}
}

// serveDir answers with the index file of a directory, or with a list.
func (h *fileHandler) serveDir(ctx *RequestCtx, tree *openTree, dir string) {
	for _, index := range h.indexes {
		if files.HasEmptySegment(index) || h.hide && files.IsHidden(index) {
			continue
		}
		name := path.Join(dir, index)
		file, info, err := tree.openFile(name)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			h.fail(ctx, err)
			return
		}
		if info.IsDir() {
			file.Close()
			continue
		}
		h.serveFile(ctx, name, file, info)
		return
	}
	if !h.list {
		ctx.Error(StatusMessage(StatusForbidden), StatusForbidden)
		return
	}
	if err := sendListing(ctx, tree.FS, dir, h.hide); err != nil {
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

func (h *fileHandler) serveFile(ctx *RequestCtx, name string, file fs.File, info fs.FileInfo) {
	ctx.Response.dropBodyAndCoding()
	r := newFileRepresentation(name, file, info)
	head := &ctx.Response.Header
	plain := head.head.Fields.Has(field.ContentEncoding) || head.hasDigest()
	if t := files.TypeByName(name); !plain && len(h.codings) > 0 && t != "" && isCompressible(UnsafeBytes(t)) {
		h.encode(ctx, &r)
	}
	r.ranges = r.ranges && h.ranges
	r.send(ctx)
}

func newFileRepresentation(name string, file fs.File, info fs.FileInfo) representation {
	r := representation{name: name, reader: file, size: info.Size(), modified: info.ModTime()}
	_, r.ranges = r.reader.(interface {
		Seek(offset int64, whence int) (int64, error)
	})
	if files.HasTime(r.modified) {
		r.tag, r.weak = files.Tag(info)
	}
	return r
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
