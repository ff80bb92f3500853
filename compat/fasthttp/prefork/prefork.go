// Package prefork has the names of github.com/valyala/fasthttp/prefork: several processes serve one address. Programs for gallop use
// gallop's package of the same name, which is for a gallop.Server and stops with a context.
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

// How this package is organised: prefork.go has the settings and both ways in, parent.go the process that starts and
// watches the others, and child.go those that serve.

// Prefork serves with several processes. Its program is started again for each of them, with the same arguments, and
// has to come to the same ListenAndServe; IsChild tells it which it is. New makes one. It must not be changed once
// it serves.
type Prefork struct {
	// Logger gets what happens to children. The default is the standard error.
	Logger Logger

	// ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve in a child. New makes them those of the server.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network is "tcp", "tcp4" or "tcp6". The default is "tcp4".
	Network string

	// RecoverThreshold is how many children may end before the parent gives up with ErrOverRecovery. New makes
	// it half of the processors; 0 is none.
	RecoverThreshold int

	// RecoverInterval is how long after the end of a child another one is started in its place.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children have to end after SIGTERM, before they are killed. The default is
	// 5 seconds. On Windows they are killed at once.
	ShutdownGracePeriod time.Duration

	// Reuseport makes each child listen by itself, see listen.TCP, instead of all on one socket of the parent.
	// On Windows there is nothing else.
	Reuseport bool

	// OnMasterDeath is called in a child, once, when the parent has ended, even by SIGKILL. A child notices within half
	// a second. The default ends the child: it sends itself SIGTERM, and exits with status 1 if it is still there
	// after ShutdownGracePeriod. Children serve on if OnMasterDeath returns.
	OnMasterDeath func()

	// OnChildSpawn is called in the parent for each child that was started. An error ends all children, and is
	// what ListenAndServe returns.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called in the parent when all children have been started, with their process ids. An error
	// ends them, and is what ListenAndServe returns.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called in the parent, behind OnChildSpawn, for a child that takes the place of another.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer starts a child with these files as its ExtraFiles and returns its command. What it
	// starts has "FASTHTTP_PREFORK_CHILD=1" in its environment. The default starts this program again.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)
}

// Logger is a gallop.Logger.
type Logger interface {
	Printf(format string, args ...any)
}

// Errors of ListenAndServe in the parent.
var (
	ErrOverRecovery              = errors.New("prefork: too many children have ended")
	ErrOnlyReuseportOnWindows    = errors.New("prefork: on Windows only with Reuseport")
	ErrCommandProducerNilCmd     = errors.New("prefork: CommandProducer returned no command")
	ErrCommandProducerNotStarted = errors.New("prefork: CommandProducer returned a command that is not started")
)

// childVariable says to a process that it is a child.
const childVariable = "FASTHTTP_PREFORK_CHILD"

// parentVariable says to a child who has started it: when it looks for itself that may have ended. Without it, as a
// CommandProducer may leave it, the parent is who is that when the child looks first.
const parentVariable = "GALLOP_PREFORK_PARENT"

// IsChild reports whether this process serves, and was started by one that does not.
func IsChild() bool { return os.Getenv(childVariable) == "1" }

// New returns what serves with several processes as s serves with one.
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

// ListenAndServe serves the TCP address addr. In the parent it returns an error when it gives up. At the first SIGTERM or
// SIGINT, the parent ends its children with SIGTERM, waits for them for ShutdownGracePeriod, kills those that are left,
// and returns nil. The second signal is not handled here. A program that ignores these signals keeps ignoring them.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.serve(addr, func(ln net.Listener) error { return p.ServeFunc(ln) })
}

// ListenAndServeTLS serves addr over TLS. The key comes before the certificate.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	return p.serve(addr, func(ln net.Listener) error { return p.ServeTLSFunc(ln, certFile, certKey) })
}

// ListenAndServeTLSEmbed serves addr over TLS with PEM data for a certificate.
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
