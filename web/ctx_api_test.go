package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// Ranges of what is larger than an int of a 32-bit system, too.
func TestRangesAreInt64(t *testing.T) {
	const size = 5 << 40
	for field, want := range map[string]string{
		"bytes=0-0":                       "[{0 0}]",
		"bytes=4294967296-":               fmt.Sprintf("[{4294967296 %d}]", int64(size-1)),
		"bytes=-4294967296":               fmt.Sprintf("[{%d %d}]", int64(size-4294967296), int64(size-1)),
		"bytes=1-99999999999999999999999": fmt.Sprintf("[{1 %d}]", int64(size-1)),
	} {
		got := header(t, "X-Got", func(c *Ctx) { parts, err := c.Range(size); c.SetHeader("X-Got", fmt.Sprint(parts, err)) }, "Range: "+field)
		if got != want+" <nil>" {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	if got := header(t, "Content-Range", func(c *Ctx) { c.Range(size) }, fmt.Sprint("Range: bytes=", int64(size), "-")); got != fmt.Sprint("bytes */", int64(size)) {
		t.Error(got)
	}
}

// A range is the one that gallop.ParseByteRange makes of the same text.
func TestRangesAgree(t *testing.T) {
	numbers := []string{"", "0", "1", "4", "5", "9", "10", "007", "18446744073709551616", "x", "+1", " 1"}
	for _, first := range numbers {
		for _, last := range numbers {
			for _, size := range []int{0, 1, 5, 10, math.MaxInt} {
				text := first + "-" + last
				start, end, err := gallop.ParseByteRange([]byte("bytes="+text), size)
				r, ok := parseRange([]byte(text), int64(size))
				if strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
					continue // Range takes them off
				}
				if ok != (err == nil) || ok && (r != ByteRange{int64(start), int64(end)}) {
					t.Errorf("%q of %d: %v %v, want %d %d %v", text, size, r, ok, start, end, err)
				}
			}
		}
	}
	if _, ok := parseRange([]byte("-1"), -1); ok {
		t.Error("a part of less than nothing")
	}
}

func TestEventOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			options SSEOptions
			want    string
		}{
			{SSEOptions{}, ":\n\ndata: x\n\n"},
			{SSEOptions{Heartbeat: time.Second, Retry: 2500 * time.Millisecond}, "retry: 2500\n\n" + strings.Repeat(":\n\n", 18) + "data: x\n\n"}, // the first second is not idle,
			{SSEOptions{Heartbeat: -1, Retry: -1}, "data: x\n\n"},
		} {
			app := New(Config{Server: quiet()})
			app.Get("/", func(c *Ctx) error {
				return c.SSEWith(test.options, func(s *EventStream) error {
					time.Sleep(DefaultHeartbeat + 5*time.Second - time.Millisecond)
					return s.Send(Event{Data: "x"})
				})
			})
			client, server := memnet.Pipe()
			go app.config.Server.ServeConn(server)
			_, response := get(t, client, "/", "Connection: close")
			body, err := io.ReadAll(response.Body)
			if string(body) != test.want || err != nil {
				t.Errorf("%+v: %q, want %q (%v)", test.options, body, test.want, err)
			}
			client.Close()
		}
	})
}

// Views and validators get the Ctx, and with it what belongs to the request.
type perRequest struct{ nonce Key[string] }

func (p perRequest) Render(ctx context.Context, w io.Writer, page Page) error {
	nonce, _ := p.nonce.Get(ctx)
	_, err := fmt.Fprintf(w, "%s %v %s %v %s", page.Name, page.Data, page.Layout, page.NoLayout, nonce)
	return errors.Join(err, ctx.Err())
}

func (p perRequest) Validate(ctx context.Context, v any) error {
	c, ok := ctx.(*Ctx)
	if nonce, _ := p.nonce.Get(ctx); !ok || nonce != "n" || c.ReqHeader("X-Allowed") == "" {
		return errors.New("not allowed")
	}
	return nil
}

func TestViewsAndValidatorsGetTheRequest(t *testing.T) {
	p := perRequest{NewKey[string]()}
	app := New(Config{Views: p, Validator: p, Server: quiet()})
	app.UseFunc(func(c *Ctx) error { return p.nonce.Set(c, "n").Next() })
	app.Get("/", func(c *Ctx) error { return c.RenderPage(Page{Name: "p", Layout: "l", NoLayout: true, Data: 7}) })
	app.Get("/bind", func(c *Ctx) error {
		_, err := Bind[struct {
			Page int `query:"page"`
		}](c)
		return err
	})
	if _, body, _ := ask(t, app, "GET", "/"); body != "p 7 l true n" {
		t.Error(body)
	}
	if status, _, _ := ask(t, app, "GET", "/bind"); status != 422 {
		t.Error(status)
	}
	if status, _, _ := ask(t, app, "GET", "/bind", "X-Allowed: yes"); status != 200 {
		t.Error(status)
	}
}

func TestSizedStreams(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/sized", func(c *Ctx) error { return c.SendStreamSize(strings.NewReader("read"), 4) })
	app.Get("/unknown", func(c *Ctx) error { return c.SendStreamSize(strings.NewReader("read"), -7) })
	app.Get("/short", func(c *Ctx) error { return c.SendStreamSize(strings.NewReader("read"), 5) })
	for target, want := range map[string]int64{"/sized": 4, "/unknown": -1} {
		_, response := get(t, listening(t, app)(), target)
		if body, err := io.ReadAll(response.Body); response.ContentLength != want || string(body) != "read" || err != nil {
			t.Errorf("%s: %d %q %v", target, response.ContentLength, body, err)
		}
	}
	r, response := get(t, listening(t, app)(), "/short")
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("a short stream looks whole: %q", body)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestTypesWithParameters(t *testing.T) {
	for mediaType, want := range map[string]string{
		"csv":                             "text/csv; charset=utf-8",
		"csv; charset=latin1":             "text/csv; charset=latin1",
		".html;charset=utf-16":            "text/html;charset=utf-16",
		"json ; profile=x":                "application/json; profile=x",
		"text/plain":                      "text/plain",
		"multipart/mixed; boundary=\"/\"": "multipart/mixed; boundary=\"/\"",
		"nonsense; a=b":                   "application/octet-stream; a=b",
	} {
		if got := header(t, "Content-Type", func(c *Ctx) { c.Type(mediaType) }); got != want {
			t.Errorf("%s: %s, want %s", mediaType, got, want)
		}
	}
}

func TestProtocol(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/", func(c *Ctx) error { return c.SendString(c.Protocol()) })
	for _, version := range []string{"HTTP/1.0", "HTTP/1.1"} {
		conn := listening(t, app)()
		fmt.Fprintf(conn, "GET / %s\r\nHost: x\r\n\r\n", version)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(response.Body); string(body) != version {
			t.Errorf("%s: %s", version, body)
		}
	}
}
