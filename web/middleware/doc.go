// Package middleware provides middleware for package web. Each middleware is a struct, and most zero values are useful:
//
//	app.Use(middleware.RequestID{}, middleware.Logger{}, middleware.Recover{})
//	app.Use(middleware.CORS{Origins: []string{"https://example.com"}})
//	app.Post("/upload", middleware.BodyLimit{Size: 8 << 20}.Handler(), upload)
//
// # Using middleware
//
// Each struct is a web.Middleware. web.Router.Use calls the method Handler of the struct. Handler reads the struct once and
// returns a handler that is safe for concurrent use. To add middleware to a single route, call Handler yourself. Handler
// panics if settings are missing or contradict each other.
//
// Middleware on an App also runs for requests that match no route. Middleware on a group runs only for requests that match
// one of the group's routes.
//
// # Order
//
// Middleware that is registered first wraps middleware that is registered later. A suitable order is RequestID, Logger,
// Recover, HostAllow, SecureHeaders, LoadShed, Limiter, BodyLimit, Timeout, CORS, Session, CSRF, BasicAuth or KeyAuth,
// Idempotency, Cache, Compress, ETag. The page docs/middleware.md lists all middleware in this order.
//
// # Health checks and stores
//
// [Health] provides handlers for liveness and readiness checks. [Store] is an interface for sessions and other data with a
// limited lifetime. [MemoryStore] keeps such data in memory.
package middleware

// Source files:
//
//	recover.go     turns panics into errors
//	requestid.go   request IDs
//	logger.go      one log record per request
//	compress.go    content codings
//	etag.go        entity tags and 304
//	cors.go        cross-origin requests
//	origins.go     lists of origins
//	bodylimit.go   the maximum size of request bodies
//	timeout.go     deadlines for handlers
//	static.go      files
//	limiter*.go    rate limits
//	loadshed*.go   the number of requests in progress
//	circuit*.go    circuits around failing systems
//	idempotency*.go  keys that make retries safe
//	cache*.go      stored responses
//	allowip.go     IP addresses that may reach a handler
//	redirect.go    https, the preferred host, slashes
//	favicon.go     /favicon.ico
//	earlydata.go   TLS early data
//	bodydump.go    bodies for debugging
//	skip.go        middleware for some requests only
//	proxy*.go      requests that other servers respond to
//	publicdialer.go  connections to public addresses only
//	health.go      liveness and readiness
//	session*.go    sessions
//	csrf*.go       cross-site request forgery
//	secureheaders.go   security headers and nonces
//	hostallow.go   the hosts of an app
//	auth.go, basicauth.go, password.go, keyauth.go   authentication
//	cookies*.go    signed and encrypted cookies
//	store.go       the interfaces of stores
//	store_*.go     token buckets
//	memory*.go     MemoryStore
