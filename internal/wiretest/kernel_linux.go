package wiretest

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Kernel is a simulated operating system for event loops, whose sockets are connections in memory. It reports each
// event exactly as often as Linux, so an event that a loop overlooks stays overlooked. It takes the time from package
// time, so loops can run in a synctest bubble.
//
// A Kernel records misuse: using or closing a descriptor that is not open.
type Kernel struct {
	// Step is called with the name of every system call before and after the call, unless nil. It may block.
	Step func(call string, fd int)

	// Refuse can make a call fail, unless nil. It is called with "accept" before a connection is accepted, with
	// "take" before one is taken away, and with "epoll_ctl" before a connection or listener is added to a queue.
	Refuse func(call string) error

	mu     sync.Mutex
	closed sync.Cond // a descriptor was closed
	conns  int       // number of connections so far
	files  map[int]*kernelFile
	lowest int // no descriptor below is free
	misuse []string
}

// kernelFile is the file behind a descriptor: a connection, a listener or a queue.
type kernelFile struct {
	fd       int
	conn     Pollable
	peer     syscall.Sockaddr
	queue    *kernelQueue
	listens  bool
	shut     bool // Close was called
	uses     int  // running calls of Control, which Close waits for
	backlog  []*kernelFile
	interest []*interest
}

// firstDescriptor is high enough that no descriptor of the process is used by mistake.
const firstDescriptor = 1024

// NewKernel returns a kernel without descriptors.
func NewKernel() *Kernel {
	k := &Kernel{files: map[int]*kernelFile{}, lowest: firstDescriptor}
	k.closed.L = &k.mu
	return k
}

// open gives f the lowest free descriptor.
func (k *Kernel) open(f *kernelFile) int {
	for k.files[k.lowest] != nil {
		k.lowest++
	}
	f.fd = k.lowest
	k.files[f.fd] = f
	return f.fd
}

// Open returns the number of open connections.
func (k *Kernel) Open() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		if f.conn != nil {
			n++
		}
	}
	return n
}

// Misuse returns a description of every misuse so far.
func (k *Kernel) Misuse() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.misuse
}

func (k *Kernel) step(call string, fd int) {
	if k.Step != nil {
		k.Step(call, fd)
	}
}

// socket returns the connection fd.
func (k *Kernel) socket(call string, fd int) (Pollable, error) {
	if f := k.file(call, fd); f != nil && f.conn != nil {
		return f.conn, nil
	}
	return nil, syscall.EBADF
}

func (k *Kernel) file(call string, fd int) *kernelFile {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fileLocked(call, fd)
}

func (k *Kernel) fileLocked(call string, fd int) *kernelFile {
	f := k.files[fd]
	if f == nil {
		k.misuse = append(k.misuse, fmt.Sprintf("%s of descriptor %d, which is not open", call, fd))
	}
	return f
}

func (k *Kernel) Read(fd int, p []byte) (int, error) {
	k.step("read", fd)
	defer k.step("after read", fd)
	c, err := k.socket("read", fd)
	if err != nil {
		return 0, err
	}
	return c.TryRead(p)
}

func (k *Kernel) Write(fd int, p []byte) (int, error) {
	k.step("write", fd)
	defer k.step("after write", fd)
	c, err := k.socket("write", fd)
	if err != nil {
		return 0, err
	}
	return c.TryWrite(p)
}

func (k *Kernel) Writev(fd int, a, b []byte) (int, error) {
	return k.Write(fd, append(append(make([]byte, 0, len(a)+len(b)), a...), b...))
}

func (k *Kernel) Sendfile(fd int, f *os.File, off int64, n int) (int, error) {
	p := make([]byte, min(n, 64<<10))
	n, err := f.ReadAt(p, off)
	if n == 0 {
		if err == io.EOF {
			err = nil
		}
		return 0, err
	}
	return k.Write(fd, p[:n])
}

func (k *Kernel) Shutdown(fd, how int) error {
	c, err := k.socket("shutdown", fd)
	if err != nil {
		return err
	}
	if how == syscall.SHUT_RDWR {
		c.CloseRead()
	}
	return c.CloseWrite()
}

func (k *Kernel) refused(call string) error {
	if k.Refuse == nil {
		return nil
	}
	return k.Refuse(call)
}

func (k *Kernel) Close(fd int) error {
	k.step("close", fd)
	defer k.step("after close", fd)
	if f := k.file("close", fd); f != nil && f.conn == nil {
		k.drop(fd)
		return nil
	}
	c, err := k.leave(fd)
	if err != nil {
		return err
	}
	return c.Close()
}

// Take detaches a connection from k and returns it.
func (k *Kernel) Take(fd int) (net.Conn, error) {
	c, err := k.leave(fd)
	if err != nil {
		return nil, err
	}
	if err := k.refused("take"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (k *Kernel) leave(fd int) (Pollable, error) {
	c, err := k.socket("close", fd)
	if err != nil {
		return nil, err
	}
	c.Watch(nil)
	k.drop(fd)
	return c, nil
}

// drop frees a descriptor.
func (k *Kernel) drop(fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(fd)
}

func (k *Kernel) dropLocked(fd int) {
	for _, i := range k.files[fd].interest {
		i.gone = true
	}
	k.files[fd].interest = nil
	delete(k.files, fd)
	k.lowest = min(k.lowest, fd)
	k.closed.Broadcast()
}

func (k *Kernel) Name(fd int) (syscall.Sockaddr, error) {
	if _, err := k.socket("getsockname", fd); err != nil {
		return nil, err
	}
	return &syscall.SockaddrInet4{Port: 80, Addr: [4]byte{127, 0, 0, 1}}, nil
}

// KernelListener is a listener of a [Kernel], for event loops only.
type KernelListener struct {
	k      *Kernel
	f      *kernelFile
	closed chan struct{} // closed when the listener is
}

// Listen returns a new listener.
func (k *Kernel) Listen() *KernelListener {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := &kernelFile{listens: true}
	k.open(f)
	return &KernelListener{k, f, make(chan struct{})}
}

// Connect puts a connection into the listener's queue. It returns the connection's address, or nil if the listener is
// closed.
func (ln *KernelListener) Connect(c Pollable) net.Addr {
	k := ln.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if ln.f.shut {
		return nil
	}
	k.conns++
	peer := &syscall.SockaddrInet4{Port: 1 + k.conns%65535, Addr: [4]byte{127, 0, 0, 1}}
	ln.f.backlog = append(ln.f.backlog, &kernelFile{conn: c, peer: peer})
	ln.f.wakeOne()
	return &net.TCPAddr{IP: peer.Addr[:], Port: peer.Port}
}

// Dial opens a connection to the listener.
func (ln *KernelListener) Dial() (net.Conn, error) {
	client, server := Pipe()
	if ln.Connect(server) == nil {
		return nil, syscall.ECONNREFUSED
	}
	return client, nil
}

// Close waits for running calls of Control, closes the listener and resets the connections in its queue.
func (ln *KernelListener) Close() error {
	waiting, err := ln.close()
	for _, f := range waiting {
		_ = f.conn.Close()
	}
	return err
}

func (ln *KernelListener) close() (waiting []*kernelFile, err error) {
	k := ln.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if ln.f.shut {
		return nil, net.ErrClosed
	}
	ln.f.shut = true
	for ln.f.uses > 0 {
		k.closed.Wait()
	}
	waiting, ln.f.backlog = ln.f.backlog, nil
	k.dropLocked(ln.f.fd)
	close(ln.closed)
	return waiting, nil
}

// Closed returns a channel that is closed when the listener has been closed.
func (ln *KernelListener) Closed() <-chan struct{} { return ln.closed }

// Addr returns the address of a TCP listener.
func (ln *KernelListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Accept always fails, because only event loops can use this listener.
func (ln *KernelListener) Accept() (net.Conn, error) { return nil, syscall.EOPNOTSUPP }

// SetDeadline does nothing, because Accept never waits.
func (ln *KernelListener) SetDeadline(time.Time) error { return nil }

// SyscallConn returns the listener itself, which has the descriptor.
func (ln *KernelListener) SyscallConn() (syscall.RawConn, error) { return ln, nil }

// Control calls f with the descriptor.
func (ln *KernelListener) Control(f func(fd uintptr)) error {
	k := ln.k
	k.mu.Lock()
	if ln.f.shut {
		k.mu.Unlock()
		return net.ErrClosed
	}
	ln.f.uses++
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		ln.f.uses--
		k.closed.Broadcast()
	}()
	f(uintptr(ln.f.fd))
	return nil
}

func (ln *KernelListener) Read(func(uintptr) bool) error  { return syscall.EOPNOTSUPP }
func (ln *KernelListener) Write(func(uintptr) bool) error { return syscall.EOPNOTSUPP }

func (k *Kernel) Accept(fd int) (int, syscall.Sockaddr, error) {
	k.step("accept", fd)
	defer k.step("after accept", fd)
	ln := k.file("accept", fd)
	if ln == nil {
		return -1, nil, syscall.EBADF
	}
	if err := k.refused("accept"); err != nil {
		return -1, nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(ln.backlog) == 0 {
		return -1, nil, syscall.EAGAIN
	}
	f := ln.backlog[0]
	ln.backlog = ln.backlog[1:]
	return k.open(f), f.peer, nil
}

// Await waits until conn, which was put into the listener's queue, is closed or taken away.
func (ln *KernelListener) Await(conn Pollable) {
	k := ln.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.has(conn) {
		k.closed.Wait()
	}
}

func (k *Kernel) has(conn Pollable) bool {
	for _, f := range k.files {
		if f.conn == conn {
			return true
		}
		for _, w := range f.backlog {
			if w.conn == conn {
				return true
			}
		}
	}
	return false
}
