// Package message has the head of an HTTP message, independent of the version of HTTP that carries it. A protocol
// package such as http1 fills a [Head] from bytes, or writes bytes from it.
//
// The package does no I/O, starts no goroutine and reads no clock.
package message

import "github.com/gallop-http/gallop/internal/field"

// Method is a request method that a protocol or its users treat specially.
type Method uint8

// The methods of RFC 9110 §9.3, and PATCH (RFC 5789). OtherMethod stands for every other token.
const (
	OtherMethod Method = iota
	Get
	HeadMethod
	Post
	Put
	Delete
	Connect
	Options
	Trace
	Patch
)

// Flags are the meanings of the Connection and Expect headers.
type Flags uint16

const (
	ConnectionClose     Flags = 1 << iota // Connection: close
	ConnectionKeepAlive                   // Connection: keep-alive
	ConnectionUpgrade                     // Connection: upgrade
	ExpectContinue                        // Expect: 100-continue
	ExpectOther                           // an unknown expectation
	LongConnection                        // the connection may carry another message afterwards
)

// BodyKind says how a reader finds the end of a body.
type BodyKind uint8

// How a body ends (RFC 9112 §6.3).
const (
	NoBody     BodyKind = iota
	Fixed               // after Head.Length bytes
	Chunked             // the length is unknown; trailers may follow the body
	UntilClose          // when the connection is closed (responses only)
)

// HTTP2 is the value of Head.Minor for HTTP/2.
const HTTP2 = 10

// Head is the head of a request or a response. The zero value can be filled. Its spans refer to Fields.
//
// If a parser returns an error, call Reset before the next use.
type Head struct {
	Fields field.List
	Method field.Span // requests
	Target field.Span // requests
	Reason field.Span // responses
	Lines  field.Span // HTTP/1: the field lines and the empty line after them, as received

	Status   int // responses
	MethodID Method
	Minor    uint8 // of the version HTTP/1.Minor, or HTTP2
	Flags    Flags
	Body     BodyKind
	Length   int64 // length of a Fixed body; -1 without a Content-Length

	// Received means that a parser filled the head completely, as opposed to a program.
	Received bool

	// TargetChecked means that target.Usual accepts the received Target, so target.Check has nothing to object to. If
	// it is false, the target was not checked.
	TargetChecked bool
}

// Reset prepares h for the next message. It keeps the storage.
func (h *Head) Reset() {
	h.Fields.Reset()
	h.Method, h.Target, h.Reason, h.Lines = field.Span{}, field.Span{}, field.Span{}, field.Span{}
	h.Status, h.MethodID, h.Minor, h.Flags, h.Body, h.Length = 0, 0, 0, 0, 0, -1
	h.Received, h.TargetChecked = false, false
}

// CopyTo makes dst equal to h, with its own storage.
func (h *Head) CopyTo(dst *Head) {
	fields := dst.Fields
	*dst = *h
	dst.Fields = fields
	h.Fields.CopyTo(&dst.Fields)
}

// Equal reports whether h and o are equal, including the bytes in storage. Received and TargetChecked do not count.
func (h *Head) Equal(o *Head) bool {
	return h.Method == o.Method && h.Target == o.Target && h.Reason == o.Reason && h.Lines == o.Lines &&
		h.Status == o.Status && h.MethodID == o.MethodID && h.Minor == o.Minor && h.Flags == o.Flags &&
		h.Body == o.Body && h.Length == o.Length && h.Fields.Equal(&o.Fields)
}

// MethodOf returns the Method of the token. Methods are case-sensitive (RFC 9110 §9.1).
func MethodOf[S ~string | ~[]byte](s S) Method {
	switch string(s) {
	case "GET":
		return Get
	case "POST":
		return Post
	case "HEAD":
		return HeadMethod
	case "PUT":
		return Put
	case "DELETE":
		return Delete
	case "CONNECT":
		return Connect
	case "OPTIONS":
		return Options
	case "TRACE":
		return Trace
	case "PATCH":
		return Patch
	}
	return OtherMethod
}

// MayHaveBody reports whether a response with this status to a request with this method has a body on the wire (RFC
// 9110 §6.4.1).
func MayHaveBody(status int, request Method) bool {
	return status >= 200 && status != 204 && status != 304 && request != HeadMethod &&
		!(request == Connect && status < 300)
}
