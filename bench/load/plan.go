//go:build linux

// Package load puts a server under load from one thread, over epoll, and says what became of each request.
//
//	plan.go        what is sent, and how often
//	run.go         the loop: when what is sent, on which connection
//	conn.go        one connection: what was asked, what comes back
//	answer.go      how long an answer is
//	result.go      what came of it
//	hold.go        connections that do nothing until they are asked to
//	process.go     loads and holds in processes of their own
//	socket.go      sockets, and the calls that package syscall has no names for
//
// With a rate, requests are sent when they are due, however slow answers are, and latencies count from then: a server
// that stalls is not spared the requests that a waiting client would not have sent meanwhile.
package load

import "time"

// Plan is what to send. It is plain data, so that another process can be told.
type Plan struct {
	Address string  // of the server, IPv4 and port
	Conns   int     // keep-alive connections
	Rate    float64 // requests a second, at random moments; 0: each connection asks again when it has its answer
	PerConn int     // a connection is closed after so many requests, and another one made; 0: never
	Churn   float64 // besides, so many connections a second are made for one request of the first kind, and closed
	Kinds   []Kind
	Seed    uint64 // of all choices

	// Grain is how long the load sleeps between two looks at what is due and what was answered, so that it does several things
	// at once. Without it there is a look for each: that is exact, and at high rates keeps a processor so busy that whatever
	// interrupts the load leaves it behind for long. Latencies are as much longer.
	Grain time.Duration
}

// Kind is a kind of request.
type Kind struct {
	Name   string
	Share  float64 // of the requests, relative to the other kinds
	Octets []byte
	After  After
}

// After is what follows a request.
type After int

const (
	Keep    After = iota // an answer of 2xx; the connection lives on
	Refusal              // an answer of 4xx, and the end
	Shut                 // the client closes for writing; an answer of 2xx, and the end
	Reset                // the client resets the connection at once
)

// Get is a GET request.
func Get(path string) []byte { return []byte("GET " + path + " HTTP/1.1\r\nHost: load.test\r\n\r\n") }
