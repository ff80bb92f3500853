package gallop

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// upload writes the body of a request while the client waits for the response. So a server can refuse the
// request before it has received the whole body (RFC 9112 §9.5).
//
// upload takes the body stream out of the request. If the stream blocks in Read when the call ends, the call
// does not wait for the upload. The upload then closes the stream when Read returns.
type upload struct {
	cc       *ClientConn
	content  []byte
	stream   body // if the body is one
	length   int64
	duplex   bool        // the upload continues while the response is read
	trailers *field.List // of the request, which belongs to the caller again when the call has ended
	state    atomic.Int32
	answered atomic.Bool // the head of the response was read
	stopped  atomic.Bool // by end
	done     chan struct{}

	// Valid when done is closed:
	n       int64 // bytes written
	werr    error // what the connection said
	err     error
	failure error // of a callback, see callback.Go
}

// States of an upload.
const (
	uploadRuns      = iota
	uploadEnds      // the stream has ended, and what is left to do is soon done
	uploadAbandoned // nobody waits for it
)

// bodyFailure is an error of the stream that is the body of a request.
type bodyFailure struct{ error }

var errAbandoned = errors.New("gallop: the call has ended")

// exchangeUploading sends the body of a request whose head was sent, and reads the response at the same time.
func (cc *ClientConn) exchangeUploading(req *Request, a *answer, content []byte, length int64) error {
	u := &upload{cc: cc, content: content, length: length, duplex: req.FullDuplex, trailers: &req.Header.trailers, done: make(chan struct{})}
	u.stream.takeStream(&req.body)
	a.upload = u
	cc.armRead(cc.deadline) // ReadTimeout is for afterwards
	callback.Go(u.run, u.finish)
	answered := false
	defer func() {
		if !answered { // a callback has panicked
			u.end()
		}
	}()
	err := cc.readAnswer(a, nil)
	if s, ok := a.resp.stream.(*clientStream); ok && err == nil && s.upload == u {
		answered = true // the response stream ends the upload
		return nil
	}
	cc.unsent = err != nil && (!u.over() || u.err != nil)
	whole := u.end()
	answered = true
	if !whole {
		cc.broken = true
	}
	if !u.over() {
		return err
	}
	callback.Again(u.failure)
	if err == nil {
		return nil
	}
	cc.wrote += u.n
	if failed, ok := u.err.(bodyFailure); ok {
		return failed
	}
	if u.werr != nil && !timedOut(u.werr) && cc.interrupted.Load() { // by giveUp
		return writeFailure{u.werr}
	}
	return err
}

// run writes the body.
func (u *upload) run() {
	u.err = u.write()
	if u.err != nil && u.werr == nil && u.err != errAbandoned {
		u.err = bodyFailure{u.err}
	}
	u.cc.set.trace.wroteRequest(u.err)
	switch timeout := u.cc.set.readTimeout; {
	case u.state.Load() == uploadAbandoned:
	case u.err == nil && timeout > 0:
		u.cc.nc.SetReadDeadline(clock.Earlier(time.Now().Add(timeout), u.cc.deadline))
		u.cc.heedInterrupt()
	case u.stopped.Load(): // the response is still being read
	case u.err != nil && (u.werr == nil || timedOut(u.werr)):
		u.cc.interrupt() // no response is to be expected
	case u.werr != nil:
		time.AfterFunc(maxLastWords, u.giveUp)
	}
}

// giveUp is called when a write has failed, and no response has come since.
func (u *upload) giveUp() {
	if !u.answered.Load() {
		u.cc.cutOff()
	}
}

// finish is called when run has ended, well or by a callback's failure.
func (u *upload) finish(failure error) {
	defer close(u.done)
	if failure != nil {
		u.failure, u.err = failure, bodyFailure{failure}
		u.cc.interrupt()
		u.stream.dropStream(failure)
	}
}

func (u *upload) write() error {
	if u.content != nil {
		_, err := (*uploadWriter)(u).Write(u.content)
		return err
	}
	w := messageBuffers.Get().(*bufio.Writer)
	w.Reset((*uploadWriter)(u))
	err := u.writeStream(w)
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	messageBuffers.Put(w)
	return err
}

func (u *upload) writeStream(w *bufio.Writer) error {
	if u.length >= 0 {
		return u.stream.writeFixed(w, int(u.length))
	}
	cw := acquireChunkWriter(w)
	defer releaseChunkWriter(cw)
	if err := u.stream.consume(cw); err != nil {
		return err
	}
	if !u.state.CompareAndSwap(uploadRuns, uploadEnds) {
		return errAbandoned
	}
	_, err := w.Write(http1.AppendLastChunk(w.AvailableBuffer(), u.trailers))
	return err
}

// unwanted reports whether the rest of the body stays unsent, now that the head of the response is known. That
// is so if the server refuses the body. It is also so if the caller gets the request back while the response is
// still read.
func (u *upload) unwanted(head *message.Head, streams bool) bool {
	return (streams && !u.duplex || head.Status >= 300) && !u.end()
}

func (u *upload) over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// causeOf returns the reason why reading the response failed with err. If the upload ended the read because the
// request body could not be read, the reason is the error of the body.
func (u *upload) causeOf(err error) error {
	if timedOut(err) && u.over() {
		if failed, ok := u.err.(bodyFailure); ok {
			return failed
		}
	}
	return err
}

// maxUploadWait is how long the end of a call waits for a stream that is being read.
const maxUploadWait = 50 * time.Millisecond

// end stops the upload and reports whether all of the body was written.
func (u *upload) end() bool {
	if u.over() {
		u.cc.readBy = unknownDeadline // run may have moved it
		return u.err == nil
	}
	if u.state.Load() == uploadAbandoned {
		return false
	}
	u.stopped.Store(true)
	u.cc.armWrite(longAgo)
	if u.content != nil {
		<-u.done
		return u.end()
	}
	timer := time.NewTimer(maxUploadWait)
	defer timer.Stop()
	select {
	case <-u.done:
		return u.end()
	case <-timer.C:
	}
	if u.state.CompareAndSwap(uploadRuns, uploadAbandoned) {
		return false
	}
	<-u.done
	return u.end()
}

// uploadWriter is the connection for an upload.
type uploadWriter upload

func (w *uploadWriter) Write(p []byte) (int, error) {
	if w.state.Load() == uploadAbandoned {
		return 0, errAbandoned
	}
	n, err := w.cc.nc.Write(p)
	return n, w.note(int64(n), err)
}

func (w *uploadWriter) note(n int64, err error) error {
	if w.n += n; err != nil {
		w.werr = err
		w.cc.noteReset(err)
	}
	return err
}

// ReadFrom lets the connection take a file by itself, if it can.
func (w *uploadWriter) ReadFrom(r io.Reader) (int64, error) {
	if tc, ok := w.cc.nc.(*net.TCPConn); ok {
		n, err := tc.ReadFrom(r)
		if isOfFile(err) {
			w.n += n
			return n, err
		}
		return n, w.note(n, err)
	}
	return io.Copy(struct{ io.Writer }{w}, r)
}

// isOfFile reports whether err, which a connection returns that takes a file by itself, is because
// of the file, and not of the connection.
func isOfFile(err error) bool {
	var read *fs.PathError
	var call *os.SyscallError
	switch {
	case errors.As(err, &read):
		return true
	case errors.As(err, &call) && call.Syscall == "sendfile":
		return slices.Contains(fileErrors, call.Err)
	}
	return false
}

var fileErrors = []error{syscall.EBADF, syscall.EIO, syscall.EINVAL, syscall.EISDIR, syscall.ESTALE, syscall.EOVERFLOW, syscall.EACCES}

// maxContinueWait is how long a body waits by default for the 100 that its request has asked for
// (RFC 9110 §10.1.1: not indefinitely).
const maxContinueWait = time.Second

// awaitContinue waits until the server asks for the body, or until it has been silent for the time that the
// settings allow. done reports that a final response came first and was read.
func (cc *ClientConn) awaitContinue(a *answer) (done bool, err error) {
	usual, until := cc.readBy, time.Now().Add(cc.set.continueWait)
	if usual.IsZero() || until.Before(usual) {
		cc.armRead(until)
	}
	for range maxInterim + 1 {
		err = cc.readHead(&a.resp.Header)
		switch {
		case err == nil && a.resp.StatusCode() == StatusContinue:
			cc.tookInterim(a.resp)
			cc.armRead(usual)
			return false, nil
		case err == nil && cc.tookInterim(a.resp):
			continue
		case err == nil: // the body stays unsent, so the connection cannot be reused
			cc.armRead(usual)
			err = cc.readRest(a)
			cc.broken = true
			return true, err
		case timedOut(err) && !cc.interrupted.Load() && !time.Now().Before(until):
			cc.broken = false
			cc.armRead(usual)
			return false, nil
		}
		return false, err
	}
	return false, errInterim
}
