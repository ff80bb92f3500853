package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// The code of ownership.md.

func TestKeepAValue(t *testing.T) {
	var users sync.Map
	v := visiting(t, &gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
		name := string(ctx.QueryArgs().Peek("name")) // a copy
		body := bytes.Clone(ctx.PostBody())          // a copy
		users.Store(name, body)

		switch string(ctx.Path()) {
		case "/healthz":
			ctx.WriteString("ok")
		default:
			ctx.NotFound()
		}
	}})
	v.want(200, "POST", "/healthz?name=gopher", "hello")
	v.want(404, "POST", "/other?name=marmot", "other")
	if body, ok := users.Load("gopher"); !ok || string(body.([]byte)) != "hello" {
		t.Error(body)
	}
}

func TestFindViewsThatAreKeptTooLong(t *testing.T) {
	var view []byte
	handler := func(ctx *gallop.RequestCtx) { view = ctx.Path() }
	s := &gallop.Server{
		Handler:        handler,
		PoisonReleased: true,
	}
	raw(t, s, "GET /gopher HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if fmt.Sprintf("% X", view) != "DB DB DB DB DB DB DB" {
		t.Errorf("%q", view)
	}
}

var (
	welcomed    = make(chan string, 1)
	sendWelcome = func(_ context.Context, user string) { welcomed <- user }
)

func register(ctx *gallop.RequestCtx) {
	user := string(ctx.FormValue("user"))
	go sendWelcome(context.Background(), user) // not ctx, which ends with the handler
	ctx.SetStatusCode(gallop.StatusAccepted)
}

func TestUseARequestInAGoroutine(t *testing.T) {
	v := visiting(t, &gallop.Server{PoisonReleased: true, Handler: register})
	v.want(202, "GET", "/?user=gopher", "")
	if user := <-welcomed; user != "gopher" {
		t.Error(user)
	}
}

func TestKeepAWholeMessage(t *testing.T) {
	audited := make(chan string)
	audit := func(req *gallop.Request) { audited <- string(req.RequestURI()) + string(req.Body()) }
	v := visiting(t, &gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
		kept := gallop.AcquireRequest()
		ctx.Request.CopyTo(kept)
		go func() {
			defer gallop.ReleaseRequest(kept)
			audit(kept)
		}()
	}})
	v.want(200, "POST", "/a", "body")
	if got := <-audited; got != "/abody" {
		t.Error(got)
	}
}

var page = []byte("<h1>hello</h1>") // never changes

func index(ctx *gallop.RequestCtx) {
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(page)
}

func TestSetABody(t *testing.T) {
	v := visiting(t, &gallop.Server{PoisonReleased: true, Handler: index})
	for range 2 {
		if _, body := v.send(v.request("GET", "/", "")); body != "<h1>hello</h1>" {
			t.Error(body)
		}
	}
}

func TestReadAStream(t *testing.T) {
	v := visiting(t, &gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
		name := string(ctx.QueryArgs().Peek("name"))
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			fmt.Fprintf(w, "hello, %s\n", name)
		})
	}})
	if _, body := v.send(v.request("GET", "/?name=gopher", "")); body != "hello, gopher\n" {
		t.Error(body)
	}
}

func TestAcquireAndReleaseMessagesOfAClient(t *testing.T) {
	v := visiting(t, &gallop.Server{Handler: index})
	client := v.client
	fetch := func(ctx context.Context, url string) (string, error) {
		req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
		defer gallop.ReleaseRequest(req)
		defer gallop.ReleaseResponse(resp)

		req.SetRequestURI(url)
		if err := client.DoContext(ctx, req, resp); err != nil {
			return "", err
		}
		return string(resp.Body()), nil // a copy: the body is reused after the release
	}
	if body, err := fetch(t.Context(), v.url); body != "<h1>hello</h1>" || err != nil {
		t.Error(body, err)
	}
}

func TestTakeAConnectionOver(t *testing.T) {
	s := &gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetStatusCode(gallop.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "echo")
		user := string(ctx.QueryArgs().Peek("user"))
		ctx.Hijack(func(c net.Conn) {
			fmt.Fprintf(c, "hello, %s\n", user)
			io.Copy(c, c)
		})
	}}
	client, server := memnet.Pipe()
	go s.ServeConn(server)
	io.WriteString(client, "GET /?user=gopher HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nmore")
	client.CloseWrite()
	got, err := io.ReadAll(client)
	if _, after, _ := strings.Cut(string(got), "\r\n\r\n"); err != nil || after != "hello, gopher\nmore" {
		t.Errorf("%q, %v", got, err)
	}
}
