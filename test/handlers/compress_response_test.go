package handlers_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/coding"
)

// withFourCodings returns a handler that compresses the response that fill makes with one of four codings.
func withFourCodings(fill func(*gallop.Response)) gallop.RequestHandler {
	return gallop.CompressHandlerBrotliLevel(func(ctx *gallop.RequestCtx) { fill(&ctx.Response) }, coding.DefaultLevel, coding.DefaultLevel)
}

var compressible = strings.Repeat("gallop gallops galloping ", 40)

// compressed returns the response that fill makes for a request with this method and Accept-Encoding as a client reads
// it, compressed.
func compressed(t *testing.T, method, accept string, fill func(*gallop.Response)) *gallop.Response {
	t.Helper()
	var ctx gallop.RequestCtx
	var got gallop.Response
	ctx.Request.Header.SetMethod(method)
	if accept != "" {
		ctx.Request.Header.Set("Accept-Encoding", accept)
	}
	withFourCodings(fill)(&ctx)
	resp := &ctx.Response
	var wire bytes.Buffer
	resp.SkipBody = resp.SkipBody || method == gallop.MethodHead
	if _, err := resp.WriteTo(&wire); err != nil {
		t.Fatal(err)
	}
	got.SkipBody = method == gallop.MethodHead
	if err := got.Read(bufio.NewReader(&wire)); err != nil {
		t.Fatalf("%v in %q", err, wire.Bytes())
	}
	return &got
}

func TestCompressionOfAResponse(t *testing.T) {
	for _, tc := range []struct {
		name, accept string
		fill         func(*gallop.Response)
		coding       string // "" for none
		vary         string
	}{
		{"gzip", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible) }, "gzip", "Accept-Encoding"},
		{"deflate", "deflate", func(r *gallop.Response) { r.SetBodyString(compressible) }, "deflate", "Accept-Encoding"},
		{"br", "gzip, br", func(r *gallop.Response) { r.SetBodyString(compressible) }, "br", "Accept-Encoding"},
		{"zstd", "zstd", func(r *gallop.Response) { r.SetBodyString(compressible) }, "zstd", "Accept-Encoding"},
		{"raw body", "gzip", func(r *gallop.Response) { r.SetBodyRaw([]byte(compressible)) }, "gzip", "Accept-Encoding"},
		{"an error page", "gzip", func(r *gallop.Response) { r.SetStatusCode(404); r.SetBodyString(compressible) }, "gzip", "Accept-Encoding"},
		{"stream", "gzip", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader(compressible), -1) }, "gzip", "Accept-Encoding"},
		{"stream of known size", "gzip", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader(compressible), len(compressible)) }, "gzip", "Accept-Encoding"},
		{"stream writer", "br", func(r *gallop.Response) { r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(compressible) }) }, "br", "Accept-Encoding"},
		{"length of its own", "gzip", func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.SetContentLength(len(compressible))
		}, "gzip", "Accept-Encoding"},
		{"Vary of its own", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible); r.Header.Set("Vary", "Origin") }, "gzip", "Origin|Accept-Encoding"},
		{"Vary has it", "gzip", func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.Set("Vary", "Origin, accept-encoding")
		}, "gzip", "Origin, accept-encoding"},
		{"Vary has everything", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible); r.Header.Set("Vary", "*") }, "gzip", "*"},

		{"client that wants none still varies", "", func(r *gallop.Response) { r.SetBodyString(compressible) }, "", "Accept-Encoding"},
		{"client that refuses", "gzip;q=0, identity", func(r *gallop.Response) { r.SetBodyString(compressible) }, "", "Accept-Encoding"},

		{"small", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible[:199]) }, "", ""},
		{"just big enough", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible[:200]) }, "gzip", "Accept-Encoding"},
		{"small stream", "gzip", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abc"), 3) }, "", ""},
		{"empty", "gzip", func(*gallop.Response) {}, "", ""},
		{"204", "gzip", func(r *gallop.Response) { r.SetStatusCode(204) }, "", ""},
		{"304", "gzip", func(r *gallop.Response) { r.SetStatusCode(304); r.Header.Set("ETag", `"a"`) }, "", "Accept-Encoding"},
		{"206", "gzip", func(r *gallop.Response) {
			r.SetStatusCode(206)
			r.SetBodyString(compressible)
			r.Header.SetContentRange(0, len(compressible)-1, 5000)
		}, "", "Accept-Encoding"},
		{"206 of several parts", "gzip", func(r *gallop.Response) {
			r.SetStatusCode(206)
			r.SetBodyString(compressible)
			r.Header.SetContentType("multipart/byteranges; boundary=x")
		}, "", "Accept-Encoding"},
		{"206 of a picture", "gzip", func(r *gallop.Response) {
			r.SetStatusCode(206)
			r.SetBodyString(compressible)
			r.Header.SetContentType("image/png")
		}, "", ""},
		{"206 of what is in a coding", "gzip", func(r *gallop.Response) {
			r.SetStatusCode(206)
			r.SetBody(gallop.AppendGzipBytes(nil, []byte(compressible)))
			r.Header.SetContentEncoding("gzip")
		}, "gzip", ""},
		{"416 with its range", "gzip", func(r *gallop.Response) {
			r.SetStatusCode(416)
			r.SetBodyString(compressible)
			r.Header.SetContentRange(-1, 0, 5)
		}, "", ""},
		{"coded already", "br", func(r *gallop.Response) {
			r.SetBody(gallop.AppendGzipBytes(nil, []byte(compressible)))
			r.Header.SetContentEncoding("gzip")
		}, "gzip", ""},
		{"marked identity", "br", func(r *gallop.Response) { r.SetBodyString(compressible); r.Header.SetContentEncoding("identity") }, "identity", ""},
		{"picture", "gzip", func(r *gallop.Response) { r.SetBodyString(compressible); r.Header.SetContentType("image/png") }, "", ""},
		{"no-transform", "gzip", func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.Set("Cache-Control", "public, No-Transform")
		}, "", ""},
		{"digest", "gzip", func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.Set("Content-Digest", "sha-256=:AAAA:")
		}, "", ""},
		{"digest in a trailer", "gzip", func(r *gallop.Response) {
			r.SetBodyStream(strings.NewReader(compressible), -1)
			r.Header.SetTrailer("X-Sum, repr-digest")
			r.Header.Set("Repr-Digest", "sha-256=:AAAA:")
		}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var plain gallop.Response
			tc.fill(&plain)
			got := compressed(t, gallop.MethodGet, tc.accept, tc.fill)
			if enc := string(got.Header.ContentEncoding()); enc != tc.coding {
				t.Errorf("Content-Encoding %q, want %q", enc, tc.coding)
			}
			if vary := string(bytes.Join(got.Header.PeekAll("Vary"), []byte("|"))); vary != tc.vary {
				t.Errorf("Vary %q, want %q", vary, tc.vary)
			}
			want := plain.Body()
			if tc.coding == "gzip" && tc.vary == "" {
				want = []byte(compressible)
			}
			if body, err := got.BodyUncompressed(); err != nil || !bytes.Equal(body, want) {
				t.Errorf("body of %d bytes, %v, want %d", len(body), err, len(want))
			}
			if tc.vary != "" && tc.coding != "" && len(got.Body()) >= len(want) {
				t.Errorf("%d bytes are not fewer than %d", len(got.Body()), len(want))
			}
		})
	}
}

func TestNoiseIsLeftAsItIs(t *testing.T) {
	noise := make([]byte, 1000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, accept := range []string{"gzip", "deflate", "br", "zstd"} {
		got := compressed(t, gallop.MethodGet, accept, func(r *gallop.Response) { r.SetBody(noise); r.Header.Set("ETag", `"a"`) })
		if got.Header.ContentEncoding() != nil || !bytes.Equal(got.Body(), noise) || string(got.Header.Peek("ETag")) != `"a"` {
			t.Errorf("%s: Content-Encoding %q, %d bytes", accept, got.Header.ContentEncoding(), len(got.Body()))
		}
	}
}

func TestCompressionWeakensTheETagAndTakesRangesBack(t *testing.T) {
	for in, want := range map[string]string{`"a"`: `W/"a"`, `W/"a"`: `W/"a"`, `""`: `W/""`} {
		fill := func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.Set("ETag", in)
			r.Header.Set("Accept-Ranges", "bytes")
		}
		got := compressed(t, gallop.MethodGet, "gzip", fill)
		if tag := string(got.Header.Peek("ETag")); tag != want || got.Header.Peek("Accept-Ranges") != nil {
			t.Errorf("%s: %s, ranges %q", in, tag, got.Header.Peek("Accept-Ranges"))
		}
		if got := compressed(t, gallop.MethodGet, "", fill); string(got.Header.Peek("ETag")) != in || got.Header.Peek("Accept-Ranges") == nil {
			t.Errorf("%s without a coding: %q", in, got.Header.Peek("ETag"))
		}
	}
}

func TestCompressionOfHeadHasTheFieldsOfGetButNoLength(t *testing.T) {
	for name, fill := range map[string]func(*gallop.Response){
		"body": func(r *gallop.Response) { r.SetBodyString(compressible); r.Header.Set("ETag", `"a"`) },
		"length only": func(r *gallop.Response) {
			r.SkipBody = true
			r.Header.SetContentLength(5000)
			r.Header.Set("ETag", `"a"`)
		},
		"stream": func(r *gallop.Response) {
			r.SetBodyStream(strings.NewReader(compressible), len(compressible))
			r.Header.Set("ETag", `"a"`)
		},
	} {
		got := compressed(t, gallop.MethodHead, "gzip", fill)
		h := &got.Header
		if string(h.ContentEncoding()) != "gzip" || string(h.Peek("Vary")) != "Accept-Encoding" || string(h.Peek("ETag")) != `W/"a"` ||
			h.Peek("Content-Length") != nil || len(got.Body()) != 0 {
			t.Errorf("%s: %q", name, h.String())
		}
	}
	got := compressed(t, gallop.MethodHead, "", func(r *gallop.Response) { r.SetBodyString(compressible) })
	if string(got.Header.Peek("Content-Length")) != strconv.Itoa(len(compressible)) || string(got.Header.Peek("Vary")) != "Accept-Encoding" {
		t.Errorf("without a coding: %q", got.Header.String())
	}
	got = compressed(t, gallop.MethodHead, "gzip", func(r *gallop.Response) { r.SkipBody = true; r.Header.SetContentLength(10) })
	if string(got.Header.Peek("Content-Length")) != "10" || got.Header.ContentEncoding() != nil {
		t.Errorf("small: %q", got.Header.String())
	}
}

func TestCompressibleTypes(t *testing.T) {
	for mediaType, want := range map[string]bool{
		"":           true,
		"text/plain": true, "text/html; charset=utf-8": true, "TEXT/CSS": true, "text/event-stream": true,
		"application/json": true, "application/problem+json": true, "application/javascript": true, "application/wasm": true,
		"application/x-protobuf": true, "font/ttf": true, "image/svg+xml": true, "Image/SVG+XML;charset=utf-8": true,
		"model/gltf+json": true, "image/x-icon": true, "application/octet-stream": true,
		"image/png": false, "image/jpeg": false, "image/webp": false, "video/mp4": false, "audio/mpeg": false,
		"application/zip": false, "application/GZIP": false, "application/pdf": false,
		"font/woff2": false, "application/epub+zip": false, "multipart/byteranges": false,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": false,
		"application/vnd.oasis.opendocument.text":                                 false,
	} {
		got := compressed(t, gallop.MethodGet, "gzip", func(r *gallop.Response) {
			r.SetBodyString(compressible)
			r.Header.SetNoDefaultContentType(mediaType == "")
			r.Header.SetContentType(mediaType)
		})
		if is := string(got.Header.ContentEncoding()) == "gzip"; is != want {
			t.Errorf("%q: %v", mediaType, is)
		}
	}
}

func TestCompressedStreamPassesOnWhatIsFlushed(t *testing.T) {
	for _, c := range []coding.Coding{coding.Brotli, coding.Gzip, coding.Zstd, coding.Deflate} {
		t.Run(c.String(), func(t *testing.T) {
			var ctx gallop.RequestCtx
			ctx.Request.Header.Set("Accept-Encoding", c.String())
			next := make(chan struct{})
			withFourCodings(func(resp *gallop.Response) {
				resp.Header.SetContentType("text/event-stream")
				resp.SetBodyStreamWriter(func(w *bufio.Writer) {
					for i := range 5 {
						w.WriteString("data: " + strconv.Itoa(i) + "\n\n")
						w.Flush()
						<-next
					}
				})
			})(&ctx)
			resp := &ctx.Response
			pr, pw := io.Pipe()
			go func() {
				w := bufio.NewWriter(pw)
				pw.CloseWithError(errors.Join(resp.Write(w), w.Flush(), io.EOF))
			}()
			var got gallop.Response
			got.StreamBody = true
			if err := got.Read(bufio.NewReader(pr)); err != nil {
				t.Fatal(err)
			}
			events := coding.AcquireReader(coding.ListOf(c), got.BodyStream(), coding.Limits{})
			defer coding.ReleaseReader(events)
			for i := range 5 {
				// The writer waits until each event has been read.
				buf := make([]byte, len("data: 0\n\n"))
				if _, err := io.ReadFull(events, buf); err != nil || string(buf) != "data: "+strconv.Itoa(i)+"\n\n" {
					t.Fatalf("event %d: %q, %v", i, buf, err)
				}
				next <- struct{}{}
			}
			if n, err := events.Read(make([]byte, 10)); n != 0 || err != io.EOF {
				t.Fatalf("at the end: %d, %v", n, err)
			}
		})
	}
}

func TestCompressedStreamIsClosedAndItsErrorsKept(t *testing.T) {
	broken := errors.New("source failed")
	for name, tc := range map[string]struct {
		fail  error
		write bool
	}{
		"written":                  {nil, true},
		"dropped":                  {nil, false},
		"failed in the middle":     {broken, true},
		"failed and never written": {broken, false},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			ctx.Request.Header.Set("Accept-Encoding", "gzip")
			stream := &closingStream{Reader: strings.NewReader(compressible), err: tc.fail}
			withFourCodings(func(resp *gallop.Response) { resp.SetBodyStream(stream, -1) })(&ctx)
			resp := &ctx.Response
			if tc.write {
				_, err := resp.WriteTo(io.Discard)
				if !errors.Is(err, tc.fail) || tc.fail == nil && err != nil {
					t.Errorf("written: %v", err)
				}
			}
			resp.Reset()
			if stream.closed != 1 {
				t.Errorf("closed %d times", stream.closed)
			}
		})
	}
}

type closingStream struct {
	io.Reader
	err    error
	closed int
}

func (s *closingStream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF && s.err != nil {
		err = s.err
	}
	return n, err
}

func (s *closingStream) Close() error {
	s.closed++
	return nil
}
