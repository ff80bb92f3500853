// Package web is a small web framework on gallop: routes, middleware, and one context
// with the request, the response and what belongs to them.
//
//	app := web.New(web.Config{})
//	app.Get("/hello/{name}", func(c *web.Ctx) error {
//		return c.SendString("hello, " + c.Params("name"))
//	})
//	log.Fatal(app.Listen(":8080"))
//
// Routes take Handlers, and Use and groups take Middleware, which the structs of package middleware are. FromHTTP,
// FromMiddleware and FromGallop return handlers of other packages as Handlers.
//
// A string from a Ctx is yours forever. A []byte, as from the methods that end in
// Bytes, is a view that ends with the handler.
//
// Where the last parameter is otherwise ...string, it is one default at most: Query("sort", "name") returns "name" if the
// request has no such parameter.
//
// docs/from-fiber.md says what fiber's names are called here, docs/design/0008-web.md how routes are matched and in which order things run.
//
//	app.go         App and Config: from a request to its handlers
//	router.go      what App and its groups share: verbs, Use, Mount, Route
//	route.go       Route, its name and its URL
//	pattern.go     patterns, constraint*.go what parameters may be
//	tree.go        the radix tree that finds a route
//	table*.go      trees by host and method, HEAD, OPTIONS and Allow
//	key.go         Key: values of a request, with their types
//	requestid.go   the ID of a request
//	codec.go       the formats of bodies
//	ctx*.go        Ctx: the request, its context, fields, files and streams of the answer
//	nethttp.go     handlers of net/http, nethttp_middleware.go its middleware
//	views.go       templates
//	forwarded.go   what proxies say of the client
//	redirect.go    Redirect, cookie.go Cookie, sse.go events
//	bind.go        Binder: structs from requests
//	bind_plan.go   what the tags of a type say
//	bind_names.go  names and values of a request
//	bind_fill.go   from these to fields, bind_value.go from text to a value
//	bind_keep.go   what a body must not set
//	params.go      single values as what they are
//	errors.go      Error, problem.go error responses as problem details
//	refuse.go      requests that the server refuses
//	log.go         the log
//	test.go        requests without a socket
package web
