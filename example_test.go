package gallop_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// The examples speak to their handlers in memory, through the functions below, so that all of them run.

// printGet sends a GET request for path to handler and prints the response. See printAnswer.
func printGet(handler gallop.RequestHandler, path string, fields ...string) {
	printAnswer(&gallop.Server{Handler: handler}, exampleRequest("GET", path, "", ""), fields...)
}

// printPost sends a POST request to handler and prints the response. See printAnswer.
func printPost(handler gallop.RequestHandler, path, contentType, body string, fields ...string) {
	printAnswer(&gallop.Server{Handler: handler}, exampleRequest("POST", path, contentType, body), fields...)
}

// exampleRequest returns a request to http://example.com.
func exampleRequest(method, path, contentType, body string) *http.Request {
	r, err := http.NewRequest(method, "http://example.com"+path, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

// printAnswer sends r to s and prints the response: the status, the headers named in fields, and the body.
func printAnswer(s *gallop.Server, r *http.Request, fields ...string) {
	ln := memnet.NewListener()
	go s.Serve(ln)
	defer s.Close()
	transport := &http.Transport{
		DialContext:        ln.DialContext,
		DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r) // follows no redirection
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode)
	for _, name := range fields {
		for _, value := range resp.Header[name] {
			fmt.Printf("%s: %s\n", name, value)
		}
	}
	if len(body) > 0 {
		fmt.Printf("%s\n", strings.TrimSuffix(string(body), "\n"))
	}
}

func ExampleServe() {
	ln := memnet.NewListener() // any net.Listener will do
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "hello, %s", ctx.Path())
	})
	defer ln.Close()

	c, err := ln.Dial()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /gopher HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(c)
	fmt.Println(strings.HasSuffix(string(answer), "\r\n\r\nhello, /gopher"))
	// Output: true
}

func ExampleServer_ShutdownWithContext() {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") }}
	ln := memnet.NewListener()
	ended := make(chan error)
	go func() { ended <- s.Serve(ln) }()

	// In a program: ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fmt.Println(s.ShutdownWithContext(ctx), <-ended)
	// Output: <nil> <nil>
}

// The server refuses malformed requests before they reach the handler. The ErrorHandler writes the response that the
// client gets instead.
func ExampleServer_errorHandler() {
	s := &gallop.Server{
		Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("not reached") },
		Logger:  log.New(io.Discard, "", 0),
		ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
			ctx.SetContentType("application/json")
			ctx.SetBodyString(`{"error":"bad request"}`)
			fmt.Println(err)
		},
	}
	client, server := memnet.Pipe()
	go s.ServeConn(server)
	fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	client.CloseWrite()
	answer, _ := io.ReadAll(client)
	status, _, _ := strings.Cut(string(answer), "\r\n")
	fmt.Println(status)
	// Output:
	// gallop: both Content-Length and Transfer-Encoding (RFC 9112 §6.1)
	// HTTP/1.1 400 Bad Request
}

// A []byte that the server hands to a handler is valid only until the handler returns. To keep its contents, convert it
// to a string, which is a copy. PoisonReleased makes the mistake visible: the server overwrites the bytes with 0xDB.
func ExampleServer_poisonReleased() {
	var view []byte
	var text string
	s := &gallop.Server{
		PoisonReleased: true, // as in every test that runs with -race
		Handler: func(ctx *gallop.RequestCtx) {
			view = ctx.Path()         // wrong: kept beyond the handler
			text = string(ctx.Path()) // right: a copy
		},
	}
	client, server := memnet.Pipe()
	fmt.Fprint(client, "GET /gopher HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	client.Close()
	s.ServeConn(server)
	fmt.Printf("view: % X\ntext: %s\n", view, text)
	// Output:
	// view: DB DB DB DB DB DB DB
	// text: /gopher
}
