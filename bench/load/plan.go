//go:build linux

// Package load puts a server under load and reports the outcome of each request. A [Plan] says what to send, [Load] runs it with the
// engine of gallop load, on one thread, and [Result] holds the outcome. A [Hold] keeps idle connections.
//
// If a plan has a rate, requests are sent when they are due, however slow the responses are, and latencies count from
// that moment. A server that stalls is thus also charged for the requests that a waiting client would not have sent
// meanwhile.
//
//	plan.go        what is sent, and how often
//	run.go         running a plan
//	script.go      which request is sent next
//	result.go      the outcome
//	hold.go        idle connections
//	process.go     loads and holds in processes of their own
//	socket.go      sockets for holds and attackers
package load

import "time"

// Plan says what to send. It is plain data, so it can be passed to another process.
type Plan struct {
	Address string  // IPv4 address and port of the server
	Conns   int     // keep-alive connections
	Rate    float64 // requests per second, at random moments; 0: each connection sends the next request after its response
	PerConn int     // number of requests after which a connection is closed and replaced; 0: never
	Churn   float64 // additional connections per second that carry one request of the first kind and are closed
	Kinds   []Kind
	Seed    uint64 // seed of all random choices

	// Grain is how long the load sleeps between two looks at due requests and responses, so that it handles several
	// at once. Latencies grow by up to Grain. If Grain is 0, there is a look for each event. That is exact, but at
	// high rates it keeps a processor so busy that the load falls behind for long after any interruption. Without a
	// rate and without churn, Grain has no effect.
	Grain time.Duration
}

// Kind is a kind of request.
type Kind struct {
	Name   string
	Share  float64 // share of the requests, relative to the other kinds
	Octets []byte
	After  After
}

// After says what happens after a request.
type After int

const (
	Keep    After = iota // a 2xx response; the connection stays open
	Refusal              // a 4xx response; the server closes
	Shut                 // the client half-closes; a 2xx response; the server closes
	Reset                // the client resets the connection at once
)

// Get returns a GET request.
func Get(path string) []byte { return []byte("GET " + path + " HTTP/1.1\r\nHost: load.test\r\n\r\n") }
