package gallop

import (
	"io"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
)

// streamError wraps what ended a response in the middle of its body. The client
// learns of it by the end of the connection.
type streamError struct{ err error }

func (e *streamError) Error() string { return "response body: " + e.err.Error() }

func (e *streamError) Unwrap() error { return e.err }

// streamSink writes the body of a response that comes from a stream. Write flushes at
// once, because the server cannot know when the stream will write more.
type streamSink struct {
	o       *conn.Output // of an HTTP/1 connection, or nil
	h2      *h2Stream    // or nil
	chunked bool         // over HTTP/1
	left    int64        // of a body with a known length; negative if the length is unknown
}

// err returns why nothing more can be written, or nil.
func (s *streamSink) err() error {
	if s.h2 != nil {
		return s.h2.writeError()
	}
	return s.o.Err
}

// flush sends what was written.
func (s *streamSink) flush() error {
	if s.h2 != nil {
		return s.h2.flush()
	}
	return s.o.Flush()
}

// gathers reports whether small pieces are to be collected, because each piece gets a frame of its own.
func (s *streamSink) gathers() bool { return s.chunked || s.h2 != nil }

// finish ends a body, with trailers unless the response has none.
func (s *streamSink) finish(trailers *field.List, none bool) error {
	switch {
	case s.h2 != nil && none:
		return s.h2.endBody(nil)
	case s.h2 != nil:
		return s.h2.endBody(trailers)
	case s.chunked && !none:
		s.o.Buf = http1.AppendLastChunk(s.o.Room(headRoom), trailers)
	}
	return s.o.Err
}

// writeBody writes the stream that is the body of resp, and closes it.
func (s *streamSink) writeBody(resp *Response) error {
	b, sized := &resp.body, s.left > 0
	var err error
	if b.writer != nil {
		err = s.lend(func(w io.Writer) error { return runStreamWriter(b.writer, w) })
	} else {
		err = s.copyFrom(b.stream)
	}
	if err == nil && sized && s.left > 0 {
		err = errBodyShort
	}
	if cerr := b.dropStream(err); err == nil {
		err = cerr
	}
	if err == nil {
		s.finish(&resp.Header.trailers, false)
	}
	return err
}

func (s *streamSink) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.err()
	}
	if err := s.put(p); err != nil {
		return 0, err
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lentSink is a streamSink that a program writes to. The program may keep it, so it is cut off when the body has ended.
type lentSink struct {
	mu   sync.Mutex
	sink streamSink
	over bool
}

// lend calls f, which writes the body to w. Later writes to w fail.
func (s *streamSink) lend(f func(w io.Writer) error) error {
	l := &lentSink{sink: *s}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*s, l.over = l.sink, true
	}()
	return f(l)
}

// Write implements io.Writer.
func (l *lentSink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0, errStreamOver
	}
	return l.sink.Write(p)
}

func (s *streamSink) put(p []byte) error {
	if s.left >= 0 {
		if int64(len(p)) > s.left {
			return errBodyLong
		}
		s.left -= int64(len(p))
	}
	switch {
	case s.h2 != nil:
		return s.h2.write(p)
	case !s.chunked:
		return s.o.Write(p)
	}
	s.o.Buf = http1.AppendChunkLine(s.o.Room(32), len(p))
	s.o.More = true // the end of the chunk, at least
	err := s.o.Write(p)
	s.o.More = false
	if err != nil {
		return err
	}
	s.o.AppendString("\r\n")
	return nil
}

// copyFrom writes what r yields. Large files go by sendfile where the connection can. A small
// file is read behind the head: that saves a system call, and both leave in one packet.
func (s *streamSink) copyFrom(r io.Reader) (err error) {
	defer recoverStream(&err)
	if s.o != nil && s.left > smallBody && !s.chunked {
		if rf, ok := s.o.C.NC.(io.ReaderFrom); ok {
			if file, at, ok := fileAt(r); ok {
				n, err := s.o.SendFile(rf, file, at, s.left)
				s.left -= n
				return err
			}
		}
	}
	if w, ok := r.(BodyWriterTo); ok && w.SupportsBodyWriteTo() {
		return s.lend(func(to io.Writer) error {
			_, err := w.WriteTo(to)
			return err
		})
	}
	buf := bufpool.Get(streamBuffer)[:streamBuffer]
	defer bufpool.Put(buf)
	for empty := 0; s.left != 0; empty++ {
		if empty == maxEmptyReads {
			return io.ErrNoProgress
		}
		want := buf
		if s.left > 0 && s.left < int64(len(buf)) {
			want = buf[:s.left]
		}
		n, err := r.Read(want)
		if n > 0 {
			empty = -1
			if err := s.put(want[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n < len(want) {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

const streamBuffer = 32 << 10
