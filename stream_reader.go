package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/callback"
)

// NewStreamReader returns a reader for the data that sw writes. sw starts immediately, on its own goroutine. When the
// reader is closed, all pending and later writes by sw fail, so that sw can return. After Close, Read returns io.EOF.
// If sw panics, Read returns an *ErrBodyStreamWritePanic.
//
// Always call Close, even if you have read everything. You can pass the reader to SetBodyStream, but
// SetBodyStreamWriter does the same without a goroutine.
func NewStreamReader(sw StreamWriter) io.ReadCloser {
	return streamReader{pipeFrom(func(w io.Writer) error { return runStreamWriter(sw, w) })}
}

// streamReader is a pipe that returns io.EOF after it was closed, as in fasthttp.
type streamReader struct{ *io.PipeReader }

// Read implements io.Reader.
func (r streamReader) Read(p []byte) (int, error) {
	n, err := r.PipeReader.Read(p)
	if err == io.ErrClosedPipe {
		err = io.EOF
	}
	return n, err
}

// pipeFrom returns a reader of the output of write, which runs on its own goroutine.
func pipeFrom(write func(w io.Writer) error) *io.PipeReader {
	pr, pw := io.Pipe()
	go func() {
		defer pw.CloseWithError(callback.ErrGoexit) // in case write ends the goroutine
		pw.CloseWithError(write(pw))
	}()
	return pr
}

// writtenStream is a body stream that writes itself. It uses a goroutine only if it is read with Read.
type writtenStream struct {
	write   func(w io.Writer) error // called once unless repeats is set
	repeats bool
	close   func(cause error) error // called if write never was; may be nil
	pipe    *io.PipeReader
	begun   bool
}

// WriteTo implements io.WriterTo.
func (s *writtenStream) WriteTo(w io.Writer) (int64, error) {
	s.begun = true
	counted := countingWriter{w: w}
	err := s.write(&counted)
	return counted.n, err
}

// SupportsBodyWriteTo implements BodyWriterTo.
func (s *writtenStream) SupportsBodyWriteTo() bool { return s.pipe == nil }

// Read implements io.Reader.
func (s *writtenStream) Read(p []byte) (int, error) {
	if s.pipe == nil {
		s.begun, s.pipe = true, pipeFrom(s.write)
	}
	return s.pipe.Read(p)
}

// CloseWithError ends the goroutine if there is one. Otherwise it calls close, unless the stream was already
// used.
func (s *writtenStream) CloseWithError(cause error) error {
	if s.pipe != nil {
		return s.pipe.CloseWithError(cause)
	}
	if s.close == nil || s.begun {
		return nil
	}
	s.begun = true
	return s.close(cause)
}
