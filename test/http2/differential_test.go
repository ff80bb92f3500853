package http2_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// describe writes all of a request that does not depend on the version of HTTP.
func describe(ctx *gallop.RequestCtx) {
	h := &ctx.Request.Header
	var lines []string
	for name, value := range h.All() {
		switch string(name) {
		case "Content-Length", "Transfer-Encoding", "Trailer": // framing of HTTP/1
		default:
			lines = append(lines, fmt.Sprintf("%s: %s", name, value))
		}
	}
	slices.Sort(lines)
	body := string(ctx.PostBody())
	fmt.Fprintf(ctx, "%s %s %s\n%s\n%q %d\n", ctx.Method(), ctx.RequestURI(), ctx.URI(), strings.Join(lines, "\n"), body, len(body))
	for name, value := range h.AllTrailers() {
		fmt.Fprintf(ctx, "trailer %s: %s\n", name, value)
	}
	fmt.Fprintf(ctx, "%s %s %v %s", h.Host(), h.UserAgent(), h.ConnectionClose(), h.ContentType())
}

// A request is the same to a handler, whichever version of HTTP brings it.
func TestSameRequestOverBothVersions(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("StreamRequestBody=%v", streaming), func(t *testing.T) {
			onSites(t, func(w *site) {
				w.serve(&gallop.Server{Handler: describe, StreamRequestBody: streaming})
				c := w.dial()
				one := w.connect("http/1.1")
				in := bufio.NewReader(one)
				for _, r := range []struct {
					method, target string
					lines          []string
					body           string
					trailers       []string
				}{
					{method: "GET", target: "/"},
					{method: "GET", target: "/a/../b//c?x=%20&y=+"},
					{method: "GET", target: "/%ff%2F?%"},
					{method: "DELETE", target: "/?", lines: []string{"cookie: a=1; b=2", "user-agent: test"}},
					{method: "GET", target: "/", lines: []string{"x-empty:", "x-twice: 1", "x-twice: 2", "accept: a, b"}},
					{method: "GET", target: "/", lines: []string{"te: trailers", "x-obs: \xe4\xff"}},
					{method: "OPTIONS", target: "*"},
					{method: "POST", target: "/", lines: []string{"content-type: text/plain"}, body: "body"},
					{method: "POST", target: "/", body: strings.Repeat("0123456789", 1000)},
					{method: "POST", target: "/", body: "body", trailers: []string{"checksum: abc", "x-other: 1"}},
					{method: "QUERY", target: "/", body: "own method"},
					{method: "get", target: "/lower"},
				} {
					id := c.open(r.method, r.target, r.body == "", r.lines...)
					if r.body != "" {
						c.data(id, r.body, r.trailers == nil)
					}
					if r.trailers != nil {
						c.headers(id, true, r.trailers...)
					}
					two := string(c.await(id).body)
					go io.WriteString(one, overHTTP1(r.method, r.target, r.lines, r.body, r.trailers))
					resp, err := http.ReadResponse(in, nil)
					if err != nil {
						w.t.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					if string(body) != two || err != nil || two == "" {
						w.t.Errorf("%s %s over HTTP/1 (%v):\n%s\nover HTTP/2:\n%s", r.method, r.target, err, body, two)
					}
				}
			})
		})
	}
}

// overHTTP1 returns a request as HTTP/1.1 has it.
func overHTTP1(method, target string, lines []string, body string, trailers []string) string {
	head := append([]string{method + " " + target + " HTTP/1.1", "host: example.com"}, lines...)
	switch {
	case trailers != nil:
		head = append(head, "transfer-encoding: chunked", "", fmt.Sprintf("%x", len(body)), body, "0")
		return strings.Join(append(head, trailers...), "\r\n") + "\r\n\r\n"
	case body != "":
		head = append(head, fmt.Sprintf("content-length: %d", len(body)))
	}
	return strings.Join(head, "\r\n") + "\r\n\r\n" + body
}
