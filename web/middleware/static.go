package middleware

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Static serves the files of a directory or of an fs.FS, using gallop.FS. Static supports conditional requests and ranges (RFC
// 9110 §13, §14). Static never serves a file outside the directory, even through a symbolic link.
//
// Static serves each file in the content coding that the client prefers. Static sends a compressed copy of a file, such as
// app.js.gz, unless the copy is older than the original. The suffix of a copy is ".gz", ".br" or ".zst". If a file has no such
// copy, Static compresses the file in memory.
//
// Dotfiles are hidden, except .well-known (RFC 8615). For a directory, Static serves the file index.html in the directory. A
// directory without an index.html counts as a missing file.
//
// Responses with files have the header X-Content-Type-Options: nosniff, so browsers never guess the type of a file. Files of an
// embed.FS have an entity tag that is a hash of their content.
//
// If you use Static as middleware, it passes requests for missing files on to the next handler. Use Endpoint to serve files from a
// route.
//
// The zero value serves the working directory.
type Static struct {
	// Root is the directory to serve. If FS is set, Root is a path in FS.
	Root string

	// FS is the file system that files are read from, such as an embed.FS. If FS is nil, Static reads the operating system's files.
	FS fs.FS

	// CacheControl is the Cache-Control header that Static sends with files, such as "public, max-age=31536000, immutable". If
	// CacheControl is empty, Static does not set the header.
	CacheControl string

	// CacheRules set the Cache-Control header of some files, for example of those whose names contain a hash. The first rule that
	// matches a file applies instead of CacheControl. By default, there are no rules.
	CacheRules []gallop.FileCacheRule

	// CleanURLs makes Static serve the file about.html for the path "/about", if there is no file about. See
	// gallop.FS.CleanURLs. By default, Static serves about.html only for "/about.html".
	CleanURLs bool

	// RedirectHTML makes Static redirect "/about.html" to "/about", and "/index.html" to "/". See gallop.FS.RedirectHTML.
	// RedirectHTML works only together with CleanURLs.
	RedirectHTML bool

	// NotFoundFile is a file, such as "404.html", that Static sends with status 404 instead of a missing file. The response has the
	// header Cache-Control: no-cache. Static then passes no GET or HEAD request on to the next handler. If both Fallback and
	// NotFoundFile are set, Fallback comes first. By default, there is no such file.
	NotFoundFile string

	// Fallback is a file that Static serves instead of a missing file, for example the page of a single-page application. Static
	// serves Fallback only if the client prefers HTML and the last segment of the path has no dot. A response with Fallback has the
	// header Cache-Control: no-cache. A Fallback with an empty segment ("a//b") has no effect. By default, there is no fallback.
	Fallback string

	// Dotfiles makes Static also serve files and directories whose name begins with a dot.
	Dotfiles bool
}

// Endpoint returns a handler that serves files from a route. If the pattern of the route ends in a parameter, the value of the
// parameter names the file. For all other patterns, the path of the request names the file:
//
//	app.Get("/assets/{file...}", middleware.Static{Root: "assets"}.Endpoint())
//
// If the file does not exist, the handler returns web.ErrNotFound.
func (s Static) Endpoint() web.Handler {
	files := s.files()
	return func(c *web.Ctx) error {
		if found, err := s.serve(c, files, lastParam(c)); found || err != nil {
			return err
		}
		return web.ErrNotFound
	}
}

// Handler returns middleware that serves files. The whole path of the request names the file. If the file does not exist, the
// middleware passes the request on to the next handler. The middleware also passes on requests with methods other than GET and
// HEAD. Add the middleware with NotFound, so that it runs only if no route matches:
//
//	app.NotFound(middleware.Static{Root: "public"}.Handler())
//
// If you add the middleware with Use, files take precedence over routes. The middleware then looks for a file on each
// request.
func (s Static) Handler() web.Handler {
	files := s.files()
	return func(c *web.Ctx) error {
		if r := c.RequestCtx(); (r.IsGet() || r.IsHead()) && c.Refused() == nil {
			if found, err := s.serve(c, files, c.PathBytes()); found || err != nil {
				return err
			}
		}
		return c.Next()
	}
}

// files returns the handler that serves files. If a file is missing, the handler sets status 404 and no body.
func (s Static) files() gallop.RequestHandler {
	server := &gallop.FS{
		FS: s.FS, Root: s.Root, AcceptByteRange: true, CacheControl: s.CacheRules, NoSniff: true,
		CleanURLs: s.CleanURLs, RedirectHTML: s.RedirectHTML, IndexNames: []string{indexName},
		Compress: true, CompressBrotli: true, CompressZstd: true,
		CompressedFileSuffixes: map[string]string{"gzip": ".gz", "br": ".br", "zstd": ".zst"},
		PathRewrite:            func(ctx *gallop.RequestCtx) []byte { return ctx.UserValue(staticKey{}).([]byte) },
		PathNotFound:           func(*gallop.RequestCtx) {},
	}
	return server.NewRequestHandler()
}

type staticKey struct{}

// indexName is the name of the file that stands for its directory.
const indexName = "index.html"

// serve serves a file, or Fallback, and reports whether there is one.
func (s Static) serve(c *web.Ctx, files gallop.RequestHandler, name []byte) (found bool, err error) {
	if s.Dotfiles || !isHidden(name) {
		hadCache := c.RequestCtx().Response.Header.Peek(gallop.HeaderCacheControl) != nil
		if found, err = s.try(c, files, name); found && (hadCache || c.RequestCtx().Response.Header.Peek(gallop.HeaderCacheControl) == nil) {
			s.setCache(c, s.CacheControl) // no rule has set it
		}
		if found || err != nil {
			return found, err
		}
	}
	if s.Fallback != "" && !strings.Contains(s.Fallback, "//") && wantsPage(c, name) {
		if found, err = s.try(c, files, []byte(path.Clean("/"+s.Fallback))); found {
			s.setCache(c, "no-cache")
		}
		if found || err != nil {
			return found, err
		}
	}
	return s.servePage(c, files), nil
}

// servePage serves NotFoundFile with status 404, and reports whether the file exists.
func (s Static) servePage(c *web.Ctx, files gallop.RequestHandler) bool {
	name := []byte(path.Clean("/" + s.NotFoundFile))
	if s.NotFoundFile == "" || strings.Contains(s.NotFoundFile, "//") || !exists(files, name) {
		return false
	}
	r := c.RequestCtx()
	r.SetStatusCode(gallop.StatusNotFound)
	c.SetHeader(gallop.HeaderCacheControl, "no-cache")
	r.SetUserValue(staticKey{}, name)
	files(r)
	r.RemoveUserValue(staticKey{})
	r.Response.Header.Del(gallop.HeaderETag) // the validators are those of the page, and not of what the path names
	r.Response.Header.Del(gallop.HeaderLastModified)
	return true
}

// try serves a file and reports whether it exists. It redirects a directory with an index.html to its path with a trailing
// slash, and with RedirectHTML the path of a page to the path without .html. If no file is served, try restores the response's headers and empties its body.
func (s Static) try(c *web.Ctx, files gallop.RequestHandler, name []byte) (found bool, err error) {
	r := c.RequestCtx()
	if len(name) == 0 || name[len(name)-1] == '/' {
		name = append(bytes.Clone(name), indexName...)
	}
	before := gallop.AcquireResponse()
	defer gallop.ReleaseResponse(before)
	r.Response.Header.CopyTo(&before.Header)
	r.SetUserValue(staticKey{}, name)
	files(r)
	r.RemoveUserValue(staticKey{})
	switch status := r.Response.StatusCode(); status {
	case gallop.StatusMovedPermanently:
		if exists(files, append(bytes.Clone(name), "/"+indexName...)) || s.redirectsPage(r, name) {
			return true, nil
		}
	case gallop.StatusNotFound, gallop.StatusForbidden, gallop.StatusBadRequest: // clients must not be able to tell these apart
	case gallop.StatusMethodNotAllowed:
		before.Header.SetBytesV(gallop.HeaderAllow, r.Response.Header.Peek(gallop.HeaderAllow))
		err = web.ErrMethodNotAllowed
	case gallop.StatusInternalServerError:
		err = web.NewError(status)
	default:
		return true, nil
	}
	r.ResetBody()
	before.Header.CopyTo(&r.Response.Header)
	return false, err
}

// redirectsPage reports whether a redirect leads from a page to its path without .html, and not to a directory.
func (s Static) redirectsPage(r *gallop.RequestCtx, name []byte) bool {
	to, _, _ := bytes.Cut(r.Response.Header.Peek(gallop.HeaderLocation), []byte("?"))
	return s.CleanURLs && s.RedirectHTML && bytes.HasSuffix(name, []byte(".html")) && !bytes.HasSuffix(to, []byte(".html/"))
}

// exists reports whether there is a file of this name.
func exists(files gallop.RequestHandler, name []byte) bool {
	var probe gallop.RequestCtx
	probe.Request.Header.SetMethod(gallop.MethodHead)
	probe.SetUserValue(staticKey{}, name)
	files(&probe)
	defer probe.Response.CloseBodyStream()
	return probe.Response.StatusCode() == gallop.StatusOK
}

// setCache sets Cache-Control if the response is a file.
func (s Static) setCache(c *web.Ctx, value string) {
	switch c.RequestCtx().Response.StatusCode() {
	case gallop.StatusOK, gallop.StatusPartialContent, gallop.StatusNotModified:
		if value != "" {
			c.SetHeader(gallop.HeaderCacheControl, value)
		}
	}
}

// isHidden reports whether a path has a segment that begins with a dot, and is not .well-known.
func isHidden(name []byte) bool {
	for segment := range bytes.SplitSeq(name, []byte("/")) {
		if len(segment) > 0 && segment[0] == '.' && string(segment) != ".well-known" {
			return true
		}
	}
	return false
}

// wantsPage reports whether a request looks like one for a page.
func wantsPage(c *web.Ctx, name []byte) bool {
	last := name[bytes.LastIndexByte(name, '/')+1:]
	return bytes.IndexByte(last, '.') < 0 && c.Accepts("text/html", "application/json", "image/webp") == "text/html"
}

// lastParam returns the value of the parameter at the end of the route, or the path if there is none.
func lastParam(c *web.Ctx) []byte {
	if r := c.Route(); r != nil {
		if name := nameAtEnd(r.Pattern()); name != "" {
			return c.ParamsBytes(name)
		}
	}
	return c.PathBytes()
}

// nameAtEnd returns the name of the parameter that a pattern ends in, or "" if it ends in text.
func nameAtEnd(pattern string) string {
	if inside, ok := strings.CutSuffix(pattern, "}"); ok && !strings.HasSuffix(inside, `\`) { // {name}
		inside = withoutConstraints(strings.TrimSuffix(inside, "..."))
		return inside[strings.LastIndexByte(inside, '{')+1:]
	}
	pattern = withoutConstraints(pattern)
	i := strings.LastIndexAny(pattern, ":*/")
	if i <= 0 || pattern[i] == '/' || pattern[i-1] == '\\' {
		return ""
	}
	name := pattern[i+1:]
	if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	if pattern[i] == '*' {
		return cmp.Or(name, "*")
	}
	return name
}

// withoutConstraints cuts the constraints off the end of a pattern. Angle brackets in them are in pairs.
func withoutConstraints(pattern string) string {
	for i, open := len(pattern)-1, 0; i >= 0 && strings.HasSuffix(pattern, ">"); i-- {
		switch pattern[i] {
		case '>':
			open++
		case '<':
			if open--; open == 0 {
				return pattern[:i]
			}
		}
	}
	return pattern
}
