package gallop_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// From net/http to gallop, how a handler answers: a row of the README's table, an example.

// http.ServeMux
func ExampleRequestHandler() {
	mux := func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) { // the conversion does not allocate
		case "/hello":
			ctx.WriteString("hello")
		default:
			ctx.NotFound()
		}
	}
	printGet(mux, "/hello")
	printGet(mux, "/elsewhere")
	// Output:
	// 200
	// hello
	// 404
	// Not Found
}

// w.Header() and w.Header().Set. The order does not matter: nothing leaves before the handler has returned.
func ExampleResponseHeader_Set() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.WriteString("body first")
		ctx.Response.Header.Set("X-Answer", "42")
		ctx.Response.Header.Add("X-Answer", "43")
	}, "/", "X-Answer")
	// Output:
	// 200
	// X-Answer: 42
	// X-Answer: 43
	// body first
}

// w.Header().Set("Content-Type", …)
func ExampleRequestCtx_SetContentType() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.WriteString("{}")
	}, "/", "Content-Type")
	// Output:
	// 200
	// Content-Type: application/json
	// {}
}

// w.Header().Add("Set-Cookie", …)
func ExampleResponseHeader_SetCookie() {
	printGet(func(ctx *gallop.RequestCtx) {
		c := gallop.AcquireCookie()
		defer gallop.ReleaseCookie(c)
		c.SetKey("session")
		c.SetValue("4f3a")
		c.SetHTTPOnly(true)
		ctx.Response.Header.SetCookie(c)
	}, "/", "Set-Cookie")
	// Output:
	// 200
	// Set-Cookie: session=4f3a; HttpOnly
}

// w.Write, which is for fmt.Fprintf and the like, or all at once
func ExampleRequestCtx_Write() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.Write([]byte("one, "))
		ctx.WriteString("two")
	}, "/")
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetBody([]byte("all of it"))
	}, "/")
	// Output:
	// 200
	// one, two
	// 200
	// all of it
}

// io.Copy(w, r)
func ExampleRequestCtx_SetBodyStream() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("from a reader"), -1) // -1: as much as there is
	}, "/")
	// Output:
	// 200
	// from a reader
}

// http.Flusher
func ExampleRequestCtx_SetBodyStreamWriter() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 2 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				if w.Flush() != nil {
					return // the client has gone
				}
			}
		})
	}, "/")
	// Output:
	// 200
	// data: 0
	//
	// data: 1
}

// w.WriteHeader
func ExampleRequestCtx_SetStatusCode() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusTeapot)
	}, "/")
	// Output: 418
}

// w.(http.Hijacker).Hijack()
func ExampleRequestCtx_Hijack() {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
	}}
	client, server := memnet.Pipe()
	go s.ServeConn(server)
	fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", "hello\n")
	in := bufio.NewReader(client)
	for range 20 {
		line, err := in.ReadString('\n')
		if err != nil {
			log.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "hello" || strings.HasPrefix(line, "HTTP/1.1") {
			fmt.Println(line)
		}
		if line == "hello" {
			break
		}
	}
	client.Close()
	// Output:
	// HTTP/1.1 101 Switching Protocols
	// hello
}

// http.Error
func ExampleRequestCtx_Error() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.WriteString("this is dropped")
		ctx.Error("no such user", gallop.StatusNotFound)
	}, "/", "Content-Type")
	// Output:
	// 404
	// Content-Type: text/plain; charset=utf-8
	// no such user
}

// http.Redirect
func ExampleRequestCtx_Redirect() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.Redirect("../new?from=old", gallop.StatusSeeOther)
	}, "/a/old", "Location")
	// Output:
	// 303
	// Location: http://example.com/new?from=old
}

// http.NotFound
func ExampleRequestCtx_NotFound() {
	printGet(func(ctx *gallop.RequestCtx) { ctx.NotFound() }, "/")
	// Output:
	// 404
	// Not Found
}

// http.TimeoutHandler
func ExampleTimeoutHandler() {
	release := make(chan struct{})
	slow := func(ctx *gallop.RequestCtx) {
		<-ctx.Done() // stop what you do for this request
		<-release
	}
	printGet(gallop.TimeoutHandler(slow, 10*time.Millisecond, "too slow"), "/")
	close(release)
	// Output:
	// 408
	// too slow
}

// http.MaxBytesReader
func ExampleServer_maxRequestBodySize() {
	s := &gallop.Server{
		MaxRequestBodySize: 1 << 10,
		Handler:            func(ctx *gallop.RequestCtx) { ctx.WriteString("not reached") },
		Logger:             log.New(io.Discard, "", 0),
	}
	printAnswer(s, exampleRequest("POST", "/", "text/plain", strings.Repeat("x", 1<<10+1)))
	// Output:
	// 413
	// Request Entity Too Large
}

// A handler whose answers are compressed, with the coding that the client likes best, where they gain from it.
func ExampleCompressHandler() {
	r := exampleRequest("HEAD", "/", "", "") // so that there is something to read
	r.Header.Set("Accept-Encoding", "gzip")
	printAnswer(&gallop.Server{Handler: gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/plain")
		ctx.WriteString(strings.Repeat("gallop ", 1000))
	})}, r, "Content-Encoding", "Vary")
	// Output:
	// 200
	// Content-Encoding: gzip
	// Vary: Accept-Encoding
}
