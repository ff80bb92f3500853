package nethttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

// An http.Handler serves one path of a gallop server.
func ExampleFromHTTP() {
	greet := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.FormValue("name"))
	}))
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/greet":
			greet(ctx)
		default:
			ctx.NotFound()
		}
	}}
	ln := memnet.NewListener()
	defer s.Shutdown()
	go s.Serve(ln)

	transport := &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	resp, err := (&http.Client{Transport: transport}).Get("http://example.com/greet?name=gopher")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: hello, gopher
}

// CompressHandler compresses the response that its handler has left in ctx.Response.
func ExampleGather() {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 1000 {
			fmt.Fprintln(w, "all work and no play")
		}
	})
	h := gallop.CompressHandler(nethttp.FromHTTP(page, nethttp.Gather()))

	var ctx gallop.RequestCtx
	ctx.Request.Header.Set("Accept-Encoding", "gzip")
	h(&ctx)
	fmt.Printf("%s, less than 21,000 bytes: %t\n", ctx.Response.Header.Peek("Content-Encoding"), len(ctx.Response.Body()) < 21_000)
	// Output: gzip, less than 21,000 bytes: true
}

// A server of net/http calls a gallop handler.
func ExampleToHTTP() {
	h := nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s", ctx.Method(), ctx.Path())
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/a/b?c", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 GET /a/b
}

// The transport takes its proxies from the environment. Two of its limits are changed.
func ExampleNewTransport() {
	transport := nethttp.NewTransport()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.MaxConnsPerHost = 16
	client := &http.Client{Transport: transport}

	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	resp, err := client.Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 404 Not Found
}

// Calls without TLS fail if the Transport has no protocol for them.
func ExampleTransport_protocols() {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	client := &http.Client{Transport: &nethttp.Transport{Protocols: protocols}}

	_, err := client.Get("http://example.com/")
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output: true
}

// One line is enough for a program that has an http.Handler: nethttp.ListenAndServe(":8080", handler). NewServer returns the server
// instead, so that its limits can be changed and Run can stop it.
func ExampleNewServer() {
	s := nethttp.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	}))
	s.MaxHeaderBytes = 16 << 10
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background()) // a program uses signal.NotifyContext
	defer stop()
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, ln) }()

	resp, err := http.Get("http://" + ln.Addr().String() + "/a/b")
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(string(body))
	stop()
	fmt.Println("stopped:", <-ended)
	// Output:
	// GET /a/b
	// stopped: <nil>
}

// Serve serves an http.ServeMux on a listener, here one in memory.
func ExampleServe() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "user %s", r.PathValue("id"))
	})
	ln := memnet.NewListener()
	defer ln.Close()
	go nethttp.Serve(ln, mux)

	client := http.Client{Transport: &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}}
	resp, err := client.Get("http://example.com/users/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: user 7
}

// A call fails when its context ends.
func ExampleTransport() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	client := http.Client{Transport: new(nethttp.Transport)}
	defer client.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Do(req)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}
