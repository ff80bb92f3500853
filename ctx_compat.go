package gallop

// The spellings below are there for programs that were written against fasthttp.

// SetContentTypeBytes is SetContentType for bytes.
func (ctx *RequestCtx) SetContentTypeBytes(contentType []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentType)
}

// SetUserValueBytes is SetUserValue with a key of bytes.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValueBytes is UserValue with a key of bytes.
func (ctx *RequestCtx) UserValueBytes(key []byte) any { return ctx.Request.UserValueBytes(key) }

// RemoveUserValueBytes is RemoveUserValue with a key of bytes.
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) { ctx.Request.RemoveUserValueBytes(key) }
