package wiretest

import (
	"os"
	"syscall"
)

// A Fault around a [Pollable] is one, too, and misbehaves as a system does: a call that is to
// run out of time fails with ETIMEDOUT, and what a call leaves, though it had room for it,
// counts as what arrives just then.

func (f *Fault) pollable() Pollable { return f.Conn.(Pollable) }

// TryRead reads what there is, or less.
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

// TryWrite writes what the window takes, or less.
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
		p = p[:1+(len(p)-1)/4] // octets take too long, as each is waited for
	}
	n, err := f.pollable().TryWrite(p)
	if n == len(p) {
		f.happened()
	}
	return n, err
}

// errnoOf returns what a system says instead of err.
func errnoOf(err error) error {
	if err == os.ErrDeadlineExceeded {
		return syscall.ETIMEDOUT
	}
	return err
}

// Ready says what can be done now: finding out that the connection is broken, if it is.
func (f *Fault) Ready() Readiness {
	if f.err.Load() != nil {
		return Readiness{Read: true, Write: true, Ended: true, Broken: true}
	}
	return f.pollable().Ready()
}

// Watch has fn called when something happens.
func (f *Fault) Watch(fn func()) {
	f.watch = fn
	f.pollable().Watch(fn)
}

// CloseRead makes reading end behind what there is.
func (f *Fault) CloseRead() { f.pollable().CloseRead() }

func (f *Fault) happened() {
	if f.watch != nil {
		f.watch()
	}
}
