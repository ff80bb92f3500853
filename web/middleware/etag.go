package middleware

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// ETag adds an entity tag, computed from the body, to responses to GET and HEAD that have status 200. It responds with 304 if
// the request's If-None-Match matches the tag (RFC 9110 §8.8.3, §13.1.2). A tag that the handler has set is kept. Streams
// without such a tag, empty bodies and errors get no tag.
//
// If ETag is used after Compress, tags are computed from the uncompressed body, and Compress makes them weak. If ETag is used
// before Compress, each content coding gets a strong tag of its own.
//
// The zero value makes strong tags: equal tags mean equal bytes.
type ETag struct {
	// Weak makes the tags weak. Set it if middleware or a proxy closer to the client may change the body.
	Weak bool
}

// Handler returns the middleware.
func (o ETag) Handler() web.Handler {
	return func(c *web.Ctx) error {
		err := c.Next()
		r := c.RequestCtx()
		if err == nil && (r.IsGet() || r.IsHead()) && r.Response.StatusCode() == gallop.StatusOK && !isTaken(r) {
			o.tag(r)
		}
		return err
	}
}

func (o ETag) tag(r *gallop.RequestCtx) {
	h := &r.Response.Header
	if len(h.Peek(gallop.HeaderETag)) == 0 {
		if r.Response.IsBodyStream() || len(r.Response.Body()) == 0 {
			return
		}
		h.SetBytesV(gallop.HeaderETag, o.of(r.Response.Body()))
	}
	asked := len(r.Request.Header.PeekAll(gallop.HeaderIfNoneMatch)) > 0
	if asked && r.FailedCondition() == gallop.StatusNotModified {
		notModified(r)
	}
}

// of returns the entity tag for a body.
func (o ETag) of(body []byte) []byte {
	sum := sha256.Sum256(body)
	tag := make([]byte, 0, 32)
	if o.Weak {
		tag = append(tag, "W/"...)
	}
	tag = append(tag, '"')
	tag = base64.RawURLEncoding.AppendEncode(tag, sum[:16])
	return append(tag, '"')
}

// notModified turns the response into a 304. It removes the headers that describe the body, and keeps those that a cache uses
// to choose among its stored responses (RFC 9110 §15.4.5).
func notModified(r *gallop.RequestCtx) {
	r.ResetBody()
	r.SetStatusCode(gallop.StatusNotModified)
	for _, name := range [...]string{
		gallop.HeaderContentType, gallop.HeaderContentLength, gallop.HeaderContentEncoding, gallop.HeaderContentLanguage,
		gallop.HeaderContentRange, gallop.HeaderTransferEncoding,
	} {
		r.Response.Header.Del(name)
	}
}
