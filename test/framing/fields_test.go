package framing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerTrailers holds that trailers arrive, apart from the fields, however the
// body that they follow was cut into chunks and writes (RFC 9110 §6.5.1).
func TestServerTrailers(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		head := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		const want = "X-Sum=1 X-Note=a b"
		for name, body := range map[string]string{
			"no data":    "0\r\nX-Sum: 1\r\nContent-Length: 9\r\nX-Note: a b\r\n\r\n",
			"one chunk":  "2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Note: a b\r\n\r\n",
			"two chunks": "1\r\nh\r\n1\r\ni\r\n0\r\nX-Sum: 1\r\nX-Note: a b\r\n\r\n",
			"large":      "5000\r\n" + strings.Repeat("x", 0x5000) + "\r\n0\r\nX-Sum: 1\r\nHost: b\r\nX-Note: a b\r\n\r\n",
		} {
			for _, stream := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					s := &gallop.Server{StreamRequestBody: stream, Logger: new(servertest.Log), Handler: func(ctx *gallop.RequestCtx) {
						ctx.PostBody()
						var got []string
						for name, value := range ctx.Request.Header.AllTrailers() {
							got = append(got, string(name)+"="+string(value))
						}
						if len(ctx.Request.Header.Peek("X-Sum")) > 0 {
							got = append(got, "among the fields")
						}
						ctx.SetBodyString(strings.Join(got, " "))
					}}
					defer on.Hold(s)()
					raw := []byte(head + body + head + body)
					whole, err := wiretest.ConverseTranscript(on.Serve(s), nil, raw)
					if err != nil || strings.Count(whole, `"`+want+`"`) != 2 {
						t.Fatalf("%v, %s", err, whole)
					}
					for at := 1; at < min(len(raw), 300); at++ {
						if got, err := wiretest.ConverseTranscript(on.Serve(s), nil, raw[:at], raw[at:]); err != nil || got != whole {
							t.Fatalf("cut at %d: %v %s", at, err, wiretest.Difference(got, whole))
						}
					}
				})
			}
		}
	})
}

// TestServerSaysNoLengthUnasked holds that a response which never has a body does not
// speak of one, be the RequestCtx new or used.
func TestServerSaysNoLengthUnasked(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for range 3 {
			for _, status := range []int{gallop.StatusNoContent, gallop.StatusNotModified} {
				s := &gallop.Server{Logger: new(servertest.Log), Handler: func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(status) }}
				c := wiretest.Start(t, on.Serve(s))
				for range 2 {
					c.Send(get("A: b")).Want(status)
					c.WantField("Content-Length").WantField("Transfer-Encoding").WantField("Content-Type")
				}
			}
		}
	})
}

// TestServerSendsWhatTheHandlerSets holds that fields the server would add are the
// handler's if it sets them, and that fields which carry one value are sent once.
func TestServerSendsWhatTheHandlerSets(t *testing.T) {
	const date = "Sun, 06 Nov 1994 08:49:37 GMT"
	for _, tt := range []struct {
		name string
		set  func(h *gallop.ResponseHeader)
		want wiretest.Field
	}{
		{"Date", func(h *gallop.ResponseHeader) { h.Set("Date", date) }, wiretest.Field{Name: "Date", Value: date}},
		{"Server", func(h *gallop.ResponseHeader) { h.Set("server", "mine") }, wiretest.Field{Name: "Server", Value: "mine"}},
		{"Content-Type twice", func(h *gallop.ResponseHeader) {
			h.SetContentType("text/a")
			h.Set("content-type", "text/b")
		}, wiretest.Field{Name: "Content-Type", Value: "text/b"}},
		{"repeated fields", func(h *gallop.ResponseHeader) {
			h.Add("Vary", "A")
			h.Add("Vary", "B")
		}, wiretest.Field{Name: "Vary", Value: "A|B"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := respond(t, servertest.Goroutines, func(ctx *gallop.RequestCtx) { tt.set(&ctx.Response.Header) }, tt.name)
			if r == nil {
				return
			}
			if got := r.Values(tt.want.Name); !slices.Equal(got, strings.Split(tt.want.Value, "|")) {
				t.Errorf("%s: %q, want %q", tt.want.Name, got, tt.want.Value)
			}
		})
	}
}
