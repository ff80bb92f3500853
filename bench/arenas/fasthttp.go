package arenas

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

// newFasthttp serves with fasthttp and a switch over the path, as its users do who want the most of it.
func newFasthttp(o Options) Serve {
	s := &store{items: o.Items}
	compressed := fasthttp.CompressHandlerBrotliLevel(linesOnFasthttp, fasthttp.CompressBrotliDefaultCompression, fasthttp.CompressDefaultCompression)
	var files fasthttp.RequestHandler
	if o.Files != "" {
		fs := &fasthttp.FS{Root: o.Files, PathRewrite: fasthttp.NewPathSlashesStripper(1), Compress: true, CompressBrotli: true}
		files = fs.NewRequestHandler()
	}
	handler := func(ctx *fasthttp.RequestCtx) {
		path := ctx.Path()
		switch {
		case string(path) == "/baseline11":
			text, err := sum(string(ctx.QueryArgs().Peek("a")), string(ctx.QueryArgs().Peek("b")), string(ctx.PostBody()))
			textOnFasthttp(ctx, text, err)
		case string(path) == "/pipeline":
			textOnFasthttp(ctx, "ok", nil)
		case bytes.HasPrefix(path, []byte("/json/")):
			compressed(ctx)
		case string(path) == "/upload":
			n, err := countOnFasthttp(ctx)
			textOnFasthttp(ctx, strconv.FormatInt(n, 10), err)
		case bytes.HasPrefix(path, []byte("/static/")) && files != nil:
			files(ctx)
		case string(path) == "/ws":
			echoOnFasthttp(ctx)
		case o.Items != nil:
			s.onFasthttp(ctx, string(path))
		default:
			ctx.SetStatusCode(fasthttp.StatusNotFound)
		}
	}
	return (&fasthttp.Server{Handler: handler, StreamRequestBody: true, MaxRequestBodySize: math.MaxInt}).Serve
}

// countOnFasthttp counts the bytes of the body. fasthttp has no stream if the whole body has arrived with the header.
func countOnFasthttp(ctx *fasthttp.RequestCtx) (int64, error) {
	if body := ctx.RequestBodyStream(); body != nil {
		return io.Copy(io.Discard, body)
	}
	return int64(len(ctx.PostBody())), nil
}

func linesOnFasthttp(ctx *fasthttp.RequestCtx) {
	document, err := lines(string(ctx.Path()[len("/json/"):]), string(ctx.QueryArgs().Peek("m")))
	jsonOnFasthttp(ctx, 200, document, err)
}

// onFasthttp answers a request for items.
func (s *store) onFasthttp(ctx *fasthttp.RequestCtx, path string) {
	query := args(func(name string) string { return string(ctx.QueryArgs().Peek(name)) })
	id, one := strings.CutPrefix(path, "/crud/items/")
	switch {
	case path == "/async-db":
		page, err := s.priceRange(ctx, query)
		jsonOnFasthttp(ctx, 200, page, err)
	case path == "/crud/items" && ctx.IsPost():
		item, err := s.put(ctx, ctx.PostBody())
		jsonOnFasthttp(ctx, 201, item, err)
	case path == "/crud/items":
		page, err := s.list(ctx, query)
		jsonOnFasthttp(ctx, 200, page, err)
	case one && ctx.IsPut():
		item, err := s.update(ctx, id, ctx.PostBody())
		jsonOnFasthttp(ctx, 200, item, err)
	case one:
		body, hit, err := s.get(ctx, id)
		if err == nil {
			ctx.Response.Header.Set("X-Cache", cacheState(hit))
		}
		jsonOnFasthttp(ctx, 200, json.RawMessage(body), err)
	default:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}

func textOnFasthttp(ctx *fasthttp.RequestCtx, text string, err error) {
	ctx.SetContentType("text/plain")
	if err != nil {
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
		return
	}
	ctx.SetBodyString(text)
}

func jsonOnFasthttp(ctx *fasthttp.RequestCtx, code int, v any, err error) {
	if err != nil {
		ctx.Error(err.Error(), status(err))
		return
	}
	ctx.SetStatusCode(code)
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(v); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}

var upgrader websocket.FastHTTPUpgrader

func echoOnFasthttp(ctx *fasthttp.RequestCtx) {
	// Upgrade responds with an error by itself.
	_ = upgrader.Upgrade(ctx, func(conn *websocket.Conn) {
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
}
