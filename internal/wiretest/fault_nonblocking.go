package wiretest

import (
	"os"
	"syscall"
)

// A Fault around a [Pollable] is a Pollable too, and fails like an operating system: a call that times out returns
// ETIMEDOUT. If a fault moves fewer bytes than it could, the rest looks like bytes that arrive right afterwards.

func (f *Fault) pollable() Pollable { return f.Conn.(Pollable) }

// TryRead reads the bytes that are there, or fewer.
func (f *Fault) TryRead(p []byte) (int, error) {
	kind, err := f.next()
	if err != nil {
		return 0, errnoOf(err)
	}
	if f.Most > 0 {
		p = p[:min(len(p), f.Most)]
	}
	switch {
	case kind == FaultShort && len(p) > 1:
		defer f.fail(ErrFault)
		p = p[:len(p)/2]
	case kind == FaultOctet && len(p) > 1:
		p = p[:1]
	}
	n, err := f.pollable().TryRead(p)
	if n == len(p) {
		f.happened()
	}
	return n, err
}

// TryWrite writes the bytes that fit into the window, or fewer.
func (f *Fault) TryWrite(p []byte) (int, error) {
	kind, err := f.next()
	if err != nil {
		return 0, errnoOf(err)
	}
	switch {
	case kind == FaultShort:
		defer f.fail(ErrFault)
		p = p[:len(p)/2]
	case kind == FaultOctet && len(p) > 1:
		p = p[:1+(len(p)-1)/4] // single bytes would take too long, because the loop waits for each
	}
	n, err := f.pollable().TryWrite(p)
	if n == len(p) {
		f.happened()
	}
	return n, err
}

// errnoOf converts err to the error that an operating system would return.
func errnoOf(err error) error {
	if err == os.ErrDeadlineExceeded {
		return syscall.ETIMEDOUT
	}
	return err
}

// Ready returns what can be done now. A broken connection is ready for everything, so that the caller notices.
func (f *Fault) Ready() Readiness {
	if f.err.Load() != nil {
		return Readiness{Read: true, Write: true, Ended: true, Broken: true}
	}
	return f.pollable().Ready()
}

// Watch makes fn run when the state of the connection changes.
func (f *Fault) Watch(fn func()) {
	f.watch = fn
	f.pollable().Watch(fn)
}

// CloseRead makes reads fail after the bytes that already arrived.
func (f *Fault) CloseRead() { f.pollable().CloseRead() }

func (f *Fault) happened() {
	if f.watch != nil {
		f.watch()
	}
}
