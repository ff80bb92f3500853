package peers

import (
	"errors"
	"log"
	"net"
	"net/http"
)

type netHTTPServer struct{ *http.Server }

func newNetHTTP(app App, o Options) Server {
	s := &http.Server{Handler: app.Standard}
	if o.Logger != nil {
		s.ErrorLog = log.New(lineWriter{o.Logger}, "", 0)
	}
	if o.Timeouts {
		s.ReadHeaderTimeout, s.WriteTimeout, s.IdleTimeout = headTimeout, writeTimeout, idleTimeout
		s.ReadTimeout = headTimeout
	}
	if o.H2C {
		s.Protocols = new(http.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	return netHTTPServer{s}
}

// Serve returns nil after Shutdown, like the other servers.
func (s netHTTPServer) Serve(ln net.Listener) error {
	if err := s.Server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// lineWriter adapts a Logger to io.Writer.
type lineWriter struct{ Logger }

func (w lineWriter) Write(p []byte) (int, error) {
	w.Printf("%s", p)
	return len(p), nil
}
