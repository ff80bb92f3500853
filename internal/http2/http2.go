// Package http2 implements both sides of an HTTP/2 connection over bytes (RFC 9113). A [Conn] turns the bytes of the peer
// into events, and calls of the program into bytes for the peer.
//
// The package does no I/O, starts no goroutine and reads no clock: bytes in, values out. Where a limit depends on time, the
// time is an argument. It is a number of nanoseconds on any clock that does not go backwards.
//
// The files, from the bottom up:
//
//	code.go, errors.go          error codes, and why a connection or a stream fails
//	frame*.go                   headers of frames, their rules, appending frames, payloads
//	settings*.go                values of settings, and which of ours the peer has acknowledged
//	window.go                   flow control windows
//	stream*.go                  states of a stream, the table of streams, memory of closed streams
//	priority.go, scheduler.go   urgency (RFC 9218), and which stream sends next
//	abuse.go                    limits of what a peer can make this side do
//	block.go                    assembling header blocks
//	message*.go                 decoding blocks into heads and trailers, and their rules
//	encode.go                   encoding heads and trailers
//	output.go                   the bytes that wait to be written
//	event.go                    what the caller gets
//	conn*.go                    Conn: reading frames, data, heads, control frames, sending, the ends of streams and connections
package http2

// Preface is what a client sends first (RFC 9113 §3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	maxStreamID = 1<<31 - 1
	maxWindow   = 1<<31 - 1
)

// Role is the side of a connection that a Conn plays.
type Role uint8

// The two roles.
const (
	Server Role = iota
	Client
)
