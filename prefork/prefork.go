// Package prefork serves one address with several processes that share no memory. A parent process starts child
// processes, which serve requests. If a child exits, the parent starts another child.
//
// Most Go programs do not need prefork, because a gallop.Server uses all processors. Use prefork if the program must
// keep serving when a process crashes. Prefork also helps if a very large heap makes garbage collection too slow.
package prefork

// Source files:
//
//	prefork.go   Run and its options
//	parent.go    the process that starts and watches the children
//	child.go     the processes that serve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// Options holds the settings of [Run]. Only the field Addr is required.
type Options struct {
	// Addr is the TCP address to serve, a host and a port as in net.Listen. With port 0, the system chooses a free
	// port. Run passes the chosen port to OnReady.
	Addr string

	// Network is "tcp", "tcp4" or "tcp6". The default is "tcp".
	Network string

	// CertFile and KeyFile are the paths of PEM files with a certificate and its key. If CertFile or KeyFile is
	// set, the server serves TLS.
	CertFile, KeyFile string

	// TLS makes the server serve TLS without CertFile and KeyFile. The certificates come from the server's TLSConfig.
	TLS bool

	// Processes is the number of children. Zero or a negative value means runtime.GOMAXPROCS. Each child divides
	// its own GOMAXPROCS by Processes, so that all children together use as many processors as one process would.
	Processes int

	// Restarts limits how many children Run replaces within one minute. If more children exit within one minute, Run stops
	// the remaining children and returns an error that wraps ErrTooManyRestarts. Zero means Processes. If Restarts is
	// negative, no child is replaced.
	Restarts int

	// GracePeriod is how long children may take to shut down before they are killed. If GracePeriod is zero or
	// negative, the default applies: the server's LameDuck plus its ShutdownTimeout plus 5 seconds.
	GracePeriod time.Duration

	// ReusePort gives each child its own listening socket (see listen.TCP) instead of one socket that the parent opens.
	// With ReusePort, the system distributes connections evenly among the children. The port in Addr must not be 0.
	// Windows requires ReusePort.
	ReusePort bool

	// OnReady is called in the parent when all children have been started. OnReady gets the address and the process
	// IDs of the children. If a client connects before the first child accepts connections, the client waits. With
	// ReusePort, a client that connects before any child listens gets an error. Run watches the children only after
	// OnReady has returned. OnReady may be nil.
	OnReady func(addr net.Addr, pids []int)
}

// ErrTooManyRestarts means that more children have exited than [Options.Restarts] allows. In the parent, [Run] returns
// an error that wraps ErrTooManyRestarts and says how the last child exited.
var ErrTooManyRestarts = errors.New("prefork: too many children have ended")

// childVariable is the environment variable that makes a process a child.
const childVariable = "GALLOP_PREFORK_CHILD"

// IsChild reports whether this process is a child process that [Run] started. IsChild checks whether the environment
// variable GALLOP_PREFORK_CHILD was "1" at the first call of IsChild or Run. In a child, Run removes the variable, so
// that programs that the child starts are not mistaken for children.
func IsChild() bool { return isChild() }

var isChild = sync.OnceValue(func() bool { return os.Getenv(childVariable) == "1" })

// Run serves requests with several processes until ctx is done. The process that calls Run first becomes the parent.
// For each child, the parent starts the same program with the same arguments. Each child must call Run with the same
// options. IsChild tells a program whether it is a child. Do one-time work, such as a database migration, in the parent
// only.
//
// Run returns in the parent and in the children:
//
//   - In the parent, when ctx is done, Run shuts all children down, waits for them, and returns nil. If children had to
//     be killed after GracePeriod, the error wraps context.DeadlineExceeded. Run also returns an error if it cannot
//     listen on the address or cannot start a child. If too many children have exited, the error wraps
//     ErrTooManyRestarts.
//   - In a child, Run returns when ctx is done, when the parent shuts down, or when the parent has died. Run then
//     returns the result of Server.Run, and the child should exit. If requests are still in flight after GracePeriod,
//     Run returns anyway, with an error that wraps context.DeadlineExceeded.
//
// Run handles no signals, so create ctx with signal.NotifyContext. A process that receives a signal finishes its
// requests before it exits. You may send the signal to the parent, to a child, or to all processes. If only a child
// shuts down, the parent replaces this child.
//
// The standard input of a child is a pipe from the parent. A child shares the standard output and error of the parent.
// The parent logs to the ErrorLog of s, or to the Logger of s if no ErrorLog is set. In the ErrorLog, each record has
// an attribute pid with the child's process ID. Call Run only once in a process. Run panics if s is nil.
func Run(ctx context.Context, s *gallop.Server, o Options) error {
	if s == nil {
		panic("prefork: Run of a nil Server")
	}
	o = o.resolved(s)
	if IsChild() {
		return runChild(ctx, s, o)
	}
	return runParent(ctx, s, o)
}

// resolved returns o with the defaults filled in.
func (o Options) resolved(s *gallop.Server) Options {
	if o.Network == "" {
		o.Network = "tcp"
	}
	if o.Processes <= 0 {
		o.Processes = runtime.GOMAXPROCS(0)
	}
	if o.Restarts == 0 {
		o.Restarts = o.Processes
	}
	if o.GracePeriod <= 0 {
		o.GracePeriod = 5*time.Second + max(s.LameDuck, 0) + max(s.ShutdownTimeout, 0)
	}
	return o
}

// logf logs a message, which a structured log gets with these attributes.
func logf(s *gallop.Server, attributes []any, format string, args ...any) {
	switch {
	case s.ErrorLog != nil:
		s.ErrorLog.Warn(fmt.Sprintf(format, args...), attributes...)
	case s.Logger != nil:
		s.Logger.Printf(format, args...)
	default:
		log.Printf(format, args...)
	}
}
