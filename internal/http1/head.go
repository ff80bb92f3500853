// Package http1 implements HTTP/1.0 and HTTP/1.1 over bytes (RFC 9112). [ParseRequest] and [ParseResponse] parse a
// [Head], [ChunkReader] decodes the chunked coding, and the Append functions write messages.
//
// The package does no I/O, starts no goroutine and reads no clock: bytes in, values out. Parsers are incremental. If
// the bytes do not contain the whole head, they return n == 0 and no error; the caller appends more bytes and calls
// again with all of them. The outcome does not depend on where a message is cut.
//
// head.go has the type Head, parse.go parses lines, note.go handles the fields that control the protocol, framing.go
// alone decides where a body ends, chunked.go decodes chunks, and append.go writes messages.
package http1

import "github.com/gallop-http/gallop/internal/field"

// Limits limits the size of a head. All fields must be positive.
type Limits struct {
	Target int // maximum bytes of a request target
	Head   int // maximum bytes of a whole head, including the first line and the last CRLF
	Fields int // maximum number of field lines
}

// Method is a request method that the protocol or its users treat specially.
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

// Flags is what a head says about its connection.
type Flags uint16

const (
	ConnectionClose     Flags = 1 << iota // Connection: close
	ConnectionKeepAlive                   // Connection: keep-alive
	ConnectionUpgrade                     // Connection: upgrade
	ExpectContinue                        // Expect: 100-continue
	ExpectOther                           // an unknown expectation
	LongConnection                        // the connection may carry another message afterwards
)

// BodyKind says how the end of a body is found.
type BodyKind uint8

// How a body ends (RFC 9112 §6.3).
const (
	NoBody     BodyKind = iota
	Fixed               // after Head.Length bytes
	Chunked             // with the last chunk and the trailers
	UntilClose          // when the connection is closed (responses only)
)

// Head is the head of a request or a response. The zero value can be parsed into. Its spans refer to Fields.
//
// After a parser has returned an error, only Reset may be called.
type Head struct {
	Fields field.List
	Method field.Span // requests
	Target field.Span // requests
	Reason field.Span // responses
	Lines  field.Span // the field lines and the empty line after them, as received; empty until they are complete

	Status   int // responses
	MethodID Method
	Minor    uint8 // of the version HTTP/1.Minor, as received
	Flags    Flags
	Body     BodyKind
	Length   int64 // length of a Fixed body; -1 without a Content-Length

	// TargetChecked means that target.Usual accepts the parsed Target, so target.Check has nothing to object to. If
	// it is false, the target was not checked.
	TargetChecked bool

	te teState

	// Where an unfinished parse continues. Lines before at are done, including the first line if at is not 0. Bytes
	// before scanned were there at the last call. 0 ≤ at ≤ scanned ≤ len(b).
	at      int
	scanned int
	inValue bool // the field line at at has its colon; only known for long lines
}

// Reset prepares h for the next message. It keeps the storage.
func (h *Head) Reset() {
	h.Fields.Reset()
	h.Method, h.Target, h.Reason, h.Lines = field.Span{}, field.Span{}, field.Span{}, field.Span{}
	h.Status, h.MethodID, h.Minor, h.Flags, h.Body, h.Length = 0, 0, 0, 0, 0, -1
	h.TargetChecked, h.te, h.at, h.scanned, h.inValue = false, 0, 0, 0, false
}

// Parsed reports whether the head was parsed completely, as opposed to built by a program.
func (h *Head) Parsed() bool { return h.Lines.Len > 0 }

// CopyTo makes dst equal to h, with its own storage.
func (h *Head) CopyTo(dst *Head) {
	fields := dst.Fields
	*dst = *h
	dst.Fields = fields
	h.Fields.CopyTo(&dst.Fields)
}

// Equal reports whether h and o are equal, including the bytes in storage. Neither may be in the middle of parsing.
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
