package middleware

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// ETag gives answers to GET and HEAD with status 200 an entity tag made of their body, and answers with 304 where
// If-None-Match has it (RFC 9110 §8.8.3, §13.1.2). A tag that is there already is kept, also that of a stream; other
// streams, empty bodies and errors get none.
//
// Behind Compress, which is nearer to the client then, tags are of what is not compressed, and Compress makes
// them weak. Before it each coding has a strong tag of its own.
//
// The zero value makes strong tags: the same one means the same bytes.
type ETag struct {
	// Weak makes weak tags, for bodies that another one nearer to the client may change.
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

// of returns the tag of a body.
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

// notModified makes the answer a 304. What describes a body that is not sent goes, but for what a cache may
// use to choose among those it has (RFC 9110 §15.4.5).
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
