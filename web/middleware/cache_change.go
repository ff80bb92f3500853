package middleware

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// goneFor is how long the store remembers that a URI was invalidated. A response whose handler ran longer than that is not stored.
const goneFor = time.Minute

// change runs the handler of a request that may change something. If it succeeds, the stored responses for its URLs are removed
// (RFC 9111 §4.4).
func (d *cache) change(c *web.Ctx) error {
	err := c.Next()
	r := c.RequestCtx()
	if status := r.Response.StatusCode(); err != nil || status < 200 || status > 399 {
		return err
	}
	ctx := context.WithoutCancel(c.Context())
	var key uriKey
	if key.of(c) {
		d.forget(ctx, c, key)
	} else if u, err := url.Parse(c.FullURL()); err == nil {
		d.forget(ctx, c, keyOf(c.Scheme(), c.Host(), []byte(u.RequestURI())))
	}
	for _, name := range [...]string{gallop.HeaderLocation, gallop.HeaderContentLocation} {
		if value := r.Response.Header.Peek(name); len(value) > 0 {
			d.forgetReference(ctx, c, string(value))
		}
	}
	return nil
}

// forgetReference removes the responses for a URL of the same origin.
func (d *cache) forgetReference(ctx context.Context, c *web.Ctx, reference string) {
	base, err := url.Parse(c.FullURL())
	if err != nil {
		return
	}
	u, err := base.Parse(reference)
	if err != nil || u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) {
		return // another origin has no say
	}
	d.forget(ctx, c, keyOf(c.Scheme(), c.Host(), []byte(u.RequestURI())))
}

func (d *cache) forget(ctx context.Context, c *web.Ctx, key uriKey) {
	if err := d.invalidate(ctx, key); err != nil {
		d.warn(c, err)
	}
}

// invalidate removes all responses for a URI. Responses that handlers are making will not be stored.
func (d *cache) invalidate(ctx context.Context, key uriKey) error {
	return d.Store.Set(ctx, d.storeKey(key), appendRecordHead(nil, kindGone, newGeneration()), goneFor)
}

var errPurge = errors.New("middleware: Cache.Purge needs an absolute URL, such as https://example.com/page")

// Purge removes all stored responses for an absolute URL, in all processes that share the Store. Purge needs the Store and the Name with
// which the Handler was made, and panics if Store is nil. The scheme and the host must be those of requests, as [web.Ctx.Scheme] and
// [web.Ctx.Host] return them, and the path and the query must be spelled as in requests.
func (o Cache) Purge(ctx context.Context, rawURL string) error {
	if o.Store == nil {
		panic("middleware: Cache.Purge needs a Store: without one, each Handler has a store of its own")
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errPurge
	}
	return (&cache{Cache: o}).invalidate(ctx, keyOf(u.Scheme, strings.ToLower(u.Host), []byte(u.RequestURI())))
}
