package serve

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/gallop-http/gallop"
)

// indexName is the name of the page that is shown for a directory, and missingName that of the page for missing files.
const (
	indexName   = "index.html"
	missingName = "404.html"
)

// directory serves the files of a directory. gallop.FS decides which file a path names, and whether
// to serve it. directory adds the lists and the error pages.
type directory struct {
	files    fs.FS
	serve    gallop.RequestHandler // gallop.FS
	app      gallop.RequestHandler // with SPA, the index page for any path
	compress bool
	noIndex  bool
	hidden   bool // serves and lists dotfiles
}

// directory returns a handler that serves the directory. The directory is opened once: if it is
// replaced later, the handler keeps serving the old one.
func (s *site) directory() (*directory, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	s.root = root
	d := &directory{files: root.FS(), compress: s.Compress, noIndex: s.NoIndex, hidden: s.Hidden}
	files := d.fileSystem()
	if !s.NoIndex {
		files.IndexNames = []string{indexName}
	}
	files.NotFoundFile = missingName
	d.serve = files.NewRequestHandler()
	if s.SPA {
		app := d.fileSystem()
		app.PathRewrite = func(*gallop.RequestCtx) []byte { return []byte("/" + indexName) }
		d.app = app.NewRequestHandler()
	}
	return d, nil
}

// fileSystem returns the settings that the handlers for files and for the application share.
func (d *directory) fileSystem() *gallop.FS {
	return &gallop.FS{
		FS:              d.files,
		HideDotfiles:    !d.hidden,
		CleanURLs:       true,
		AcceptByteRange: true,
		Compress:        d.compress,
		CompressBrotli:  d.compress,
		CompressZstd:    d.compress,
	}
}

func (d *directory) handle(ctx *gallop.RequestCtx) {
	d.serve(ctx)
	switch {
	case d.isBareDirectory(ctx) && d.app == nil:
		d.list(ctx)
	case d.app != nil && (d.isBareDirectory(ctx) || isRoute(ctx)):
		ctx.Response.Reset()
		d.app(ctx)
		ctx.Response.Header.Add(gallop.HeaderVary, gallop.HeaderAccept) // see isRoute
	case isFavicon(ctx):
		sendFavicon(ctx)
	}
	if ctx.Response.StatusCode() >= 400 && !isOwnPage(ctx) {
		explain(ctx)
	}
	ctx.Response.Header.Set(gallop.HeaderXContentTypeOptions, "nosniff")
}

// isOwnPage reports whether the response is the site's page for missing files.
func isOwnPage(ctx *gallop.RequestCtx) bool {
	return ctx.Response.StatusCode() == gallop.StatusNotFound && bytes.HasPrefix(ctx.Response.Header.ContentType(), []byte("text/html"))
}

// isBareDirectory reports whether the path is that of a directory without an index page. gallop.FS
// refuses to list those. It sends the same status if it may not read the index page; a list must not
// replace that page.
func (d *directory) isBareDirectory(ctx *gallop.RequestCtx) bool {
	if ctx.Response.StatusCode() != gallop.StatusForbidden || !bytes.HasSuffix(ctx.Path(), []byte("/")) {
		return false
	}
	if d.noIndex {
		return true
	}
	info, err := fs.Stat(d.files, strings.TrimPrefix(dirName(ctx)+"/"+indexName, "./"))
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
}

// dirName returns the name of the directory that the path of a request stands for, as io/fs wants it.
func dirName(ctx *gallop.RequestCtx) string {
	if name := strings.Trim(string(ctx.Path()), "/"); name != "" {
		return name
	}
	return "."
}

// isRoute reports whether a path that names no file is a route of the single-page application. It
// is one if a browser navigates to it, or if its last segment has no extension. A missing script or
// image stays a 404, so that browsers do not try to run or show the index page.
func isRoute(ctx *gallop.RequestCtx) bool {
	if ctx.Response.StatusCode() != gallop.StatusNotFound {
		return false
	}
	path := ctx.Path()
	return wantsPage(ctx) || bytes.IndexByte(path[bytes.LastIndexByte(path, '/')+1:], '.') < 0
}

func isFavicon(ctx *gallop.RequestCtx) bool {
	return ctx.Response.StatusCode() == gallop.StatusNotFound && string(ctx.Path()) == "/favicon.ico"
}

func sendFavicon(ctx *gallop.RequestCtx) {
	ctx.Response.Reset()
	ctx.SetContentType("image/svg+xml")
	ctx.Response.Header.Set(gallop.HeaderContentSecurityPolicy, "default-src 'none'")
	ctx.Response.Header.Set(gallop.HeaderCacheControl, "no-cache")
	ctx.SetBodyString(favicon)
}

// list sends a page that lists a directory, or the list as JSON if the client prefers that.
func (d *directory) list(ctx *gallop.RequestCtx) {
	list, more, err := readList(d.files, dirName(ctx), d.hidden)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return // the 403 is there
	case errors.Is(err, fs.ErrNotExist):
		ctx.NotFound()
		return
	case err != nil:
		ctx.Logger().Printf("cannot list a directory: %v", err)
		ctx.Error(gallop.StatusMessage(gallop.StatusInternalServerError), gallop.StatusInternalServerError)
		return
	}
	o := parseOrder(ctx.QueryArgs())
	o.sort(list)
	send := func(ctx *gallop.RequestCtx) {
		ctx.Response.Reset()
		if prefersJSON(ctx) {
			sendJSON(ctx, list, more)
		} else {
			listingPage.send(ctx, newListing(ctx, list, more, o))
		}
	}
	if d.compress {
		send = gallop.CompressHandlerBrotliLevel(send, gallop.CompressBrotliDefaultCompression, gallop.CompressDefaultCompression)
	}
	send(ctx)
	ctx.Response.Header.Add(gallop.HeaderVary, gallop.HeaderAccept)
}
