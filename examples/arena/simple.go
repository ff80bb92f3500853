package main

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"sync"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// sum adds the arguments a and b and, if there is one, the body.
func sum(ctx *gallop.RequestCtx) {
	if !allow(ctx, "GET", "POST") {
		return
	}
	args := ctx.QueryArgs()
	total, ok := add(0, args.Peek("a"))
	if ok {
		total, ok = add(total, args.Peek("b"))
	}
	if body := bytes.TrimSpace(ctx.PostBody()); ok && len(body) > 0 {
		total, ok = add(total, body)
	}
	if !ok {
		ctx.Error("a, b and the body must be integers\n", gallop.StatusBadRequest)
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBody(strconv.AppendInt(nil, total, 10))
}

func add(total int64, digits []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(digits), 10, 32)
	return total + n, err == nil
}

var documents = sync.Pool{New: func() any { return new(profile.Lines) }}

// lines responds with as many lines as the path says, whose totals are multiplied by the argument m.
func (a *arena) lines(ctx *gallop.RequestCtx) {
	if !allow(ctx, "GET", "HEAD") {
		return
	}
	count, err := strconv.Atoi(string(ctx.Path()[len("/json/"):]))
	if err != nil || count < 0 || count > profile.MaxItems {
		ctx.Error("the path must end in a number up to 50\n", gallop.StatusNotFound)
		return
	}
	m := 1
	if ctx.QueryArgs().Has("m") {
		if m, err = ctx.QueryArgs().GetUint("m"); err != nil || m > 1_000_000 {
			ctx.Error("m must be a number up to 1000000\n", gallop.StatusBadRequest)
			return
		}
	}
	document := documents.Get().(*profile.Lines)
	document.Fill(count, m)
	sendJSON(ctx, document)
	documents.Put(document)
}

// sendJSON encodes v into the memory of the response.
func sendJSON(ctx *gallop.RequestCtx, v any) {
	ctx.SetContentType("application/json")
	if err := (codec.JSON{}).Encode(ctx, v); err != nil {
		ctx.Error("encoding failed\n", gallop.StatusInternalServerError)
	}
}

const uploadPath = "/upload"

// streamUploads lets the handler read an upload of any size while it arrives.
func streamUploads(h *gallop.RequestHeader) (rc gallop.RequestConfig) {
	if path, _, _ := bytes.Cut(h.RequestURI(), []byte("?")); string(path) == uploadPath {
		rc.StreamRequestBody, rc.MaxRequestBodySize = true, math.MaxInt
	}
	return rc
}

// upload responds with the number of bytes in the body.
func upload(ctx *gallop.RequestCtx) {
	if !allow(ctx, "POST", "PUT") {
		return
	}
	var n int64
	if body := ctx.RequestBodyStream(); body != nil {
		var err error
		if n, err = io.Copy(io.Discard, body); err != nil {
			ctx.Error("the body is incomplete\n", gallop.StatusBadRequest)
			return
		}
	}
	ctx.SetContentType("text/plain")
	ctx.SetBody(strconv.AppendInt(nil, n, 10))
}
