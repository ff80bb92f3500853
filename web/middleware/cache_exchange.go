package middleware

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// exchange is a GET or HEAD request on its way through a cache.
type exchange struct {
	cache    *cache
	c        *web.Ctx
	r        *gallop.RequestCtx
	key      uriKey
	storeKey string
	control  requestControl
	asUser   bool      // the request has Cookie or Authorization
	now      time.Time // when the store was asked
	uri      uriRecord // what it had
	variant  variantID // that the request selects, if the URI has variants
	found    storedResponse
	has      bool // found is set

	conditions [len(conditions)][]string // of the client, while the handler does not see them
	hidden     bool
}

var errOnlyIfCached = errors.New("middleware: the client wants a stored response, and there is none")

// hasBody reports whether the request has a body or wants to change the protocol. The response could depend on the body, which is not
// in the key.
func (x *exchange) hasBody() bool {
	q := &x.r.Request
	n := q.Header.ContentLength()
	if n > 0 || n == gallop.LengthUnknown || q.IsBodyStream() || len(q.Body()) > 0 {
		return true
	}
	h := &q.Header
	return len(h.Peek(gallop.HeaderUpgrade)) > 0 || len(h.Peek(gallop.HeaderIfMatch)) > 0 || len(h.Peek(gallop.HeaderIfUnmodifiedSince)) > 0
}

// readRequest reads the Cache-Control of the request.
func (x *exchange) readRequest() {
	x.control = requestControl{maxAge: unset, minFresh: unset, maxStale: unset}
	h := &x.r.Request.Header
	x.asUser = len(h.Peek(gallop.HeaderCookie)) > 0 || len(h.Peek(gallop.HeaderAuthorization)) > 0
	if x.cache.IgnoreClient || len(h.Peek(gallop.HeaderCacheControl)) == 0 && len(h.Peek(gallop.HeaderPragma)) == 0 {
		return
	}
	var lines [][]byte
	lines = append(lines, h.PeekAll(gallop.HeaderCacheControl)...) // PeekAll uses its slice again
	x.control = parseRequestControl(lines, h.PeekAll(gallop.HeaderPragma))
}

// look looks for a stored response.
func (x *exchange) look() (err error) {
	d := x.cache
	x.now, x.has, x.uri = time.Now(), false, uriRecord{}
	if x.storeKey == "" {
		x.storeKey = d.storeKey(x.key)
	}
	raw, found, err := d.Store.Get(x.c, x.storeKey)
	if err != nil || !found {
		return err
	}
	x.uri = readURI(raw, 0)
	switch x.uri.kind {
	case kindResponse:
		x.found, x.has = x.uri.response, true
	case kindVariants:
		x.variant = variantOf(&x.r.Request.Header, x.uri.names)
		raw, found, err = d.Store.Get(x.c, d.variantKey(x.key, x.uri.generation, x.variant))
		if err == nil && found {
			x.found, x.has = decodeResponse(raw)
		}
	}
	return err
}

// use returns how the stored response may be used.
func (x *exchange) use() reuse {
	if !x.has || x.found.meta.guessed && x.asUser {
		return reuseNever
	}
	return x.found.meta.reuse(&x.control, x.now.UnixNano())
}

// why returns why the request goes to the handler (RFC 9211 §2.2).
func (x *exchange) why() string {
	switch {
	case !x.has && x.uri.kind == kindVariants:
		return "vary-miss"
	case !x.has:
		return "uri-miss"
	case x.found.meta.left(x.now.UnixNano()) > 0 && !x.found.meta.noCache:
		return "request"
	}
	return "stale"
}

// fillable reports whether the response to this request may be stored.
func (x *exchange) fillable() bool {
	h := &x.r.Request.Header
	return h.IsGet() && !x.control.noStore && len(h.Peek(gallop.HeaderRange)) == 0
}

// cannotRevalidate reports whether the request can use a stale response, but cannot get a response for other requests.
func (x *exchange) cannotRevalidate() bool {
	return x.control.onlyIfCached || !x.fillable() && !x.control.noStore
}

// canShare reports whether other requests may be able to use the response to this request.
func (x *exchange) canShare() bool {
	switch {
	case !x.fillable() || x.control.noCache || x.has && (x.found.meta.noCache || x.found.meta.guessed && x.asUser):
		return false
	case bytes.Contains(x.r.Request.Header.Peek(gallop.HeaderAccept), []byte("event-stream")):
		return false
	}
	return !x.cache.passed.has(x.passKey())
}

// passKey returns what identifies the URI in the table of responses that cannot be stored.
func (x *exchange) passKey() uriKey {
	key := x.key
	if x.asUser {
		key[0] ^= 1
	}
	return key
}

// status adds a member to Cache-Status. Members of other caches come first (RFC 9211 §2).
func (x *exchange) status(parameters string) {
	var room [64]byte
	x.r.Response.Header.AddBytesV(headerCacheStatus, append(append(room[:0], statusName...), parameters...))
}

const headerCacheStatus = "Cache-Status"

// bypass runs the handler for a request that has nothing to do with the cache.
func (x *exchange) bypass() error {
	err := x.c.Next()
	x.status("; fwd=bypass")
	return err
}

// withoutStore runs the handler because the store has failed.
func (x *exchange) withoutStore(err error) error {
	if gone := x.c.Err(); gone != nil { // the store may be well
		return gone
	}
	x.cache.warn(x.c, err)
	return x.bypass()
}

// forward runs the handler without making other requests wait. It stores the response if that is allowed.
func (x *exchange) forward() error {
	if !x.fillable() {
		err := x.c.Next()
		if x.canHelp(err) {
			return x.help(err)
		}
		x.status("; fwd=" + x.why())
		return err
	}
	d := x.cache
	marked := d.passed.has(x.passKey())
	result, err := x.run(!marked)
	switch {
	case result.kind == flightStored && marked:
		d.passed.remove(x.passKey())
	case result.kind == flightPassed:
		d.passed.add(x.passKey())
	}
	return err
}

// background returns a context for calls of the store that have to be made even if the client is gone.
func (x *exchange) background() context.Context { return context.WithoutCancel(x.c.Context()) }
