package wiretest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// FaultKind says how the I/O call that a [Fault] picks fails.
type FaultKind int

const (
	FaultNone    FaultKind = iota // only counts calls
	FaultError                    // the call and all later ones fail
	FaultShort                    // the call moves half of the bytes and fails, and all later calls fail
	FaultTimeout                  // the call fails with os.ErrDeadlineExceeded; later ones succeed
	FaultReset                    // the connection is reset
	FaultOctet                    // the call and all later ones move one byte at a time
)

// Faults lists all kinds that change how a connection behaves.
var Faults = []FaultKind{FaultError, FaultShort, FaultTimeout, FaultReset, FaultOctet}

func (k FaultKind) String() string {
	return [...]string{"none", "error", "short", "timeout", "reset", "octet"}[k]
}

// ErrFault is the error that FaultError and FaultShort return.
var ErrFault = errors.New("wiretest: injected fault")

// Fault is a connection whose k-th call of Read or Write fails.
type Fault struct {
	net.Conn
	Most int // maximum number of bytes that one Read returns; 0 means unlimited

	at    int64
	kind  FaultKind
	calls atomic.Int64
	dead  sync.Once
	err   atomic.Pointer[error]
	watch func() // set by the watching [Kernel]
}

// NewFault wraps c and picks call number at, counting reads and writes together from 1. If at is 0, no call fails.
func NewFault(c net.Conn, at int, kind FaultKind) *Fault {
	return &Fault{Conn: c, at: int64(at), kind: kind}
}

// Calls returns how many reads and writes there were so far.
func (f *Fault) Calls() int { return int(f.calls.Load()) }

// CloseWrite half-closes the wrapped connection if it supports that.
func (f *Fault) CloseWrite() error {
	if h, ok := f.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Stale calls Stale of the wrapped connection, and returns false if that method is missing.
func (f *Fault) Stale() bool {
	c, ok := f.Conn.(interface{ Stale() bool })
	return ok && c.Stale()
}

func (f *Fault) Read(p []byte) (int, error) {
	kind, err := f.next()
	if err != nil {
		return 0, err
	}
	if f.Most > 0 {
		p = p[:min(len(p), f.Most)]
	}
	switch {
	case kind == FaultShort && len(p) > 1:
		n, err := f.Conn.Read(p[:len(p)/2])
		f.fail(ErrFault)
		return n, err
	case kind == FaultOctet && len(p) > 1:
		return f.Conn.Read(p[:1])
	}
	return f.Conn.Read(p)
}

func (f *Fault) Write(p []byte) (n int, err error) {
	kind, err := f.next()
	if err != nil {
		return 0, err
	}
	switch kind {
	case FaultShort:
		n, err = f.Conn.Write(p[:len(p)/2])
		f.fail(ErrFault)
		if err == nil {
			err = io.ErrShortWrite
		}
		return n, err
	case FaultOctet:
		for n < len(p) && err == nil {
			_, err = f.Conn.Write(p[n : n+1])
			n++
		}
		return n, err
	}
	return f.Conn.Write(p)
}

// next counts a call and returns how the call must fail.
func (f *Fault) next() (FaultKind, error) {
	k := f.calls.Add(1)
	if err := f.err.Load(); err != nil {
		return 0, *err
	}
	if f.at <= 0 || k < f.at || k > f.at && f.kind != FaultOctet {
		return FaultNone, nil
	}
	switch f.kind {
	case FaultError:
		f.fail(ErrFault)
		return 0, ErrFault
	case FaultTimeout:
		return 0, os.ErrDeadlineExceeded
	case FaultReset:
		f.fail(syscall.ECONNRESET)
		if c, ok := f.Conn.(*Conn); ok {
			c.Reset()
		}
		return 0, syscall.ECONNRESET
	}
	return f.kind, nil
}

// fail makes every later call fail with err.
func (f *Fault) fail(err error) {
	f.dead.Do(func() { f.err.Store(&err) })
	f.happened()
}
