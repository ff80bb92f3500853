package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
)

// api is a server in memory, which answers to every host name.
type api struct {
	t     *testing.T
	ln    *memnet.Listener
	calls atomic.Int32
	dials atomic.Int32
}

// serve starts a server that ends with the test.
func serve(t *testing.T, h gallop.RequestHandler) *api {
	t.Helper()
	a := &api{t: t, ln: memnet.NewListener()}
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		a.calls.Add(1)
		h(ctx)
	}, MaxRequestBodySize: 64 << 20}
	done := make(chan error, 1)
	go func() { done <- s.Serve(a.ln) }()
	t.Cleanup(func() {
		a.ln.Close()
		s.Shutdown()
		<-done
	})
	return a
}

func (a *api) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	a.dials.Add(1)
	return a.ln.DialContext(ctx, network, addr)
}

func (a *api) gallop() *gallop.Client {
	g := &gallop.Client{
		NoDefaultUserAgentHeader: true,
		DialContext:              a.dial,
		MaxResponseHeaderBytes:   256 << 10,
	}
	a.t.Cleanup(g.CloseIdleConnections)
	return g
}

// client returns a client of http://api.test/v1/.
func (a *api) client(options ...rest.Option) *rest.Client {
	a.t.Helper()
	c, err := rest.New("http://api.test/v1/", append([]rest.Option{rest.WithClient(a.gallop())}, options...)...)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// overHTTP returns the option to use net/http's transport.
func (a *api) overHTTP() rest.Option {
	tr := &http.Transport{DialContext: a.dial}
	a.t.Cleanup(tr.CloseIdleConnections)
	return rest.WithTransport(tr)
}

// eachTransport runs a test over both transports, in virtual time.
func eachTransport(t *testing.T, h gallop.RequestHandler, test func(t *testing.T, a *api, over rest.Option)) {
	t.Helper()
	eachScript(t, []gallop.RequestHandler{h}, test)
}

// eachScript is eachTransport with a server that answers the nth request with the nth handler, and
// all others with the last.
func eachScript(t *testing.T, script []gallop.RequestHandler, test func(t *testing.T, a *api, over rest.Option)) {
	t.Helper()
	for _, name := range []string{"gallop", "nethttp"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a *api
				a = serve(t, func(ctx *gallop.RequestCtx) { script[min(int(a.calls.Load()), len(script))-1](ctx) })
				over := rest.WithClient(a.gallop())
				if name == "nethttp" {
					over = a.overHTTP()
				}
				test(t, a, over)
			})
		})
	}
}

// text returns a handler that answers with a status, fields "Name: value", and a body.
func text(status int, body string, fields ...string) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) { answer(ctx, status, body, fields...) }
}

func answer(ctx *gallop.RequestCtx, status int, body string, fields ...string) {
	ctx.SetStatusCode(status)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		ctx.Response.Header.Add(name, value)
	}
	ctx.WriteString(body)
}

// echo answers with what arrived: the request line, fields and body.
func echo(ctx *gallop.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s\n", ctx.Method(), ctx.RequestURI())
	for name, value := range ctx.Request.Header.All() {
		fmt.Fprintf(ctx, "%s: %s\n", name, value)
	}
	fmt.Fprintf(ctx, "\n%s", ctx.PostBody())
}

// said sends a request and returns what the server echoed.
func said(t *testing.T, c *rest.Client, r *rest.Request) string {
	t.Helper()
	var b strings.Builder
	if _, err := c.Do(r, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func newRequest(t *testing.T, c *rest.Client, method, path string, body any, options ...rest.RequestOption) *rest.Request {
	t.Helper()
	r, err := c.NewRequest(t.Context(), method, path, body, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// as returns err as an E, and fails if it is none.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want %T", err, err, e)
	}
	return e
}

// fileWith returns the name of a file.
func fileWith(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// opened returns a file.
func opened(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := os.Open(fileWith(t, content))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

var _ io.Writer = failingWriter{}
