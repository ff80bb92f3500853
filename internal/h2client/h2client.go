// Package h2client makes calls on an HTTP/2 connection. A [Conn] is a connection, and a [Call] is one request and its response on
// it. The package does the I/O for the client's role of package http2. It knows heads and bodies, but neither URLs nor retries.
//
// One lock per connection guards the engine, the calls and the output. While calls are open, one goroutine reads. Calls write
// themselves, and one call writes for all that have something to send. docs/design/0014-http2-client.md has the reasons.
//
// The files:
//
//   - conn.go: a connection, and its end
//   - read.go: reading, and what frames mean to calls
//   - write.go: writing
//   - socket_unix.go, socket_other.go: writing to a socket without waiting
//   - time.go: checking that the server is still there, and giving back what an idle connection does not need
//   - call.go: a call from its request to its end
//   - call_send.go: request bodies
//   - call_body.go: response bodies and trailers
//   - errors.go: why calls fail
package h2client
