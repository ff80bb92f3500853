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

// FaultKind is what happens to the I/O call that a [Fault] picks.
type FaultKind int

const (
	FaultNone    FaultKind = iota // only counts
	FaultError                    // the call fails, and all that follow
	FaultShort                    // the call moves half of the octets and fails, as do all that follow
	FaultTimeout                  // the call fails with os.ErrDeadlineExceeded; later ones succeed
	FaultReset                    // the connection is reset
	FaultOctet                    // this call and all that follow move one octet at a time
)

// Faults lists the kinds that disturb.
var Faults = []FaultKind{FaultError, FaultShort, FaultTimeout, FaultReset, FaultOctet}

func (k FaultKind) String() string {
	return [...]string{"none", "error", "short", "timeout", "reset", "octet"}[k]
}

// ErrFault is the error of FaultError and FaultShort.
var ErrFault = errors.New("wiretest: injected fault")

// Fault is a connection whose k-th call of Read or Write misbehaves.
type Fault struct {
	net.Conn
	Most int // octets that one Read returns at most; 0 is no bound

	at    int64
	kind  FaultKind
	calls atomic.Int64
	dead  sync.Once
	err   atomic.Pointer[error]
	watch func() // of a [Kernel]
}

// NewFault wraps c and picks its call number at, counted from 1 over reads and writes
// together. With 0 there is no fault.
func NewFault(c net.Conn, at int, kind FaultKind) *Fault {
	return &Fault{Conn: c, at: int64(at), kind: kind}
}

// Calls returns how many reads and writes there have been.
func (f *Fault) Calls() int { return int(f.calls.Load()) }

// CloseWrite half-closes what is wrapped, where it can.
func (f *Fault) CloseWrite() error {
	if h, ok := f.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Stale asks what is wrapped, where it can tell.
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

// next counts a call and says how it is to go.
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
