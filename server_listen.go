package gallop

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"time"
)

// ListenAndServe serves the TCP address addr, on IPv4 and IPv6 unless addr says
// otherwise. It returns nil after Shutdown or Close, and else why it ended.
func (s *Server) ListenAndServe(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// ListenAndServeUNIX serves the unix socket at the path addr, and gives the socket
// these permissions. A socket that is there already is replaced if nobody listens on it.
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

// ListenAndServeTLS is ListenAndServe over TLS, see ServeTLS.
func (s *Server) ListenAndServeTLS(addr, certFile, keyFile string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.ServeTLS(ln, certFile, keyFile)
}

// ListenAndServeTLSEmbed is ListenAndServe over TLS, see ServeTLSEmbed.
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, certData, keyData)
}

// ServeTLS is Serve over TLS, with the certificate in these PEM files, or, if they are
// "", those of AppendCert and TLSConfig. Files that change are read again, for
// connections to come.
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	if certFile != "" || keyFile != "" {
		if err := s.AppendCert(certFile, keyFile); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ServeTLSEmbed is ServeTLS with PEM data for a certificate.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	if len(certData) != 0 || len(keyData) != 0 {
		if err := s.AppendCertEmbed(certData, keyData); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ListenAndServe serves addr with a Server of default settings.
func ListenAndServe(addr string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServe(addr)
}

// ListenAndServeUNIX serves a unix socket with a Server of default settings.
func ListenAndServeUNIX(addr string, mode os.FileMode, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeUNIX(addr, mode)
}

// ListenAndServeTLS serves addr over TLS with a Server of default settings.
func ListenAndServeTLS(addr, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLS(addr, certFile, keyFile)
}

// ListenAndServeTLSEmbed serves addr over TLS with a Server of default settings.
func ListenAndServeTLSEmbed(addr string, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLSEmbed(addr, certData, keyData)
}

// ServeTLS serves ln over TLS with a Server of default settings.
func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLS(ln, certFile, keyFile)
}

// ServeTLSEmbed serves ln over TLS with a Server of default settings.
func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLSEmbed(ln, certData, keyData)
}
