package gallop

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
)

// ListenAndServe listens on the TCP address addr and serves HTTP. If addr has no host, as in ":8080", the server
// listens on all IPv4 and IPv6 interfaces. ListenAndServe returns nil after Shutdown or Close. If listening or
// accepting fails, ListenAndServe returns the error.
func (s *Server) ListenAndServe(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// ListenAndServeUNIX listens on a unix socket at the path addr and serves HTTP. The argument mode sets the permissions of the socket. If
// addr is the path of a socket on which no process listens, ListenAndServeUNIX replaces the socket.
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

// ListenAndServeTLSEmbed listens on the TCP address addr and serves TLS. The certificate and the private key are passed
// as PEM data. See [Server.ServeTLSEmbed].
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, certData, keyData)
}

// ServeTLS does the same as Serve, but over TLS. The server reads the certificate and the private key from the PEM
// files certFile and keyFile. If both names are empty, the server uses only the certificates from AppendCert and
// TLSConfig. When the files change, the server loads the new certificate and uses it for new connections.
//
// By default, clients that support HTTP/2 use HTTP/2, and all other clients use HTTP/1. To turn HTTP/2 off, see
// [Protocols].
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	if certFile != "" || keyFile != "" {
		if err := s.AppendCert(certFile, keyFile); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ServeTLSEmbed does the same as ServeTLS, but takes the certificate and the private key as PEM data.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	if len(certData) != 0 || len(keyData) != 0 {
		if err := s.AppendCertEmbed(certData, keyData); err != nil {
			ln.Close()
			return err
		}
	}
	return s.serveTLS(ln)
}

// ListenAndServe listens on the TCP address addr and serves HTTP with a Server that has default settings. See
// [Server.ListenAndServe].
func ListenAndServe(addr string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServe(addr)
}

// ListenAndServeUNIX listens on a unix socket and serves HTTP with a Server that has default settings. See
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

// ServeTLS serves the connections from ln over TLS with a Server that has default settings. See [Server.ServeTLS].
func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLS(ln, certFile, keyFile)
}

// ServeTLSEmbed serves the connections from ln over TLS with a Server that has default settings. See
// [Server.ServeTLSEmbed].
func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLSEmbed(ln, certData, keyData)
}

// Addrs returns the addresses of the listeners that the server serves, in the order in which the listeners were added.
// If there are no listeners, for example before Serve or after Shutdown, the method returns nil.
func (s *Server) Addrs() []net.Addr {
	t := &s.conns.Table
	t.Mu.Lock()
	all := t.AllListeners()
	t.Mu.Unlock()
	var addrs []net.Addr
	for _, l := range all {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// serveAccepted serves a connection from a listener and logs how it ended.
func (s *Server) serveAccepted(c conn.Accepted) {
	id, err := s.serveConn(c.Conn, c.From)
	s.logEnd(c.Conn, id, err)
}

// logEnd logs why a connection ended, unless that was already logged or is routine.
func (s *Server) logEnd(nc net.Conn, id uint64, err error) {
	if _, answered := err.(answeredError); err != nil && !answered && err != errPanic && err != ErrAbortHandler && err != ErrPerIPConnLimit {
		s.conns.Log.Connection(nc.RemoteAddr(), id, err, s.LogAllErrors || isProgramsFault(err))
	}
}

// serveConn serves nc, which admit has counted, until it ends. It is from a listener, or, if that is nil, ServeConn was given it.
// The id is that of the connection.
func (s *Server) serveConn(nc net.Conn, of *conn.Listener) (id uint64, err error) {
	c := s.acquireConn()
	c.Start(&s.conns, c, nc, of)
	id = c.ID
	if err := s.conns.Table.Add(c.Entry); err != nil {
		s.conns.Table.Leave()
		if err == ErrPerIPConnLimit {
			s.conns.TurnAway(nc, err, false)
		} else {
			nc.Close()
		}
		return id, err
	}
	ended, hijacked := false, false
	defer func() {
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.conns.Log.Panicked(nc.RemoteAddr(), id, "panic ends a connection", v)
			err = errPanic
		}
	}()
	defer func() {
		defer s.retire(c, ended) // nothing is left when Shutdown sees it gone
		defer func() {
			if !hijacked && !c.hijacked {
				c.closeConn()
			}
		}()
		c.release()
	}()
	c.Report(conn.StateNew)
	proto, err := c.Handshake()
	if err != nil {
		answerPlainHTTP(err)
		return id, err
	}
	if serve := s.protos[proto]; serve != nil && c.TLS != nil {
		return id, serve(nc)
	}
	c.Ready = c.Now
	h2, next := s.usesH2(&c.Conn, proto), conn.Ended
	if !h2 && s.speaksH1() {
		next = c.serve()
		h2 = c.Err == errPreface
	}
	if h2 {
		hijacked = true
		return id, s.newH2(&c.Conn, c.takeInput()).serveOnGoroutine(&c.Conn, c.closeConn)
	}
	if next != conn.Taken {
		ended = true
		return id, c.Err
	}
	if hijacked = true; c.handed != nil {
		c.startHijack(c.handed)
	}
	return id, nil
}

// closeConn closes a connection that a goroutine serves.
func (c *serverConn) closeConn() {
	c.BeginClosing()
	c.Closing().Close()
	c.Report(conn.StateClosed)
}

// takeInput returns what has arrived, and ends HTTP/1 on the connection. The result is nil, or a buffer from bufpool.
func (c *serverConn) takeInput() (input []byte) {
	c.Idle()
	if p := c.Input.Unread(); len(p) > 0 {
		input = append(bufpool.Get(len(p)), p...)
		c.Input.R += len(p)
	}
	c.Err = nil
	return input
}

func (s *Server) acquireConn() *serverConn {
	c, ok := s.retired.Get().(*serverConn)
	if !ok {
		c = new(serverConn)
	}
	c.srv, c.set = s, &s.set
	return c
}

// retire takes c off the books. One that has ended as it should and that nobody
// else can know of serves another connection.
func (s *Server) retire(c *serverConn, ended bool) {
	s.conns.Table.Drop(c.Entry)
	if ended && !c.shared {
		*c = serverConn{}
		s.retired.Put(c)
	}
}

// release gives back what the connection holds.
func (c *serverConn) release() {
	if c.exchange != nil {
		c.releaseExchange()
	}
	if !c.hijacked {
		c.Output.Flush() // answers to requests before the one that has ended the connection
	}
	c.Input.Release()
	c.Output.Release()
	c.Publish()
}

// Idle implements wire.
func (c *serverConn) Idle() {
	if c.exchange != nil {
		c.dropExchange()
	}
}

// Lost implements wire.
func (c *serverConn) Lost() {
	if c.exchange != nil {
		c.ctx.life.lost()
	}
}
