package peers

import (
	"context"
	"math"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/web"
)

type gallopServer struct{ *gallop.Server }

func newGallop(app App, o Options) Server {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { app.Handle(ctx) }}
	if app.Streams {
		s.StreamRequestBody, s.MaxRequestBodySize = true, math.MaxInt
	}
	return withOptions(s, o)
}

func newGallopGoroutines(app App, o Options) Server {
	s := newGallop(app, o)
	s.(gallopServer).Engine = gallop.EngineGoroutine
	return s
}

func newGallopNetHTTP(app App, o Options) Server {
	return withOptions(nethttp.NewServer(app.Standard), o)
}

// newGallopWeb serves with the framework: an application with routes.
func newGallopWeb(app App, o Options) Server {
	s := &gallop.Server{}
	a := web.New(web.Config{Server: s})
	if app.Web != nil {
		app.Web(a)
	} else {
		handle := func(c *web.Ctx) error {
			app.Handle(c.RequestCtx())
			return nil
		}
		a.Get("/", handle)
		a.All("/*", handle)
	}
	return withOptions(s, o)
}

// withOptions sets the options that concern gallop.
func withOptions(s *gallop.Server, o Options) gallopServer {
	if o.Logger != nil {
		s.Logger = o.Logger
	}
	if o.H2C {
		s.Protocols = new(gallop.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	return gallopServer{s}
}

func (s gallopServer) Shutdown(ctx context.Context) error { return s.ShutdownWithContext(ctx) }

// OnLoops returns the statistics of a server's event loops, and reports whether the server has served requests on
// loops.
func OnLoops(s Server) (gallop.LoopStats, bool) {
	g, ok := s.(gallopServer)
	if !ok {
		return gallop.LoopStats{}, false
	}
	stats := g.Stats().Loop
	return stats, stats.Inline+stats.Pooled > 0
}
