package conn

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// Server is what the connections of one server have in common. Call Init before anything else.
type Server struct {
	set   *Settings
	hooks Hooks

	Table   Table
	Away    turnedAway
	Log     Log
	Certs   certStore
	Workers workerPool
	Loops   LoopGroup
	Places  predictor
	Counts  [countShards]Counts
	ids     atomic.Uint64

	Stop    context.CancelFunc // ends Stopped
	Stopped context.Context    // done once the server ends

	Stopping atomic.Bool // no connection goes on after what it is doing now
	Ending   atomic.Bool // idle connections end
	NoIdle   atomic.Bool // connections that have been served once do not become idle
}

// Why a connection is not served.
var (
	ErrTooMany         = errors.New("gallop: too many connections (see Server.Concurrency)")
	ErrTooManyOfClient = errors.New("gallop: too many connections from this address (see Server.MaxConnsPerIP)")
)

// Settings are the settings of connections. A duration or number of 0 means no limit.
type Settings struct {
	MaxConns        int           // open connections
	MaxPerIP        int           // open connections of a client
	PauseWhenFull   time.Duration // without accepting, after a connection beyond MaxConns
	WorkerIdle      time.Duration // after which a goroutine without a connection ends
	Keepalive       bool          // TCP probes
	KeepalivePeriod time.Duration // between probes; 0 means the system's default

	First     time.Duration // for what has to arrive completely before the wire can serve, such as a head
	Read      time.Duration // for all that is read before the wire is idle again
	Idle      time.Duration
	Handshake time.Duration // of TLS
	Write     time.Duration // for all that is written in one piece
	Progress  time.Duration // without progress in writing, if Write is not set
	ReadBuf   int
	WriteBuf  int

	Poison   bool // overwrite released memory
	Predicts bool // places decide whether the loop waits for the program
	HalfOpen bool // a client that sends no more may still read
}

// Hooks are functions of the protocol and of the program. Functions that may be nil say so.
type Hooks struct {
	Serve   func(Accepted)                                    // serves a connection to its end
	State   func(net.Conn, State)                             // is told each state of a connection; may be nil
	Context func(context.Context, net.Conn) context.Context   // makes the context of a connection; may be nil
	Reject  func(reason error) (status int, lastWords []byte) // what a client gets whose connection is not served
}

// State is a state of a connection as a program sees it.
type State int

const (
	StateNew State = iota
	StateActive
	StateIdle
	StateTaken // the program has the connection
	StateClosed
)

// Init prepares the server. set must not change afterwards.
func (s *Server) Init(set *Settings, hooks Hooks) {
	s.set, s.hooks = set, hooks
	s.Stopped, s.Stop = context.WithCancel(context.Background())
	s.Table.init(set.MaxPerIP)
	s.Workers.idle, s.Workers.serve = set.WorkerIdle, hooks.Serve
}
