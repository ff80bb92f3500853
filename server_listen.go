package gallop

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"time"
)

// ListenAndServe listens on the TCP address addr and serves its connections. An address without a host, such as
// ":8080", means all IPv4 and IPv6 interfaces. ListenAndServe returns nil after Shutdown or Close. Otherwise it
// returns the error that stopped it.
func (s *Server) ListenAndServe(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// ListenAndServeUNIX listens on a unix socket at the path addr and serves its connections. mode sets the socket's
// permissions. An existing socket is replaced if nothing listens on it any more.
func (s *Server) ListenAndServeUNIX(addr string, mode os.FileMode) error {
	if err := removeStaleSocket(addr); err != nil {
		return err
	}
	ln, err := net.Listen("unix", addr)
	if err != nil {
		return err
	}
	if err := os.Chmod(addr, mode); err != nil {
		ln.Close()
		return err
	}
	return s.Serve(ln)
}

// removeStaleSocket removes the socket at path if nobody listens on it any longer. It
// removes nothing that is not a socket.
func removeStaleSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return &fs.PathError{Op: "listen", Path: path, Err: fs.ErrExist}
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil // net.Listen says that the address is in use
	}
	return os.Remove(path)
}

// ListenAndServeTLS listens on the TCP address addr and serves TLS. [Server.ServeTLS] describes certFile and keyFile.
func (s *Server) ListenAndServeTLS(addr, certFile, keyFile string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.ServeTLS(ln, certFile, keyFile)
}

// ListenAndServeTLSEmbed listens on the TCP address addr and serves TLS with a certificate in PEM form. See
// [Server.ServeTLSEmbed].
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, certData, keyData)
}

// ServeTLS does the same as Serve, but over TLS. The certificate and its key are read from the PEM files certFile and
// keyFile. If both names are empty, only the certificates from AppendCert and TLSConfig are used. When the files
// change, new connections use the new certificate.
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	if certFile != "" || keyFile != "" {
		if err := s.AppendCert(certFile, keyFile); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ServeTLSEmbed does the same as ServeTLS, but takes the certificate and its key in PEM form.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	if len(certData) != 0 || len(keyData) != 0 {
		if err := s.AppendCertEmbed(certData, keyData); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ListenAndServe listens on the TCP address addr and serves it with a Server that has default settings. See
// [Server.ListenAndServe].
func ListenAndServe(addr string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServe(addr)
}

// ListenAndServeUNIX listens on a unix socket and serves it with a Server that has default settings. See
// [Server.ListenAndServeUNIX].
func ListenAndServeUNIX(addr string, mode os.FileMode, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeUNIX(addr, mode)
}

// ListenAndServeTLS listens on the TCP address addr and serves TLS with a Server that has default settings. See
// [Server.ListenAndServeTLS].
func ListenAndServeTLS(addr, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLS(addr, certFile, keyFile)
}

// ListenAndServeTLSEmbed listens on the TCP address addr and serves TLS with a Server that has default
// settings. See [Server.ListenAndServeTLSEmbed].
func ListenAndServeTLSEmbed(addr string, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLSEmbed(addr, certData, keyData)
}

// ServeTLS serves ln over TLS with a Server that has default settings. See [Server.ServeTLS].
func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLS(ln, certFile, keyFile)
}

// ServeTLSEmbed serves ln over TLS with a Server that has default settings. See [Server.ServeTLSEmbed].
func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLSEmbed(ln, certData, keyData)
}
