package fasthttpadaptor_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/fasthttputil"
)

// Handlers around a net/http handler see its whole response. They can compress the body, keep a copy of it, or add
// headers.
func TestAnswerIsThereForOthers(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<12)
	for name, write := range map[string]func(w http.ResponseWriter){
		"at once":   func(w http.ResponseWriter) { io.WriteString(w, body) },
		"in pieces": func(w http.ResponseWriter) { io.Copy(w, strings.NewReader(body)) },
		"announced": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "65536")
			io.WriteString(w, body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inner := fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) })
			ln := fasthttputil.NewInmemoryListener()
			defer ln.Close()
			go fasthttp.Serve(ln, fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
				inner(ctx)
				if got := ctx.Response.Body(); string(got) != body {
					t.Errorf("%d bytes in the response, want %d", len(got), len(body))
				}
				ctx.Response.Header.Set("X-Behind", "1")
			}))
			client := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.SetRequestURI("http://h/")
			req.Header.Set("Accept-Encoding", "gzip")
			if err := client.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			if coding := string(resp.Header.ContentEncoding()); coding != "gzip" || string(resp.Header.Peek("X-Behind")) != "1" {
				t.Errorf("Content-Encoding %q, X-Behind %q", coding, resp.Header.Peek("X-Behind"))
			}
			if got, err := resp.BodyGunzip(); string(got) != body {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

// A body that breaks off does not count as a shorter body.
func TestConvertRequestFails(t *testing.T) {
	broken := errors.New("broken")
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("http://h/")
	ctx.Request.SetBodyStream(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), -1)
	if err := fasthttpadaptor.ConvertRequest(&ctx, new(http.Request), true); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
