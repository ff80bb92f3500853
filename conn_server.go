package gallop

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// connServer is what the connections of one server have in common. Call init before anything else.
type connServer struct {
	set   *connSettings
	hooks connHooks

	table   connTable
	away    turnedAwayConns
	log     limitedLog
	certs   certStore
	workers workerPool
	loops   loopGroup
	places  predictor
	counts  [countShards]serverCounts
	ids     atomic.Uint64

	stop    context.CancelFunc
	stopped context.Context // done once the server ends

	stopping atomic.Bool // no connection goes on after what it is doing now
	ending   atomic.Bool // idle connections end
	noIdle   atomic.Bool // connections that have been served once do not become idle
}

// Why a connection is not served.
var (
	errTooMany         = ErrConcurrencyLimit
	errTooManyOfClient = ErrPerIPConnLimit
)

// connSettings are the settings of connections. A duration or number of 0 means no limit.
type connSettings struct {
	maxConns      int           // open connections
	maxPerIP      int           // open connections of a client
	pauseWhenFull time.Duration // without accepting, after a connection beyond maxConns
	workerIdle    time.Duration // after which a goroutine without a connection ends
	keepalive     bool          // TCP probes
	keepalivePer  time.Duration // between probes; 0 means the system's default

	first     time.Duration // for what has to arrive completely before the wire can serve, such as a head
	read      time.Duration // for all that is read before the wire is idle again
	idle      time.Duration
	handshake time.Duration // of TLS
	write     time.Duration // for all that is written in one piece
	progress  time.Duration // of writing, where write is not set
	readBuf   int
	writeBuf  int

	poison   bool // overwrite released memory
	predicts bool // places decide whether the loop waits for the program
	halfOpen bool // a client that sends no more may still read
	logAll   bool // also log failures of the network
}

// connHooks are functions of the protocol and of the program. Functions that may be nil say so.
type connHooks struct {
	serve   func(acceptedConn)                                // serves a connection to its end
	state   func(net.Conn, connState)                         // is told each state of a connection; may be nil
	context func(context.Context, net.Conn) context.Context   // makes the context of a connection; may be nil
	reject  func(reason error) (status int, lastWords []byte) // what a client gets whose connection is not served
}

// connState is a state of a connection as a program sees it.
type connState int

const (
	connNew connState = iota
	connActive
	connIdle
	connTaken // the program has the connection
	connClosed
)

func (s *connServer) init(set *connSettings, hooks connHooks) {
	s.set, s.hooks = set, hooks
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.table.init(set.maxPerIP)
	s.workers.idle, s.workers.serve = set.workerIdle, hooks.serve
}
