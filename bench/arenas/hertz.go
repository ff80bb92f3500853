package arenas

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/compress"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/network/standard"
)

// newHertz serves with hertz. Its own network library does not accept a listener, so it uses the one of the standard library.
func newHertz(o Options) Serve {
	return func(l net.Listener) error {
		hlog.SetLevel(hlog.LevelFatal)
		h := server.New(server.WithListener(l), server.WithTransport(standard.NewTransporter), server.WithStreamBody(true),
			server.WithMaxRequestBodySize(math.MaxInt), server.WithDisablePrintRoute(true))
		routeHertz(h, o)
		return h.Run()
	}
}

func routeHertz(h *server.Hertz, o Options) {
	h.Any("/baseline11", func(_ context.Context, c *app.RequestContext) {
		body, err := c.Body()
		text, bad := sum(c.Query("a"), c.Query("b"), string(body))
		if err == nil {
			err = bad
		}
		textOnHertz(c, text, err)
	})
	h.GET("/pipeline", func(_ context.Context, c *app.RequestContext) { textOnHertz(c, "ok", nil) })
	h.GET("/json/:count", gzipOnHertz, func(_ context.Context, c *app.RequestContext) {
		document, err := lines(c.Param("count"), c.Query("m"))
		jsonOnHertz(c, 200, document, err)
	})
	h.POST("/upload", func(_ context.Context, c *app.RequestContext) {
		n, err := io.Copy(io.Discard, c.RequestBodyStream())
		textOnHertz(c, strconv.FormatInt(n, 10), err)
	})
	if o.Files != "" {
		h.StaticFS("/static", &app.FS{Root: o.Files, PathRewrite: app.NewPathSlashesStripper(1), Compress: true})
	}
	if o.Items != nil {
		itemsOnHertz(h, &store{items: o.Items})
	}
}

// gzipOnHertz compresses responses with hertz's own pooled encoder.
func gzipOnHertz(ctx context.Context, c *app.RequestContext) {
	c.Next(ctx)
	if bytes.Contains(c.Request.Header.Peek("Accept-Encoding"), []byte("gzip")) {
		c.Response.SetBody(compress.AppendGzipBytes(nil, c.Response.Body()))
		c.Header("Content-Encoding", "gzip")
	}
}

func itemsOnHertz(h *server.Hertz, s *store) {
	h.GET("/async-db", func(ctx context.Context, c *app.RequestContext) {
		page, err := s.priceRange(ctx, c.Query)
		jsonOnHertz(c, 200, page, err)
	})
	h.GET("/crud/items", func(ctx context.Context, c *app.RequestContext) {
		page, err := s.list(ctx, c.Query)
		jsonOnHertz(c, 200, page, err)
	})
	h.POST("/crud/items", func(ctx context.Context, c *app.RequestContext) {
		body, _ := c.Body()
		item, err := s.put(ctx, body)
		jsonOnHertz(c, 201, item, err)
	})
	h.GET("/crud/items/:id", func(ctx context.Context, c *app.RequestContext) {
		body, hit, err := s.get(ctx, c.Param("id"))
		if err == nil {
			c.Header("X-Cache", cacheState(hit))
		}
		jsonOnHertz(c, 200, json.RawMessage(body), err)
	})
	h.PUT("/crud/items/:id", func(ctx context.Context, c *app.RequestContext) {
		body, _ := c.Body()
		item, err := s.update(ctx, c.Param("id"), body)
		jsonOnHertz(c, 200, item, err)
	})
}

func textOnHertz(c *app.RequestContext, text string, err error) {
	c.SetContentType("text/plain")
	if err != nil {
		c.SetStatusCode(400)
		return
	}
	c.SetBodyString(text)
}

func jsonOnHertz(c *app.RequestContext, code int, v any, err error) {
	if err != nil {
		c.String(status(err), "%s", err.Error())
		return
	}
	c.JSON(code, v)
}
