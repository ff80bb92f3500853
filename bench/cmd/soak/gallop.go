package main

import (
	"bytes"
	"net"
	"strconv"

	"github.com/gallop-http/gallop"
)

func serveGallop(l net.Listener, book *ledger) error {
	s := &gallop.Server{Logger: silent{}, Handler: func(ctx *gallop.RequestCtx) {
		in := &ctx.Request.Header
		r := book.judge(ask{
			method: ctx.Method(),
			path:   ctx.Path(),
			id:     in.Peek("X-Soak-Id"),
			match:  in.Peek("If-None-Match"),
			body:   ctx.PostBody(),
		})
		ctx.SetStatusCode(r.status)
		out := &ctx.Response.Header
		var buf [64]byte
		out.SetBytesV("X-Soak-Id", strconv.AppendUint(buf[:0], r.id, 16))
		out.SetBytesV("X-Soak-Sum", strconv.AppendUint(buf[:0], uint64(r.sum), 16))
		if r.etag {
			out.SetBytesV("ETag", appendTag(buf[:0], r.id))
		}
		if r.stream {
			ctx.SetBodyStream(bytes.NewReader(bytes.Clone(r.body)), -1)
		} else {
			ctx.SetBody(r.body)
		}
	}}
	return s.Serve(l)
}
