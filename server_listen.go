package gallop

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// acceptGrace is how long Shutdown still accepts what waits in a listener's queue.
const acceptGrace = 20 * time.Millisecond

// servedListener is a listener of a server. It is closed once. Its address identifies it,
// because the listener itself need not be comparable.
type servedListener struct {
	net.Listener
	table  *connTable
	number uint64          // of the listener among those that were ever added
	base   context.Context // see Server.BaseContext; nil if the server has no contexts for connections
	closed atomic.Bool

	watching sync.Mutex // held while loops begin to watch the listener
	silence  func()     // has them no longer watch it; nil if they do not. Guarded by watching
}

// addListener returns nil if the server is closing.
func (t *connTable) addListener(ln net.Listener) *servedListener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil
	}
	t.added++
	served := &servedListener{Listener: ln, table: t, number: t.added}
	t.listeners[served] = struct{}{}
	return served
}

// watch calls begin, which has the loops watch the listener and returns how they stop. If the listener is being closed, either the loops stop
// or begin finds it closed.
func (l *servedListener) watch(begin func() (silence func())) {
	l.watching.Lock()
	defer l.watching.Unlock()
	l.silence = begin()
}

// Close closes the listener, unless that was done or begun already: then it does not wait. Loops that watch the listener
// stop watching first. Shutdown and Close return the error.
func (l *servedListener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.watching.Lock()
	silence := l.silence
	l.watching.Unlock()
	if silence != nil {
		silence()
	}
	err := l.Listener.Close()
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing && err != nil && !isClosedListener(err) {
		t.closeErrs = append(t.closeErrs, err)
	}
	return nil
}

// drop closes the listener, which is no longer served.
func (l *servedListener) drop() {
	l.Close()
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listeners, l)
	t.ended.Broadcast()
}

// expire makes Accept fail after grace. It reports false if the listener cannot do that.
func (l *servedListener) expire(grace time.Duration) bool {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	return ok && grace > 0 && d.SetDeadline(time.Now().Add(grace)) == nil
}

// isClosedListener reports whether err is what listeners return after Close. Some of them
// say so only in the text, or return io.EOF.
func isClosedListener(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), net.ErrClosed.Error())
}

// closeListeners ends the accept loops and waits for them until ctx is done. If listeners can
// time out, they first accept for the time of grace what clients believe to be connected.
func (t *connTable) closeListeners(ctx context.Context, grace time.Duration) {
	for _, l := range t.startClosing() {
		if !l.expire(grace) {
			go l.Close() // which may block
		}
	}
	// A listener that wraps another one may not notice that its time is over.
	late := time.AfterFunc(10*grace, t.closeLate)
	defer late.Stop()
	unhook := context.AfterFunc(ctx, t.wake)
	defer unhook()
	if !t.waitUntil(ctx, func() bool { return len(t.listeners) == 0 }) {
		t.closeLate()
	}
}

// startClosing has no more listeners added, and returns those that there are.
func (t *connTable) startClosing() []*servedListener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.closing = true
		close(t.closingC)
	}
	return t.allListeners()
}

// allListeners returns the listeners in the order in which they were added. t is locked.
func (t *connTable) allListeners() []*servedListener {
	all := slices.Collect(maps.Keys(t.listeners))
	slices.SortFunc(all, func(a, b *servedListener) int { return cmp.Compare(a.number, b.number) })
	return all
}

// Addrs returns the addresses of the listeners that the server serves, in the order in which the listeners were added.
// If there are no listeners, for example before Serve or after Shutdown, the method returns nil.
func (s *Server) Addrs() []net.Addr {
	t := &s.conns
	t.mu.Lock()
	all := t.allListeners()
	t.mu.Unlock()
	var addrs []net.Addr
	for _, l := range all {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// closeLate closes the listeners that are left, and does not wait for that.
func (t *connTable) closeLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.allListeners() {
		go l.Close()
	}
}

// closeError returns what went wrong when listeners were closed, joined with err.
func (t *connTable) closeError(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.closeErrs) == 0:
		return err
	case err == nil && len(t.closeErrs) == 1:
		return t.closeErrs[0]
	}
	return errors.Join(append([]error{err}, t.closeErrs...)...)
}

// isServed reports whether a listener is left.
func (t *connTable) isServed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.listeners) > 0
}

// isClosing reports whether closeListeners was called.
func (t *connTable) isClosing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}
