package prefork

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/listen"
)

// inherited is the descriptor of the first of a command's ExtraFiles.
const inherited = 3

// These errors mean that the process has inherited the variable of a child, but was not started by a parent.
var (
	errNoParent   = errors.New("prefork: " + childVariable + " is set, but the standard input is no pipe from a parent")
	errNoListener = errors.New("prefork: " + childVariable + " is set, but descriptor 3 is not a listening socket")
)

// runChild serves until ctx ends or the parent closes its end of the pipe, as it does when it dies.
func runChild(ctx context.Context, s *gallop.Server, o Options) error {
	os.Unsetenv(childVariable)
	if stdin, err := os.Stdin.Stat(); err != nil || stdin.Mode()&os.ModeNamedPipe == 0 {
		return errNoParent
	}
	runtime.GOMAXPROCS(o.share())
	ln, err := o.listenInChild(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	served := make(chan error, 1)
	go func() { served <- o.serve(ctx, s, ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-served:
		return err
	case <-time.After(o.GracePeriod): // if the parent has died, it cannot kill this child
		return fmt.Errorf("prefork: requests are still in flight after %v: %w", o.GracePeriod, context.DeadlineExceeded)
	}
}

func (o *Options) serve(ctx context.Context, s *gallop.Server, ln net.Listener) error {
	if o.TLS || o.CertFile != "" || o.KeyFile != "" {
		return s.RunTLS(ctx, ln, o.CertFile, o.KeyFile)
	}
	return s.Run(ctx, ln)
}

// share returns how many processors one of the children uses.
func (o *Options) share() int {
	return max(1, (runtime.GOMAXPROCS(0)+o.Processes-1)/o.Processes)
}

func (o *Options) listenInChild(ctx context.Context) (net.Listener, error) {
	if o.ReusePort {
		return (&listen.TCP{ReusePort: true}).Listen(ctx, o.Network, o.Addr)
	}
	if !isListening(inherited) { // so it is not this package's to close either
		return nil, errNoListener
	}
	file := os.NewFile(inherited, "listener")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("prefork: the parent's listener: %w", err)
	}
	return ln, nil
}
