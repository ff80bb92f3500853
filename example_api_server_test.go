package gallop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// A server that ends with a signal: in-flight requests are served, for half a minute at most.
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

// With port 0 the system chooses a port. OnListen learns it first, and Addrs has it while the server serves.
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

// A set of protocols that this version does not support is an error, and nothing is served.
func ExampleProtocols() {
	var p gallop.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	fmt.Println(p)

	s := &gallop.Server{Protocols: &p, HTTP2: &gallop.HTTP2Config{MaxConcurrentStreams: 250}, Handler: func(*gallop.RequestCtx) {}}
	err := s.ListenAndServe("127.0.0.1:0")
	fmt.Println(errors.Is(err, gallop.ErrProtocols), errors.Is(err, errors.ErrUnsupported))
	// Output:
	// {HTTP1,HTTP2}
	// true true
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

// Errors of the server as records with attributes.
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

// A Logger for what takes one, such as a prefork parent.
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

// A handler that stops work for clients that have gone away.
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

// An echo server that works wherever a connection or stream can be had.
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

// A header that must not go missing.
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
