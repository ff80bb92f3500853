// Package prefork provides the names of github.com/valyala/fasthttp/prefork: several processes serve one address. New
// programs should use gallop's package of the same name, which runs a gallop.Server and stops with a context.
package prefork

import (
	"errors"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/listen"
)

// prefork.go has the settings and entry points, parent.go the process that starts and watches the others, and
// child.go the processes that serve.

// Prefork serves with several processes. The program is started again for each of them with the same arguments, and
// must reach the same ListenAndServe call. IsChild distinguishes parent and child. Create a Prefork with New, and do
// not change it while it serves.
type Prefork struct {
	// Logger receives messages about children. The default writes to standard error.
	Logger Logger

	// ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve in a child. New sets them to methods of the server.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network must be "tcp", "tcp4" or "tcp6". The default is "tcp4".
	Network string

	// RecoverThreshold is how many children may end before the parent gives up with ErrOverRecovery. New sets it to
	// half the number of processors. 0 allows none.
	RecoverThreshold int

	// RecoverInterval is the delay before a child that ended is replaced.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children may take to end after SIGTERM, before they are killed. The default is
	// 5 seconds. On Windows children are killed at once.
	ShutdownGracePeriod time.Duration

	// Reuseport makes each child listen on its own socket, see listen.TCP, instead of sharing one socket of the
	// parent. Windows requires it.
	Reuseport bool

	// OnMasterDeath is called once in a child when the parent has ended, even by SIGKILL. A child notices that within
	// half a second. By default the child ends: it sends itself SIGTERM, and exits with status 1 if it still runs
	// after ShutdownGracePeriod. If OnMasterDeath returns, the child keeps serving.
	OnMasterDeath func()

	// OnChildSpawn is called in the parent for each child that was started. If it returns an error, all children are
	// ended and ListenAndServe returns the error.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called in the parent with the process ids of all children, once they were started. If it
	// returns an error, all children are ended and ListenAndServe returns the error.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called in the parent, after OnChildSpawn, for a child that replaces another one.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer starts a child with these files as ExtraFiles and returns its command. The child must have
	// "FASTHTTP_PREFORK_CHILD=1" in its environment. The default starts this program again.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)
}

// Logger is the interface of gallop.Logger.
type Logger interface {
	Printf(format string, args ...any)
}

// Errors of ListenAndServe in the parent.
var (
	ErrOverRecovery              = errors.New("prefork: too many children have ended")
	ErrOnlyReuseportOnWindows    = errors.New("prefork: Windows requires Reuseport; set it to true")
	ErrCommandProducerNilCmd     = errors.New("prefork: CommandProducer returned no command")
	ErrCommandProducerNotStarted = errors.New("prefork: CommandProducer returned a command that is not started")
)

// childVariable is the environment variable that marks a process as a child.
const childVariable = "FASTHTTP_PREFORK_CHILD"

// parentVariable passes the parent's process id to a child, because the parent may have ended before the child can
// look. A CommandProducer may leave out the variable. Then the parent is the process that the child sees when it
// first looks.
const parentVariable = "GALLOP_PREFORK_PARENT"

// IsChild reports whether this process is a child, which serves requests.
func IsChild() bool { return os.Getenv(childVariable) == "1" }

// New returns a Prefork that serves like s, but with several processes.
func New(s *gallop.Server) *Prefork {
	return &Prefork{
		Network:           "tcp4",
		RecoverThreshold:  max(1, runtime.GOMAXPROCS(0)/2),
		Logger:            s.Logger,
		ServeFunc:         s.Serve,
		ServeTLSFunc:      s.ServeTLS,
		ServeTLSEmbedFunc: s.ServeTLSEmbed,
	}
}

// ListenAndServe serves the TCP address addr. In the parent it returns an error when it gives up. On the first
// SIGTERM or SIGINT, the parent sends SIGTERM to its children, waits for ShutdownGracePeriod, kills the remaining
// ones, and returns nil. It does not handle a second signal. A program that ignores these signals keeps ignoring
// them.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.serve(addr, func(ln net.Listener) error { return p.ServeFunc(ln) })
}

// ListenAndServeTLS serves addr over TLS. Note the order: the key file comes before the certificate file.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	return p.serve(addr, func(ln net.Listener) error { return p.ServeTLSFunc(ln, certFile, certKey) })
}

// ListenAndServeTLSEmbed serves addr over TLS with a certificate and key in PEM.
func (p *Prefork) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return p.serve(addr, func(ln net.Listener) error { return p.ServeTLSEmbedFunc(ln, certData, keyData) })
}

func (p *Prefork) serve(addr string, serve func(net.Listener) error) error {
	if !IsChild() {
		return p.parent(addr)
	}
	ln, err := p.childListener(addr)
	if err != nil {
		return err
	}
	return serve(ln)
}

func (p *Prefork) network() string {
	if p.Network == "" {
		return "tcp4"
	}
	return p.Network
}

func (p *Prefork) printf(format string, args ...any) {
	if p.Logger == nil {
		log.Printf(format, args...)
		return
	}
	p.Logger.Printf(format, args...)
}

var reusePort = listen.TCP{ReusePort: true, DeferAccept: true, FastOpen: true}
