package messages_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/wiretest"
)

var codingMethods = []struct {
	c     coding.Coding
	whole func(*gallop.Request) ([]byte, error)
	limit func(*gallop.Request, int) ([]byte, error)
}{
	{coding.Gzip, (*gallop.Request).BodyGunzip, (*gallop.Request).BodyGunzipWithLimit},
	{coding.Deflate, (*gallop.Request).BodyInflate, (*gallop.Request).BodyInflateWithLimit},
	{coding.Brotli, (*gallop.Request).BodyUnbrotli, (*gallop.Request).BodyUnbrotliWithLimit},
	{coding.Zstd, (*gallop.Request).BodyUnzstd, (*gallop.Request).BodyUnzstdWithLimit},
}

func TestBodyDecoded(t *testing.T) {
	small := bytes.Repeat([]byte("abc"), 100)
	bomb := make([]byte, 4<<20)
	for _, m := range codingMethods {
		t.Run(m.c.String(), func(t *testing.T) {
			var b gallop.Request
			b.SetBody(coding.AppendEncode(nil, small, m.c, coding.DefaultLevel))
			if got, err := m.whole(&b); err != nil || !bytes.Equal(got, small) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			for _, limit := range []int{0, -1, len(small), len(small) - 1} {
				got, err := m.limit(&b, limit)
				if limit == len(small)-1 {
					if !errors.Is(err, gallop.ErrBodyTooLarge) || got != nil {
						t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
					}
				} else if err != nil || !bytes.Equal(got, small) {
					t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
				}
			}
			b.SetBody(coding.AppendEncode(nil, bomb, m.c, coding.DefaultLevel))
			if _, err := m.whole(&b); !errors.Is(err, gallop.ErrBodyTooLarge) {
				t.Errorf("bomb: %v", err)
			}
			if got, err := m.limit(&b, len(bomb)); err != nil || len(got) != len(bomb) {
				t.Errorf("bomb with a limit of its size: %d bytes, %v", len(got), err)
			}
			b.SetBodyString("not encoded")
			if _, err := m.whole(&b); err == nil {
				t.Error("no error for what is not encoded")
			}
			b.SetBodyStream(wiretest.Failing("abc"), -1)
			if _, err := m.whole(&b); err != wiretest.ErrTest {
				t.Errorf("stream that fails: %v", err)
			}
		})
	}
}

func TestBodyUncompressed(t *testing.T) {
	plain := []byte("some text")
	gz := gallop.AppendGzipBytes(nil, plain)
	for _, tt := range []struct {
		name   string
		fields []string
		body   []byte
		limit  int
		err    error
	}{
		{"none", nil, plain, 0, nil},
		{"none, over the limit", nil, plain, 3, gallop.ErrBodyTooLarge},
		{"identity", []string{"identity"}, plain, 0, nil},
		{"gzip", []string{"GZIP"}, gz, 0, nil},
		{"x-gzip", []string{"x-gzip"}, gz, 0, nil},
		{"gzip, over the limit", []string{"gzip"}, gz, 3, gallop.ErrBodyTooLarge},
		{"two in one line", []string{"gzip, br"}, gallop.AppendBrotliBytes(nil, gz), 0, nil},
		{"two in two lines", []string{"gzip", "zstd"}, gallop.AppendZstdBytes(nil, gz), 0, nil},
		{"unknown", []string{"compress"}, gz, 0, gallop.ErrContentEncodingUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.Request
			var resp gallop.Response
			req.SetBody(tt.body)
			resp.SetBody(tt.body)
			for _, f := range tt.fields {
				req.Header.Add("Content-Encoding", f)
				resp.Header.Add("Content-Encoding", f)
			}
			for _, decode := range []func() ([]byte, error){
				func() ([]byte, error) { return req.BodyUncompressedWithLimit(tt.limit) },
				func() ([]byte, error) { return resp.BodyUncompressedWithLimit(tt.limit) },
			} {
				if got, err := decode(); !errors.Is(err, tt.err) || err == nil && !bytes.Equal(got, plain) {
					t.Errorf("%q, %v", got, err)
				}
			}
			if tt.err == nil {
				got, err := req.BodyUncompressed()
				got2, err2 := resp.BodyUncompressed()
				if !bytes.Equal(got, plain) || !bytes.Equal(got2, plain) || err != nil || err2 != nil {
					t.Errorf("%q, %v; %q, %v", got, err, got2, err2)
				}
			}
		})
	}
}

// The Content-Encoding of a response without a body describes the response that it stands for (RFC 9110 §8.4, §9.3.2,
// §15.4.5).
func TestBodyUncompressedWithoutABody(t *testing.T) {
	for _, tt := range []struct {
		name, wire string
		head       bool
		err        error
	}{
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 60\r\n\r\n", true, nil},
		{"HEAD, an unknown coding", "HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\nContent-Length: 60\r\n\r\n", true, nil},
		{"304", "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n", false, nil},
		{"204", "HTTP/1.1 204 No Content\r\nContent-Encoding: br\r\n\r\n", false, nil},
		{"200 that is cut off", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", false, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := gallop.Response{SkipBody: tt.head}
			if err := resp.Read(bufio.NewReader(strings.NewReader(tt.wire))); err != nil {
				t.Fatal(err)
			}
			body, err := resp.BodyUncompressed()
			limited, limitedErr := resp.BodyUncompressedWithLimit(1000)
			if len(body)+len(limited) > 0 || !errors.Is(err, tt.err) || !errors.Is(limitedErr, tt.err) {
				t.Errorf("%q, %v; with a limit %q, %v; want %v", body, err, limited, limitedErr, tt.err)
			}
		})
	}
}

// A coded response says so, varies, and decodes to what it was, however it was set.
func TestWriteEncoded(t *testing.T) {
	text := strings.Repeat("some text ", 1000)
	for _, tt := range []struct {
		name  string
		set   func(*gallop.Response)
		coded bool
	}{
		{"bytes", func(r *gallop.Response) { r.SetBodyString(text) }, true},
		{"raw bytes", func(r *gallop.Response) { r.SetBodyRaw([]byte(text)) }, true},
		{"stream of known size", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader(text), len(text)) }, true},
		{"stream", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader(text), -1) }, true},
		{"stream writer", func(r *gallop.Response) { r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(text) }) }, true},
		{"stream writer of announced size", func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(text) })
			r.Header.SetContentLength(len(text))
		}, true},
		{"small", func(r *gallop.Response) { r.SetBodyString("small") }, false},
		{"coded already", func(r *gallop.Response) { r.SetBodyString(text); r.Header.SetContentEncoding("br") }, false},
		{"image", func(r *gallop.Response) { r.SetBodyString(text); r.Header.SetContentType("image/png") }, false},
		{"image that is text", func(r *gallop.Response) { r.SetBodyString(text); r.Header.SetContentType("image/svg+xml") }, true},
		{"part", func(r *gallop.Response) { r.SetBodyString(text); r.SetStatusCode(206) }, false},
		{"HEAD", func(r *gallop.Response) { r.SetBodyString(text); r.SkipBody = true }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, write := range map[string]func(*gallop.Response, *bufio.Writer) error{
				"gzip": (*gallop.Response).WriteGzip, "deflate": (*gallop.Response).WriteDeflate,
			} {
				var sent, got gallop.Response
				tt.set(&sent)
				sent.Header.Set("ETag", `"x"`)
				plain := sent.SkipBody || len(sent.Header.ContentEncoding()) > 0
				var wire bytes.Buffer
				w := bufio.NewWriter(&wire)
				if err := write(&sent, w); err != nil {
					t.Fatal(err)
				}
				w.Flush()
				got.SkipBody = sent.SkipBody
				if err := got.Read(bufio.NewReader(&wire)); err != nil {
					t.Fatal(err)
				}
				if coded := string(got.Header.ContentEncoding()) == name; coded != tt.coded {
					t.Errorf("%s: coded %v", name, coded)
				}
				if varies := string(got.Header.Peek("Vary")) == "Accept-Encoding"; varies != tt.coded {
					t.Errorf("%s: Vary %q", name, got.Header.Peek("Vary"))
				}
				if weak := string(got.Header.Peek("ETag")) == `W/"x"`; weak != tt.coded {
					t.Errorf("%s: ETag %q", name, got.Header.Peek("ETag"))
				}
				if plain {
					continue
				}
				if body, err := got.BodyUncompressed(); err != nil || string(body) != text && string(body) != "small" {
					t.Errorf("%s: %d bytes, %v", name, len(body), err)
				}
				if wire.Reset(); tt.coded && len(got.Body()) > len(text)/2 {
					t.Errorf("%s: %d bytes for %d", name, len(got.Body()), len(text))
				}
			}
		})
	}
}

// Data that a StreamWriter flushes can be decoded before the writer continues.
func TestEncodedStreamFlushes(t *testing.T) {
	var wire bytes.Buffer
	var resp gallop.Response
	resp.SetBodyStreamWriter(func(w *bufio.Writer) {
		w.WriteString("first")
		w.Flush()
		var got gallop.Response
		got.StreamBody = true
		if err := got.Read(bufio.NewReader(bytes.NewReader(wire.Bytes()))); err != nil {
			t.Error(err)
			return
		}
		z := coding.AcquireReader(coding.ListOf(coding.Gzip), got.BodyStream(), coding.Limits{})
		defer coding.ReleaseReader(z)
		p := make([]byte, 5)
		if _, err := io.ReadFull(z, p); err != nil || string(p) != "first" {
			t.Errorf("%q, %v", p, err)
		}
	})
	w := bufio.NewWriter(&wire)
	if err := resp.WriteGzip(w); err != nil {
		t.Error(err)
	}
}
