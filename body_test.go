package gallop

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// causeCloser is told why it is closed.
type causeCloser struct {
	io.Reader
	causes []error
}

func (c *causeCloser) Close() error { panic("closed without a cause") }

func (c *causeCloser) CloseWithError(cause error) error {
	c.causes = append(c.causes, cause)
	return nil
}

// bytesSource is a bodySource whose bytes are there.
type bytesSource struct {
	io.Reader
	whole string
	err   error
	reads int
}

func (s *bytesSource) readAll(dst []byte) ([]byte, error) {
	s.reads++
	return append(dst, s.whole...), s.err
}

func (s *bytesSource) show()        {}
func (s *bytesSource) limit() int64 { return 0 }

// Every way to set a body, and what Body makes of it.
func TestBody(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*body)
		want string
		err  error
	}{
		{"nothing", func(b *body) {}, "", nil},
		{"bytes", func(b *body) { b.SetBody([]byte("abc")) }, "abc", nil},
		{"string", func(b *body) { b.SetBodyString("abc") }, "abc", nil},
		{"raw", func(b *body) { b.SetBodyRaw([]byte("abc")) }, "abc", nil},
		{"raw nil", func(b *body) { b.SetBodyString("abc"); b.SetBodyRaw(nil) }, "", nil},
		{"appended to nothing", func(b *body) { b.AppendBodyString("abc") }, "abc", nil},
		{"appended to bytes", func(b *body) { b.SetBodyString("ab"); b.AppendBody([]byte("c")) }, "abc", nil},
		{"appended to raw", func(b *body) { b.SetBodyRaw([]byte("ab")); b.AppendBodyString("c") }, "abc", nil},
		{"appended to itself", func(b *body) { b.SetBodyString(strings.Repeat("x", 512)); b.AppendBody(b.Body()) }, strings.Repeat("x", 1024), nil},
		{"set to a part of itself", func(b *body) { b.SetBodyString("abcdef"); b.SetBody(b.Body()[2:4]) }, "cd", nil},
		{"written", func(b *body) { io.WriteString(b.BodyWriter(), "ab"); b.BodyWriter().Write([]byte("c")) }, "abc", nil},
		{"stream", func(b *body) { b.setStream(strings.NewReader("abc"), -1) }, "abc", nil},
		{"stream of announced size", func(b *body) { b.setStream(strings.NewReader("abc"), 3) }, "abc", nil},
		{"stream one byte at a time", func(b *body) { b.setStream(oneByteReader{strings.NewReader("abc")}, 3) }, "abc", nil},
		{"appended to a stream", func(b *body) { b.setStream(strings.NewReader("ab"), -1); b.AppendBodyString("c") }, "abc", nil},
		{"stream that writes itself", func(b *body) { b.setStream(unreadable{strings.NewReader("abc")}, -1) }, "abc", nil},
		{"stream that does not", func(b *body) { b.setStream(unwritable{strings.NewReader("abc")}, -1) }, "abc", nil},
		{"stream writer", func(b *body) { b.setStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) }, "abc", nil},
		{"stream asked for", func(b *body) {
			b.setStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
			b.BodyStream()
		}, "abc", nil},
		{"source", func(b *body) { b.source = &bytesSource{whole: "abc"} }, "abc", nil},
		{"reset", func(b *body) { b.SetBodyString("abc"); b.ResetBody() }, "", nil},
		{"reset stream", func(b *body) { b.setStream(strings.NewReader("abc"), -1); b.ResetBody() }, "", nil},
		{"closed stream", func(b *body) { b.setStream(strings.NewReader("abc"), -1); b.CloseBodyStream() }, "", nil},
		{"released", func(b *body) { b.SetBodyString("abc"); b.ReleaseBody(0) }, "", nil},
		{"not released", func(b *body) { b.SetBodyString("abc"); b.ReleaseBody(1 << 20) }, "abc", nil},

		{"stream that fails", func(b *body) { b.setStream(wiretest.Failing("abc"), -1) }, "", wiretest.ErrTest},
		{"stream that does not close", func(b *body) {
			b.setStream(&wiretest.CountingCloser{Reader: strings.NewReader("abc"), Err: wiretest.ErrTest}, -1)
		}, "", wiretest.ErrTest},
		{"stream that yields nothing for ever", func(b *body) {
			b.setStream(wiretest.ReaderFunc(func([]byte) (int, error) { return 0, nil }), -1)
		}, "", io.ErrNoProgress},
		{"short stream", func(b *body) { b.setStream(strings.NewReader("ab"), 3) }, "", errBodyShort},
		{"long stream", func(b *body) { b.setStream(strings.NewReader("abcd"), 3) }, "", errBodyLong},
		{"endless stream", func(b *body) {
			b.setStream(wiretest.ReaderFunc(func(p []byte) (int, error) { return len(p), nil }), -1)
		}, "", ErrBodyTooLarge},
		{"endless stream writer", func(b *body) {
			b.setStreamWriter(func(w *bufio.Writer) {
				for {
					if _, err := w.Write(make([]byte, 1<<20)); err != nil {
						return
					}
				}
			})
		}, "", ErrBodyTooLarge},
		{"source that fails", func(b *body) { b.source = &bytesSource{whole: "ab", err: wiretest.ErrTest} }, "", wiretest.ErrTest},
		{"another body after a failure", func(b *body) {
			b.setStream(wiretest.Failing("abc"), -1)
			b.Body()
			b.SetBodyString("x")
		}, "x", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b body
			tt.set(&b)
			for range 2 { // the second time it is kept
				if got := string(b.Body()); got != tt.want || !errors.Is(b.BodyErr(), tt.err) {
					t.Fatalf("Body() = %.20q (%d bytes), BodyErr() = %v; want %.20q, %v", got, len(got), b.BodyErr(), tt.want, tt.err)
				}
			}
			if b.IsBodyStream() {
				t.Error("a body that was read is still a stream")
			}
		})
	}
}

type oneByteReader struct{ r io.Reader }

func (o oneByteReader) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

// A panic in a StreamWriter is an error, and says what it was.
func TestStreamWriterPanics(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		is    error
	}{{"with an error", wiretest.ErrTest, wiretest.ErrTest}, {"with something else", "test", nil}} {
		t.Run(tt.name, func(t *testing.T) {
			var b body
			b.setStreamWriter(func(w *bufio.Writer) { w.WriteString("abc"); panic(tt.value) })
			var panicked *ErrBodyStreamWritePanic
			if err := b.BodyWriteTo(io.Discard); !errors.As(err, &panicked) || !strings.Contains(err.Error(), "test") {
				t.Errorf("error %v", err)
			} else if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not the value of the panic", err)
			} else if len(panicked.stack) == 0 {
				t.Error("no stack")
			}
		})
	}
}

// Whatever ends the life of a stream closes it, once.
func TestStreamIsClosedOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*Response)
	}{
		{"Reset", (*Response).Reset},
		{"ResetBody", func(r *Response) { r.ResetBody() }},
		{"CloseBodyStream", func(r *Response) { r.CloseBodyStream() }},
		{"SetBody", func(r *Response) { r.SetBodyString("x") }},
		{"SetBodyRaw", func(r *Response) { r.SetBodyRaw(nil) }},
		{"SetBodyStream", func(r *Response) { r.SetBodyStream(strings.NewReader(""), 0) }},
		{"SetBodyStreamWriter", func(r *Response) { r.SetBodyStreamWriter(func(*bufio.Writer) {}) }},
		{"Body", func(r *Response) { r.Body() }},
		{"AppendBody", func(r *Response) { r.AppendBodyString("x") }},
		{"SwapBody", func(r *Response) { r.SwapBody(nil) }},
		{"BodyWriteTo", func(r *Response) { r.BodyWriteTo(io.Discard) }},
		{"WriteTo", func(r *Response) { r.WriteTo(io.Discard) }},
		{"WriteTo of a HEAD", func(r *Response) { r.SkipBody = true; r.WriteTo(io.Discard) }},
		{"WriteTo of a 204", func(r *Response) { r.SetStatusCode(204); r.WriteTo(io.Discard) }},
		{"WriteTo that fails", func(r *Response) { r.WriteTo(wiretest.FailingWriter{}) }},
		{"WriteGzip", func(r *Response) { r.WriteGzip(bufio.NewWriter(io.Discard)) }},
		{"WriteGzip that fails", func(r *Response) { r.WriteGzip(bufio.NewWriterSize(wiretest.FailingWriter{}, 16)) }},
		{"gzip that is not sent", func(r *Response) { r.encode(1, 1); r.Reset() }},
		{"MultipartReader and Reset", func(r *Response) { r.BodyStream(); r.Reset() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var resp Response
			c := &wiretest.CountingCloser{Reader: strings.NewReader("abc")}
			resp.SetBodyStream(c, 3)
			tt.end(&resp)
			resp.Reset()
			if c.Closed != 1 {
				t.Errorf("closed %d times", c.Closed)
			}
		})
	}
}

// A ReadCloserWithError is told what kept its bytes from being read.
func TestStreamIsToldWhy(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    io.Reader
		w    io.Writer
		want error
	}{
		{"all well", strings.NewReader("abc"), io.Discard, nil},
		{"the writer failed", strings.NewReader("abc"), wiretest.FailingWriter{}, wiretest.ErrTest},
		{"the reader failed", wiretest.Failing("ab"), io.Discard, wiretest.ErrTest},
		{"it was short", strings.NewReader("ab"), io.Discard, errBodyShort},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b body
			c := &causeCloser{Reader: tt.r}
			b.setStream(c, 3)
			if err := b.BodyWriteTo(tt.w); err != tt.want {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if len(c.causes) != 1 || c.causes[0] != tt.want {
				t.Errorf("told %v, want %v", c.causes, tt.want)
			}
		})
	}
}

// SwapBody hands over what was there, whatever it was.
func TestSwapBody(t *testing.T) {
	var b Request
	b.SetBodyRaw([]byte("raw"))
	old := b.SwapBody([]byte("second"))
	if string(old) != "raw" || string(b.Body()) != "second" {
		t.Errorf("swapped %q for %q", old, b.Body())
	}
	b.SetBodyStream(strings.NewReader("stream"), -1)
	if old = b.SwapBody(nil); string(old) != "stream" || len(b.Body()) != 0 {
		t.Errorf("swapped %q for %q", old, b.Body())
	}
}

// Memory that a message keeps after Reset is bounded, and raw bytes are never written to.
func TestResetGivesLargeBuffersBack(t *testing.T) {
	var req Request
	req.SetBody(make([]byte, maxKeptBuffer+1))
	if req.Reset(); cap(req.buf) != 0 {
		t.Errorf("%d bytes kept", cap(req.buf))
	}
	req.SetBody(make([]byte, 1000))
	if req.Reset(); cap(req.buf) == 0 {
		t.Error("nothing kept")
	}
	raw := []byte("raw")
	req.SetBodyRaw(raw)
	req.SetBodyString("xxx")
	req.AppendBodyString("yyy")
	if string(raw) != "raw" {
		t.Errorf("raw body became %q", raw)
	}
}

func TestSetBodySizePoolLimit(t *testing.T) {
	t.Cleanup(func() { SetBodySizePoolLimit(maxKeptBuffer, maxKeptBuffer) })
	var req Request
	var resp Response
	for _, tt := range []struct{ limit, reqKeeps, respKeeps int }{{-1, 1 << 20, 1 << 20}, {0, 0, 0}} {
		SetBodySizePoolLimit(tt.limit, tt.limit)
		req.SetBody(make([]byte, 1<<20))
		resp.SetBody(make([]byte, 1<<20))
		req.Reset()
		resp.Reset()
		if cap(req.buf) != tt.reqKeeps || cap(resp.buf) != tt.respKeeps {
			t.Errorf("limit %d: kept %d and %d", tt.limit, cap(req.buf), cap(resp.buf))
		}
	}
}

// BodyWriteTo writes every kind of body, and says what went wrong.
func TestBodyWriteTo(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*body)
		want string
		err  error
	}{
		{"nothing", func(b *body) {}, "", nil},
		{"bytes", func(b *body) { b.SetBodyString("abc") }, "abc", nil},
		{"raw", func(b *body) { b.SetBodyRaw([]byte("abc")) }, "abc", nil},
		{"stream", func(b *body) { b.setStream(strings.NewReader("abc"), -1) }, "abc", nil},
		{"stream writer", func(b *body) { b.setStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) }, "abc", nil},
		{"source", func(b *body) { b.source = &bytesSource{Reader: strings.NewReader("abc")} }, "abc", nil},
		{"source that fails", func(b *body) { b.source = &bytesSource{Reader: wiretest.Failing("ab")} }, "ab", wiretest.ErrTest},
		{"body that could not be read", func(b *body) { b.setStream(wiretest.Failing("ab"), -1); b.Body() }, "", wiretest.ErrTest},
	} {
		var b body
		tt.set(&b)
		var got strings.Builder
		if err := b.BodyWriteTo(&got); err != tt.err || got.String() != tt.want || b.IsBodyStream() {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got.String(), err, tt.want, tt.err)
		}
	}
}

// unreadable has WriteTo, and says nothing about it. unwritable says that it does not want it.
type (
	unreadable struct{ io.WriterTo }
	unwritable struct{ io.Reader }
)

func (unreadable) Read([]byte) (int, error)         { panic("read") }
func (unwritable) WriteTo(io.Writer) (int64, error) { panic("written") }
func (unwritable) SupportsBodyWriteTo() bool        { return false }

// The chunks are the pieces that are read, whatever a stream would write.
func TestChunksAreWhatIsRead(t *testing.T) {
	var resp Response
	resp.SetBodyStream(struct {
		io.Reader
		unwrittenTo
	}{Reader: strings.NewReader("abc")}, -1)
	if got := resp.String(); !strings.HasSuffix(got, "\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
		t.Errorf("%q", got)
	}
}

// unwrittenTo has a WriteTo that is not to be called.
type unwrittenTo struct{}

func (unwrittenTo) WriteTo(io.Writer) (int64, error) { panic("written") }

func TestMessageConnectionClose(t *testing.T) {
	var req Request
	var resp Response
	if req.ConnectionClose() || resp.ConnectionClose() {
		t.Error("a new message closes")
	}
	req.SetConnectionClose()
	resp.SetConnectionClose()
	if !req.ConnectionClose() || !resp.ConnectionClose() {
		t.Error("SetConnectionClose does not show")
	}
}

// A stream that was taken is not the response's to close, and nothing is left of it.
func TestTakeBodyStream(t *testing.T) {
	var resp Response
	resp.SetBodyString("plain")
	if r, size := resp.TakeBodyStream(); r != nil || size != -1 || string(resp.Body()) != "plain" {
		t.Errorf("%v %d %q", r, size, resp.Body())
	}
	file := &wiretest.CountingCloser{Reader: strings.NewReader("stream")}
	resp.SetBodyStream(file, 6)
	r, size := resp.TakeBodyStream()
	if r != io.Reader(file) || size != 6 || resp.IsBodyStream() || len(resp.Body()) > 0 {
		t.Errorf("%v %d %q", r, size, resp.Body())
	}
	if resp.Reset(); file.Closed > 0 {
		t.Error("closed")
	}
}
