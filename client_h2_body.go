package gallop

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/h2client"
)

// h2Upload sends a request body that is a stream. Like upload, it takes the stream out of the request. If the stream blocks in
// Read when the call ends, the call does not wait, and the upload closes the stream when Read returns.
type h2Upload struct {
	call     *h2client.Call
	set      *clientSettings
	stream   body
	length   int64
	duplex   bool        // the upload continues while the response is read
	trailers *field.List // of the request; the body may add some at its end
	stopped  atomic.Bool
	broke    atomic.Bool // the upload has interrupted the call
	done     chan struct{}

	// Valid when done is closed:
	err     error
	failure error // of a callback, see callback.Go
}

// startUpload begins to send the body of the request.
func (x *h2Exchange) startUpload() {
	u := &h2Upload{call: x.call, set: x.set, length: x.out.length, duplex: x.req.FullDuplex, done: make(chan struct{})}
	u.trailers = &x.req.Header.trailers
	u.stream.takeStream(&x.req.body)
	x.upload = u
	callback.Go(u.run, u.finish)
}

// run sends the body.
func (u *h2Upload) run() {
	w := messageBuffers.Get().(*bufio.Writer)
	w.Reset(h2Writer{u})
	var err error
	if u.length >= 0 {
		err = u.stream.writeFixed(w, int(u.length))
	} else {
		err = u.stream.consume(flushingSink{w})
	}
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	messageBuffers.Put(w)
	if err == nil {
		trailers := u.trailers
		if trailers.Len() == 0 {
			trailers = nil
		}
		if err = u.call.End(trailers); err != nil {
			err = callFailure{err}
		}
	}
	u.set.trace.wroteRequest(err)
	if u.err = err; err != nil && !isOfCall(err) {
		u.err = bodyFailure{err}
		u.interrupt()
	}
}

// finish is called when run has ended, well or by a callback's failure.
func (u *h2Upload) finish(failure error) {
	defer close(u.done)
	if failure != nil {
		u.failure, u.err = failure, bodyFailure{failure}
		u.interrupt()
		u.stream.dropStream(failure)
	}
}

// interrupt ends the call because of the body.
func (u *h2Upload) interrupt() {
	u.broke.Store(true)
	u.call.Interrupt()
}

// isOfCall reports whether err, which has ended an upload, comes from the call and not from the body.
func isOfCall(err error) bool {
	var failed callFailure
	return errors.As(err, &failed)
}

// callFailure is an error of the call that a Write gets.
type callFailure struct{ error }

// h2Writer is the call for an upload.
type h2Writer struct{ u *h2Upload }

func (w h2Writer) Write(p []byte) (int, error) {
	n, err := w.u.call.Write(p)
	if err != nil {
		err = callFailure{err}
	}
	return n, err
}

// stop ends the upload, and reports whether its goroutine has ended.
func (u *h2Upload) stop() bool {
	if u.over() {
		return true
	}
	u.call.StopWriting()
	if u.stopped.Swap(true) {
		return u.over()
	}
	timer := time.NewTimer(maxUploadWait)
	defer timer.Stop()
	select {
	case <-u.done:
		return true
	case <-timer.C:
		return false
	}
}

func (u *h2Upload) over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// failed returns why the body could not be read, if that has ended the upload. If a callback has failed, so does failed.
func (u *h2Upload) failed() error {
	<-u.done // it has interrupted the call
	callback.Again(u.failure)
	if failed, ok := u.err.(bodyFailure); ok {
		return failed
	}
	return nil
}

// stream makes the rest of the response the body of resp.
func (x *h2Exchange) stream() {
	s := &h2ClientStream{x: x}
	s.trailers = &x.resp.Header.trailers
	s.name = string(x.req.Header.Method()) + " " + string(x.req.appendURL(nil, x.cc.owner.scheme()))
	x.resp.setStream(s, streamedSize(&x.resp.Header.head))
	x.resp.late = &s.lateTrailers
	x.req, x.resp = nil, nil // they belong to the caller
}

// h2ClientStream is a response body as the caller sees it.
type h2ClientStream struct {
	lateTrailers
	x    *h2Exchange // nil when it is over
	name string      // method and URL
	err  error       // what Read returns when it is over

	closing atomic.Bool
	call    atomic.Pointer[h2client.Call] // for Close while Read holds mu
}

// Read reads from the body: io.EOF at its end and ever after.
func (s *h2ClientStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.x
	switch {
	case x == nil:
		return 0, s.err
	case len(p) == 0:
		return 0, nil
	}
	s.call.Store(x.call)
	n, err := x.call.Read(p)
	s.call.Store(nil)
	if err == nil && x.call.HasEnded() {
		err = io.EOF
		s.end(err)
		return n, nil
	}
	if err != nil {
		s.end(x.failure(err))
		return n, s.err
	}
	return n, nil
}

// end ends the call. err is what Read returns from now on.
func (s *h2ClientStream) end(err error) {
	x := s.x
	switch {
	case err == io.EOF:
		if trailers := x.call.Trailers(); s.trailers != nil && trailers.Len() > 0 {
			trailers.CopyTo(s.trailers)
		}
	case s.closing.Load():
		err = ErrBodyClosed
	default:
		phase := x.phaseOf(err)
		method, url, _ := strings.Cut(s.name, " ")
		call := &CallError{Method: method, URL: url, Addr: x.cc.addr, Phase: phase, Err: x.explain(err)}
		x.set.trace.callFailed(call)
		err = call.returned(call.Err, x.set.detailed)
	}
	s.x, s.err = nil, err
	x.shared = x.shared || s.closing.Load() // Close may be about to interrupt the call
	x.end()
	x.recycle()
}

// Close ends the stream. Unless all of the body has arrived, the server is told to stop. A Read that waits is interrupted.
func (s *h2ClientStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError does the same as Close.
func (s *h2ClientStream) CloseWithError(error) error {
	if !s.mu.TryLock() {
		s.closing.Store(true)
		if call := s.call.Load(); call != nil {
			call.Interrupt()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.x != nil {
		s.closing.Store(true)
		s.trailers = nil
		s.end(ErrBodyClosed)
	}
	return nil
}

// handOver makes the stream of a CONNECT the body of resp. It does not belong to the call any longer, and counts until it is
// closed.
func (x *h2Exchange) handOver() error {
	if x.stopWatch != nil && !x.stopWatch() {
		x.shared = true
		return h2client.ErrInterrupted // explained by the context
	}
	x.stopWatch = nil
	x.shared = true // a Read and a Write may run
	x.call.Unlimit()
	x.resp.setStream(&h2ClientTunnel{x: x, call: x.call}, -1)
	x.req, x.resp = nil, nil
	return nil
}

// h2ClientTunnel is the stream of a CONNECT. It may be read and written at the same time.
type h2ClientTunnel struct {
	x      *h2Exchange
	call   *h2client.Call
	closed atomic.Bool
}

func (t *h2ClientTunnel) Read(p []byte) (int, error) { return t.call.Read(p) }

func (t *h2ClientTunnel) Write(p []byte) (int, error) { return t.call.Write(p) }

// CloseWrite tells the server that nothing more will be written.
func (t *h2ClientTunnel) CloseWrite() error { return t.call.End(nil) }

// Close ends the stream.
func (t *h2ClientTunnel) Close() error {
	if t.closed.CompareAndSwap(false, true) {
		t.call.Interrupt()
		t.x.end()
	}
	return nil
}
