// Package middleware is a first handful of middleware for web, each of it a struct whose zero
// value is useful, in a file of its own:
//
//	app.Use(middleware.RequestID{}, middleware.Logger{}, middleware.Recover{})
//
// Each is a web.Middleware. Its method Handler, which web.Router.Use calls, reads the struct once and returns a handler that
// serves any number of requests at once. For a single route, call Handler yourself. It panics if the settings contradict
// each other, as web does for routes.
//
// Middleware of an App also sees requests that match no route; that of a group only those that match
// one of the group's. Those that come first are around the others, so that an order which works is:
// RequestID, Logger, Recover, CORS, Compress, ETag, Timeout, BodyLimit.
//
//	recover.go     panics become errors
//	requestid.go   a name for each request
//	logger.go      a line for each request
//	compress.go    codings
//	etag.go        entity tags and 304
//	cors.go        other origins
//	bodylimit.go   how much is read
//	timeout.go     for how long
//	static.go      files
//	health.go      alive, ready
//	store.go       the interfaces of stores; MemoryStore is in memory*.go, token buckets are in store_take.go and store_bucket.go
package middleware
