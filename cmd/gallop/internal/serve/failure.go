package serve

import (
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
)

// failure is the data of error.html.
type failure struct {
	Status       int
	Title, Text  string
	Method, Path string
	Root, Parent string // Parent is "" if it is the root
}

// explain replaces the body of an error by a page, if the client is a browser that shows it to somebody.
// curl and scripts keep the line of text.
func explain(ctx *gallop.RequestCtx) {
	ctx.Response.Header.Add(gallop.HeaderVary, gallop.HeaderAccept)
	if !wantsPage(ctx) {
		return
	}
	raw := string(ctx.URI().PathOriginal())
	status := ctx.Response.StatusCode()
	f := &failure{
		Status: status, Title: gallop.StatusMessage(status), Text: reason(status),
		Method: printable(string(ctx.Method())), Path: printable(raw),
		Root: up(strings.Count(raw, "/") - 1),
	}
	switch dir, file := strings.TrimSuffix(raw, "/"), !strings.HasSuffix(raw, "/"); {
	case strings.Count(dir, "/") < 2: // the parent is the root
	case file:
		f.Parent = "./"
	default:
		f.Parent = "../"
	}
	ctx.Response.ResetBody()
	errorPage.send(ctx, f)
}

// wantsPage reports whether the client names HTML among the types that it accepts, as browsers do
// when they navigate. "*/*" is not enough.
func wantsPage(ctx *gallop.RequestCtx) bool {
	accept := strings.ToLower(string(ctx.Request.Header.Peek(gallop.HeaderAccept)))
	return strings.Contains(accept, "text/html") && negotiate.MediaType(accept, "text/html") != ""
}

func reason(status int) string {
	switch status {
	case gallop.StatusBadRequest:
		return "This address is not valid."
	case gallop.StatusForbidden:
		return "The server is not allowed to read this file or directory. Check its permissions."
	case gallop.StatusNotFound:
		return "There is no file or directory at this address."
	case gallop.StatusMethodNotAllowed:
		return "This server only serves files, so it accepts GET and HEAD requests."
	case gallop.StatusPreconditionFailed:
		return "The file has changed since you last saw it."
	case gallop.StatusRequestedRangeNotSatisfiable:
		return "The file is shorter than the range that was requested."
	}
	return "The server could not read the file. Its log says why."
}
