package stackless

import (
	"bytes"
	"errors"
	"io"
)

// Writer is the common interface of compressing writers.
type Writer interface {
	Write(p []byte) (int, error)
	Flush() error
	Close() error
	Reset(w io.Writer)
}

// NewWriterFunc returns a Writer that writes to w.
type NewWriterFunc func(w io.Writer) Writer

// NewWriter returns a Writer that wraps the one from newWriter and calls it on the goroutines of NewFunc. Its output
// is written to dstW on the caller's goroutine. The Writer is not safe for concurrent use.
func NewWriter(dstW io.Writer, newWriter NewWriterFunc) Writer {
	w := &writer{dst: dstW}
	w.wrapped = newWriter(&w.written)
	return w
}

type writer struct {
	dst     io.Writer
	wrapped Writer
	written bytes.Buffer // written by wrapped, but not to dst yet
}

// errBusy means that too many calls are waiting.
var errBusy = errors.New("stackless: too many calls at a time")

// elsewhere calls a func() on the goroutines that all writers share.
var elsewhere = NewFunc(func(f any) { f.(func())() })

// do calls f elsewhere and writes its output to dst.
func (w *writer) do(f func() error) error {
	var err error
	if !elsewhere(func() { err = f() }) {
		return errBusy
	}
	if err != nil || w.written.Len() == 0 {
		return err
	}
	_, err = w.dst.Write(w.written.Bytes())
	w.written.Reset()
	return err
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.do(func() (err error) {
		n, err = w.wrapped.Write(p)
		return err
	})
	return n, err
}

func (w *writer) Flush() error { return w.do(w.wrapped.Flush) }

func (w *writer) Close() error { return w.do(w.wrapped.Close) }

func (w *writer) Reset(dstW io.Writer) {
	w.written.Reset()
	if !elsewhere(func() { w.wrapped.Reset(&w.written) }) {
		w.wrapped.Reset(&w.written)
	}
	w.dst = dstW
}
