// Package wiretest tests servers and clients by the bytes they exchange, without
// sockets and, inside a testing/synctest bubble, without real time.
//
//   - [Pipe] is an in-memory connection with buffers, deadlines, half-close and reset.
//   - [Start] puts a server behind one and returns a [Conversation]: bytes to send, answers to want.
//   - [Parse] is a strict reader of responses. Every helper here reads through it, so
//     whatever a server writes under test is checked against RFC 9112 as well.
//   - [Requests] is a strict reader of requests, for what clients write.
//   - [Fault] fails the k-th I/O call of a connection.
//   - [CheckLeaks] finds the goroutines and descriptors that a test leaves behind.
//   - [Load] and [Play] run the cases in testdata/cases against any server that echoes.
//   - [LoadClient] and [PlayClient] run those for clients against any client.
//
// It is for tests only.
package wiretest
