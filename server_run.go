package gallop

import (
	"context"
	"net"
)

// Run serves the connections that ln accepts until ctx is done, and then shuts the server down gracefully. Run calls
// Serve, and calls ShutdownWithContext when ctx is done. Run returns when Serve and ShutdownWithContext have returned.
// Use Run with signal.NotifyContext or an errgroup.
//
// If all in-flight requests finish during the shutdown, Run returns nil. If requests are still in flight when
// ShutdownTimeout has passed, Run returns context.DeadlineExceeded. If Serve returns before ctx is done, Run returns
// the error from Serve, and the server continues to serve its other listeners.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	return s.run(ctx, func() error { return s.Serve(ln) })
}

// RunTLS does the same as Run, but over TLS. [Server.ServeTLS] describes certFile and keyFile.
func (s *Server) RunTLS(ctx context.Context, ln net.Listener, certFile, keyFile string) error {
	return s.run(ctx, func() error { return s.ServeTLS(ln, certFile, keyFile) })
}

// run calls serve, and shuts the server down when ctx ends.
func (s *Server) run(ctx context.Context, serve func() error) error {
	down := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { down <- s.shutdownInTime() })
	err := serve()
	if stop() {
		return err
	}
	if downErr := <-down; err == nil {
		err = downErr
	}
	return err
}

// shutdownInTime shuts the server down as long as LameDuck and ShutdownTimeout allow.
func (s *Server) shutdownInTime() error {
	if s.ShutdownTimeout <= 0 {
		return s.Shutdown()
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(s.LameDuck, 0)+s.ShutdownTimeout)
	defer cancel()
	return s.ShutdownWithContext(ctx)
}
