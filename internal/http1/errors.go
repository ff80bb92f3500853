package http1

// Error says why a message is refused. All Errors are the variables below, so they can be compared with ==, need no
// allocation and contain no bytes of the message.
type Error struct {
	Status int    // status of the server's response, RFC 9110 §15.5 and §15.6
	Reason string // what is wrong
}

func (e *Error) Error() string { return "http1: " + e.Reason }

func bad(reason string) *Error { return &Error{400, reason} }

// Errors of heads.
var (
	ErrMethod             = bad("method is not a token (RFC 9110 §9.1)")
	ErrTLS                = bad("TLS handshake instead of a request (RFC 9112 §3)")
	ErrMethodTooLong      = &Error{501, "method is longer than any that is known (RFC 9112 §3)"}
	ErrTarget             = bad("request target is empty or has a blank or control character (RFC 9112 §3.2)")
	ErrTargetTooLong      = &Error{414, "request target is too long (RFC 9110 §15.5.15)"}
	ErrRequestLine        = bad("request line does not end in a version and CRLF (RFC 9112 §3)")
	ErrVersion            = &Error{505, "major version is not 1 (RFC 9110 §15.6.6)"}
	ErrHTTP2              = &Error{505, "HTTP/2 is not enabled on this connection (RFC 9113 §3)"}
	ErrStatusLine         = bad("status line is malformed (RFC 9112 §4)")
	ErrLineEnd            = bad("line does not end in CRLF, or has a control character (RFC 9112 §2.2, RFC 9110 §5.5)")
	ErrName               = bad("field name is not a token followed by a colon (RFC 9112 §5.1)")
	ErrFold               = bad("line begins with a blank (RFC 9112 §5.2)")
	ErrHeadTooLarge       = &Error{431, "head is too large (RFC 6585 §5)"}
	ErrTooManyFields      = &Error{431, "too many fields (RFC 6585 §5)"}
	ErrNoHost             = bad("HTTP/1.1 request without Host (RFC 9112 §3.2)")
	ErrTwoHosts           = bad("more than one Host (RFC 9112 §3.2)")
	ErrContentLength      = bad("Content-Length is not one number (RFC 9112 §6.3)")
	ErrTwoContentLengths  = bad("more than one Content-Length (RFC 9112 §6.3)")
	ErrLengthAndEncoding  = bad("both Content-Length and Transfer-Encoding (RFC 9112 §6.1)")
	ErrTransferEncoding   = bad("chunked is not the one and last transfer coding (RFC 9112 §6.3)")
	ErrUnknownCoding      = &Error{501, "unknown transfer coding (RFC 9112 §6.1)"}
	ErrTransferEncoding10 = bad("Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1)")
)

// Errors of chunked bodies.
var (
	ErrChunkSize       = bad("chunk size is malformed (RFC 9112 §7.1)")
	ErrChunkExtension  = bad("chunk extension is malformed (RFC 9112 §7.1.1)")
	ErrChunkEnd        = bad("chunk data is not followed by CRLF (RFC 9112 §7.1)")
	ErrChunkOverhead   = &Error{413, "chunk extensions are too long (RFC 9112 §7.1.1)"}
	ErrTrailerTooLarge = &Error{431, "trailer section is too large (RFC 6585 §5)"}
)
