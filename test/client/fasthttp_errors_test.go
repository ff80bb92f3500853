package client_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	fasthttp "github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// fasthttpStatus classifies an error the way ErrorHandlers written for fasthttp do: by type
// assertion and with ==, never with errors.Is or errors.As.
func fasthttpStatus(err error) int {
	switch e := err.(type) {
	case *fasthttp.ErrSmallBuffer:
		return fasthttp.StatusRequestHeaderFieldsTooLarge
	case fasthttp.ErrBrokenChunk:
		return fasthttp.StatusUnprocessableEntity
	case *net.OpError:
		if e.Timeout() {
			return fasthttp.StatusRequestTimeout
		}
	}
	switch err {
	case fasthttp.ErrBodyTooLarge:
		return fasthttp.StatusRequestEntityTooLarge
	case fasthttp.ErrGetOnly:
		return fasthttp.StatusMethodNotAllowed
	}
	return fasthttp.StatusBadRequest
}

func TestFromFasthttpErrorHandlers(t *testing.T) {
	const host = "Host: a\r\n"
	for _, tt := range []struct {
		name, request string
		set           func(s *fasthttp.Server)
		status        int // that the copied handler chooses
		is            int // that gallop would have chosen
	}{
		{"head too large", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 3000) + "\r\n\r\n", nil, 431, 431},
		{"head too large for ReadBufferSize", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 1500) + "\r\n\r\n",
			func(s *fasthttp.Server) { s.MaxHeaderBytes, s.ReadBufferSize = 0, 1000 }, 431, 431},
		{"too many fields", "GET / HTTP/1.1\r\n" + host + strings.Repeat("X: x\r\n", 300) + "\r\n", nil, 431, 431},
		{"target too long", "GET /" + strings.Repeat("x", 1000) + " HTTP/1.1\r\n" + host + "\r\n", nil, 431, 414},
		{"trailers too large", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n",
			nil, 422, 431},
		{"chunk broken", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nx\r\n", nil, 422, 400},
		{"body too large", "POST / HTTP/1.1\r\n" + host + "Content-Length: 99\r\n\r\n", nil, 413, 413},
		{"chunks too large", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n63\r\n", nil, 413, 413},
		{"GetOnly", "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", func(s *fasthttp.Server) { s.GetOnly = true }, 405, 405},
		{"slow head", "GET / HTTP/1.1\r\n" + host, nil, 408, 408},
		{"slow body", "POST / HTTP/1.1\r\n" + host + "Content-Length: 9\r\n\r\nx", nil, 408, 408},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", nil, 400, 400},
		{"bad target", "GET http://[::1/ HTTP/1.1\r\n" + host + "\r\n", nil, 400, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				s := &fasthttp.Server{
					Handler:        func(*fasthttp.RequestCtx) {},
					MaxHeaderBytes: 2000, MaxRequestLineBytes: 500, MaxRequestBodySize: 50,
					ReadHeaderTimeout: time.Second, ReadTimeout: 2 * time.Second,
					ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
						if got := ctx.Response.StatusCode(); got != tt.is {
							t.Errorf("the status is %d before the handler changes it, want %d", got, tt.is)
						}
						ctx.Error(err.Error(), fasthttpStatus(err))
					},
				}
				if tt.set != nil {
					tt.set(s)
				}
				on.Talk(t, s, func(c *wiretest.Conversation) { c.Send(tt.request).Want(tt.status) })
			})
		})
	}
}

// serveSecond returns the error of ServeConn for the second of two connections.
func serveSecond(s *fasthttp.Server) (err error) {
	client, server := memnet.Pipe()
	defer client.Close()
	go s.ServeConn(fromLoopback{server})
	synctest.Wait()
	_, second := memnet.Pipe()
	return s.ServeConn(fromLoopback{second})
}

type fromLoopback struct{ net.Conn }

func (fromLoopback) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// readFasthttpRequest parses a request and returns the error.
func readFasthttpRequest(head string) error {
	return new(fasthttp.Request).ReadLimitBody(bufio.NewReader(strings.NewReader(head)), 5)
}

// TestFromFasthttpErrors provokes each error that fasthttp has, except those of its clients, which have their own table. Where
// fasthttp returns the variable itself, which programs compare with ==, so does gallop.
func TestFromFasthttpErrors(t *testing.T) {
	const host = " HTTP/1.1\r\nHost: a\r\n"
	read := func(head string) func() error { return func() error { return readFasthttpRequest(head) } }
	var args fasthttp.Args
	var cookie fasthttp.Cookie
	var uri fasthttp.URI
	var ctx fasthttp.RequestCtx
	provoked := map[string]bool{}
	for _, tt := range []struct {
		name    string
		want    error
		wrapped bool // in fasthttp, too
		provoke func() error
	}{
		{"ErrNoArgValue", fasthttp.ErrNoArgValue, false, func() error { _, err := args.GetUint("a"); return err }},
		{"ErrNoArgValue", fasthttp.ErrNoArgValue, false, func() error { _, err := args.GetUfloat("a"); return err }},
		{"ErrNoCookies", fasthttp.ErrNoCookies, false, func() error { return cookie.Parse("") }},
		{"ErrInvalidCookieValue", fasthttp.ErrInvalidCookieValue, false, func() error { return cookie.Parse(`a=b\c`) }},
		{"ErrBadTrailer", fasthttp.ErrBadTrailer, false, func() error { return ctx.Request.Header.SetTrailer("Host") }},
		{"ErrorInvalidURI", fasthttp.ErrorInvalidURI, false, func() error { return uri.Parse(nil, []byte("http://[::1/")) }},
		{"ErrContentEncodingUnsupported", fasthttp.ErrContentEncodingUnsupported, false, func() error {
			var resp fasthttp.Response
			resp.Header.SetContentEncoding("x")
			_, err := resp.BodyUncompressed()
			return err
		}},
		{"ErrNoMultipartForm", fasthttp.ErrNoMultipartForm, false, func() error { _, err := ctx.MultipartForm(); return err }},
		{"ErrNoMultipartForm", fasthttp.ErrNoMultipartForm, false, func() error { _, err := ctx.FormFile("f"); return err }},
		{"ErrMissingFile", fasthttp.ErrMissingFile, false, func() error {
			var ctx fasthttp.RequestCtx
			ctx.Request.Header.SetMultipartFormBoundary("b")
			ctx.Request.SetBodyString("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b--\r\n")
			_, err := ctx.FormFile("f")
			return err
		}},
		{"ErrBodyTooLarge", fasthttp.ErrBodyTooLarge, false, read("POST /" + host + "Content-Length: 6\r\n\r\n123456")},
		{"ErrBodyTooLarge", fasthttp.ErrBodyTooLarge, false, read("POST /" + host + "Transfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n0\r\n\r\n")},
		{"ErrGetOnly", fasthttp.ErrGetOnly, false, func() error {
			s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, GetOnly: true, Logger: servertest.Quiet}
			client, server := memnet.Pipe()
			defer client.Close()
			io.WriteString(client, "POST /"+host+"Content-Length: 0\r\n\r\n")
			return s.ServeConn(server)
		}},
		{"ErrPerIPConnLimit", fasthttp.ErrPerIPConnLimit, false, func() error {
			return serveSecond(&fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, MaxConnsPerIP: 1, Logger: servertest.Quiet})
		}},
		{"ErrConcurrencyLimit", fasthttp.ErrConcurrencyLimit, false, func() error {
			return serveSecond(&fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, Concurrency: 1, Logger: servertest.Quiet})
		}},
		{"ErrTimeout", fasthttp.ErrTimeout, false, func() error {
			return new(fasthttp.ResponseHeader).Read(bufio.NewReader(iotest.ErrReader(os.ErrDeadlineExceeded)))
		}},
		{"ErrTimeout", fasthttp.ErrTimeout, false, func() error {
			return new(fasthttp.RequestHeader).ReadTrailer(bufio.NewReader(iotest.ErrReader(os.ErrDeadlineExceeded)))
		}},
		{"io.EOF", io.EOF, false, func() error {
			return new(fasthttp.ResponseHeader).Read(bufio.NewReader(iotest.ErrReader(net.ErrClosed)))
		}},
		{"io.EOF", io.EOF, false, func() error {
			return new(fasthttp.Response).Read(bufio.NewReader(iotest.ErrReader(net.ErrClosed)))
		}},
		{"io.EOF", io.EOF, false, func() error {
			return new(fasthttp.RequestHeader).ReadTrailer(bufio.NewReader(iotest.ErrReader(net.ErrClosed)))
		}},
		{"io.EOF", io.EOF, false, func() error {
			r := fasthttp.NewStreamReader(func(w *bufio.Writer) { w.WriteString("abc") })
			r.Close()
			_, err := r.Read(make([]byte, 1))
			return err
		}},
		{"ErrSmallReadBuffer", fasthttp.ErrSmallReadBuffer, true, read("GET /" + host + "X: " + strings.Repeat("x", 5000) + "\r\n\r\n")},
		{"ErrReadingResponseHeaders", fasthttp.ErrReadingResponseHeaders, true, func() error {
			return new(fasthttp.ResponseHeader).Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n")))
		}},
		{"ErrReadingResponseTrailer", fasthttp.ErrReadingResponseTrailer, true, func() error {
			return new(fasthttp.ResponseHeader).ReadTrailer(bufio.NewReader(strings.NewReader("A: b\r\n")))
		}},
		{"ErrResponseFirstLineMissingSpace", fasthttp.ErrResponseFirstLineMissingSpace, true, func() error {
			return new(fasthttp.ResponseHeader).Read(bufio.NewReader(strings.NewReader("HTTP/1.1\r\n\r\n")))
		}},
		{"ErrUnexpectedStatusCodeChar", fasthttp.ErrUnexpectedStatusCodeChar, true, func() error {
			return new(fasthttp.ResponseHeader).Read(bufio.NewReader(strings.NewReader("HTTP/1.1 2000 OK\r\n\r\n")))
		}},
		{"ErrMissingRequestMethod", fasthttp.ErrMissingRequestMethod, true, read(" /" + host + "\r\n")},
		{"ErrUnsupportedRequestMethod", fasthttp.ErrUnsupportedRequestMethod, true, read("G@T /" + host + "\r\n")},
		{"ErrExtraWhitespaceInRequestLine", fasthttp.ErrExtraWhitespaceInRequestLine, true, read("GET /  x" + host + "\r\n")},
		{"ErrEmptyRequestURI", fasthttp.ErrEmptyRequestURI, true, read("GET " + host + "\r\n")},
		{"ErrDuplicateContentLength", fasthttp.ErrDuplicateContentLength, true, read("GET /" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n")},
		{"ErrUnsupportedTransferEncoding", fasthttp.ErrUnsupportedTransferEncoding, true, read("GET /" + host + "Transfer-Encoding: x\r\n\r\n")},
		{"ErrNonNumericChars", fasthttp.ErrNonNumericChars, true, read("GET /" + host + "Content-Length: x\r\n\r\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := tt.provoke()
				if !errors.Is(err, tt.want) || err != tt.want && !tt.wrapped {
					t.Errorf("got %T: %v", err, err)
				}
			})
		})
		provoked[tt.name] = true
	}
	checkProvoked(t, provoked)
}

// elsewhere are errors that are never returned, and one that TestFromFasthttpWriteTimeout provokes.
var elsewhere = []string{"ErrAlreadyServing", "ErrNeedMore", "ErrTLSHandshakeTimeout"}

// checkProvoked checks that no error of compat/fasthttp is missing from the tables.
func checkProvoked(t *testing.T, provoked map[string]bool) {
	t.Helper()
	for _, row := range clientErrors {
		provoked[row.name] = true
	}
	for _, row := range otherClientErrors {
		provoked[row.name] = true
	}
	for _, row := range errorTypes {
		provoked[row.name] = true
	}
	for file, least := range map[string]int{"../../compat/fasthttp/vars.go": 35, "../../compat/fasthttp/types.go": 5} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`(?m)^(?:\t|var )(Err\w+) += `).FindAllSubmatch(src, -1)
		if len(names) < least {
			t.Errorf("found only %d errors in %s", len(names), file)
		}
		for _, name := range names {
			if name := string(name[1]); !provoked[name] && !slices.Contains(elsewhere, name) {
				t.Errorf("nothing provokes %s", name)
			}
		}
	}
}

// errorTypes are errors that code for fasthttp finds with a type assertion.
var errorTypes = []struct {
	name, how string
	is        func(error) bool
	provoke   func() error
}{
	{"ErrSmallBuffer", "the head does not fit the buffer", isSmallBuffer, func() error { return readLargeHead(4 << 10) }},
	{"ErrSmallBuffer", "the head is over the limit", isSmallBuffer, func() error { return readLargeHead(128 << 10) }},
	{"ErrNothingRead", "", func(err error) bool { _, ok := err.(fasthttp.ErrNothingRead); return ok }, func() error {
		return new(fasthttp.RequestHeader).Read(bufio.NewReader(iotest.ErrReader(net.ErrClosed)))
	}},
	{"ErrBrokenChunk", "", isBrokenChunk, func() error {
		return readFasthttpRequest("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n")
	}},
	{"ErrDialWithUpstream", "Dial", isDialWithUpstream, func() error {
		_, err := fasthttp.Dial(closedPort)
		return err
	}},
	{"ErrDialWithUpstream", "DialTimeout", isDialWithUpstream, func() error {
		_, err := fasthttp.DialTimeout(closedPort, time.Minute)
		return err
	}},
	{"ErrDialWithUpstream", "HostClient", isDialWithUpstream, func() error {
		req := &fasthttp.Request{}
		addr := closedPort
		req.SetRequestURI("http://" + addr)
		return (&fasthttp.HostClient{Addr: addr}).Do(req, nil)
	}},
	{"ErrDialWithUpstream", "Client with TLS", isDialWithUpstream, func() error {
		req := &fasthttp.Request{}
		req.SetRequestURI("https://" + closedPort)
		return new(fasthttp.Client).Do(req, nil)
	}},
	{"ErrBodyStreamWritePanic", "a stream", isStreamPanic, func() error {
		var resp fasthttp.Response
		resp.SetBodyStream(panickingReader{}, -1)
		return resp.Write(bufio.NewWriter(io.Discard))
	}},
	{"ErrBodyStreamWritePanic", "a stream with a length", isStreamPanic, func() error {
		var resp fasthttp.Response
		resp.SetBodyStream(panickingReader{}, 5)
		return resp.Write(bufio.NewWriter(io.Discard))
	}},
	{"EscapeError", "", func(err error) bool { _, ok := err.(fasthttp.EscapeError); return ok }, func() error {
		return new(fasthttp.URI).Parse(nil, []byte("http://a%zz/"))
	}},
	{"InvalidHostError", "", func(err error) bool { _, ok := err.(fasthttp.InvalidHostError); return ok }, func() error {
		return new(fasthttp.URI).Parse(nil, []byte("http://a<b/"))
	}},
}

func isDialWithUpstream(err error) bool { _, ok := err.(*fasthttp.ErrDialWithUpstream); return ok }
func isStreamPanic(err error) bool      { _, ok := err.(*fasthttp.ErrBodyStreamWritePanic); return ok }

// readLargeHead reads a head of 70 KiB through a buffer.
func readLargeHead(buffer int) error {
	large := "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n"
	return new(fasthttp.RequestHeader).Read(bufio.NewReaderSize(strings.NewReader(large), buffer))
}

// closedPort is an address that nobody listens on. The system gives no listener on port 0 such a low port.
const closedPort = "127.0.0.1:1"

// panickingReader is a body stream whose Read panics.
type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("test") }

// Code for fasthttp also looks for the types of these errors.
func TestFromFasthttpErrorTypes(t *testing.T) {
	for _, tt := range errorTypes {
		t.Run(tt.name+" "+tt.how, func(t *testing.T) {
			if err := tt.provoke(); !tt.is(err) {
				t.Errorf("got %T: %v", err, err)
			}
		})
	}
}
