// Package gallop is an HTTP server and client for Go. Both share one engine, which parses strictly, allocates little
// and sets a limit on everything a peer can send.
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
// A [Client] keeps a pool of connections per host. It sends a [Request] and fills a [Response].
//
// # Ownership of bytes
//
// You may keep a string forever. A []byte that a method returns is a view of memory that will be reused. In a handler it
// is valid until the handler returns; in a client, until the message is released. Copy what has to live longer. The same
// rule applies to the RequestCtx and to everything you get from it.
//
// Race builds overwrite released memory with 0xDB, so a view that was kept too long shows up in tests.
// Server.PoisonReleased turns this on in other builds.
//
// # Strict parsing
//
// Two parsers must never disagree about where a message ends, because request smuggling relies on that. Ambiguous messages
// are therefore refused: both Content-Length and Transfer-Encoding, differing lengths, bare CR or LF, and whitespace before
// a colon (RFC 9112 §2.2, §5.1, §6.3). Setters refuse values that would split a message in two.
//
// Every limit has a default, which is documented at the field that changes it. Zero means the default. A negative value
// turns a limit off, unless the documentation of the field says that it cannot be negative.
//
// # Global state
//
// All packages of a program share the exported variables, which no lock protects. Do not change the errors,
// [DefaultTransport] or the cookie expiry times. Do not change [FSCompressedFileSuffixes] once the program serves files.
// You may call [FlushDNSCache] and [SetBodySizePoolLimit] at any time; they affect the whole process.
//
// # Names for programs that come from fasthttp
//
// A program can move from fasthttp to this package by changing an import. The package therefore has names that new
// programs do not need:
//
//   - Calls without a context: [Do], [DoTimeout], [DoDeadline], [DoRedirects], [Get], [GetTimeout],
//     [GetDeadline], [Post], and the methods of clients with these names. Use [Client.DoContext], with
//     [Request.SetTimeout] and [Client.MaxRedirects].
//   - Retries: [RetryIfFunc], [RetryIfErrUpstreamFunc]. Use [RetryIfErrFunc] and [SafeToRetry].
//   - Connections of a pool: [ClientConn], [HostClient.AcquireConn], [HostClient.AcquireReader],
//     [HostClient.AcquireWriter]. Use [Doer] and [RoundTripper].
//   - Dialing: [Dial], [DialTimeout], [DialDualStack], [DialDualStackTimeout], [AddMissingPort],
//     [DialFunc], [DialFuncWithTimeout]. Use [TCPDialer.DialContext].
//   - Loops with callbacks: VisitAll and other methods whose names begin with Visit,
//     [RequestHeader.AllInOrder], [VisitHeaderParams]. Use the iterators, such as [Args.All].
//   - Content codings: [AppendGzipBytes], [AppendGzipBytesLevel], [AppendGunzipBytes],
//     [AppendDeflateBytes], [AppendDeflateBytesLevel], [AppendInflateBytes], [AppendBrotliBytes],
//     [AppendBrotliBytesLevel], [AppendUnbrotliBytes], [AppendZstdBytes], [AppendZstdBytesLevel],
//     [AppendUnzstdBytes], [WriteGzip], [WriteGzipLevel], [WriteGunzip], [WriteDeflate],
//     [WriteDeflateLevel], [WriteInflate], [WriteBrotli], [WriteBrotliLevel], [WriteUnbrotli],
//     [WriteZstdLevel], [WriteUnzstd]. Use the package of the coding.
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
// Names that have no effect are marked Deprecated. With the module compat/fasthttp a program can keep its imports instead.
package gallop
