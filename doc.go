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
package gallop
