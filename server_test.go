package gallop_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

func start(t *testing.T, s *gallop.Server) *memnet.Listener {
	t.Helper()
	ln := memnet.NewListener()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln
}

func ask(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

func TestHello(t *testing.T) {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %q", ctx.Method(), ctx.Path(), ctx.Host(), ctx.PostBody())
	}}
	ln := start(t, s)
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := ask(t, c, "GET /a?b HTTP/1.1\r\nHost: Example\r\n\r\n"+
		"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"+
		"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n")
	for _, want := range []string{`GET /a example ""`, `POST /b x "hello"`, `POST /c x "hello!"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
