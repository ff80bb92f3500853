package nethttp

import (
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/gallop-http/gallop"
)

// NewServer returns a gallop server for h, or for http.DefaultServeMux if h is nil. The server has the settings that
// programs for net/http expect:
//   - The server accepts a request body of any size and reads it from the connection while h reads it
//     (StreamRequestBody).
//   - TRACE requests reach h.
//   - Responses have no Server header. If h sets no Content-Type, the server detects the type from the body, as in
//     net/http.
//
// The server also has gallop's limits, most of which http.Server does not have. See the fields of gallop.Server. You
// may change the fields before you start the server.
func NewServer(h http.Handler, options ...Option) *gallop.Server {
	if h == nil {
		h = http.DefaultServeMux
	}
	s := &gallop.Server{
		StreamRequestBody:     true,
		AllowTrace:            true,
		TCPKeepalive:          true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
	}
	hg := handling{std: &http.Server{Handler: h, ErrorLog: log.New(logOf{s}, "", 0)}, server: s}
	s.Handler = hg.with(options).handler()
	return s
}

// logOf writes to the ErrorLog or the Logger of a server.
type logOf struct{ *gallop.Server }

// Write implements io.Writer.
func (s logOf) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	if s.ErrorLog != nil {
		s.ErrorLog.Error(text)
	} else if s.Logger != nil {
		s.Logger.Printf("%s", text)
	} else {
		log.Print("gallop: ", text)
	}
	return len(line), nil
}

// ListenAndServe listens on the TCP address addr and serves h, like http.ListenAndServe. An empty addr means ":http". A
// nil h means http.DefaultServeMux. ListenAndServe blocks until listening or accepting connections fails. To shut a
// server down, use [NewServer].
func ListenAndServe(addr string, h http.Handler) error {
	ln, err := listen(addr, ":http")
	if err != nil {
		return err
	}
	return Serve(ln, h)
}

// ListenAndServeTLS listens on the TCP address addr and serves h over TLS. An empty addr means ":https". certFile and
// keyFile are PEM files with the certificate and its key. See [ListenAndServe].
func ListenAndServeTLS(addr, certFile, keyFile string, h http.Handler) error {
	ln, err := listen(addr, ":https")
	if err != nil {
		return err
	}
	return ServeTLS(ln, h, certFile, keyFile)
}

// Serve accepts connections from ln and serves them with h. When ln fails, Serve closes ln and returns.
func Serve(ln net.Listener, h http.Handler) error { return NewServer(h).Serve(ln) }

// ServeTLS serves h over TLS. certFile and keyFile are PEM files with the certificate and its key. See [Serve].
func ServeTLS(ln net.Listener, h http.Handler, certFile, keyFile string) error {
	return NewServer(h).ServeTLS(ln, certFile, keyFile)
}

func listen(addr, usual string) (net.Listener, error) {
	if addr == "" {
		addr = usual
	}
	return net.Listen("tcp", addr)
}
