package client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// bigText is what /big sends: more than fits any buffer.
var bigText = bytes.Repeat([]byte("gallop over the hills\n"), 50_000)

// serveTestNetHTTP answers as serveTestGallop does.
func serveTestNetHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/echo":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Trailer", r.Trailer.Get("X-Check"))
		_, _ = w.Write(body)
	case "/big":
		_, _ = w.Write(bigText)
	case "/flush":
		for part := range bytes.Lines(bigText[:2200]) {
			_, _ = w.Write(part)
			w.(http.Flusher).Flush()
		}
	case "/refuse":
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/close":
		w.Header().Set("Connection", "close")
		_, _ = w.Write(bigText)
	case "/abort":
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func serveTestGallop(ctx *gallop.RequestCtx) {
	switch string(ctx.Path()) {
	case "/echo":
		body := ctx.PostBody() // trailers are known once it was read
		for name, value := range ctx.Request.Header.AllTrailers() {
			if strings.EqualFold(string(name), "X-Check") {
				ctx.Response.Header.SetBytesV("X-Trailer", value)
			}
		}
		ctx.SetBody(body)
	case "/big":
		ctx.SetBody(bigText)
	case "/flush":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for part := range bytes.Lines(bigText[:2200]) {
				_, _ = w.Write(part)
				_ = w.Flush()
			}
		})
	case "/refuse":
		ctx.SetConnectionClose()
		ctx.SetStatusCode(gallop.StatusRequestEntityTooLarge)
	case "/none":
		ctx.SetStatusCode(gallop.StatusNoContent)
	case "/close":
		ctx.SetConnectionClose()
		ctx.SetBody(bigText)
	case "/abort":
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("half"), brokenBody{}), 100)
	}
}

// brokenBody is a body that breaks off.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("broken off") }

// testServers serve a listener until it is closed.
var testServers = map[string]func(net.Listener) (stop func()){
	"net/http": func(ln net.Listener) func() {
		s := &http.Server{Handler: http.HandlerFunc(serveTestNetHTTP), ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = s.Serve(ln) }()
		return func() { _ = s.Close() }
	},
	"gallop": func(ln net.Listener) func() {
		s := &gallop.Server{Handler: serveTestGallop, Logger: servertest.Quiet}
		go func() { _ = s.Serve(ln) }()
		return func() { _ = s.Close() }
	},
	"gallop, streaming": func(ln net.Listener) func() {
		s := &gallop.Server{Handler: serveTestGallop, Logger: servertest.Quiet, StreamRequestBody: true}
		go func() { _ = s.Serve(ln) }()
		return func() { _ = s.Close() }
	},
}

// serveTest serves until the test ends and returns a client for it.
func serveTest(t *testing.T, serve func(net.Listener) func(), secure, stream bool) *gallop.HostClient {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	c := hostClient(func() (net.Conn, error) { return net.Dial("tcp4", address) }, stream)
	if secure {
		certPEM, key, err := gallop.GenerateTestCertificate("h1.test")
		if err != nil {
			t.Fatal(err)
		}
		cert, err := tls.X509KeyPair(certPEM, key)
		if err != nil {
			t.Fatal(err)
		}
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}})
		c.IsTLS = true
		c.TLSConfig = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "h1.test"}
		c.TLSConfig.RootCAs.AppendCertsFromPEM(certPEM)
	}
	t.Cleanup(serve(ln))
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestClientAndServers(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	wiretest.CheckLeaks(t)
	rounds := 1
	if wiretest.Full() {
		rounds = 3
	}
	for server, serve := range testServers {
		for _, secure := range []bool{false, true} {
			for mode, stream := range clientModes {
				t.Run(fmt.Sprintf("%s, TLS %v, %s", server, secure, mode), func(t *testing.T) {
					t.Parallel()
					c := serveTest(t, serve, secure, stream)
					for range rounds {
						answersOf(t, c)
						uploadsTo(t, c)
					}
					if n := c.ConnsCount(); n > 1 {
						t.Errorf("%d connections for calls one after the other", n)
					}
					callersOf(t, c)
				})
			}
		}
	}
}

// answersOf reads answers of all kinds.
func answersOf(t *testing.T, c *gallop.HostClient) {
	for _, tt := range []struct {
		method, path string
		status       int
		body         []byte
	}{
		{"GET", "/big", 200, bigText},
		{"GET", "/flush", 200, bigText[:2200]},
		{"HEAD", "/big", 200, nil},
		{"GET", "/none", 204, nil},
		{"GET", "/close", 200, bigText},
		{"HEAD", "/flush", 200, nil},
		{"GET", "/echo", 200, nil},
		{"POST", "/none", 204, nil},
	} {
		if r := want(t, c, tt.status, &wiretest.Call{Method: tt.method, Path: tt.path}); !bytes.Equal(r.Body, tt.body) {
			t.Errorf("%s %s: %d octets, want %d", tt.method, tt.path, len(r.Body), len(tt.body))
		}
	}
	if r, err := fetchWith(t.Context(), over(c), &wiretest.Call{Method: "GET", Path: "/abort"}); err == nil {
		t.Errorf("GET /abort: %d %q", r.Status, r.Body)
	}
}

// uploadsTo sends bodies of all kinds.
func uploadsTo(t *testing.T, c *gallop.HostClient) {
	big := string(bigText)
	for _, tt := range []struct {
		name, body string
		prepare    func(*gallop.Request)
	}{
		{"small", "small", func(r *gallop.Request) { r.SetBodyString("small") }},
		{"empty", "", func(*gallop.Request) {}},
		{"big", big, func(r *gallop.Request) { r.SetBody(bigText) }},
		{"expecting", big, func(r *gallop.Request) { r.SetBody(bigText); r.Header.Set("Expect", "100-continue") }},
		{"sized stream", big, func(r *gallop.Request) { r.SetBodyStream(bytes.NewReader(bigText), len(bigText)) }},
		{"unsized stream", big, func(r *gallop.Request) { r.SetBodyStream(io.MultiReader(bytes.NewReader(bigText)), -1) }},
		{"writer", big, func(r *gallop.Request) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.Write(bigText) })
		}},
		{"trailer", "trailed", func(r *gallop.Request) {
			_ = r.Header.SetTrailer("X-Check")
			r.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("trailed") })
			r.Header.Set("X-Check", "sum")
		}},
	} {
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("http://h1.test/echo")
		req.Header.SetMethod("POST")
		tt.prepare(&req)
		if err := over(c)(t.Context(), &req, &resp); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		r, err := resultOf(&resp)
		if err != nil || r.Status != 200 || string(r.Body) != tt.body {
			t.Errorf("%s: %d, %d octets, want %d; %v", tt.name, r.Status, len(r.Body), len(tt.body), err)
		}
		if got := resp.Header.Peek("X-Trailer"); tt.name == "trailer" && string(got) != "sum" {
			t.Errorf("trailer arrived as %q", got)
		}
	}
	for _, fields := range [][]wiretest.Pair{nil, {{"Expect", "100-continue"}}} {
		want(t, c, 413, &wiretest.Call{Method: "POST", Path: "/refuse", Body: bigText, Fields: fields})
	}
}

// callersOf has many callers share the connections: each must get its own answer.
func callersOf(t *testing.T, c *gallop.HostClient) {
	var group sync.WaitGroup
	for caller := range 16 {
		group.Go(func() {
			for i := range 50 {
				body := fmt.Sprint(caller, " ", i, strings.Repeat(" x", caller*i))
				r, err := fetchWith(context.Background(), over(c), &wiretest.Call{Method: "POST", Path: "/echo", Body: []byte(body)})
				if err != nil || string(r.Body) != body {
					t.Errorf("caller %d, call %d: %v", caller, i, err)
				}
			}
		})
	}
	group.Wait()
}
