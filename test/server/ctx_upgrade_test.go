package server_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

func TestUpgrade(t *testing.T) {
	for _, tt := range []struct {
		name, request, want string
	}{
		{"none", wiretest.Get("/"), ""},
		{"of WebSocket", wiretest.Get("/", "Connection: Upgrade", "Upgrade: WebSocket"), "websocket"},
		{"in a list", wiretest.Get("/", "Connection: keep-alive, upgrade", "Upgrade: , h2c, websocket"), "h2c"},
		{"in two fields", wiretest.Get("/", "Connection: upgrade", "Upgrade:", "Upgrade: a/1"), "a/1"},
		{"without Connection", wiretest.Get("/", "Upgrade: websocket"), ""},
		{"without Upgrade", wiretest.Get("/", "Connection: upgrade"), ""},
		{"in HTTP/1.0", "GET / HTTP/1.0\r\nConnection: upgrade, keep-alive\r\nUpgrade: websocket\r\n\r\n", ""},
		{"in a CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					if got, ok := ctx.Upgrade(); got != tt.want || ok != (tt.want != "") {
						t.Errorf("got %q, %v", got, ok)
					}
					ctx.Error("that will do", 400)
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) { c.Send(tt.request).Want(400) })
			})
		})
	}
}

// AcceptStream answers, and the connection is the handler's.
func TestAcceptStream(t *testing.T) {
	upgrade := wiretest.Get("/", "Connection: Upgrade", "Upgrade: Echo, other")
	connect := "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"
	for _, tt := range []struct {
		name, request, method string
		before                func(ctx *gallop.RequestCtx)
		status                int
		upgrade               []string
	}{
		{"upgrade", upgrade, "GET", func(*gallop.RequestCtx) {}, 101, []string{"echo"}},
		{"upgrade to another one", upgrade, "GET", func(ctx *gallop.RequestCtx) { ctx.Response.Header.Set("Upgrade", "other") }, 101, []string{"other"}},
		{"upgrade with a body set", upgrade, "GET", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(404); ctx.SetBodyString("no") }, 101, []string{"echo"}},
		{"connect", connect, "CONNECT", func(*gallop.RequestCtx) {}, 200, nil},
		{"connect with a body set", connect, "CONNECT", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(404); ctx.SetBodyString("no") }, 200, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					ctx.Response.Header.Set("X-More", "yes")
					tt.before(ctx)
					c, err := ctx.AcceptStream()
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := ctx.AcceptStream(); err == nil {
						t.Error("it is accepted twice")
					}
					go func() { // also when the handler has returned
						defer c.Close()
						_, _ = io.Copy(c, io.LimitReader(c, 5))
					}()
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(tt.request).WantTo(tt.method, tt.status)
					c.WantField("X-More", "yes").WantField("Upgrade", tt.upgrade...)
					if tt.status == 101 {
						c.WantField("Connection", "Upgrade")
					}
					c.Send("hello")
					got := make([]byte, 5)
					if _, err := io.ReadFull(c.Conn(), got); err != nil || string(got) != "hello" {
						t.Errorf("got %q, %v", got, err)
					}
				})
			})
		})
	}
}

// Where there is nothing to accept, AcceptStream changes nothing.
func TestAcceptStreamRefuses(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				w, err := ctx.StreamResponse()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = w.WriteString("x")
			}
			if c, err := ctx.AcceptStream(); c != nil || err == nil {
				t.Errorf("got %v, %v", c, err)
			}
			ctx.SetBodyString("y")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(200)
			c.WantBody("y")
			c.Send(wiretest.Get("/stream", "Connection: upgrade", "Upgrade: echo")).Want(200)
			c.WantBody("x")
		})
	})
	var ctx gallop.RequestCtx
	var req gallop.Request
	req.Header.Set("Connection", "upgrade")
	req.Header.Set("Upgrade", "echo")
	ctx.Init(&req, nil, nil)
	if _, err := ctx.AcceptStream(); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// HijackErr knows beforehand whether Hijack works.
func TestHijackErr(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if err := ctx.HijackErr(); err != nil {
				t.Error(err)
			}
			if string(ctx.Path()) != "/taken" {
				return
			}
			c, err := ctx.HijackConn()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := ctx.HijackErr(); err == nil || errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("behind HijackConn: %v", err)
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(200)
			c.Send(wiretest.Get("/taken")).Want(200)
			c.WantEnd()
		})
	})
	var ctx gallop.RequestCtx
	ctx.Init(nil, nil, nil)
	_, hijacked := ctx.HijackConn()
	_, streamed := ctx.StreamResponse()
	for name, err := range map[string]error{
		"HijackErr": ctx.HijackErr(), "HijackConn": hijacked, "StreamResponse": streamed,
		"SetReadDeadline": ctx.SetReadDeadline(ctx.Time()), "SetWriteDeadline": ctx.SetWriteDeadline(ctx.Time()),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
	if ctx.InitHijack(); ctx.HijackErr() != nil {
		t.Error(ctx.HijackErr())
	}
	if ctx.Init(nil, nil, nil); ctx.HijackErr() == nil {
		t.Error("InitHijack holds for the next request")
	}
}

// wrappedWriter is a ResponseWriter as middleware makes them.
type wrappedWriter struct{ http.ResponseWriter }

func (w wrappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Under another server, HijackErr says whether that can hijack. If not, Hijack is answered 501.
func TestHijackErrUnderNetHTTP(t *testing.T) {
	var told error
	h := nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		told = ctx.HijackErr()
		ctx.Hijack(func(net.Conn) {})
	})
	for _, wrap := range []func(w http.ResponseWriter) http.ResponseWriter{
		func(w http.ResponseWriter) http.ResponseWriter { return w },
		func(w http.ResponseWriter) http.ResponseWriter { return wrappedWriter{w} },
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(wrap(w), httptest.NewRequest("GET", "/", nil))
		if !errors.Is(told, errors.ErrUnsupported) || w.Code != 501 {
			t.Errorf("%v, and the answer is %d", told, w.Code)
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(wrap(w), r) }))
		resp, err := http.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.Close()
		if told != nil || resp.StatusCode != 200 {
			t.Errorf("%v, and the answer is %d", told, resp.StatusCode)
		}
	}
}
