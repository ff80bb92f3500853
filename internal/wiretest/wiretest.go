// Package wiretest provides tools to test servers and clients by the bytes that they exchange. The tests need no
// sockets and, inside a testing/synctest bubble, no real time. The package is only for tests.
//
//   - [Pipe] is a connection in memory with buffers, deadlines, half-close and reset.
//   - [Start] puts a server behind a Pipe and returns a [Conversation], which sends bytes and checks responses.
//   - [Parse] is a strict parser of responses. All tools here use it, so every response in a test is also checked
//     against RFC 9112.
//   - [Requests] is a strict reader of requests, for the bytes that clients write.
//   - [Net] is a network of names and addresses, for dialers.
//   - [Fault] makes the k-th I/O call of a connection fail.
//   - [CheckLeaks] finds goroutines and descriptors that a test leaves behind.
//   - [Load] and [Play] run the cases in testdata/cases against any server that echoes.
//   - [LoadClient] and [PlayClient] run the client cases against any client.
//   - [ServerCases] and [ClientCases] return those cases to tests in any package of the module.
//   - [Converse] sends bytes in parts and returns everything that the server sends, and [Transcript] makes that comparable.
//   - [Long] says whether tests run in their long forms.
package wiretest
