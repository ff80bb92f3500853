package gallop_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// docs/from-nethttp.md has a table of the ways in which a handler reads a request. The following examples show the rows
// of that table.

// The counterpart in net/http is r.Body.
func ExampleRequestCtx_PostBody() {
	printPost(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%d bytes: %s", len(ctx.PostBody()), ctx.PostBody())
	}, "/", "text/plain", "hello")
	// Output:
	// 200
	// 5 bytes: hello
}

// The counterpart in net/http is r.Body, read while it arrives. RequestBodyStream returns nil if the body is already in
// memory, or if the request has no body.
func ExampleRequestCtx_RequestBodyStream() {
	s := &gallop.Server{
		StreamRequestBody: true,
		Handler: func(ctx *gallop.RequestCtx) {
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "%d bytes, %v", n, err)
		},
	}
	printAnswer(s, exampleRequest("POST", "/", "text/plain", strings.Repeat("x", 1<<20)))
	// Output:
	// 200
	// 1048576 bytes, <nil>
}

// The counterpart in net/http is r.URL.Path.
func ExampleRequestCtx_Path() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.Path())
	}, "/a/./b/../caf%C3%A9?x=1")
	// Output:
	// 200
	// /a/café
}

// The counterpart in net/http is r.URL.
func ExampleRequestCtx_URI() {
	printGet(func(ctx *gallop.RequestCtx) {
		u := ctx.URI()
		fmt.Fprintf(ctx, "%s %s %s %s", u.Scheme(), u.Host(), u.PathOriginal(), u.QueryString())
	}, "/a%20b?x=1")
	// Output:
	// 200
	// http example.com /a%20b x=1
}

// The counterpart in net/http is r.Method.
func ExampleRequestCtx_Method() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s %t", ctx.Method(), ctx.IsGet())
	}, "/")
	// Output:
	// 200
	// GET true
}

// The counterparts in net/http are r.Header and r.Header.Get.
func ExampleRequestHeader_Peek() {
	printPost(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s\n", ctx.Request.Header.Peek("content-type"))
		for name, value := range ctx.Request.Header.All() {
			if string(name) == "Content-Length" {
				fmt.Fprintf(ctx, "%s: %s\n", name, value)
			}
		}
	}, "/", "text/plain", "hello")
	// Output:
	// 200
	// text/plain
	// Content-Length: 5
}

// The counterpart in net/http is r.Host.
func ExampleRequestCtx_Host() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.Host())
	}, "/")
	// Output:
	// 200
	// example.com
}

// The counterpart in net/http is r.Form. gallop keeps the arguments of the query separate from the arguments of a form
// in the body.
func ExampleRequestCtx_QueryArgs() {
	printPost(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %d", ctx.QueryArgs().Peek("a"), ctx.PostArgs().Peek("a"), ctx.QueryArgs().GetUintOrZero("n"))
	}, "/?a=query&n=7", "application/x-www-form-urlencoded", "a=body")
	// Output:
	// 200
	// query body 7
}

// The counterpart in net/http is r.PostForm.
func ExampleRequestCtx_PostArgs() {
	printPost(func(ctx *gallop.RequestCtx) {
		for key, value := range ctx.PostArgs().All() {
			fmt.Fprintf(ctx, "%s=%s\n", key, value)
		}
	}, "/", "application/x-www-form-urlencoded", "name=Go+pher&lang=en&lang=de")
	// Output:
	// 200
	// name=Go pher
	// lang=en
	// lang=de
}

// The counterpart in net/http is r.FormValue. With NetHttpFormValueFunc, FormValue searches in the order of net/http,
// in which the body comes first.
func ExampleRequestCtx_FormValue() {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.FormValue("a"))
	}}
	printAnswer(s, exampleRequest("POST", "/?a=query", "application/x-www-form-urlencoded", "a=body"))

	s = &gallop.Server{Handler: s.Handler, FormValueFunc: gallop.NetHttpFormValueFunc}
	printAnswer(s, exampleRequest("POST", "/?a=query", "application/x-www-form-urlencoded", "a=body"))
	// Output:
	// 200
	// query
	// 200
	// body
}

// The counterpart in net/http is r.FormFile.
func ExampleRequestCtx_FormFile() {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("upload", "notes.txt")
	io.WriteString(part, "remember the milk")
	w.Close()

	printPost(func(ctx *gallop.RequestCtx) {
		header, err := ctx.FormFile("upload")
		if err != nil {
			ctx.Error("no file", gallop.StatusBadRequest)
			return
		}
		file, err := header.Open()
		if err != nil {
			ctx.Error("cannot read the file", gallop.StatusInternalServerError)
			return
		}
		defer file.Close()
		content, _ := io.ReadAll(file)
		fmt.Fprintf(ctx, "%s: %s", header.Filename, content)
	}, "/", w.FormDataContentType(), form.String())
	// Output:
	// 200
	// notes.txt: remember the milk
}

// The counterpart in net/http is r.MultipartForm. MultipartFormWithLimit also limits the size of the decompressed form.
func ExampleRequestCtx_MultipartForm() {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("name", "Gopher")
	w.Close()

	printPost(func(ctx *gallop.RequestCtx) {
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error("no form", gallop.StatusBadRequest)
			return
		}
		_, err = ctx.MultipartFormWithLimit(1 << 20)
		fmt.Fprintf(ctx, "%s %d files %v", form.Value["name"], len(form.File), err)
	}, "/", w.FormDataContentType(), form.String())
	// Output:
	// 200
	// [Gopher] 0 files <nil>
}

// The counterpart in net/http is r.RemoteAddr.
func ExampleRequestCtx_RemoteAddr() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s\n", ctx.RemoteAddr())
		ctx.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 50000}) // what a trusted proxy said
		fmt.Fprintf(ctx, "%s %s\n", ctx.RemoteAddr(), ctx.RemoteIP())
	}, "/")
	// Output:
	// 200
	// memory
	// 192.0.2.1:50000 192.0.2.1
}

// The counterpart in net/http is r.RequestURI.
func ExampleRequestCtx_RequestURI() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.RequestURI())
	}, "/a%20b?x=1")
	// Output:
	// 200
	// /a%20b?x=1
}

// The counterpart in net/http is r.TLS.
func ExampleRequestCtx_IsTLS() {
	printGet(func(ctx *gallop.RequestCtx) {
		fmt.Fprint(ctx, ctx.IsTLS(), ctx.TLSConnectionState() == nil)
	}, "/")
	// Output:
	// 200
	// false true
}

// The counterpart in net/http is r.Cookie.
func ExampleRequestHeader_Cookie() {
	r := exampleRequest("GET", "/", "", "")
	r.Header.Set("Cookie", "theme=dark; session=4f3a")
	printAnswer(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.Request.Header.Cookie("session"))
	}}, r)
	// Output:
	// 200
	// 4f3a
}

// The counterparts in net/http are r.Referer and r.UserAgent.
func ExampleRequestCtx_UserAgent() {
	r := exampleRequest("GET", "/", "", "")
	r.Header.Set("Referer", "http://example.com/before")
	r.Header.Set("User-Agent", "gopher/1.0")
	printAnswer(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s from %s", ctx.UserAgent(), ctx.Referer())
	}}, r)
	// Output:
	// 200
	// gopher/1.0 from http://example.com/before
}

// The counterpart in net/http is r.Context(). In gallop, ctx itself is the context, which is done when the client goes
// away.
func ExampleRequestCtx_Done() {
	ended := make(chan error)
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		<-ctx.Done()
		ended <- ctx.Err()
	}}
	ln := memnet.NewListener()
	go s.Serve(ln)
	defer s.Close()
	client, err := ln.Dial()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
		log.Fatal(err)
	}
	client.Close()
	fmt.Println(<-ended)
	// Output: context canceled
}

// docs/from-nethttp.md has a table of the ways in which a handler responds. The following examples show the rows of
// that table.

// The counterpart in net/http is http.ServeMux.
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

// The counterparts in net/http are w.Header() and w.Header().Set. A handler may set headers after it has written the
// body, because the server sends the response after the handler has returned.
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

// The counterpart in net/http is w.Header().Set("Content-Type", …).
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

// The counterpart in net/http is w.Header().Add("Set-Cookie", …).
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

// The counterpart in net/http is w.Write. Use ctx.Write with fmt.Fprintf and similar functions, or set the whole body
// at once.
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

// The counterpart in net/http is io.Copy(w, r).
func ExampleRequestCtx_SetBodyStream() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("from a reader"), -1) // -1: as much as there is
	}, "/")
	// Output:
	// 200
	// from a reader
}

// The counterpart in net/http is http.Flusher.
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

// The counterpart in net/http is w.WriteHeader.
func ExampleRequestCtx_SetStatusCode() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusTeapot)
	}, "/")
	// Output: 418
}

// The counterpart in net/http is w.(http.Hijacker).Hijack().
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

// The counterpart in net/http is http.Error.
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

// The counterpart in net/http is http.Redirect.
func ExampleRequestCtx_Redirect() {
	printGet(func(ctx *gallop.RequestCtx) {
		ctx.Redirect("../new?from=old", gallop.StatusSeeOther)
	}, "/a/old", "Location")
	// Output:
	// 303
	// Location: http://example.com/new?from=old
}

// The counterpart in net/http is http.NotFound.
func ExampleRequestCtx_NotFound() {
	printGet(func(ctx *gallop.RequestCtx) { ctx.NotFound() }, "/")
	// Output:
	// 404
	// Not Found
}

// The counterpart in net/http is http.TimeoutHandler.
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

// The counterpart in net/http is http.MaxBytesReader.
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

// CompressHandler compresses the response with the coding that the client prefers, if compression makes the response
// smaller.
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
