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

// fileHandler is the handler that an FS makes.
type fileHandler struct {
	files, coded fileTree
	rewrite      PathRewriteFunc
	missing      RequestHandler
	indexes      []string
	codings      []fileCoding
	list, ranges bool
	hide         bool // what isHidden says
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
	name, ok := fileName(p)
	if !ok || h.hide && isHidden(name) {
		h.notFound(ctx)
		return
	}
	h.serveName(ctx, name, endsInSlash(p))
}

func endsInSlash(p []byte) bool { return len(p) > 0 && p[len(p)-1] == '/' }

// serveName answers with the file or directory of that name. asDir says that the path
// ends in a slash, so that only a directory will do, unless a program has put it there.
func (h *fileHandler) serveName(ctx *RequestCtx, name string, asDir bool) {
	files, err := h.files.open()
	if err != nil {
		h.fail(ctx, err)
		return
	}
	defer files.close()
	if name, err = files.find(name); err != nil {
		h.fail(ctx, err)
		return
	}
	file, info, err := files.openFile(name)
	switch {
	case err != nil:
		h.fail(ctx, err)
	case info.IsDir():
		file.Close()
		if !asDir && !endsInSlash(ctx.Path()) {
			redirectToSlash(ctx)
			return
		}
		h.serveDir(ctx, &files, name)
	case asDir && (h.rewrite == nil || endsInSlash(ctx.Path())) && files.only == "":
		file.Close()
		h.notFound(ctx)
	default:
		h.serveFile(ctx, name, file, info)
	}
}

// serveDir answers with the index file of a directory, or with a list.
func (h *fileHandler) serveDir(ctx *RequestCtx, files *openTree, dir string) {
	for _, index := range h.indexes {
		if hasEmptySegment(index) || h.hide && isHidden(index) {
			continue
		}
		name := path.Join(dir, index)
		file, info, err := files.openFile(name)
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
	if err := sendListing(ctx, files.FS, dir, h.hide); err != nil {
		h.fail(ctx, err)
		return
	}
	h.encodeListing(ctx)
}

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
	if hasTime(r.modified) {
		r.tag, r.weak = fileTag(info)
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
