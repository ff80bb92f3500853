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

// App says how servers handle requests.
type App struct {
	Handle   func(Context)    // for gallop and fasthttp
	Standard http.HandlerFunc // for net/http's server
	Web      func(*web.App)   // for gallop's framework: registers routes; nil means one route for Handle
	Streams  bool             // gallop passes on request bodies of any size while they arrive

	// Floor makes the function that chooses the floor's response, with its head. If Floor is nil, the floor sends the
	// response of the app "hello".
	Floor func() (answer func(request []byte) []byte)
}

// Context lists the methods that *gallop.RequestCtx and *fasthttp.RequestCtx have in common and that apps need.
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

// Field returns a request header.
func Field(ctx Context, name string) []byte {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		return ctx.Request.Header.Peek(name)
	}
	return ctx.(*fasthttp.RequestCtx).Request.Header.Peek(name)
}

// SetField sets a response header.
func SetField(ctx Context, name string, value []byte) {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		ctx.Response.Header.SetBytesV(name, value)
		return
	}
	ctx.(*fasthttp.RequestCtx).Response.Header.SetBytesV(name, value)
}

// setBodyRaw sets the response body without copying it.
func setBodyRaw(ctx Context, body []byte) {
	if ctx, ok := ctx.(*gallop.RequestCtx); ok {
		ctx.Response.SetBodyRaw(body)
		return
	}
	ctx.(*fasthttp.RequestCtx).Response.SetBodyRaw(body)
}

// Request is a request with its whole body, for apps of [Simple]. Its bytes are valid until the app returns.
type Request struct {
	Method, Path, Body []byte
	field              func(name string) []byte
}

// Field returns a request header.
func (r Request) Field(name string) []byte { return r.field(name) }

// Response is the response of an app of [Simple].
type Response struct {
	Status  int
	Fields  []ResponseField
	Body    []byte // may be the request's body
	Static  bool   // the body never changes, and is sent without a copy if the server supports that
	Chunked bool   // send the body as a stream of unknown length
}

// ResponseField is a response header.
type ResponseField struct {
	Name  string
	Value []byte
}

// Simple turns a function from requests to responses into an app, for uses in which its overhead does not matter.
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

// write sends a response through net/http.
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
