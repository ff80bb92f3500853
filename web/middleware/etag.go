package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"math"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// ETag adds an entity tag to responses with status 200 to GET and HEAD requests. ETag computes the tag from the body. If the
// request's If-None-Match header matches the tag, the middleware responds with 304 instead (RFC 9110 §8.8.3, §13.1.2). If the
// handler has set a tag, ETag uses that tag. ETag computes no tags for streams, empty bodies, large bodies and errors.
//
// If you register ETag after [Compress], ETag computes tags from the uncompressed body, and Compress makes these tags weak.
// If you register ETag before Compress, each compressed version of the body gets its own strong tag.
//
// The zero value makes strong tags. Two bodies with the same strong tag are identical.
type ETag struct {
	// Weak makes the tags weak. Set Weak if a proxy, or middleware that was registered before ETag, can change the body.
	Weak bool

	// MaxBytes is the size in bytes of the largest body that gets a computed tag. Computing a tag takes about a millisecond for 1
	// MiB. Zero means 4 MiB. A negative value removes the limit.
	MaxBytes int
}

// Handler returns the middleware.
func (o ETag) Handler() web.Handler {
	switch {
	case o.MaxBytes == 0:
		o.MaxBytes = 4 << 20
	case o.MaxBytes < 0:
		o.MaxBytes = math.MaxInt
	}
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
		if r.Response.IsBodyStream() || len(r.Response.Body()) == 0 || len(r.Response.Body()) > o.MaxBytes {
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
