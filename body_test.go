package gallop

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/message"
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

func newTestBody(kind message.BodyKind, length int64, in string) (*bufferedBody, *bufio.Reader) {
	r := bufio.NewReaderSize(strings.NewReader(in), 16<<10)
	b := bodyOn(r, kind, length, nil)
	return &b, r
}

// A body ends where its framing says, with io.EOF ever after, and what follows is left.
func TestBufferedBody(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		want   string
		rest   string
		err    error
	}{
		{"no body", message.NoBody, -1, "next", "", "next", nil},
		{"fixed", message.Fixed, 3, "abcnext", "abc", "next", nil},
		{"fixed of no bytes", message.Fixed, 0, "next", "", "next", nil},
		{"fixed, cut off", message.Fixed, 5, "abc", "abc", "", io.ErrUnexpectedEOF},
		{"chunked", message.Chunked, -1, "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\nnext", "abcde", "next", nil},
		{"chunked of no bytes", message.Chunked, -1, "0\r\n\r\nnext", "", "next", nil},
		{"chunked, cut off in data", message.Chunked, -1, "5\r\nabc", "abc", "", io.ErrUnexpectedEOF},
		{"chunked, cut off in a line", message.Chunked, -1, "3\r\nabc\r\n1", "abc", "1", io.ErrUnexpectedEOF},
		{"chunked, cut off in trailers", message.Chunked, -1, "0\r\nA: b\r\n", "", "A: b\r\n", io.ErrUnexpectedEOF},
		{"chunked, no size", message.Chunked, -1, "x\r\n", "", "x\r\n", ErrBrokenChunk{}},
		{"until close", message.UntilClose, -1, "abc", "abc", "", nil},
	} {
		for _, step := range []int{1, 2, 1 << 10} {
			b, r := newTestBody(tt.kind, tt.length, tt.in)
			got, err := io.ReadAll(wiretest.AtMost(b, step))
			if _, ok := tt.err.(ErrBrokenChunk); ok {
				if !errors.As(err, new(ErrBrokenChunk)) || !errors.As(err, new(*ParseError)) {
					t.Errorf("%s: %v is not what broke", tt.name, err)
				}
			} else if !errors.Is(err, tt.err) {
				t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
			}
			if _, again := b.Read(make([]byte, 1)); again == nil || err != nil && again != err {
				t.Errorf("%s: then %v", tt.name, again)
			}
			rest, _ := io.ReadAll(r)
			if string(got) != tt.want || string(rest) != tt.rest {
				t.Errorf("%s: read %q, left %q", tt.name, got, rest)
			}
		}
	}
}

// Close finds the end of a body that was not read, if it is near.
func TestBufferedBodyClose(t *testing.T) {
	chunk := "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		err    error
	}{
		{"no body", message.NoBody, -1, "next", nil},
		{"fixed", message.Fixed, 3, "abcnext", nil},
		{"chunked", message.Chunked, -1, chunk + chunk + "0\r\n\r\nnext", nil},
		{"fixed, far", message.Fixed, 1 << 40, "", errBodyUnread},
		{"chunked, far", message.Chunked, -1, strings.Repeat(chunk, 8) + "0\r\n\r\n", errBodyUnread},
		{"fixed, cut off", message.Fixed, 5, "abc", io.ErrUnexpectedEOF},
		{"chunked, cut off", message.Chunked, -1, "5\r\nabc", io.ErrUnexpectedEOF},
	} {
		b, r := newTestBody(tt.kind, tt.length, tt.in)
		if err := b.Close(); !errors.Is(err, tt.err) {
			t.Errorf("%s: Close() = %v, want %v", tt.name, err, tt.err)
		}
		if rest, _ := io.ReadAll(r); tt.err == nil && string(rest) != "next" {
			t.Errorf("%s: %q is left", tt.name, rest)
		}
	}
}

// The limit is for what arrives; what is announced beyond it is refused at once.
func TestBodyLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		limit  int
		ok     bool
	}{
		{"fixed, at the limit", message.Fixed, 3, "abc", 3, true},
		{"fixed, over it", message.Fixed, 4, "abcd", 3, false},
		{"fixed, no limit", message.Fixed, 4, "abcd", 0, true},
		{"chunked, at the limit", message.Chunked, -1, "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", 3, true},
		{"chunked, over it", message.Chunked, -1, "1\r\na\r\n3\r\nbcd\r\n0\r\n\r\n", 3, false},
		{"until close, at the limit", message.UntilClose, -1, "abc", 3, true},
		{"until close, over it", message.UntilClose, -1, "abcd", 3, false},
	} {
		b, _ := newTestBody(tt.kind, tt.length, tt.in)
		if _, err := b.appendAll(nil, tt.limit); tt.ok && err != nil || !tt.ok && err != ErrBodyTooLarge {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A chunk line, and the trailers, have to fit the buffer of the reader.
func TestBufferedBodyInASmallBuffer(t *testing.T) {
	trailers := "0\r\nX: " + strings.Repeat("x", 5<<10) + "\r\n\r\n"
	for _, tt := range []struct {
		name, in string
		size     int
		small    bool
	}{
		{"trailers that fit", trailers, 8 << 10, false},
		{"trailers that do not", trailers, 4 << 10, true},
		{"chunk line that does not", "0;" + strings.Repeat("x", 100) + "\r\n\r\n", 64, true},
	} {
		r := bufio.NewReaderSize(strings.NewReader(tt.in), tt.size)
		b := bodyOn(r, message.Chunked, -1, nil)
		_, err := io.ReadAll(&b)
		if small := errors.As(err, new(*ErrSmallBuffer)) && errors.As(err, new(ErrBrokenChunk)); small != tt.small || !small && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A coded stream can be read as well, and then ends with its reader.
func TestEncodedStreamIsRead(t *testing.T) {
	c := &wiretest.CountingCloser{Reader: strings.NewReader(strings.Repeat("some text ", 1000))}
	var resp Response
	resp.SetBodyStream(c, -1)
	resp.encode(coding.Gzip, 1)
	got, err := io.ReadAll(resp.BodyStream())
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := AppendGunzipBytes(nil, got); err != nil || len(plain) != 10000 {
		t.Errorf("%d bytes, %v", len(plain), err)
	}
	if err := resp.CloseBodyStream(); err != nil || c.Closed != 1 {
		t.Errorf("close: %v, closed %d times", err, c.Closed)
	}
}
