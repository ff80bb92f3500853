package peers

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/valyala/fasthttp"
)

// App is what servers do with a request.
type App struct {
	Handle   func(Context)    // in gallop and fasthttp
	Standard http.HandlerFunc // in net/http's server
	Web      func(*web.App)   // in gallop's framework: registers its routes; by default one for Handle
}

// Context is what a *gallop.RequestCtx and a *fasthttp.RequestCtx have in common, as far as apps need it.
type Context interface {
	Method() []byte
	Path() []byte
	IsPost() bool
	PostBody() []byte
	SetStatusCode(int)
	SetContentType(string)
	SetBody([]byte)
	SetBodyString(string)
	SetBodyStream(io.Reader, int)
}

// Query returns an argument of the query string.
func Query(ctx Context, name string) []byte {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		return ctx.QueryArgs().Peek(name)
	}
	return ctx.(*fasthttp.RequestCtx).QueryArgs().Peek(name)
}

// Field returns a field of the request.
func Field(ctx Context, name string) []byte {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		return ctx.Request.Header.Peek(name)
	}
	return ctx.(*fasthttp.RequestCtx).Request.Header.Peek(name)
}

// SetField sets a field of the response.
func SetField(ctx Context, name string, value []byte) {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		ctx.Response.Header.SetBytesV(name, value)
		return
	}
	ctx.(*fasthttp.RequestCtx).Response.Header.SetBytesV(name, value)
}

// setBodyRaw sets the body of the response to one that is not copied.
func setBodyRaw(ctx Context, body []byte) {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		ctx.Response.SetBodyRaw(body)
		return
	}
	ctx.(*fasthttp.RequestCtx).Response.SetBodyRaw(body)
}

// Request is a request whose body was read, as [Simple] shows it to an app. Its bytes may not be kept.
type Request struct {
	Method, Path, Body []byte
	field              func(name string) []byte
}

// Field returns a field of the request.
func (r Request) Field(name string) []byte { return r.field(name) }

// Response is the answer to a request.
type Response struct {
	Status  int
	Fields  []ResponseField
	Body    []byte // may be the request's
	Static  bool   // the body never changes, and is sent without a copy where that is possible
	Chunked bool   // it is sent as a stream of unknown length
}

// ResponseField is a field of a response.
type ResponseField struct {
	Name  string
	Value []byte
}

// Simple makes an app of a function from requests to responses, where it does not matter what that costs.
func Simple(answer func(Request) Response) App {
	return App{
		Handle: func(ctx Context) {
			r := answer(Request{ctx.Method(), ctx.Path(), ctx.PostBody(), func(name string) []byte { return Field(ctx, name) }})
			ctx.SetStatusCode(r.Status)
			for _, f := range r.Fields {
				SetField(ctx, f.Name, f.Value)
			}
			switch {
			case r.Chunked:
				ctx.SetBodyStream(bytes.NewReader(bytes.Clone(r.Body)), -1)
			case r.Static:
				setBodyRaw(ctx, r.Body)
			default:
				ctx.SetBody(r.Body)
			}
		},
		Standard: func(w http.ResponseWriter, req *http.Request) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			field := func(name string) []byte { return []byte(req.Header.Get(name)) }
			write(w, answer(Request{[]byte(req.Method), []byte(req.URL.Path), body, field}))
		},
	}
}

// write sends a response the way that net/http wants it.
func write(w http.ResponseWriter, r Response) {
	for _, f := range r.Fields {
		w.Header().Set(f.Name, string(f.Value))
	}
	hasBody := r.Status != http.StatusNoContent && r.Status != http.StatusNotModified
	if hasBody && !r.Chunked {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.Body)))
	}
	w.WriteHeader(r.Status)
	if r.Chunked {
		http.NewResponseController(w).Flush()
	}
	if hasBody {
		w.Write(r.Body)
	}
}
