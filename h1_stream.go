package gallop

import (
	"io"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// writeStream writes the stream that is the response's body: length bytes, or
// chunks, or all there is up to the end of the connection.
func (c *serverConn) writeStream(length int64) error {
	b := &c.ctx.Response.body
	sink := streamSink{o: &c.Output, chunked: length == lengthChunked, left: length}
	var err error
	if b.writer != nil {
		err = sink.lend(func(w io.Writer) error { return runStreamWriter(b.writer, w) })
	} else {
		err = sink.copyFrom(b.stream)
	}
	if err == nil && length > 0 && sink.left > 0 {
		err = errBodyShort
	}
	if cerr := b.dropStream(err); err == nil {
		err = cerr
	}
	if err == nil && sink.chunked {
		o := &c.Output
		o.Buf = http1.AppendLastChunk(o.Room(headRoom), &c.ctx.Response.Header.trailers)
	}
	return err
}

// streamError wraps what ended a response in the middle of its body. The client
// learns of it by the end of the connection.
type streamError struct{ err error }

func (e *streamError) Error() string { return "response body: " + e.err.Error() }

func (e *streamError) Unwrap() error { return e.err }

// streamSink writes the body of a response that comes from a stream. Write flushes at
// once, because the server cannot know when the stream will write more.
type streamSink struct {
	o       *conn.Output
	chunked bool
	left    int64 // of a body with a known length
}

func (s *streamSink) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.o.Err
	}
	if err := s.put(p); err != nil {
		return 0, err
	}
	if err := s.o.Flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lentSink is a streamSink that a program writes to. The program may keep it, so it is cut off when the body has ended.
type lentSink struct {
	mu   sync.Mutex
	sink streamSink // has no output any more when it is cut off
}

// lend calls f, which writes the body to w. Later writes to w fail.
func (s *streamSink) lend(f func(w io.Writer) error) error {
	l := &lentSink{sink: *s}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*s, l.sink.o = l.sink, nil
	}()
	return f(l)
}

// Write implements io.Writer.
func (l *lentSink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sink.o == nil {
		return 0, errStreamOver
	}
	return l.sink.Write(p)
}

func (s *streamSink) put(p []byte) error {
	if s.chunked {
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
	if s.left >= 0 {
		if int64(len(p)) > s.left {
			return errBodyLong
		}
		s.left -= int64(len(p))
	}
	return s.o.Write(p)
}

// copyFrom writes what r yields. Large files go by sendfile where the connection can. A small
// file is read behind the head: that saves a system call, and both leave in one packet.
func (s *streamSink) copyFrom(r io.Reader) (err error) {
	defer recoverStream(&err)
	if rf, ok := s.o.C.NC.(io.ReaderFrom); ok && s.left > smallBody && !s.chunked {
		if file, at, ok := fileAt(r); ok {
			n, err := s.o.SendFile(rf, file, at, s.left)
			s.left -= n
			return err
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
			if err := s.o.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

const streamBuffer = 32 << 10

// beginStream writes the head of a response whose body is going to be written to the sink that beginStream returns.
func (c *serverConn) beginStream(none bool) streamSink {
	if c.awaits100 { // it may, or may not, send the body
		c.awaits100, c.close = false, true
	}
	c.limitWriting()
	c.decideClose()
	c.foreseeBeforeStream()
	out := c.outgoing(time.Now()) // not c.now: another goroutine may be reading the body, which sets it
	out.length = c.streamedLength(none)
	if out.length == lengthUntilClose {
		out.close = true
		c.BeginAbrupt()
	}
	c.writeHead(&out)
	return streamSink{o: &c.Output, chunked: out.length == lengthChunked, left: out.length}
}

// streamedLength returns what frames a body that is going to be written.
func (c *serverConn) streamedLength(none bool) int64 {
	resp := &c.ctx.Response
	length := resp.Header.sentLength()
	switch {
	case resp.StatusCode() == StatusResetContent:
		return 0
	case length >= 0 && resp.StatusCode() != StatusNoContent:
		return length
	case none && c.method != message.HeadMethod:
		return lengthNone
	case !c.http10 && resp.Header.head.Body != message.UntilClose && resp.Header.sentMinor() > 0:
		return lengthChunked
	case none:
		return lengthNone
	}
	return lengthUntilClose
}
