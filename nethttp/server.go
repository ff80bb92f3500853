package nethttp

import (
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/gallop-http/gallop"
)

// NewServer returns a gallop server for h, http.DefaultServeMux if h is nil, with what
// programs for net/http expect: request bodies of any size come as they are read
// (StreamRequestBody), TRACE is h's, and answers have no Server field and no Content-Type that h
// did not set or cause. Its limits are gallop's, which are none in http.Server: see the
// fields of gallop.Server. It may be changed before it serves.
func NewServer(h http.Handler) *gallop.Server {
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
	s.Handler = handling{std: &http.Server{Handler: h, ErrorLog: log.New(logOf{s}, "", 0)}, server: s}.handler()
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

// ListenAndServe serves h on the TCP address addr, ":http" if that is empty. It does what
// http.ListenAndServe does.
func ListenAndServe(addr string, h http.Handler) error {
	ln, err := listen(addr, ":http")
	if err != nil {
		return err
	}
	return Serve(ln, h)
}

// ListenAndServeTLS serves h by TLS on the TCP address addr, ":https" if that is empty, with
// the certificate and the key in the two PEM files.
func ListenAndServeTLS(addr, certFile, keyFile string, h http.Handler) error {
	ln, err := listen(addr, ":https")
	if err != nil {
		return err
	}
	return ServeTLS(ln, h, certFile, keyFile)
}

// Serve serves h on the connections that ln accepts, until ln fails, and closes it.
func Serve(ln net.Listener, h http.Handler) error { return NewServer(h).Serve(ln) }

// ServeTLS is Serve with TLS, with the certificate and the key in the two PEM files.
func ServeTLS(ln net.Listener, h http.Handler, certFile, keyFile string) error {
	return NewServer(h).ServeTLS(ln, certFile, keyFile)
}

func listen(addr, usual string) (net.Listener, error) {
	if addr == "" {
		addr = usual
	}
	return net.Listen("tcp", addr)
}
