// Package web is a web framework on top of gallop: routes, middleware, and one context for the request and the response.
//
//	app := web.New(web.Config{})
//	app.Get("/hello/{name}", func(c *web.Ctx) error {
//		return c.SendString("hello, " + c.Params("name"))
//	})
//	log.Fatal(app.Listen(":8080"))
//
// # App
//
// [New] makes an [App] from a [Config]. [App.Listen] serves requests until [App.Shutdown] or [App.Close] is called, and [App.Run]
// serves requests until a context is done. Config.Server holds the limits and timeouts. An App is also an http.Handler, so
// net/http's server can serve it. To serve an App with another gallop.Server, use [App.Handler].
//
// # Routes
//
// A route is a method, a path pattern and one or more handlers. [Router.Get], [Router.Post] and the methods for other HTTP methods
// register routes. [Router.Add] documents the pattern syntax:
//
//	app.Get("/users/{id<int>}", showUser)      // a parameter with a constraint
//	app.Get("/files/{path...}", showFile)      // the rest of the path
//	app.Get("/reports/{name}.pdf", showReport) // text after a parameter
//
// The most specific route wins, regardless of the order of registration. The host decides first, then the method, then the path:
//
//   - A route for the request's host wins over a route for any host. See [Router.Host].
//   - A route for the request's method wins over a route that [Router.All] registered.
//   - Paths are compared from left to right. Text wins over a parameter. A parameter wins over {name...}, which matches the rest of
//     the path. Among parameters, {id}.json wins over {id<int>}, and {id<int>} wins over {id}.
//
// If the most specific route matches only part of the request, the router tries the next most specific route. If you register two
// routes that match exactly the same requests, the second registration panics. A GET route also serves HEAD. The framework responds
// to an OPTIONS request itself, unless a route matches the request.
//
// If no route matches, the App's middleware runs, and then the handlers that were added with [App.NotFound]. If no handler
// responds, the error handler gets [ErrNotFound]. If the path has routes for other methods, the error handler gets
// [ErrMethodNotAllowed].
//
// # Groups
//
// [Router.Group] returns a [Router] for a path prefix, and [Router.Host] returns a Router for a host. Groups can be nested. Each
// group can have its own middleware and, through [Router.OnError], its own error handler. [Router.Mount] registers the routes of
// another App under a prefix, and [Router.MountHTTP] lets an http.Handler serve a prefix.
//
// # Middleware
//
// Middleware is a [Handler] that calls [Ctx.Next]. Package middleware contains common middleware:
//
//	app.Use(middleware.RequestID{}, middleware.Logger{}, middleware.Recover{})
//	app.UseFunc(func(c *web.Ctx) error {
//		start := time.Now()
//		err := c.Next() // runs the handlers that follow
//		c.Log().Info("done", "took", time.Since(start))
//		return err
//	})
//
// The App's middleware runs first, then the middleware of the groups from the outermost to the innermost, then the route's
// handlers. Call [Router.Use] before you register routes: Use panics if an existing route would not get the middleware.
// [FromMiddleware] adapts net/http middleware.
//
// # Context
//
// A handler gets a [Ctx], which reads the request and builds the response. The Ctx is also the context.Context of the request: pass
// it to database calls and HTTP clients. Do not use a Ctx after the handler has returned. You may keep strings that methods of the
// Ctx return. A []byte that a method returns, for example [Ctx.PathBytes], is valid only until the handler returns.
//
// A parameter named "otherwise" is an optional default: c.Query("sort", "name") returns "name" if the query has no parameter
// "sort". To pass values from middleware to handlers, declare a [Key].
//
// # Binding
//
// [Bind] fills a struct from the path parameters, query, headers, cookies and body. Struct tags say where each field's value comes
// from. [Binder] documents these tags. [Params] and [Query] read single values:
//
//	id, err := web.Params[int](c, "id")
//	page, err := web.Query(c, "page", 1)
//
// If a value cannot be converted, the error has status 400. Config.Validator checks the structs that Bind has filled.
//
// # Errors
//
// If a handler returns an error, the error handler responds. If the error is an [*Error] or wraps an *Error, the *Error determines
// the status and the message for the client. Any other error is logged, and the client gets status 500 without details. To respond
// in JSON (RFC 9457), set Config.ErrorHandler to [ProblemErrorHandler], or write an [ErrorHandler] of your own. The error handler
// also responds to requests that the server refused: see [Ctx.Refused].
//
// # Content negotiation
//
// [Ctx.Format] and [Formats] choose between handlers by the Accept header. [Ctx.AutoFormat] sends a value as HTML, JSON, XML or
// text. [Ctx.Accepts], [Ctx.AcceptsLanguages] and similar methods return the offer that the client prefers. Config.Codecs adds
// formats to AutoFormat and to Bind.
//
// # Testing
//
// [App.Test] sends a request through the app without a socket:
//
//	response, err := app.Test(httptest.NewRequest("GET", "/hello/gopher", nil))
//
// docs/from-fiber.md maps fiber's names to the names in this package. docs/design/0008-web.md explains the design.
package web

// Source files:
//
//	app.go                 App and Config: from a request to its handlers
//	router.go              what App and its groups share: verbs, Use, Mount, Route
//	route.go               Route, its name and its URL
//	pattern.go             path patterns
//	host.go                host patterns
//	constraint.go          constraints of parameters
//	tree.go                the radix tree that finds a route
//	table.go               trees by host and method; HEAD, OPTIONS and Allow
//	refuse.go              requests that the server refuses
//	errors.go              Error and the default error handler
//	problem.go             error responses as problem details
//	log.go                 the log
//	ctx.go                 Ctx: the request and its handlers
//	ctx_context.go         Ctx as a context.Context
//	ctx_request.go         method, path, parameters and headers of the request
//	ctx_body.go            the body of the request and its type
//	ctx_form.go            forms and uploaded files
//	ctx_origin.go          client address, scheme and host
//	forwarded.go           what trusted proxies say about the origin of a request
//	ctx_response.go        status, headers and body of the response
//	ctx_type.go            the Content-Type of the response
//	ctx_fields.go          further headers of the response, conditions and ranges
//	ctx_file.go            files
//	ctx_stream.go          streamed responses
//	ctx_negotiate.go       content negotiation
//	cookie.go              Cookie
//	redirect.go            Redirect
//	sse.go                 server-sent events
//	views.go               templates
//	key.go                 Key: typed values of a request
//	requestid.go           the ID of a request
//	codec.go               the formats of bodies
//	bind.go                Binder: structs from requests
//	bind_plan.go           what the tags of a struct type say
//	bind_names.go          names and values of a request
//	bind_fill.go           from names and values to fields
//	bind_value.go          from text to a value
//	bind_keep.go           fields that a body must not set
//	params.go              single values with a type
//	nethttp.go             handlers of net/http
//	nethttp_middleware.go  middleware of net/http
//	test.go                requests without a socket
