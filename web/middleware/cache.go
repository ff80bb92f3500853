package middleware

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// The files of the cache are:
//
//	cache.go            settings and the way of a request
//	cache_control.go    the syntax of Cache-Control
//	cache_rules.go      freshness, and what may be stored
//	cache_key.go        keys
//	cache_override.go   headers that could poison the cache
//	cache_record.go     values in the store
//	cache_exchange.go   one request
//	cache_fill.go       calling the handler
//	cache_flight.go     requests that need the same response
//	cache_keep.go       storing a response
//	cache_serve.go      sending a stored response
//	cache_change.go     invalidation

// Cache stores responses to GET requests and reuses them for later GET and HEAD requests (RFC 9111). Handlers decide by
// Cache-Control how long their responses are fresh:
//
//	c.SetHeader("Cache-Control", "max-age=60, stale-while-revalidate=30")
//
// Cache is a shared cache: all clients get the same stored response. Cache stores a response only if its header allows it. Cache
// never stores:
//
//   - Responses with Set-Cookie, Vary: *, or Cache-Control: private or no-store. The form private="name" counts as private.
//   - Responses to requests with Authorization, unless Cache-Control has public, s-maxage or must-revalidate.
//   - Streams, responses with trailers, and bodies of more than MaxBody bytes. Files of Static and SendFile are streams.
//   - Responses with status 206, most errors, and responses of handlers that return an error.
//
// A response is the same for all clients whose request headers in Vary are equal. If a handler reads a header such as
// Accept-Language or Cookie, the response must have this header in Vary, or Cache-Control: private. If a request has a header with
// which it could poison the cache, such as X-Forwarded-Host or X-HTTP-Method-Override, Cache passes the request to the handler and
// stores nothing. Such a header does no harm if its value equals the host or the scheme of the request. Behind a proxy, set
// web.Config.TrustedProxies, so that Host and Scheme return what the proxy received.
//
// If several requests need the same response, one request runs the handler, and the other requests wait for the response. While
// a request revalidates a response that stale-while-revalidate allows, other requests get the stale response. If the handler fails with
// status 500, 502, 503 or 504, clients get the stale response that stale-if-error allows. Cache evaluates If-None-Match and
// If-Modified-Since itself. It sends ranges of stored responses. While a response is not stored, requests with Range go to the handler.
//
// Clients can ask for newer responses by Cache-Control: see IgnoreClient. A successful request with an unsafe method, such as POST,
// removes the stored responses for its URL, and for the URLs in Location and Content-Location.
//
// Each response has the header Cache-Status (RFC 9211), and reused responses have the header Age.
//
// Register Cache after middleware that authenticates clients, and before Compress and ETag. In another order, clients without access could
// get stored responses. Middleware that is registered before Cache runs for each request, and its headers are not stored.
//
// If the Store fails, requests go to the handler, and Cache logs a warning at most every 10 seconds.
//
// The zero value keeps responses in 64 MiB of memory. It stores only responses that state how long they are fresh.
type Cache struct {
	// Store keeps the responses. It must be an [Adder] and a [Swapper]. Processes that share a Store see each other's responses, and
	// only one of them runs the handler for a response that all need. By default, each call of Handler creates a MemoryStore.
	Store Store

	// Name distinguishes this Cache from other users of the same Store. Name is required if Store is set. It may contain ASCII letters,
	// digits and the characters "-_./".
	Name string

	// TTL is how long a response is fresh that has neither max-age nor Expires. It applies only to statuses such as 200 and 404, and not to
	// requests with Cookie or Authorization, unless Cache-Control has public. Zero or less means that such responses are not stored.
	TTL time.Duration

	// Heuristic makes a response without max-age and Expires fresh for a tenth of the time since Last-Modified, and for at most a day.
	// It has the same exceptions as TTL, and precedence over TTL. By default, Last-Modified has no effect on freshness.
	Heuristic bool

	// MaxBody is the size in bytes of the largest response body that is stored. Zero means 1 MiB. With a negative value, only responses
	// without a body are stored.
	MaxBody int

	// Wait is how long a request waits for another request that runs the handler for the same response. After this time, the
	// waiting request runs the handler, too. Zero means 5 seconds. With a negative value, requests do not wait.
	Wait time.Duration

	// IgnoreClient ignores Cache-Control and Pragma of requests, so that clients cannot make the handler run more often. By default,
	// clients can demand a fresh response with no-cache or max-age=0, as browsers do when the user reloads a page.
	IgnoreClient bool

	// KeyHeaders are request headers that all responses depend on, in addition to Vary. Requests with different values get different
	// responses.
	KeyHeaders []string
}

// Bounds of what one URI takes up.
const (
	maxVariants  = 32 // stored responses for one URI; after that, the response that expires first is dropped
	maxVaryNames = 16 // names in Vary; a response with more names is not stored
)

const statusName = "gallop" // of this cache in Cache-Status

// Handler returns the middleware. Handler panics if the settings contradict each other.
func (o Cache) Handler() web.Handler {
	d := o.build()
	return func(c *web.Ctx) error {
		if c.Refused() != nil {
			return c.Next()
		}
		switch h := &c.RequestCtx().Request.Header; {
		case h.IsGet() || h.IsHead():
			return d.read(c)
		case h.IsOptions() || h.IsTrace() || h.IsQuery():
			return c.Next()
		}
		return d.change(c)
	}
}

// cache is a Cache whose settings are complete.
type cache struct {
	Cache
	adder   Adder
	swapper Swapper
	shared  bool // other processes may use the store
	flights flights
	passed  passed
	warning storeWarning
}

func (o Cache) build() *cache {
	d := &cache{Cache: o}
	d.shared = d.Store != nil
	if d.Store == nil {
		d.Store = new(MemoryStore)
	} else if d.Name == "" || !isPlainName(d.Name) {
		panic(fmt.Sprintf("middleware: Cache with a Store needs a Name of ASCII letters, digits and \"-_./\", not %q", d.Name))
	}
	d.adder, d.swapper = need[Adder]("Cache", d.Store), need[Swapper]("Cache", d.Store)
	if d.MaxBody == 0 {
		d.MaxBody = 1 << 20
	}
	if d.Wait == 0 {
		d.Wait = 5 * time.Second
	}
	d.KeyHeaders = keyHeaders(o.KeyHeaders)
	d.flights.running = map[string]*flight{}
	return d
}

// keyHeaders returns names in the spelling of Header.All, sorted. It panics if there are too many names.
func keyHeaders(names []string) []string {
	lines := make([][]byte, len(names))
	for i, name := range names {
		if name == "" || name == "*" || !isPlainName(name) {
			panic(fmt.Sprintf("middleware: Cache: %q in KeyHeaders is not the name of a header", name))
		}
		lines[i] = []byte(name)
	}
	names, ok := varyNames(lines, nil)
	if !ok {
		panic(fmt.Sprintf("middleware: Cache: KeyHeaders has more than %d names", maxVaryNames))
	}
	return names
}

// warn logs that the Store has failed.
func (d *cache) warn(c *web.Ctx, err error) {
	d.warning.log(c, "the store of the cache failed", "cache", d.Name, err)
}

// read responds to a GET or HEAD request.
func (d *cache) read(c *web.Ctx) error {
	x := exchange{cache: d, c: c, r: c.RequestCtx()}
	if !x.key.of(c) || x.hasBody() || d.isOverridden(c) {
		return x.bypass()
	}
	x.readRequest()
	if err := x.look(); err != nil {
		return x.withoutStore(err)
	}
	switch use := x.use(); {
	case use == reuseFresh || use == reuseStale || use == reuseWhileRevalidating && x.cannotRevalidate():
		return x.serve(&x.found, "; hit", true)
	case x.control.onlyIfCached:
		x.status("; fwd=" + x.why())
		c.MarkErrorLogged() // the client asked for it
		return &web.Error{Status: gallop.StatusGatewayTimeout, Message: gallop.StatusMessage(gallop.StatusGatewayTimeout), Err: errOnlyIfCached}
	case d.Wait < 0 || !x.canShare():
		return x.forward()
	}
	return x.fill()
}
