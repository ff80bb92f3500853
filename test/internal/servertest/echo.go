package servertest

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// EchoServer responds with a description of the request, as the cases in testdata/cases expect, and counts how often its
// handler ran.
type EchoServer struct {
	gallop.Server
	Calls atomic.Int64 // how often the handler ran
	Log   Log
}

// NewEchoServer returns a server with the default limits. With stream, the handler reads the body. Without it, the server
// reads the body before it calls the handler, and overwrites what it passed to the handler afterwards.
func NewEchoServer(stream bool) *EchoServer {
	s := &EchoServer{}
	s.StreamRequestBody = stream
	s.PoisonReleased = !stream
	s.Logger = &s.Log
	s.Handler = func(ctx *gallop.RequestCtx) {
		s.Calls.Add(1)
		Echo(ctx, stream)
	}
	return s
}

// Echo is the handler of an [EchoServer]. With stream it reads the body from the request's stream.
func Echo(ctx *gallop.RequestCtx, stream bool) {
	path := string(ctx.Path())
	switch {
	case strings.HasPrefix(path, "/_/status/"):
		code, _ := strconv.Atoi(strings.TrimPrefix(path, "/_/status/"))
		ctx.SetStatusCode(code)
		ctx.SetBodyString("xbody")
		return
	case path == "/_/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			_, _ = w.WriteString("part1,")
			_ = w.Flush()
			_, _ = w.WriteString("part2")
		})
		return
	}
	e := wiretest.Echo{
		Method:  wiretest.Latin1(ctx.Method()),
		URI:     wiretest.Latin1(ctx.RequestURI()),
		Path:    wiretest.Latin1(ctx.Path()),
		Host:    wiretest.Latin1(ctx.Host()),
		Headers: []wiretest.Pair{},
		Body:    []byte{},
	}
	for name, value := range ctx.Request.Header.All() {
		e.Headers = append(e.Headers, wiretest.Pair{wiretest.Latin1(name), wiretest.Latin1(value)})
	}
	var err error
	switch {
	case path == "/_/nobody":
	case !stream:
		e.Body = append(e.Body, ctx.PostBody()...)
	case ctx.RequestBodyStream() != nil:
		e.Body, err = io.ReadAll(ctx.RequestBodyStream())
	}
	if err != nil {
		ctx.SetStatusCode(gallop.StatusBadRequest)
		ctx.SetConnectionClose()
		return
	}
	body, err := json.Marshal(&e)
	if err != nil {
		panic(err)
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}
