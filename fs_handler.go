package gallop

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
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
	page404      string // the name of FS.NotFoundFile, or ""
	fallback     string
	rules        []FileCacheRule
	codings      []fileCoding
	list, ranges bool
	listJSON     bool
	clean        bool // FS.CleanURLs
	redirect     bool // FS.RedirectHTML
	noSniff      bool
	hide         bool // what files.IsHidden says
}

func (h *fileHandler) serve(ctx *RequestCtx) {
	h.serveRequest(ctx)
	if h.noSniff {
		ctx.Response.Header.Set(HeaderXContentTypeOptions, "nosniff")
	}
}

func (h *fileHandler) serveRequest(ctx *RequestCtx) {
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
	if h.clean && !asDir && !endsInSlash(ctx.Path()) && (err == nil && f.info.IsDir() || errors.Is(err, fs.ErrNotExist)) {
		if page, e := h.findPage(ctx, &view, name); e == nil {
			f.close()
			f, err = page, nil
		}
	}
	switch {
	case err != nil:
		h.fail(ctx, err)
	case h.redirect && f.name == name && !f.info.IsDir() && h.redirectToClean(ctx, &view, name):
		f.close()
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
	if h.listJSON {
		ctx.Response.noteVariesBy(HeaderAccept)
	}
	inJSON := h.listJSON && files.PrefersJSON(acceptOf(ctx))
	if err := sendListing(ctx, tree, dir, h.hide, inJSON); err != nil {
		h.fail(ctx, err)
		return
	}
	h.encodeListing(ctx)
}

// sendListing responds with a page, or with JSON, that lists the directory dir of tree. If hide is set, the list omits hidden
// names.
func sendListing(ctx *RequestCtx, tree fs.FS, dir string, hide, inJSON bool) error {
	entries, more, err := files.List(tree, dir, hide)
	if err != nil {
		return err
	}
	h := &ctx.Response.Header
	h.dropCoding()
	h.Set(HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
	h.Set(HeaderXContentTypeOptions, "nosniff")
	h.Set(HeaderReferrerPolicy, "same-origin")
	if h.forbidsTransform() {
		h.Set(HeaderCacheControl, "no-cache, no-transform")
	} else {
		h.Set(HeaderCacheControl, "no-cache")
	}
	if inJSON {
		h.SetContentType("application/json")
		ctx.SetBody(files.AppendListingJSON(nil, entries, more))
		return nil
	}
	h.SetContentType("text/html; charset=utf-8")
	ctx.SetBody(files.AppendListing(nil, string(ctx.Host()), listedPath(ctx.URI()), entries, more))
	return nil
}

// listedPath returns the path as the client sees it when it resolves relative links: an empty segment counts as a
// directory.
func listedPath(u *URI) string { return string(target.AppendWholePath(nil, u.PathOriginal())) }

func (h *fileHandler) serveFile(ctx *RequestCtx, view *filetree.View, f *found) {
	ctx.Response.dropBodyAndCoding()
	r := newFileRepresentation(f.name, f.file, f.info)
	err := r.tagContent(view, f.name)
	head := &ctx.Response.Header
	plain := head.head.Fields.Has(field.ContentEncoding) || head.hasDigest()
	ruled := h.setCacheControl(ctx, f.name)
	switch {
	case err != nil:
		r.close()
	case plain || !f.negotiated:
		err = r.open(view)
	default:
		r.negotiated = true
		err = h.encode(ctx, view, &r, f.liked)
	}
	if err != nil {
		h.fail(ctx, err)
		return
	}
	r.ranges = r.ranges && h.ranges
	r.send(ctx)
	takeCacheControlBack(ctx, ruled)
}

// nameOfPage returns the name of a file that stands in for missing files, or "" if p is no such name.
func nameOfPage(p string) string {
	name, ok := files.Name(UnsafeBytes(p))
	if !ok || name == "." {
		return ""
	}
	return name
}

// standIn responds with the file of that name instead of a missing one, and reports whether it could.
func (h *fileHandler) standIn(ctx *RequestCtx, name string, status int) bool {
	if e := h.files.Lookup(UnsafeBytes(name)); e != nil {
		setStandIn(ctx, status)
		if h.serveEntry(ctx, e) {
			dropValidators(ctx)
			return true
		}
	}
	view, err := h.files.View()
	if err != nil {
		return false
	}
	defer view.Release()
	f, err := h.find(ctx, &view, name)
	switch {
	case err != nil || view.HasOnlyOne():
		return false
	case f.info.IsDir():
		f.close()
		return false
	}
	setStandIn(ctx, status)
	h.serveFound(ctx, &view, &f)
	dropValidators(ctx)
	return true
}

// setStandIn sets what a response with a file that stands in for another has in its head.
func setStandIn(ctx *RequestCtx, status int) {
	ctx.SetStatusCode(status)
	value := "no-cache"
	if ctx.Response.Header.forbidsTransform() {
		value = "no-cache, no-transform"
	}
	ctx.Response.Header.Set(HeaderCacheControl, value)
}

// dropValidators removes the validators of the page for missing files, which is not what the path names.
func dropValidators(ctx *RequestCtx) {
	if ctx.Response.StatusCode() == StatusNotFound {
		ctx.Response.Header.Del(HeaderETag)
		ctx.Response.Header.Del(HeaderLastModified)
	}
}

// findPage looks for the file name.html, which stands for name.
func (h *fileHandler) findPage(ctx *RequestCtx, view *filetree.View, name string) (f found, err error) {
	if name == "." {
		return f, fs.ErrNotExist
	}
	f, err = h.find(ctx, view, name+htmlSuffix)
	switch {
	case err != nil:
	case f.info.IsDir():
		f.close()
		return found{}, fs.ErrNotExist
	default:
		h.files.AdmitAlias(view, name, f.name)
	}
	return f, err
}

// htmlSuffix is what CleanURLs leaves out of paths.
const htmlSuffix = ".html"

// redirectToClean redirects the path of a file name.html to name, and reports whether it did. name.html exists.
func (h *fileHandler) redirectToClean(ctx *RequestCtx, view *filetree.View, name string) bool {
	raw, p := ctx.URI().PathOriginal(), ctx.Path()
	last, ok := bytes.CutSuffix(raw[bytes.LastIndexByte(raw, '/')+1:], []byte(htmlSuffix))
	clean, isPage := strings.CutSuffix(name, htmlSuffix)
	switch {
	case !ok || !isPage || string(p[bytes.LastIndexByte(p, '/')+1:]) != path.Base(name) || len(bytes.Trim(last, ".")) == 0:
		return false
	case len(h.indexes) > 0 && h.indexes[0] == path.Base(name):
		last = nil
	default:
		if info, err := view.Stat(clean); err == nil && !info.IsDir() {
			return false
		}
	}
	redirectBelow(ctx, last, "")
	return true
}

// setCacheControl sets Cache-Control by the first rule for the file of that name. It reports whether it did.
func (h *fileHandler) setCacheControl(ctx *RequestCtx, name string) bool {
	head := &ctx.Response.Header
	if len(h.rules) == 0 || ctx.Response.StatusCode() != StatusOK || head.head.Fields.Has(field.CacheControl) {
		return false
	}
	for i := range h.rules {
		if r := &h.rules[i]; (!r.Hashed || files.IsHashed(name)) && files.Matches(r.Pattern, name) {
			if r.Value != "" {
				head.Set(HeaderCacheControl, r.Value)
			}
			return r.Value != ""
		}
	}
	return false
}

// takeCacheControlBack removes what setCacheControl has set from a response without the file.
func takeCacheControlBack(ctx *RequestCtx, isSet bool) {
	switch status := ctx.Response.StatusCode(); {
	case !isSet, status == StatusOK, status == StatusPartialContent, status == StatusNotModified:
	default:
		ctx.Response.Header.Del(HeaderCacheControl)
	}
}

// acceptOf returns the value of the Accept header.
func acceptOf(ctx *RequestCtx) string {
	return string(bytes.Join(ctx.Request.Header.PeekAll(HeaderAccept), []byte(",")))
}

// redirectToSlash answers with a redirection to the path of the request with a slash
// behind it. It is relative, so that it holds behind a proxy that changes paths, and
// cannot lead to another host.
func redirectToSlash(ctx *RequestCtx) {
	raw := ctx.URI().PathOriginal()
	redirectBelow(ctx, raw[bytes.LastIndexByte(raw, '/')+1:], "/")
}

// redirectBelow redirects to another last segment of the path. segment may be part of the request's path.
func redirectBelow(ctx *RequestCtx, segment []byte, suffix string) {
	to := target.AppendSafePath([]byte("./"), segment)
	to = append(to, suffix...)
	if query := ctx.URI().QueryString(); len(query) > 0 {
		to = target.AppendSafeQuery(append(to, '?'), query)
	}
	ctx.Response.Header.set(UnsafeBytes(HeaderLocation), to)
	answerPlain(ctx, StatusMovedPermanently)
}

// notFound responds to a request for a file that does not exist.
func (h *fileHandler) notFound(ctx *RequestCtx) {
	mayFallBack := h.fallback != "" && files.IsRoute(ctx.Path())
	switch {
	case mayFallBack && files.PrefersPage(acceptOf(ctx)) && h.standIn(ctx, h.fallback, StatusOK):
	case h.page404 != "" && h.standIn(ctx, h.page404, StatusNotFound):
	case h.missing == nil:
		ctx.NotFound()
	default:
		ctx.SetStatusCode(StatusNotFound)
		h.missing(ctx)
	}
	if mayFallBack {
		ctx.Response.noteVariesBy(HeaderAccept)
	}
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
