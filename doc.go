// Package gallop is an HTTP server and client on one engine: as correct and as
// easy as net/http, and made to be fast.
//
// A handler gets one context, which holds the request that came and the response
// that will go:
//
//	func hello(ctx *gallop.RequestCtx) {
//		ctx.WriteString("hello, " + string(ctx.Path()))
//	}
//
// # Who owns the bytes
//
// A string is yours for ever. A []byte that a method returns is a view of memory
// that is used again: it is good until the handler returns (in a client, until
// the message is released), and what is to live longer has to be copied. The same
// holds for the context and everything that hangs from it.
//
// A view kept too long shows: in race builds, and wherever Server.PoisonReleased
// is set, that memory is overwritten with 0xDB as soon as it is given back.
//
// # What is strict
//
// A message whose end two readers could see in two places is refused: both
// Content-Length and Transfer-Encoding, differing lengths, bare CR or LF, blanks
// before a colon (RFC 9112 §2.2, §5.1, §6.3). Setters refuse what would break a
// message in two. Every limit has a default, and every default is documented at
// the field that changes it; zero means the default and a negative value none.
//
// # What is global
//
// All packages of a program share the exported variables, which no lock protects. Errors,
// [DefaultTransport] and the times of cookies must not be changed at all. [FSCompressedFileSuffixes]
// must not be changed once anything is served. [FlushDNSCache] and [SetBodySizePoolLimit] may be called
// at any time, and affect the whole process.
//
// # Names for programs that come from fasthttp
//
// A program can move from fasthttp to this package by changing an import. For that, the package has
// names that new programs do not need:
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
// Names without any effect are marked Deprecated. The module compat/fasthttp lets a program keep its
// imports instead.
package gallop
