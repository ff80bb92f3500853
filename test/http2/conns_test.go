package http2_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// The connection of a stream has its addresses, and keeps what other streams need.
func TestConn(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			nc := ctx.Conn()
			if nc.RemoteAddr() == nil || nc.RemoteAddr().String() != ctx.RemoteAddr().String() || nc.LocalAddr().String() != ctx.LocalAddr().String() {
				w.t.Errorf("addresses %v and %v, want %v and %v", nc.RemoteAddr(), nc.LocalAddr(), ctx.RemoteAddr(), ctx.LocalAddr())
			}
			_, readErr := nc.Read(make([]byte, 1))
			_, writeErr := io.WriteString(nc, "stolen")
			for name, err := range map[string]error{
				"Read": readErr, "Write": writeErr, "Close": nc.Close(), "SetDeadline": nc.SetDeadline(time.Unix(1, 0)),
				"SetReadDeadline": nc.SetReadDeadline(time.Unix(1, 0)), "SetWriteDeadline": nc.SetWriteDeadline(time.Unix(1, 0)),
			} {
				if !errors.Is(err, errors.ErrUnsupported) {
					w.t.Errorf("%s: %v", name, err)
				}
			}
			if state := ctx.TLSConnectionState(); (state != nil) != w.tls || w.tls && state.NegotiatedProtocol != "h2" {
				w.t.Errorf("state of TLS: %v", state)
			}
			fmt.Fprint(ctx, ctx.ConnID(), ctx.ConnTime().UnixNano())
		})
		c := w.dial()
		first := c.want(c.get("/"), 200, string(c.get("/").body)).body
		time.Sleep(time.Second)
		if again := c.get("/").body; string(again) != string(first) {
			w.t.Errorf("number and beginning of the connection: %q, and later %q", first, again)
		}
		if other := w.dial().get("/").body; string(other) == string(first) {
			w.t.Errorf("another connection has the same number: %q", other)
		}
	})
}

// A handler that is refused the connection can still respond, in every way.
func TestRefusedTakeovers(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if err := ctx.HijackErr(); !errors.Is(err, errors.ErrUnsupported) {
				w.t.Errorf("HijackErr: %v", err)
			}
			if nc, err := ctx.HijackConn(); nc != nil || !errors.Is(err, errors.ErrUnsupported) {
				w.t.Errorf("HijackConn: %v, %v", nc, err)
			}
			if _, ok := ctx.Upgrade(); ok {
				w.t.Error("an upgrade")
			}
			if nc, err := ctx.AcceptStream(); nc != nil || err == nil {
				w.t.Errorf("AcceptStream: %v, %v", nc, err)
			}
			if string(ctx.Path()) == "/stream" {
				s, err := ctx.StreamResponse()
				if err != nil {
					w.t.Error(err)
				}
				io.WriteString(s, "streamed")
				if _, err := ctx.HijackConn(); err == nil {
					w.t.Error("HijackConn of a stream that responds")
				}
				return
			}
			ctx.SetBodyString("whole")
		})
		c := w.dial()
		c.want(c.get("/"), 200, "whole")
		c.want(c.get("/stream"), 200, "streamed")
		c.wantAlive()
	})
}

// Hijack after the response has begun changes nothing, but the handler of Hijack is not called.
func TestHijackOfAStartedResponse(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				s, err := ctx.StreamResponse()
				if err != nil {
					w.t.Error(err)
				}
				io.WriteString(s, "streamed")
			} else {
				ctx.SetBodyStream(failing{}, -1)
			}
			ctx.Hijack(func(net.Conn) { w.t.Error("hijacked") })
		})
		c := w.dial()
		if st := c.want(c.get("/stream"), 200, "streamed"); st.code != nil {
			w.t.Errorf("code %v", *st.code)
		}
		if st := c.get("/body"); st.head.status() != 501 {
			w.t.Errorf("%v", st.head)
		}
		c.wantAlive()
	})
}
