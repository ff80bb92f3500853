package server_test

import (
	"fmt"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A request may have its cookies in several fields, as HTTP/2 clients and some gateways send them
// (RFC 9113 §8.2.3). Handlers see one, and so does the next hop.
func TestServerJoinsCookies(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nX: y\r\ncookie: b=2; c=3\r\nCookie:\r\nCookie: a=4\r\n\r\n"
	const want = "a=1; b=2; c=3; a=4"
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		h := &ctx.Request.Header
		var seen, visited []string
		for name, value := range h.All() {
			seen = append(seen, fmt.Sprintf("%s: %s", name, value))
		}
		h.VisitAll(func(name, value []byte) { visited = append(visited, fmt.Sprintf("%s: %s", name, value)) })
		var cookies string
		for name, value := range h.Cookies() {
			cookies += fmt.Sprintf("%s=%s ", name, value)
		}
		fmt.Fprintf(ctx, "%s|%s|%s|%s|%s|%q|%v|%v|%d|", h.Peek("cookie"), h.PeekBytes([]byte("Cookie")), h.PeekAll("Cookie"),
			h.Cookie("a"), h.Cookie("c"), h.PeekKeys(), seen, visited, h.Len())
		var copied gallop.RequestHeader
		h.CopyTo(&copied)
		fmt.Fprintf(ctx, "%s|%s|%q|%q", cookies, copied.Peek("Cookie"), h.RawHeaders(), copied.String())
	}}
	fields := "[Host: a Cookie: " + want + " X: y]"
	body := want + "|" + want + "|[" + want + "]|1|3|[\"Host\" \"Cookie\" \"X\"]|" + fields + "|" + fields + "|3|a=1 b=2 c=3 a=4 |" + want + "|" +
		fmt.Sprintf("%q|%q", "Host: a\r\nCookie: a=1\r\nX: y\r\ncookie: b=2; c=3\r\nCookie:\r\nCookie: a=4\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nCookie: "+want+"\r\nX: y\r\n\r\n")
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 2 { // on one connection: the next request is parsed as the last one was
				c.Send(request).Want(200)
				c.WantBody(body)
			}
			for at := 1; at < len(request); at += 7 {
				c.Send(request[:at]).Await().Send(request[at:]).Want(200)
				c.WantBody(body)
			}
			c.Send("GET / HTTP/1.1\r\nHost: a\r\nCookie: z=1\r\n\r\n").Want(200)
		})
	})
}
