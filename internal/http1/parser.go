// Package http1 implements HTTP/1.0 and HTTP/1.1 over bytes (RFC 9112). A [Parser] fills a [message.Head],
// [ChunkReader] decodes the chunked coding, and the Append functions write messages.
//
// The package does no I/O, starts no goroutine and reads no clock: bytes in, values out. Parsers are incremental. If
// the bytes do not contain the whole head, they return n == 0 and no error; the caller appends more bytes and calls
// again with all of them. The outcome does not depend on where a message is cut.
//
// parser.go has the type Parser, parse.go parses lines, note.go handles the fields that control the protocol, framing.go
// alone decides where a body ends, chunked.go decodes chunks, and append.go writes messages.
package http1

// Limits limits the size of a head. All fields must be positive.
type Limits struct {
	Target int // maximum bytes of a request target
	Head   int // maximum bytes of a whole head, including the first line and the last CRLF
	Fields int // maximum number of field lines
}

// Parser parses the head of one message, which may arrive in parts. The zero value is ready to use. After the head is
// complete, or after an error, a new Parser is needed.
type Parser struct {
	// Where an unfinished parse continues. Lines before at are done, including the first line if at is not 0. Bytes
	// before scanned were there at the last call. 0 ≤ at ≤ scanned ≤ len(b).
	at      int
	scanned int
	inValue bool // the field line at at has its colon; only known for long lines
}
