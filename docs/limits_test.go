package docs_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The code of limits.md. Each test shows what happens at the limit.

// visit is a client and the server that it talks to.
type visit struct {
	t      *testing.T
	client *gallop.Client
	url    string
}

// visiting starts a server whose log is not shown.
func visiting(t *testing.T, s *gallop.Server) visit {
	t.Helper()
	s.Logger = log.New(new(bytes.Buffer), "", 0)
	client, url := galloptest.Start(t, s)
	return visit{t, client, url}
}

// request returns a request for a path.
func (v visit) request(method, path, body string) *gallop.Request {
	req := new(gallop.Request)
	req.Header.SetMethod(method)
	req.SetRequestURI(v.url + path)
	req.SetBodyString(body)
	return req
}

// send sends a request and returns the status and the body of the response.
func (v visit) send(req *gallop.Request) (status int, body string) {
	v.t.Helper()
	var resp gallop.Response
	if err := v.client.DoContext(v.t.Context(), req, &resp); err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode(), string(resp.Body())
}

// want sends a request and compares the status.
func (v visit) want(status int, method, path, body string) {
	v.t.Helper()
	if got, _ := v.send(v.request(method, path, body)); got != status {
		v.t.Errorf("%s %s with %d bytes: %d instead of %d", method, path, len(body), got, status)
	}
}

func upload(ctx *gallop.RequestCtx) { ctx.WriteString("thanks") }

func TestRaiseTheUploadLimit(t *testing.T) {
	s := &gallop.Server{
		Handler:            upload,
		MaxRequestBodySize: 64 << 20, // bytes
	}
	v := visiting(t, s)
	v.want(200, "POST", "/", strings.Repeat("x", 5<<20))

	app := web.New(web.Config{Server: &gallop.Server{MaxRequestBodySize: 64 << 20}})
	if app.BodyLimit() != 64<<20 {
		t.Error(app.BodyLimit())
	}

	v = visiting(t, &gallop.Server{Handler: upload})
	v.want(413, "POST", "/", strings.Repeat("x", 5<<20))
}

func TestRaiseTheUploadLimitOfOnePath(t *testing.T) {
	s := &gallop.Server{
		Handler: upload,
		HeaderReceived: func(h *gallop.RequestHeader) gallop.RequestConfig {
			if string(h.RequestURI()) == "/upload" {
				return gallop.RequestConfig{MaxRequestBodySize: 64 << 20, ReadTimeout: time.Minute}
			}
			return gallop.RequestConfig{} // zero fields keep the server's settings
		},
	}
	v := visiting(t, s)
	v.want(200, "POST", "/upload", strings.Repeat("x", 5<<20))
	v.want(413, "POST", "/other", strings.Repeat("x", 5<<20))
}

func TestLowerTheLimitOfOneRoute(t *testing.T) {
	avatar := func(c *web.Ctx) error { return c.SendString("nice") }
	s := &gallop.Server{}
	app := web.New(web.Config{Server: s, NoListenLog: true})
	app.Post("/avatar", middleware.BodyLimit{Size: 256 << 10}.Handler(), avatar)
	app.Post("/other", avatar)
	v := visiting(t, s)
	v.want(413, "POST", "/avatar", strings.Repeat("x", 256<<10+1))
	v.want(200, "POST", "/other", strings.Repeat("x", 256<<10+1))

	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "4194304") {
			t.Errorf("Use does not name the limit: %v", v)
		}
	}()
	web.New(web.Config{}).Use(middleware.BodyLimit{Size: 8 << 20})
}

func TestAcceptLargerHeaders(t *testing.T) {
	handler := upload
	s := &gallop.Server{
		Handler:             handler,
		MaxHeaderBytes:      256 << 10, // request line and all headers
		MaxRequestLineBytes: 64 << 10,  // only the request target
		MaxHeaderFields:     500,
	}
	v := visiting(t, s)
	v.want(200, "GET", "/"+strings.Repeat("x", 60<<10), "")
	v.want(414, "GET", "/"+strings.Repeat("x", 70<<10), "")
	req := v.request("GET", "/", "")
	req.Header.Set("X-Token", strings.Repeat("x", 300<<10))
	if status, _ := v.send(req); status != 431 {
		t.Error(status)
	}
}

func TestAcceptLargerForms(t *testing.T) {
	v := visiting(t, &gallop.Server{MaxFormArgs: 2, Handler: func(ctx *gallop.RequestCtx) {
		args := ctx.PostArgs()
		if err := args.Err(); err != nil {
			ctx.Error("too many form values", gallop.StatusBadRequest)
			return
		}
	}})
	req := v.request("POST", "/", "a=1&b=2&c=3")
	req.Header.SetContentType("application/x-www-form-urlencoded")
	if status, body := v.send(req); status != 400 || body != "too many form values" {
		t.Error(status, body)
	}
}

func TestAcceptCompressedBodies(t *testing.T) {
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		body, err := ctx.Request.BodyUncompressedWithLimit(256 << 20)
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusRequestEntityTooLarge)
			return
		}
		if _, err := ctx.Request.BodyUncompressed(); !errors.Is(err, gallop.ErrBodyTooLarge) {
			t.Errorf("a bomb: %v", err)
		}
		ctx.SetBody(body[:4])
	}})
	req := v.request("POST", "/", "")
	req.SetBody(gallop.AppendGzipBytes(nil, bytes.Repeat([]byte("bomb"), 1<<20)))
	req.Header.Set("Content-Encoding", "gzip")
	if status, body := v.send(req); status != 200 || body != "bomb" {
		t.Error(status, body)
	}
}

func TestLimitHowMuchRunsAtOnce(t *testing.T) {
	handler := upload
	s := &gallop.Server{
		Handler:               handler,
		Concurrency:           50_000, // connections
		MaxConnsPerIP:         100,    // connections of one IPv4 address or one IPv6 /64 network
		MaxConcurrentRequests: 1_000,  // calls of Handler
	}
	v := visiting(t, s)
	v.want(200, "GET", "/", "")

	arrived, release := make(chan bool), make(chan bool)
	v = visiting(t, &gallop.Server{MaxConcurrentRequests: 1, Handler: func(ctx *gallop.RequestCtx) {
		arrived <- true
		<-release
	}})
	go v.client.DoContext(context.WithoutCancel(t.Context()), v.request("GET", "/first", ""), nil)
	<-arrived
	v.want(503, "GET", "/second", "")
	close(release)
}

// ReadTimeout is a 408, too.
func TestReadTimeoutIsA408(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := visiting(t, &gallop.Server{ReadTimeout: 50 * time.Millisecond, Handler: upload})
		req := v.request("POST", "/", "")
		req.SetBodyStream(&late{after: 200 * time.Millisecond, text: "abc"}, 3)
		if status, _ := v.send(req); status != 408 {
			t.Error(status)
		}
		time.Sleep(time.Second) // until the body has been read
	})
}

func TestReadLargerResponses(t *testing.T) {
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.Set("X-Long", strings.Repeat("x", 5<<10))
	}})
	if err := v.client.DoContext(t.Context(), v.request("GET", "/", ""), nil); !errors.Is(err, gallop.ErrSmallReadBuffer) {
		t.Error(err)
	}
	client := &gallop.Client{
		MaxResponseHeaderBytes: 64 << 10,
		MaxResponseBodySize:    512 << 20,
	}
	client.DialContext = v.client.DialContext
	v.client = client
	v.want(200, "GET", "/", "")
}

func TestWaitForAFreeConnection(t *testing.T) {
	client := &gallop.Client{
		MaxConnsPerHost:    50,
		MaxConnWaitTimeout: 2 * time.Second,
	}
	arrived, release := make(chan bool, 2), make(chan bool)
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		arrived <- true
		<-release
	}})
	v.client.MaxConnsPerHost = 1
	client.DialContext, client.MaxConnsPerHost = v.client.DialContext, 1
	for _, c := range []*gallop.Client{v.client, client} {
		go c.DoContext(context.WithoutCancel(t.Context()), v.request("GET", "/", ""), nil)
		<-arrived
	}
	if err := v.client.DoContext(t.Context(), v.request("GET", "/", ""), nil); err != gallop.ErrNoFreeConns {
		t.Error(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	if err := client.DoContext(t.Context(), v.request("GET", "/", ""), nil); err != nil {
		t.Error(err)
	}
}

func TestDialIPv6(t *testing.T) {
	client := &gallop.Client{DialDualStack: true}
	req := visit{url: "http://[::1]:1"}.request("GET", "/", "")
	four, both := new(gallop.Client).DoContext(t.Context(), req, nil), client.DoContext(t.Context(), req, nil)
	if four == nil || both == nil || !strings.Contains(four.Error(), "DialDualStack") || strings.Contains(both.Error(), "DialDualStack") {
		t.Error(four, both)
	}
}
