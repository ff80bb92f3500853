package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The code of refusals.md.

// smuggled is a request that every server of this module refuses.
const smuggled = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"

// raw sends bytes to a server and returns all that comes back.
func raw(t *testing.T, s *gallop.Server, request string) string {
	t.Helper()
	client, server := memnet.Pipe()
	io.WriteString(client, request)
	client.CloseWrite()
	s.ServeConn(server)
	response, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	return string(response)
}

func TestLogRefusedRequests(t *testing.T) {
	handler := upload
	s := &gallop.Server{
		Handler:  handler,
		ErrorLog: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	}
	var out bytes.Buffer
	s.ErrorLog = slog.New(slog.NewJSONHandler(&out, nil))
	raw(t, s, smuggled)
	record := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &record); err != nil {
		t.Fatal(err)
	}
	if record["level"] != "WARN" || record["status"] != 400. || record["remote"] == nil || record["conn"] == nil || !strings.Contains(fmt.Sprint(record["err"]), "RFC 9112") {
		t.Error(out.String())
	}

	out.Reset()
	for range 30 {
		raw(t, s, smuggled)
	}
	if n := strings.Count(out.String(), "\n"); n > 42 { // the second may end while they are sent
		t.Errorf("%d messages", n)
	}
}

func TestChangeTheResponseToRefusedRequests(t *testing.T) {
	handler := upload
	s := &gallop.Server{
		Handler: handler,
		ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
			reason := gallop.StatusMessage(ctx.Response.StatusCode())
			var refused *gallop.ParseError
			switch {
			case errors.As(err, &refused):
				reason = refused.Reason // contains no bytes of the request
			case errors.Is(err, gallop.ErrRequestLimit):
				ctx.Response.Header.Set("Retry-After", "1")
			}
			body, _ := json.Marshal(map[string]string{"error": reason})
			ctx.SetContentType("application/json")
			ctx.SetBody(body)
		},
	}
	s.Logger = log.New(io.Discard, "", 0)
	got := raw(t, s, smuggled)
	if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "RFC 9112") || !strings.Contains(got, "Connection: close") {
		t.Error(got)
	}
	if stats := s.Stats(); stats.Refused != 1 || stats.Rejected != 0 {
		t.Error(stats)
	}

	arrived, release := make(chan bool), make(chan bool)
	defer close(release)
	s.Handler = func(ctx *gallop.RequestCtx) {
		arrived <- true
		<-release
	}
	v := visiting(t, &gallop.Server{Handler: s.Handler, ErrorHandler: s.ErrorHandler, MaxConcurrentRequests: 1})
	go v.client.DoContext(context.WithoutCancel(t.Context()), v.request("GET", "/first", ""), nil)
	<-arrived
	var resp gallop.Response
	if err := v.client.DoContext(t.Context(), v.request("GET", "/second", ""), &resp); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode() != 503 || string(resp.Header.Peek("Retry-After")) != "1" || resp.ConnectionClose() {
		t.Error(&resp)
	}
}

func TestHandleRefusedRequestsInAWebApplication(t *testing.T) {
	s := &gallop.Server{Logger: log.New(io.Discard, "", 0)}
	app := web.New(web.Config{
		Server: s,
		ErrorHandler: func(c *web.Ctx, err error) {
			status := gallop.StatusInternalServerError
			var e *web.Error
			if errors.As(err, &e) {
				status = e.Status
			}
			c.Status(status).JSON(map[string]any{"error": gallop.StatusMessage(status), "refused": c.Refused() != nil})
		},
	})
	app.Use(middleware.RequestID{}, middleware.Logger{})

	app.Use(web.Handler(func(c *web.Ctx) error { panic("a middleware that needs a path") }), web.Handler(func(c *web.Ctx) error { return c.SendString("mine") }))
	got := raw(t, s, smuggled)
	if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, `"refused":true`) || !strings.Contains(got, "X-Request-ID") {
		t.Error(got)
	}
}

func TestCountRefusedRequests(t *testing.T) {
	count := func(s *gallop.Server) {
		stats := s.Stats()
		fmt.Println(stats.Refused, stats.Rejected)
	}
	count(new(gallop.Server))
}

func TestWhatSettersRefuse(t *testing.T) {
	var h gallop.ResponseHeader
	h.Set("X-A", " a\r\nSet-Cookie: b ")
	if got := string(h.Peek("X-A")); got != "a  Set-Cookie: b" {
		t.Errorf("%q", got)
	}
	h.Set("X B", "b")
	h.Set("Content-Length", "1\n2")
	if h.Len() != 1 {
		t.Error(h.String())
	}
	var req gallop.RequestHeader
	req.SetHost("a\r\nb")
	req.SetMethod("GET /")
	req.SetRequestURI("/a\r\nb")
	if len(req.Host()) != 0 || string(req.Method()) != "GET" || string(req.RequestURI()) != "/" {
		t.Error(req.String())
	}
	if err := h.SetTrailer("Content-Length"); err != gallop.ErrBadTrailer {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		h.SetStatusCode(1000)
	}()

	for policy, status := range map[string]int{"default-src 'self'": 200, "default-src\n'self'": 500} {
		v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if err := ctx.Response.Header.TrySet("Content-Security-Policy", policy); err != nil {
				ctx.Error("invalid policy", gallop.StatusInternalServerError)
				return
			}
		}})
		v.want(status, "GET", "/", "")
	}
}

func TestWhatAClientRefuses(t *testing.T) {
	client := &gallop.Client{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := memnet.Pipe()
		io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		return ours, nil
	}}
	call := func(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
		if err := client.DoContext(ctx, req, resp); err != nil {
			var malformed *gallop.ParseError
			if errors.As(err, &malformed) {
				log.Printf("the server sent a malformed response: %s", malformed.Reason)
			}
			return err
		}
		return nil
	}
	var out bytes.Buffer
	log.SetOutput(&out)
	defer log.SetOutput(os.Stderr)
	if err := call(t.Context(), visit{url: "http://a"}.request("GET", "/", ""), nil); err == nil || !strings.Contains(out.String(), "RFC 9112") {
		t.Error(err, out.String())
	}
}
