package nethttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

// An http.Handler for one path of a gallop server.
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

// CompressHandler compresses what is in ctx.Response when its handler has returned.
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

// A gallop handler in a server of net/http.
func ExampleToHTTP() {
	h := nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s", ctx.Method(), ctx.Path())
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/a/b?c", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 GET /a/b
}

// A client whose transport takes its proxies from the environment, with limits of its own.
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

// A set of protocols that this version does not support is an error.
func ExampleTransport_protocols() {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	client := &http.Client{Transport: &nethttp.Transport{Protocols: protocols}}

	_, err := client.Get("https://example.com/")
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output: true
}
