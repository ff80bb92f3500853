package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

var longText = strings.Repeat("gallop gallops galloping ", 400)

// fetch sends the request and returns the response as net/http reads it. The body is
// still on the connection.
func fetch(t *testing.T, c net.Conn, br *bufio.Reader, method, path, accept string) *http.Response {
	t.Helper()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	req, err := http.NewRequest(method, "http://x"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept-Encoding", accept)
	}
	if err := req.Write(c); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func dial(t *testing.T, ln *memnet.Listener) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

func plainBody(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	switch resp.Header.Get("Content-Encoding") {
	case "gzip":
		b, err = gallop.AppendGunzipBytes(nil, b)
	case "deflate":
		b, err = gallop.AppendInflateBytes(nil, b)
	case "br":
		b, err = gallop.AppendUnbrotliBytes(nil, b)
	case "zstd":
		b, err = gallop.AppendUnzstdBytes(nil, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func compressPages(ctx *gallop.RequestCtx) {
	switch string(ctx.Path()) {
	case "/text":
		ctx.WriteString(longText)
	case "/small":
		ctx.WriteString("small")
	case "/stream":
		ctx.SetBodyStream(strings.NewReader(longText), -1)
	case "/sized":
		ctx.SetBodyStream(strings.NewReader(longText), len(longText))
	case "/writer":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(longText) })
	}
}

func TestCompressHandlersOnOneConnection(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler gallop.RequestHandler
		rows    [][3]string // path, Accept-Encoding, Content-Encoding of the response
	}{
		{"default", gallop.CompressHandler(compressPages), [][3]string{
			{"/text", "gzip, deflate, br, zstd", "gzip"}, {"/text", "br", ""}, {"/text", "deflate", "deflate"},
			{"/text", "zstd, deflate", "zstd"}, {"/text", "gzip;q=0.1, deflate", "deflate"}, {"/text", "", ""},
			{"/stream", "gzip", "gzip"}, {"/text", "gzip", "gzip"}, {"/sized", "zstd", "zstd"}, {"/small", "gzip", ""},
			{"/writer", "deflate", "deflate"}, {"/text", "*", "gzip"}, {"/text", "gzip;q=0, *;q=0", ""},
		}},
		{"level", gallop.CompressHandlerLevel(compressPages, gallop.CompressBestSpeed), [][3]string{
			{"/text", "gzip", "gzip"}, {"/stream", "zstd", "zstd"}, {"/text", "br", ""},
		}},
		{"brotli", gallop.CompressHandlerBrotliLevel(compressPages, gallop.CompressBrotliBestSpeed, 9), [][3]string{
			{"/text", "gzip, deflate, br, zstd", "br"}, {"/stream", "br", "br"}, {"/writer", "br", "br"},
			{"/text", "br;q=0.9, gzip", "gzip"}, {"/text", "zstd", "zstd"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, br := dial(t, servertest.Start(t, &gallop.Server{Handler: tc.handler}))
			for _, row := range tc.rows {
				resp := fetch(t, c, br, "GET", row[0], row[1])
				if enc := resp.Header.Get("Content-Encoding"); enc != row[2] {
					t.Errorf("%q: Content-Encoding %q", row, enc)
				}
				if vary := resp.Header.Get("Vary"); (vary == "Accept-Encoding") != (row[0] != "/small") {
					t.Errorf("%q: Vary %q", row, vary)
				}
				want := longText
				if row[0] == "/small" {
					want = "small"
				}
				if got := plainBody(t, resp); got != want {
					t.Errorf("%q: body of %d bytes", row, len(got))
				}
			}
		})
	}
}

func TestCompressHandlerAnswersHead(t *testing.T) {
	c, br := dial(t, servertest.Start(t, &gallop.Server{Handler: gallop.CompressHandler(compressPages)}))
	for _, path := range []string{"/text", "/stream", "/sized", "/writer"} {
		resp := fetch(t, c, br, "HEAD", path, "gzip")
		if resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("Vary") != "Accept-Encoding" || resp.Header.Get("Content-Length") != "" {
			t.Errorf("%s: %v", path, resp.Header)
		}
		if resp := fetch(t, c, br, "GET", path, ""); plainBody(t, resp) != longText {
			t.Errorf("%s: the connection is out of step", path)
		}
	}
}

func TestCompressHandlerLetsEventsThrough(t *testing.T) {
	next := make(chan struct{})
	c, br := dial(t, servertest.Start(t, &gallop.Server{Handler: gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for range 3 {
				w.WriteString("data: tick\n\n")
				w.Flush()
				<-next
			}
		})
	})}))
	resp := fetch(t, c, br, "GET", "/", "gzip")
	r, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len("data: tick\n\n"))
	for range 3 {
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != "data: tick\n\n" {
			t.Fatalf("%q, %v", buf, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestCompressHandlerForAnOldClient(t *testing.T) {
	c, br := dial(t, servertest.Start(t, &gallop.Server{Handler: gallop.CompressHandler(compressPages)}))
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, "GET /stream HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plainBody(t, resp); got != longText || len(resp.TransferEncoding) > 0 {
		t.Errorf("%d bytes, Transfer-Encoding %q", len(got), resp.TransferEncoding)
	}
}

func TestCompressHandlerLeavesATimedOutResponseAlone(t *testing.T) {
	timedOut := make(chan struct{})
	ended := make(chan struct{})
	slow := gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
		defer close(ended)
		<-timedOut
		for range 100 {
			ctx.WriteString(longText) // races with the compressor if that touches it
		}
	}, time.Millisecond, longText)
	c, br := dial(t, servertest.Start(t, &gallop.Server{Handler: gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
		slow(ctx)
		close(timedOut)
	})}))
	resp := fetch(t, c, br, "GET", "/", "gzip")
	if got := plainBody(t, resp); resp.StatusCode != 408 || got != longText {
		t.Errorf("%d, %d bytes", resp.StatusCode, len(got))
	}
	<-ended
}

func TestCompressHandlerLeavesAHijackedConnectionAlone(t *testing.T) {
	c, _ := dial(t, servertest.Start(t, &gallop.Server{Handler: gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
		ctx.WriteString(longText)
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "hijacked") })
	})}))
	got := servertest.Ask(t, c, "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
	if !strings.HasSuffix(got, longText+"hijacked") {
		t.Errorf("%.300q", got)
	}
}

func TestCompressHandlerWithInit(t *testing.T) {
	var ctx gallop.RequestCtx
	var req gallop.Request
	req.Header.Set("Accept-Encoding", "gzip")
	req.SetRequestURI("http://x/text")
	ctx.Init(&req, nil, nil)
	gallop.CompressHandler(compressPages)(&ctx)
	body, err := ctx.Response.BodyGunzip()
	if err != nil || !bytes.Equal(body, []byte(longText)) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
