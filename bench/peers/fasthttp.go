package peers

import (
	"context"

	"github.com/valyala/fasthttp"
)

type fasthttpServer struct{ *fasthttp.Server }

func newFasthttp(app App, o Options) Server {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { app.Handle(ctx) }, CloseOnShutdown: true}
	if o.Logger != nil {
		s.Logger = o.Logger
	}
	if o.Timeouts {
		s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = headTimeout, writeTimeout, idleTimeout
	}
	return fasthttpServer{s}
}

func (s fasthttpServer) Shutdown(ctx context.Context) error { return s.ShutdownWithContext(ctx) }
