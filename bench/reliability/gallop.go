//go:build linux

package reliability

import (
	"context"

	"github.com/gallop-http/gallop"
)

type gallopEngine struct{ *gallop.Server }

// newGallop makes a server of default settings.
func newGallop(_ serverConfig, logger *countingLogger) engine {
	return gallopEngine{&gallop.Server{
		Logger: logger,
		Handler: func(ctx *gallop.RequestCtx) {
			status, answer := respond(string(ctx.Path()), ctx.PostBody())
			ctx.SetStatusCode(status)
			ctx.Response.SetBodyRaw(answer)
		},
	}}
}

func (e gallopEngine) Shutdown(ctx context.Context) error { return e.ShutdownWithContext(ctx) }
