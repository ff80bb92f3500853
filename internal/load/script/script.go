// Package script is the boundary between what a load sends and the engines that send it. A [Script] creates users, a
// [User] hands out one request after another, and an engine sends them and reports the responses back.
package script

import "time"

// Script creates the users of one scenario. Its methods may be called by several goroutines at the same time.
type Script interface {
	// Names returns the names of the requests. Request.Kind is an index into it.
	Names() []string
	// NewUser creates the user with this number, counted from 1.
	NewUser(number int) User
}

// User is a virtual user. An engine calls it from one goroutine at a time and never while one of its requests is in
// flight, unless the script is [Stateless].
type User interface {
	// Next returns the next request of the current iteration, or false at the end of the iteration. The following call then
	// begins the next iteration. The request is valid until the next call of Next.
	Next() (*Request, bool)
	// Done takes the response to the last request. The response and its bytes are valid until Done returns.
	Done(*Response)
}

// Stateless is implemented by scripts whose requests do not depend on responses. Each iteration of such a script is one
// request. An engine may use one user for many requests at a time (pipelining, HTTP/2 streams), and calls Done in the order
// in which responses arrive.
type Stateless interface{ Stateless() }

// Request is a request to send. The engine adds Host or :authority, and Content-Length if there is a body. All other headers
// are in Header.
type Request struct {
	Kind    int           // index into Script.Names
	Pause   time.Duration // how long the user waits before the request
	Timeout time.Duration // from when the request is due until the end of the response; 0: Options.Timeout of the engine

	Method    string
	Scheme    string // http or https; empty: the scheme of the engine's target
	Authority string // host, and port unless it is the default; empty: the target's
	Path      string // in origin form, with the query
	Header    []Field
	Body      []byte

	// Wire is the request as bytes of HTTP/1.1, if the script has prepared it. Engines that speak HTTP/1.1 to the target
	// send it unchanged.
	Wire []byte

	Expect   Statuses // statuses that count as expected
	KeepHead bool     // Done needs Response.Header
	KeepBody int      // how many bytes of the body Done needs at most; negative: all of them, up to the engine's limit

	After After // what happens to the connection; only the engine raw over HTTP/1.1 knows more than Keep
	Alone bool  // the request gets a new connection, beside those of Options.Conns; only the engine raw
}

// After says what happens to the connection after a request.
type After int

const (
	Keep  After = iota // it can carry further requests
	Close              // the server must close it after the response; the request is not done before
	Shut               // like Close, but the engine half-closes the connection after the request
	Reset              // the engine resets the connection after the request and waits for no response
)

// Field is a header field.
type Field struct{ Name, Value string }

// Response is the outcome of a request.
type Response struct {
	Err    error // the request failed, and there is no complete response
	Status int
	Header []Field
	Body   []byte // the beginning of the body, at most Request.KeepBody bytes
	Size   int64  // length of the whole body as sent over the network
}

// Statuses is a set of status codes from 100 to 599. The zero value stands for 200 to 399.
type Statuses struct {
	bits [8]uint64
	set  bool
}

// Add adds the statuses from low to high.
func (s *Statuses) Add(low, high int) {
	s.set = true
	for code := max(low, 100); code <= min(high, 599); code++ {
		s.bits[(code-100)/64] |= 1 << ((code - 100) % 64)
	}
}

// Has reports whether the set contains a status.
func (s *Statuses) Has(code int) bool {
	if code < 100 || code > 599 {
		return false
	}
	if !s.set {
		return code >= 200 && code < 400
	}
	return s.bits[(code-100)/64]>>((code-100)%64)&1 != 0
}
