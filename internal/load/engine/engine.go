// Package engine says what an engine is: it runs scenarios against a target and reports what happened each second. There are
// two engines, in packages of their own: raw owns its sockets and uses gallop's codecs, client uses gallop.Client.
package engine

import (
	"context"
	"crypto/tls"
	"net/url"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// Run runs scenarios until all have ended or ctx is done, whichever comes first. A done ctx ends the run like the end of the
// last scenario: iterations in flight get their Grace, and the last periods arrive before Run returns. The error is about a
// run that could not start; failed requests are in the periods.
type Run func(ctx context.Context, o *Options, scenarios []Scenario, sink Sink) error

// Sink takes the periods of all threads. It may be called by several goroutines at the same time. It returns a period to fill
// next, made by result.NewPeriod or reset.
type Sink func(*result.Period) *result.Period

// Scenario is one scenario of a run.
type Scenario struct {
	Name   string
	Load   script.Load
	Script script.Script
}

// Options say how an engine connects. The zero value of a field is its default.
type Options struct {
	Network   string // tcp (default) or unix
	Address   string // host:port, or the path of a socket
	Scheme    string // http or https
	Authority string // for Host and :authority
	Proto     Proto
	TLS       *tls.Config // of an https target; nil: defaults
	Local     []string    // local addresses to connect from, in turn

	Conns       int           // keep-alive connections; 0: one per user (HTTP/1.1), or one (HTTP/2)
	Standing    bool          // keep Conns connections open, whether or not requests need them; only the engine raw
	Streams     int           // HTTP/2: streams per connection at a time; 0: 100, at most what the server permits
	Pipeline    int           // HTTP/1.1: requests in flight per connection; 0: 1
	PerConn     int           // requests after which a connection is replaced; 0: never
	Hold        int           // idle connections that are opened before the run and kept
	Timeout     time.Duration // of a request; 0: 60 s
	DialTimeout time.Duration // 0: 10 s
	MaxBody     int           // bytes of a body that are kept for a script; 0: 1 MiB
	Threads     int           // threads of the generator; 0: one
	Grain       time.Duration // how long the generator sleeps between two looks at an open loop; see the flag --grain
	Seed        uint64
	Proxy       *url.URL // proxy to connect through; only the engine client
	Redirects   int      // redirects that are followed as part of a request; only the engine client
	Control     *Control // lets somebody pause the run and change its rate; may be nil
}

// Proto is the protocol of the connections.
type Proto int

const (
	Auto  Proto = iota // HTTP/2 if ALPN offers it, otherwise HTTP/1.1
	HTTP1              // HTTP/1.1
	HTTP2              // HTTP/2 by ALPN or, without TLS, by prior knowledge
)
