package gallop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// This server shuts down gracefully after a signal. It waits at most half a minute for in-flight requests.
func ExampleServer_Run() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &gallop.Server{
		Handler:         func(ctx *gallop.RequestCtx) { ctx.SetBodyString("hello") },
		ShutdownTimeout: 30 * time.Second,
		OnListen:        func(net.Listener) { stop() }, // as if the signal came at once
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Run(ctx, ln))
	// Output: <nil>
}

// With port 0, the system chooses a port. OnListen is called with the chosen address before the server accepts
// connections. Addrs returns the address while the server is running.
func ExampleServer_Addrs() {
	listening := make(chan struct{})
	s := &gallop.Server{
		Handler:  func(ctx *gallop.RequestCtx) { ctx.SetBodyString("hello") },
		OnListen: func(net.Listener) { close(listening) },
	}
	done := make(chan error, 1)
	go func() { done <- s.ListenAndServe("127.0.0.1:0") }()
	<-listening
	_, body, err := gallop.Get(nil, "http://"+s.Addrs()[0].String())
	fmt.Println(string(body), err)
	s.Close()
	fmt.Println(<-done)
	// Output:
	// hello <nil>
	// <nil>
}

// A set of protocols must not be empty: otherwise the server returns an error and serves nothing.
func ExampleProtocols() {
	var p gallop.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	fmt.Println(p)

	s := &gallop.Server{Protocols: new(gallop.Protocols), Handler: func(*gallop.RequestCtx) {}}
	err := s.ListenAndServe("127.0.0.1:0")
	fmt.Println(errors.Is(err, gallop.ErrProtocols))
	// Output:
	// {HTTP1,HTTP2}
	// true
}

func ExampleServer_Stats() {
	s := &gallop.Server{Engine: gallop.EngineGoroutine, MaxConcurrentRequests: 100, Handler: func(*gallop.RequestCtx) {}}
	ln := memnet.NewListener()
	go s.Serve(ln)
	client := &gallop.HostClient{Addr: "memory", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	for range 3 {
		if _, _, err := client.Get(nil, "http://memory/"); err != nil {
			fmt.Println(err)
		}
	}
	s.Close()
	stats := s.Stats()
	fmt.Println(stats.Accepted, stats.Requests, stats.Refused, stats.Loop.Inline)
	// Output: 1 3 0 0
}

// With ErrorLog, the server logs errors as records with attributes.
func ExampleServer_errorLog() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "remote" || a.Key == "conn" {
			return slog.Attr{}
		}
		return a
	}})
	s := &gallop.Server{
		ErrorLog: slog.New(text),
		Handler:  func(ctx *gallop.RequestCtx) { ctx.Logger().Printf("out of stock") },
	}
	ours, theirs := memnet.Pipe()
	go io.WriteString(theirs, "GET /apples HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
	go io.Copy(io.Discard, theirs)
	s.ServeConn(ours)
	// Output: level=ERROR msg="out of stock" method=GET uri=http://shop/apples
}

// LogTo turns a slog.Logger into a Logger, for example for the parent process of package prefork.
func ExampleLogTo() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	gallop.LogTo(slog.New(text)).Printf("%d children", 4)
	// Output: level=ERROR msg="4 children"
}

// This handler stops its work when the client goes away.
func ExampleRequestCtx_OnDisconnect() {
	handler := func(ctx *gallop.RequestCtx) {
		work, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		stop := ctx.OnDisconnect(cancel)
		defer stop() // for handlers that go on with something else
		ctx.SetBodyString(slowReport(work))
	}
	_ = &gallop.Server{Handler: handler}
}

func slowReport(context.Context) string { return "done" }

// This handler switches to the protocol echo, and sends back all bytes that it receives.
func ExampleRequestCtx_AcceptStream() {
	handler := func(ctx *gallop.RequestCtx) {
		if protocol, ok := ctx.Upgrade(); !ok || protocol != "echo" {
			ctx.Error("upgrade to echo", gallop.StatusUpgradeRequired)
			return
		}
		c, err := ctx.AcceptStream()
		if err != nil {
			ctx.Error("no streams here", gallop.StatusNotImplemented)
			return
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
	_ = &gallop.Server{Handler: handler}
}

func ExampleRequestCtx_HijackErr() {
	handler := func(ctx *gallop.RequestCtx) {
		if err := ctx.HijackErr(); errors.Is(err, errors.ErrUnsupported) {
			ctx.Error("use another protocol", gallop.StatusNotImplemented)
			return
		}
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "220 ready\r\n") })
	}
	var ctx gallop.RequestCtx // that no server serves
	ctx.Init(nil, nil, nil)
	handler(&ctx)
	fmt.Println(ctx.Response.StatusCode())
	// Output: 501
}

// TrySet returns an error if the header is refused. Use TrySet for a header that must not be missing.
func ExampleResponseHeader_TrySet() {
	var h gallop.ResponseHeader
	err := h.TrySet("Content-Security-Policy", "default-src 'self'\nscript-src 'none'")
	fmt.Println(errors.Is(err, gallop.ErrInvalidHeader))
	fmt.Println(h.TryAdd("Link", "</a.css>; rel=preload"))
	// Output:
	// true
	// <nil>
}

func ExampleURI_Resolve() {
	var u gallop.URI
	u.Parse(nil, []byte("https://example.com/docs/a"))
	fmt.Println(u.Resolve("../img?b"), u.String())
	err := u.Resolve("https://exa mple.com/")
	fmt.Println(errors.Is(err, gallop.ErrInvalidURI), u.String())
	// Output:
	// <nil> https://example.com/img?b
	// true https://example.com/img?b
}

func ExampleRequestHeader_ProtoAtLeast() {
	var ctx gallop.RequestCtx
	ctx.Init(nil, nil, nil)
	if ctx.Request.Header.ProtoAtLeast(1, 1) && !ctx.Request.Header.ProtoAtLeast(2, 0) {
		ctx.Response.Header.SetContentLength(gallop.LengthUnknown) // in chunks
	}
	fmt.Println(string(ctx.Request.Header.Protocol()), ctx.Response.Header.ContentLength())
	// Output: HTTP/1.1 -1
}

// exampleClient returns a client of a server in memory that answers with the given handler.
func exampleClient(handler gallop.RequestHandler) *gallop.Client {
	ln := memnet.NewListener()
	go gallop.Serve(ln, handler)
	return &gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
}

// withTenant is client-side middleware that adds a header to each request.
func withTenant(next gallop.Doer, tenant string) gallop.Doer { return &tenantDoer{next, tenant} }

type tenantDoer struct {
	next   gallop.Doer
	tenant string
}

func (d *tenantDoer) DoContext(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	req.Header.Set("X-Tenant", d.tenant)
	return d.next.DoContext(ctx, req, resp)
}

func ExampleDoer() {
	var c gallop.Doer = exampleClient(func(ctx *gallop.RequestCtx) {
		ctx.WriteString("hello, " + string(ctx.Request.Header.Peek("X-Tenant")))
	})
	c = withTenant(c, "acme")

	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI("http://example.com/")
	if err := c.DoContext(context.Background(), req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	// Output: hello, acme
}

// tracing is a RoundTripper that logs each attempt with an ID from the context.
type tracing struct{}

type requestID struct{}

func (tracing) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (retry bool, err error) {
	fmt.Println("attempt of", req.Context().Value(requestID{}))
	return gallop.DefaultTransport.RoundTrip(hc, req, resp)
}

func ExampleRequest_Context() {
	c := exampleClient(func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	c.Transport = tracing{}

	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("http://example.com/")
	ctx := context.WithValue(context.Background(), requestID{}, "call 7")
	if err := c.DoContext(ctx, &req, &resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	// Output:
	// attempt of call 7
	// hello
}

func ExampleProxyRules_Proxy() {
	rules := &gallop.ProxyRules{HTTPProxy: "proxy.example:3128", NoProxy: "internal.example"}
	c := &gallop.Client{Proxy: rules.Proxy}

	for _, target := range []string{"http://example.com:80", "http://internal.example:80"} {
		u, err := url.Parse(target)
		if err != nil {
			log.Fatal(err)
		}
		proxy, err := c.Proxy(context.Background(), u)
		fmt.Println(target, "by way of", proxy, err)
	}
	// Output:
	// http://example.com:80 by way of http://proxy.example:3128 <nil>
	// http://internal.example:80 by way of <nil> <nil>
}

func ExampleClient_protocols() {
	var protocols gallop.Protocols
	protocols.SetHTTP2(true)
	c := &gallop.Client{Protocols: &protocols, HTTP2: &gallop.HTTP2Config{SendPingTimeout: 30 * time.Second}}

	var req gallop.Request
	req.SetRequestURI("http://example.com/") // HTTP/2 without TLS would need SetUnencryptedHTTP2
	err := c.Do(&req, nil)
	fmt.Println(errors.Is(err, gallop.ErrProtocols))
	// Output: true
}

func ExampleWithClientTrace() {
	c := exampleClient(func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	ctx := gallop.WithClientTrace(context.Background(), &gallop.ClientTrace{
		GotConn: func(info gallop.GotConnInfo) {
			fmt.Println(info.Protocol, "to", info.Addr, "reused:", info.Reused, "known:", info.ConnID > 0)
		},
	})

	var req gallop.Request
	req.SetRequestURI("http://example.com/")
	for range 2 {
		if err := c.DoContext(ctx, &req, nil); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// HTTP/1.1 to example.com:80 reused: false known: true
	// HTTP/1.1 to example.com:80 reused: true known: true
}

func ExampleSafeToRetry() {
	c := &gallop.Client{
		DetailedErrors: true,
		RetryIfErr: func(req *gallop.Request, attempts int, err error) (resetTimeout, retry bool) {
			return false, attempts < 3 && gallop.SafeToRetry(req, err)
		},
		Dial: func(addr string) (net.Conn, error) {
			fmt.Println("dialing", addr)
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		},
	}

	var req gallop.Request
	req.SetRequestURI("http://example.com/")
	req.Header.SetMethod(gallop.MethodPost)
	fmt.Println(c.Do(&req, nil))
	// Output:
	// dialing example.com:80
	// dialing example.com:80
	// dialing example.com:80
	// gallop: POST http://example.com/: dial: connection refused
}

func ExampleClosedError_NotProcessed() {
	err := fmt.Errorf("order: %w", &gallop.ClosedError{Addr: "example.com:80", Reused: true, Err: net.ErrClosed})

	var closed *gallop.ClosedError
	if errors.As(err, &closed) && closed.NotProcessed() {
		fmt.Println("the server has not seen the order")
	}
	// Output: the server has not seen the order
}

func ExampleResponseHeader_SetAll() {
	var always gallop.ResponseHeader
	always.Set("X-Content-Type-Options", "nosniff")
	always.Set("Cache-Control", "no-store")

	handler := func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.SetAll(&always)
		ctx.Response.Header.Set("Cache-Control", "max-age=60")
	}

	ctx := &gallop.RequestCtx{}
	handler(ctx)
	for name, value := range ctx.Response.Header.All() {
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output:
	// X-Content-Type-Options: nosniff
	// Cache-Control: max-age=60
}
