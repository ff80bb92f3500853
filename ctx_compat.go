package gallop

// The spellings below are there for programs that were written against fasthttp.

// SetContentTypeBytes does the same as [RequestCtx.SetContentType], but takes a []byte.
func (ctx *RequestCtx) SetContentTypeBytes(contentType []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentType)
}

// SetUserValueBytes does the same as [RequestCtx.SetUserValue], but takes a key of type []byte.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValueBytes does the same as [RequestCtx.UserValue], but takes a key of type []byte.
func (ctx *RequestCtx) UserValueBytes(key []byte) any { return ctx.Request.UserValueBytes(key) }

// RemoveUserValueBytes does the same as [RequestCtx.RemoveUserValue], but takes a key of type []byte.
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) { ctx.Request.RemoveUserValueBytes(key) }
