//go:build linux

package reliability

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// The timeouts that the peers get with Options.Timeouts, as near to gallop's defaults as their fields allow.
const (
	headTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 75 * time.Second
)

type fasthttpEngine struct{ *fasthttp.Server }

func newFasthttp(config serverConfig, logger *countingLogger) engine {
	s := &fasthttp.Server{
		Logger:          logger,
		CloseOnShutdown: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			status, answer := respond(string(ctx.Path()), ctx.PostBody())
			ctx.SetStatusCode(status)
			ctx.Response.SetBodyRaw(answer)
		},
	}
	if config.Timeouts {
		s.ReadTimeout, s.WriteTimeout, s.IdleTimeout = headTimeout, writeTimeout, idleTimeout
	}
	return fasthttpEngine{s}
}

func (e fasthttpEngine) Shutdown(ctx context.Context) error { return e.ShutdownWithContext(ctx) }

type netHTTPEngine struct{ *http.Server }

func newNetHTTP(config serverConfig, logger *countingLogger) engine {
	s := &http.Server{ErrorLog: log.New(logger, "", 0), Handler: http.HandlerFunc(serveNetHTTP)}
	if config.Timeouts {
		s.ReadHeaderTimeout, s.WriteTimeout, s.IdleTimeout = headTimeout, writeTimeout, idleTimeout
		s.ReadTimeout = headTimeout
	}
	return netHTTPEngine{s}
}

func serveNetHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	status, answer := respond(r.URL.Path, body)
	w.WriteHeader(status)
	w.Write(answer)
}

// bareEngine is the least that a server can do with a connection: it reads once, refuses, and lingers. It shows how
// many connections the machine can open and close a second with the attackers on it.
type bareEngine struct{}

func newBare(serverConfig, *countingLogger) engine { return bareEngine{} }

func (bareEngine) Serve(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 8<<10)
			c.Read(buf)
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			c.(*net.TCPConn).CloseWrite()
			c.Read(buf)
		}()
	}
}

func (bareEngine) Shutdown(context.Context) error { return nil }

func (e netHTTPEngine) Serve(ln net.Listener) error {
	if err := e.Server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
