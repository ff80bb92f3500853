// The files of this package are grouped into rooms. A file may use its own room and the rooms before it. The client
// room and the server room do not use each other. rooms_test.go reads this comment and checks every use.
//
// Room 1, base, holds code that does not depend on messages: names, numbers, dates, errors and small helpers.
//
//	compress.go   coding and decoding bytes
//	doc.go        rooms and package documentation
//	errors.go     errors and the phases named
//	limits.go     limits, deadlines, buffers kept
//	logger.go     where log messages go
//	names.go      names of methods and headers
//	panics.go     panics that reach the caller
//	protocols.go  sets of protocols, HTTP/2 settings
//	status.go     status codes and their messages
//	text.go       numbers, dates, addresses as text
//	unsafe.go     strings that share memory
//
// Room 2, messages, holds requests and responses, their headers and bodies, URIs, arguments, cookies, forms and
// compression.
//
//	args.go              arguments of queries and forms
//	body.go              bodies: bytes or files
//	body_read.go         reading and decoding bodies
//	body_stream.go       bodies that are streams
//	cookie.go            a cookie with its attributes
//	header.go            how headers are stored
//	header_coding.go     codings that headers name
//	header_cookies.go    Cookie and Set-Cookie headers
//	header_framing.go    headers that control the connection
//	header_iter.go       loops over headers, names shown
//	header_params.go     names and parameters of headers
//	header_read.go       heads from a bufio.Reader
//	header_request.go    heads of requests
//	header_response.go   heads of responses
//	header_trailers.go   headers after a chunked body
//	header_write.go      heads as bytes
//	message.go           pools, reading, writing whole messages
//	message_write.go     messages as bytes, sent again
//	multipart.go         forms of a request
//	multipart_reader.go  parts as they arrive
//	request.go           a request
//	response.go          a response
//	response_coding.go   choosing codings, compressing responses
//	stream_reader.go     writers turned into readers
//	uri.go               a URI and its parts
//	uri_parse.go         parsing a URI
//	uservalues.go        values attached to a request
//
// Room 3, network, holds the public dialers, proxies and TLS for clients.
//
//	dial.go      the dialer, choosing dial functions
//	dial_tls.go  TLS handshakes, sessions, test certificates
//	proxy.go     dialing through a proxy
//
// Room 4, cookie jar, holds the cookies that servers have set, for clients.
//
//	cookiejar.go  the jar and its methods
//
// Room 5, client, holds the clients and how they make calls.
//
//	client.go                a client for all hosts
//	client_ask_other.go      no requests in one turn
//	client_ask_unix.go       small requests in one turn
//	client_body.go           response bodies, upgraded connections
//	client_conn.go           a call on its connection
//	client_errors.go         what errors of calls say
//	client_get.go            calls of one line
//	client_h2.go             HTTP/2 connections of clients
//	client_h2_body.go        streams over HTTP/2
//	client_h2_call.go        a call over HTTP/2
//	client_hooks.go          traces, replacing single attempts
//	client_host.go           a client for one host
//	client_lb.go             spreading calls over clients
//	client_pipeline.go       a client that pipelines
//	client_pipeline_call.go  pipelined calls, also during outages
//	client_pipeline_conn.go  a connection with pipelined calls
//	client_pool.go           pooled connections, dialing
//	client_read.go           reading responses
//	client_redirect.go       following redirects
//	client_retry.go          attempts of a call
//	client_settings.go       defaults of clients
//	client_upload.go         bodies sent during the response
//
// Room 6, server, holds the server, the context of a request, and how connections are served.
//
//	ctx.go                the context of a request
//	ctx_context.go        cancellation, deadlines and values
//	ctx_hijack.go         hijacking, switching protocols
//	ctx_request.go        reading the request
//	ctx_response.go       setting the response
//	ctx_stream.go         streams that a handler writes
//	exchange.go           a request, calling its handler
//	exchange_body.go      request bodies as handlers read
//	exchange_check.go     checks and refusals of requests
//	exchange_stream.go    sending bodies that are streams
//	exchange_wire.go      how HTTP/1 and HTTP/2 differ
//	h1_body.go            reading HTTP/1 request bodies
//	h1_body_rest.go       draining unread request bodies
//	h1_close.go           refusals, ending HTTP/1 connections
//	h1_hijack.go          handing connections over
//	h1_plain.go           the common response, written fast
//	h1_response.go        sending responses, announcing streams
//	h1_serve.go           serving one request after another
//	h1_wire.go            the HTTP/1 wire, its steps
//	h2_body.go            collecting and reading request bodies
//	h2_limits.go          limits that HTTP/2 connections share
//	h2_output.go          sending frames, waiting for windows
//	h2_response.go        encoding responses
//	h2_serve.go           steps of an HTTP/2 connection
//	h2_stream.go          a stream, start to end
//	h2_time.go            time limits of HTTP/2
//	h2_tunnel.go          connections over a stream
//	h2_wire.go            the HTTP/2 wire, choosing HTTP/2
//	server.go             the server and its settings
//	server_listen.go      listening, serving what was accepted
//	server_loop_linux.go  serving on event loops
//	server_loop_other.go  no event loops
//	server_settings.go    defaults of settings, engine types
//	server_shutdown.go    running until shutdown
//	server_stats.go       counters
//	server_tls.go         TLS and its certificates
//	testhook_linux.go     event loops of tests
//	timeout.go            handlers with a time limit
//
// Room 7, handlers, holds the handlers that come with the package: files and compression. It also holds testhook.go,
// which may use the client and the server.
//
//	compress_handler.go  a handler that compresses
//	fs.go                the file server and settings
//	fs_coding.go         compressed files
//	fs_content.go        serving any content
//	fs_handler.go        from path to file
//	fs_serve.go          serving one file, cached files
//	testhook.go          what tests reach
//
// Room 8, spellings, holds names that exist only for programs that come from fasthttp. It may use every other room,
// but no other room may use it.
//
//	fasthttp_spellings.go  fasthttp's names

// Package gallop is an HTTP server and client for Go. Server and client share one HTTP implementation, which parses
// strictly, allocates little memory, and limits everything that a peer can send.
//
// A server calls a handler for each request. The handler gets a [RequestCtx] with the request and the response:
//
//	func hello(ctx *gallop.RequestCtx) {
//		ctx.WriteString("hello, " + string(ctx.Path()))
//	}
//
//	func main() {
//		log.Fatal(gallop.ListenAndServe("localhost:8080", hello))
//	}
//
// A [Client] sends a [Request] and reads the server's response into a [Response]. The client keeps a pool of
// connections for each host.
//
// # Ownership of bytes
//
// A string that a method returns stays valid forever. A []byte that a method returns points into memory that the
// package will reuse. In a handler, a returned []byte is valid until the handler returns. In a client, a returned
// []byte is valid until you release or reuse its Request or Response. To keep the bytes for longer, copy the []byte. A
// RequestCtx and its Request and Response are valid only until the handler returns.
//
// Builds with the race detector overwrite released memory with 0xDB, so that tests detect the use of a []byte that is
// no longer valid. In other builds, set Server.PoisonReleased to overwrite the memory of each request after its handler
// has returned.
//
// # Strict parsing
//
// Request smuggling works if two parsers disagree about where a message ends. To prevent request smuggling, the package
// refuses ambiguous messages. For example, a message must not have both Content-Length and Transfer-Encoding (RFC 9112
// §6.3). A header must not have whitespace before its colon (RFC 9112 §5.1). A message must not contain a bare CR or LF
// (RFC 9112 §2.2). Methods that set a header refuse values that could add another header or start another message.
//
// Every limit has a default. The documentation of the field that sets the limit names the default. If the field is
// zero, the default applies. A negative value turns the limit off, unless the field's documentation says otherwise.
//
// # Global state
//
// The exported variables of this package are shared by the whole program and are not protected by locks. Do not assign
// to the error variables, [DefaultTransport], [CookieExpireDelete] or [CookieExpireUnlimited]. Do not change
// [FSCompressedFileSuffixes] after the program has started to serve files. [FlushDNSCache] and [SetBodySizePoolLimit]
// affect the whole process and may be called at any time.
//
// # Names for programs that come from fasthttp
//
// A program can switch from fasthttp to this package by changing an import path. For programs that come from fasthttp,
// the package exports names that new programs do not need. This list contains the names and their replacements:
//
//   - Calls without a context: [Do], [DoTimeout], [DoDeadline], [DoRedirects], [Get], [GetTimeout], [GetDeadline],
//     [Post], and the client methods with the same names. Use [Client.DoContext], with [Request.SetTimeout] and
//     [Client.MaxRedirects].
//   - Retries: [RetryIfFunc], [RetryIfErrUpstreamFunc]. Use [RetryIfErrFunc] and [SafeToRetry].
//   - Pooled connections: [ClientConn], [HostClient.AcquireConn], [HostClient.AcquireReader],
//     [HostClient.AcquireWriter]. Use [Doer] and [RoundTripper].
//   - Dialing: [Dial], [DialTimeout], [DialDualStack], [DialDualStackTimeout], [AddMissingPort],
//     [DialFunc], [DialFuncWithTimeout]. Use [TCPDialer.DialContext].
//   - Loops with callbacks: VisitAll and other methods whose names begin with Visit,
//     [RequestHeader.AllInOrder], [VisitHeaderParams]. Use the iterators, such as [Args.All].
//   - Content codings: [AppendGzipBytes], [AppendGzipBytesLevel], [AppendGunzipBytes], [AppendDeflateBytes],
//     [AppendDeflateBytesLevel], [AppendInflateBytes], [AppendBrotliBytes], [AppendBrotliBytesLevel],
//     [AppendUnbrotliBytes], [AppendZstdBytes], [AppendZstdBytesLevel], [AppendUnzstdBytes], [WriteGzip],
//     [WriteGzipLevel], [WriteGunzip], [WriteDeflate], [WriteDeflateLevel], [WriteInflate], [WriteBrotli],
//     [WriteBrotliLevel], [WriteUnbrotli], [WriteZstdLevel], [WriteUnzstd]. Use the package that implements the coding,
//     such as compress/gzip.
//   - Text and numbers: [AppendUint], [ParseUint], [ParseUfloat], [AppendIPv4], [ParseIPv4],
//     [AppendHTMLEscape], [AppendHTMLEscapeBytes], [AppendQuotedArg], [AppendUnquotedArg],
//     [AppendNormalizedHeaderKey], [AppendNormalizedHeaderKeyBytes], [ParseByteRange],
//     [AppendHTTPDate], [ParseHTTPDate]. Use strconv, net/netip, html, net/url, net/textproto and
//     net/http.
//   - Memory and time: [UnsafeString], [UnsafeBytes], [AcquireTimer], [ReleaseTimer],
//     [CoarseTimeNow], [SetBodySizePoolLimit].
//   - Files and tests: [FileLastModified], [FSHandlerCacheDuration], [CacheKind],
//     [GenerateTestCertificate], [RequestCtx.Init], [RequestCtx.Init2].
//   - Forms: [NetHttpFormValueFunc].
//
// Names that have no effect are marked Deprecated. The module compat/fasthttp lets a program keep its fasthttp imports
// unchanged.
package gallop
