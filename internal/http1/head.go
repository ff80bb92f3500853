// Package http1 is HTTP/1.0 and HTTP/1.1 over bytes (RFC 9112): heads in and out,
// where a body ends, the chunked coding.
//
// It does no I/O, starts no goroutine, reads no clock: bytes in, values out.
// Parsers are incremental. They report n == 0 and no error when the bytes do not
// hold the whole head yet; the caller appends what arrived and calls again with
// all of it. However a message is cut, the outcome is the same.
//
// head.go has the type, parse.go the lines, note.go the fields that steer the
// protocol, framing.go the one place that says where a body ends, chunked.go the
// chunked coding, append.go the way out.
package http1

import "github.com/gallop-http/gallop/internal/field"

// Limits bound what a head may cost. All are positive.
type Limits struct {
	Target int // bytes of a request target
	Head   int // bytes of a whole head, first line and last CRLF included
	Fields int // field lines
}

// Method is a request method that the protocol or its users treat specially.
type Method uint8

// The methods of RFC 9110 §9.3 and PATCH (RFC 5789). OtherMethod is any other token.
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

// Flags are what a head says about its connection.
type Flags uint16

const (
	ConnectionClose     Flags = 1 << iota // Connection: close
	ConnectionKeepAlive                   // Connection: keep-alive
	ConnectionUpgrade                     // Connection: upgrade
	ExpectContinue                        // Expect: 100-continue
	ExpectOther                           // an expectation that nobody knows
	LongConnection                        // the connection may carry another message after this one
)

// BodyKind says how the end of a body is found.
type BodyKind uint8

// The ways a body ends, RFC 9112 §6.3.
const (
	NoBody     BodyKind = iota
	Fixed               // after Head.Length bytes
	Chunked             // with the last chunk and the trailers
	UntilClose          // with the connection (responses only)
)

// Head is the head of a request or a response. The zero value is ready to be
// parsed into. Its spans refer to Fields.
//
// After a parser has reported an error only Reset may be called.
type Head struct {
	Fields field.List
	Method field.Span // requests
	Target field.Span // requests
	Reason field.Span // responses
	Lines  field.Span // the field lines and the empty line behind them, as received; empty until all are there

	Status   int // responses
	MethodID Method
	Minor    uint8 // of the version HTTP/1.Minor, as received
	Flags    Flags
	Body     BodyKind
	Length   int64 // of a Fixed body; -1 without a Content-Length

	// TargetChecked says that the Target, as it was parsed, is one that target.Usual finds, with
	// which target.Check has nothing to find fault. Without it nothing is known.
	TargetChecked bool

	te teState

	// Where an unfinished parse goes on: lines before at are done, the first line among them if at
	// is not 0, and bytes before scanned were there at the last call. 0 ≤ at ≤ scanned ≤ len(b).
	at      int
	scanned int
	inValue bool // the colon of the field line at at is there; known of long lines only
}

// Reset makes h ready for the next message. Storage is kept.
func (h *Head) Reset() {
	h.Fields.Reset()
	h.Method, h.Target, h.Reason, h.Lines = field.Span{}, field.Span{}, field.Span{}, field.Span{}
	h.Status, h.MethodID, h.Minor, h.Flags, h.Body, h.Length = 0, 0, 0, 0, 0, -1
	h.TargetChecked, h.te, h.at, h.scanned, h.inValue = false, 0, 0, 0, false
}

// Parsed reports whether the head was parsed to its end, and not built.
func (h *Head) Parsed() bool { return h.Lines.Len > 0 }

// CopyTo makes dst equal to h in storage of dst's own.
func (h *Head) CopyTo(dst *Head) {
	fields := dst.Fields
	*dst = *h
	dst.Fields = fields
	h.Fields.CopyTo(&dst.Fields)
}

// Equal reports whether h and o, of which neither is being parsed, say the same in the
// same way: that they have the same bytes in storage, too.
func (h *Head) Equal(o *Head) bool {
	return h.Method == o.Method && h.Target == o.Target && h.Reason == o.Reason && h.Lines == o.Lines &&
		h.Status == o.Status && h.MethodID == o.MethodID && h.Minor == o.Minor && h.Flags == o.Flags &&
		h.Body == o.Body && h.Length == o.Length && h.Fields.Equal(&o.Fields)
}

// MethodOf returns the Method that the token stands for. Methods are case
// sensitive (RFC 9110 §9.1).
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
