package http2_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// tunnels serves with a handler that accepts each CONNECT and sends its connection to the channel.
func (w *site) tunnels(s *gallop.Server) <-chan net.Conn {
	w.t.Helper()
	accepted := make(chan net.Conn, 100)
	s.PoisonReleased = true
	s.Handler = func(ctx *gallop.RequestCtx) {
		if !ctx.IsConnect() {
			return
		}
		nc, err := ctx.AcceptStream()
		if err != nil {
			w.t.Error(err)
			return
		}
		accepted <- nc
	}
	w.serve(s)
	return accepted
}

// connectTo opens a stream with a CONNECT.
func (c *client) connectTo() (id uint32) {
	return c.openRaw(false, ":method: CONNECT", ":authority: example.com:443")
}

// wantBytes reads n bytes from a tunnel and fails the test if they are others.
func (w *site) wantBytes(nc net.Conn, want string) {
	w.t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(nc, got); err != nil || string(got) != want {
		w.t.Fatalf("read %.80q (%d bytes), %v, want %.80q", got[:n], n, err, want)
	}
}

// A tunnel carries bytes both ways after its handler has returned, and each side ends on its own.
func TestTunnel(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := w.tunnels(&gallop.Server{})
		c := w.dial()
		id := c.connectTo()
		c.data(id, "early", false)
		nc := await(w, accepted)
		c.wantAlive() // and the exchange of the CONNECT is gone
		w.wantBytes(nc, "early")
		c.data(id, "more", false)
		w.wantBytes(nc, "more")
		if n, err := nc.Write([]byte("hello")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		st := c.awaitBody(id, 5)
		if string(st.body) != "hello" || st.head.status() != 200 || st.head.has("content-length") || st.head.has("content-type") {
			t.Errorf("%q after %v", st.body, st.head)
		}
		c.data(id, "", true)
		if n, err := nc.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Fatal(n, err)
		}
		if _, err := nc.Write([]byte(" world")); err != nil {
			t.Fatal(err)
		}
		if err := nc.Close(); err != nil {
			t.Fatal(err)
		}
		if st = c.await(id); string(st.body) != "hello world" || st.code != nil {
			t.Errorf("body %q, reset %v", st.body, st.code)
		}
		for what, err := range map[string]error{
			"Read": second(nc.Read(make([]byte, 1))), "Write": second(nc.Write([]byte("x"))), "Close": nc.Close(),
			"CloseWrite": nc.(interface{ CloseWrite() error }).CloseWrite(), "SetDeadline": nc.SetDeadline(time.Now()),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s of a closed tunnel: %v", what, err)
			}
		}
		if nc.LocalAddr() == nil || nc.RemoteAddr() == nil {
			t.Error("a tunnel has no address")
		}
		c.wantAlive()
	})
}

func second(_ int, err error) error { return err }

// CloseWrite ends one direction. Close resets what the client has not ended.
func TestTunnelEnds(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := w.tunnels(&gallop.Server{})
		c := w.dial()
		t := w.t

		id := c.connectTo()
		nc := await(w, accepted)
		nc.Write([]byte("bye"))
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if st := c.await(id); string(st.body) != "bye" || st.code != nil {
			t.Errorf("body %q, reset %v", st.body, st.code)
		}
		if _, err := nc.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		c.data(id, "still", true)
		if b, err := io.ReadAll(nc); string(b) != "still" || err != nil {
			t.Error(string(b), err)
		}
		nc.Close()

		id = c.connectTo()
		nc = await(w, accepted)
		nc.Write([]byte("bye"))
		nc.Close()
		if st := c.awaitReset(id, http2.ErrCodeNo); string(st.body) != "bye" || !st.ended {
			t.Errorf("body %q, ended %v", st.body, st.ended)
		}
		c.data(id, "late", true) // crosses the reset
		c.wantAlive()

		id = c.connectTo()
		nc = await(w, accepted)
		c.hold = true
		failed := make(chan error)
		go func() {
			n, err := nc.Write(make([]byte, 100_000))
			if n != 65535 {
				t.Errorf("wrote %d bytes", n)
			}
			failed <- err
		}()
		c.awaitBody(id, 65535)
		nc.Close()
		if err := await(w, failed); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if st := c.awaitReset(id, http2.ErrCodeCancel); st.ended {
			t.Error("a tunnel that was cut off seems complete")
		}
	})
}

// If the client resets a tunnel, Read returns what has arrived and then fails, and so do Writes.
func TestTunnelReset(t *testing.T) {
	onSites(t, func(w *site) {
		counted := make(chan string, 1)
		accepted := w.tunnels(&gallop.Server{HTTP2: &gallop.HTTP2Config{CountError: func(errType string) { counted <- errType }}})
		c := w.dial()
		id := c.connectTo()
		nc := await(w, accepted)
		reading := make(chan error)
		go func() { reading <- second(nc.Read(make([]byte, 1))) }()
		synctest.Wait()
		c.reset(id)
		if err := await(w, reading); err == nil || err == io.EOF {
			w.t.Error(err)
		}
		if _, err := nc.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "reset") {
			w.t.Error(err)
		}
		if err := nc.Close(); err != nil {
			w.t.Error(err)
		}

		id = c.connectTo()
		nc = await(w, accepted)
		c.data(id, "last words", false)
		c.reset(id)
		c.wantAlive()
		w.wantBytes(nc, "last words")
		if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
			w.t.Error(err)
		}
		nc.Close()

		id = c.connectTo()
		nc = await(w, accepted)
		c.headers(id, true, "x-trailer: no")
		c.awaitReset(id, http2.ErrCodeProtocol)
		if got := await(w, counted); got != "stream_protocol_error_tunnel_trailers" {
			w.t.Errorf("counted %s", got)
		}
		if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
			w.t.Error(err)
		}
		nc.Close()
		c.wantAlive()

		c.connectTo()
		nc = await(w, accepted)
		c.nc.Close()
		if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
			w.t.Error(err)
		}
		if _, err := nc.Write([]byte("x")); err == nil {
			w.t.Error("a Write to a connection that has ended")
		}
		if err := nc.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

// Deadlines end calls and can be moved.
func TestTunnelDeadlines(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := w.tunnels(&gallop.Server{})
		c := w.dial()
		t := w.t
		id := c.connectTo()
		nc := await(w, accepted)

		begun := time.Now()
		nc.SetReadDeadline(begun.Add(time.Second))
		if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
			t.Error(err, time.Since(begun))
		}
		if err := second(nc.Read(make([]byte, 1))); !isTimeout(err) {
			t.Error(err)
		}
		nc.SetReadDeadline(time.Time{})
		reading := make(chan error)
		go func() { reading <- second(nc.Read(make([]byte, 1))) }()
		time.Sleep(time.Hour)
		nc.SetReadDeadline(time.Unix(1, 0))
		if err := await(w, reading); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		nc.SetReadDeadline(time.Time{})
		c.data(id, "back", false)
		w.wantBytes(nc, "back")

		c.hold = true
		begun = time.Now()
		nc.SetWriteDeadline(begun.Add(time.Second))
		n, err := nc.Write(bytes.Repeat([]byte("a"), 70_000))
		if n != 65535 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
			t.Error(n, err, time.Since(begun))
		}
		nc.SetWriteDeadline(time.Time{})
		c.credit(id, 100)
		if n, err := nc.Write(bytes.Repeat([]byte("b"), 100)); n != 100 || err != nil {
			t.Error(n, err)
		}
		if st := c.awaitBody(id, 65635); !bytes.HasSuffix(st.body, []byte("ab"+strings.Repeat("b", 99))) {
			t.Error("what was not written arrives")
		}
		nc.SetDeadline(time.Now().Add(time.Second))
		if n, err := nc.Write([]byte("c")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(n, err)
		}
		nc.Close()
		c.wantAlive()
	})
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// Windows hold back both sides, and a tunnel that waits holds up no other stream.
func TestTunnelWindows(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := w.tunnels(&gallop.Server{WriteTimeout: time.Second, ReadTimeout: time.Second, IdleTimeout: time.Second})
		c := w.dial()
		t := w.t
		c.hold = true
		id := c.connectTo()
		nc := await(w, accepted)
		written := make(chan error)
		go func() { written <- second(nc.Write(bytes.Repeat([]byte("w"), 200_000))) }()
		c.awaitBody(id, 65535)
		time.Sleep(time.Hour) // the limits of requests do not concern tunnels
		select {
		case err := <-written:
			t.Fatalf("the Write ended with %v", err)
		default:
		}
		c.credit(0, 1<<20)
		c.wantAlive()
		c.credit(id, 1<<20)
		if err := await(w, written); err != nil {
			t.Error(err)
		}
		c.awaitBody(id, 200_000)

		before := c.creditOf(id)
		c.data(id, strings.Repeat("r", 65535), false)
		c.wantAlive()
		if got := c.creditOf(id); got != before {
			t.Errorf("credit %d for bytes that nobody has read", got-before)
		}
		w.wantBytes(nc, strings.Repeat("r", 65535))
		synctest.Wait()
		if got := c.creditOf(id); got < before+32<<10 {
			t.Errorf("credit %d after 65535 bytes were read", got-before)
		}
		nc.Close()
	})
}

// An extended CONNECT needs ExtendedConnect, and names its protocol.
func TestExtendedConnect(t *testing.T) {
	onSites(t, func(w *site) {
		t := w.t
		scheme := ":scheme: http"
		if w.tls {
			scheme = ":scheme: https"
		}
		head := []string{":method: CONNECT", ":protocol: WebSocket", scheme, ":authority: example.com", ":path: /chat%20room?a=b", "sec-websocket-version: 13"}
		w.serve(&gallop.Server{ExtendedConnect: true, Handler: func(ctx *gallop.RequestCtx) {
			protocol, ok := ctx.Upgrade()
			if string(ctx.Path()) != "/chat room" {
				if ok || protocol != "" {
					t.Errorf("%s: Upgrade returns %q", ctx.Method(), protocol)
				}
				return
			}
			if protocol != "websocket" || !ok || string(ctx.QueryArgs().Peek("a")) != "b" || string(ctx.Host()) != "example.com" || !ctx.IsConnect() {
				t.Errorf("protocol %q, %v; %s", protocol, ok, &ctx.Request)
			}
			ctx.Response.Header.Set("Sec-WebSocket-Protocol", "chat")
			nc, err := ctx.AcceptStream()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				defer nc.Close()
				io.Copy(nc, nc)
			}()
		}})
		c := w.dial()
		id := c.openRaw(false, head...)
		c.data(id, "hello", true)
		st := c.want(c.await(id), 200, "hello")
		if st.head.get("sec-websocket-protocol") != "chat" || st.head.has("upgrade") || st.head.has("connection") || st.code != nil {
			t.Errorf("%v, reset %v", st.head, st.code)
		}
		c.wantAlive()
		c.want(c.await(c.openRaw(true, ":method: CONNECT", ":authority: example.com:1")), 501, "Not Implemented")

		without := &site{t: t, on: w.on, tls: w.tls}
		without.tunnels(&gallop.Server{})
		c = without.dial()
		c.awaitReset(c.openRaw(false, head...), http2.ErrCodeProtocol)
		c.wantAlive()
	})
}

// The server announces extended CONNECT only if it is permitted, because browsers then use it for WebSockets.
func TestExtendedConnectAnnounced(t *testing.T) {
	for _, permitted := range []bool{false, true} {
		onSites(t, func(w *site) {
			w.serve(&gallop.Server{ExtendedConnect: permitted, Handler: func(*gallop.RequestCtx) {}})
			nc := w.connect("h2")
			io.WriteString(nc, http2.ClientPreface)
			f, err := http2.NewFramer(nc, nc).ReadFrame()
			if err != nil {
				w.t.Fatal(err)
			}
			if v, ok := f.(*http2.SettingsFrame).Value(http2.SettingEnableConnectProtocol); ok != permitted || ok && v != 1 {
				w.t.Errorf("ExtendedConnect %v: %v, %v", permitted, v, ok)
			}
		})
	}
}

// AcceptStream refuses what is no CONNECT, a second call, and a call after StreamResponse.
func TestTunnelRefused(t *testing.T) {
	onSites(t, func(w *site) {
		t := w.t
		w.handle(func(ctx *gallop.RequestCtx) {
			ctx.SetBodyString("unchanged")
			if string(ctx.Method()) == "GET" {
				if _, err := ctx.AcceptStream(); err == nil {
					t.Error("a GET is accepted")
				}
				return
			}
			if ctx.Request.Header.Peek("X-Stream") != nil {
				s, err := ctx.StreamResponse()
				if err != nil {
					t.Fatal(err)
				}
				s.Flush()
				if _, err := ctx.AcceptStream(); err == nil {
					t.Error("a CONNECT is accepted after StreamResponse")
				}
				return
			}
			if err := ctx.HijackErr(); !errors.Is(err, errors.ErrUnsupported) {
				t.Error(err)
			}
			nc, err := ctx.AcceptStream()
			if err != nil {
				t.Fatal(err)
			}
			for what, call := range map[string]func() error{
				"AcceptStream": func() error { _, err := ctx.AcceptStream(); return err }, "HijackConn": func() error { _, err := ctx.HijackConn(); return err },
				"StreamResponse": func() error { _, err := ctx.StreamResponse(); return err }, "HijackErr": ctx.HijackErr,
			} {
				if call() == nil {
					t.Errorf("%s succeeds after AcceptStream", what)
				}
			}
			ctx.SetBodyString("nobody sees it")
			nc.Close()
		})
		c := w.dial()
		c.want(c.get("/"), 200, "unchanged")
		c.await(c.openRaw(false, ":method: CONNECT", ":authority: a:1", "x-stream: 1"))
		id := c.connectTo()
		c.want(c.awaitReset(id, http2.ErrCodeNo), 200, "")
		c.wantAlive()
	})
}

// A tunnel goes on if its handler panics or times out.
func TestTunnelOutlivesItsHandler(t *testing.T) {
	for name, wrap := range map[string]func(gallop.RequestHandler) gallop.RequestHandler{
		"panic": func(h gallop.RequestHandler) gallop.RequestHandler {
			return func(ctx *gallop.RequestCtx) { h(ctx); panic("late") }
		},
		"abort": func(h gallop.RequestHandler) gallop.RequestHandler {
			return func(ctx *gallop.RequestCtx) { h(ctx); panic(gallop.ErrAbortHandler) }
		},
		"timeout": func(h gallop.RequestHandler) gallop.RequestHandler {
			return gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) { h(ctx); time.Sleep(time.Minute) }, time.Second, "too late")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				accepted := make(chan net.Conn, 1)
				w.serve(&gallop.Server{PoisonReleased: true, Handler: wrap(func(ctx *gallop.RequestCtx) {
					nc, err := ctx.AcceptStream()
					if err != nil {
						w.t.Error(err)
					}
					accepted <- nc
				})})
				c := w.dial()
				id := c.connectTo()
				nc := await(w, accepted)
				time.Sleep(time.Hour)
				c.data(id, "ping", true)
				w.wantBytes(nc, "ping")
				nc.Write([]byte("pong"))
				nc.Close()
				if st := c.await(id); string(st.body) != "pong" || !st.ended || st.code != nil {
					w.t.Errorf("body %q, ended %v, reset %v", st.body, st.ended, st.code)
				}
			})
		})
	}
}

// A handler may go on when its tunnel has ended, and even the connection.
func TestHandlerOutlivesItsTunnel(t *testing.T) {
	for name, end := range map[string]func(c *client, nc net.Conn){
		"tunnel":     func(_ *client, nc net.Conn) { nc.Close() },
		"connection": func(c *client, _ net.Conn) { c.nc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				accepted, returned := make(chan net.Conn, 1), make(chan bool, 1)
				w.serve(&gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					nc, err := ctx.AcceptStream()
					if err != nil {
						w.t.Error(err)
					}
					accepted <- nc
					time.Sleep(time.Minute)
					returned <- true
				}})
				c := w.dial()
				c.connectTo()
				end(c, await(w, accepted))
				await(w, returned)
				synctest.Wait()
			})
		})
	}
}

// Shutdown waits for a tunnel. When its context is done, and on Close, the tunnel ends.
func TestTunnelShutdown(t *testing.T) {
	for name, cut := range map[string]bool{"patient": false, "impatient": true} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				t := w.t
				accepted := w.tunnels(&gallop.Server{})
				c := w.dial()
				id := c.connectTo()
				nc := await(w, accepted)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				down := make(chan error, 1)
				go func() { down <- w.s.ShutdownWithContext(ctx) }()
				time.Sleep(time.Hour)
				select {
				case err := <-down:
					t.Fatalf("Shutdown ended with %v", err)
				default:
				}
				c.data(id, "ping", false)
				w.wantBytes(nc, "ping")
				if cut {
					cancel()
					if err := await(w, down); err != context.Canceled {
						t.Error(err)
					}
					if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
						t.Error(err)
					}
					nc.Close()
					c.awaitEnd()
					return
				}
				nc.Close()
				if err := await(w, down); err != nil {
					t.Error(err)
				}
				c.awaitEnd()
			})
		})
	}
}

// A tunnel that the client has reset counts until the program closes it.
func TestTunnelsAreBounded(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := w.tunnels(&gallop.Server{HTTP2: &gallop.HTTP2Config{MaxConcurrentStreams: 2}})
		c := w.dial()
		var open []net.Conn
		for range 4 {
			id := c.connectTo()
			open = append(open, await(w, accepted))
			c.reset(id)
		}
		c.awaitReset(c.connectTo(), http2.ErrCodeRefusedStream)
		for _, nc := range open {
			nc.Close()
		}
		c.wantAlive()
		id := c.connectTo()
		nc := await(w, accepted)
		c.data(id, "", true)
		nc.Close()
		c.await(id)
	})
}

// An ExpectHandler can accept a CONNECT itself.
func TestTunnelOfExpectHandler(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := make(chan net.Conn, 1)
		w.serve(&gallop.Server{
			Handler: func(*gallop.RequestCtx) { w.t.Error("the handler is called") },
			ExpectHandler: func(ctx *gallop.RequestCtx) int {
				nc, err := ctx.AcceptStream()
				if err != nil {
					w.t.Error(err)
				}
				accepted <- nc
				return gallop.StatusOK
			},
		})
		c := w.dial()
		id := c.openRaw(false, ":method: CONNECT", ":authority: example.com:443", "expect: 100-continue")
		nc := await(w, accepted)
		c.data(id, "ping", true)
		w.wantBytes(nc, "ping")
		nc.Write([]byte("pong"))
		nc.Close()
		c.want(c.await(id), 200, "pong")
		w.wantNotLogged("Hijack")
	})
}

// AcceptStream fails if the client has reset the stream.
func TestTunnelTooLate(t *testing.T) {
	onSites(t, func(w *site) {
		failed := make(chan error, 1)
		w.handle(func(ctx *gallop.RequestCtx) {
			if !ctx.IsConnect() {
				return
			}
			<-ctx.Done()
			nc, err := ctx.AcceptStream()
			if nc != nil || ctx.Hijacked() {
				w.t.Error("a stream is accepted that the client has reset")
			}
			failed <- err
		})
		c := w.dial()
		id := c.connectTo()
		synctest.Wait() // or no handler would run
		c.reset(id)
		if err := await(w, failed); err == nil || !strings.Contains(err.Error(), "reset") {
			w.t.Error(err)
		}
		c.wantAlive()
		w.wantNotLogged("Hijack")
	})
}

// wantNotLogged fails the test if the log has the text.
func (w *site) wantNotLogged(text string) {
	w.t.Helper()
	synctest.Wait()
	if log := w.log.String(); strings.Contains(log, text) {
		w.t.Errorf("log:\n%s", log)
	}
}

// A response that waits for its window is reset in time, also beside a tunnel that waits for as long as it likes.
func TestTunnelBesideStalledResponse(t *testing.T) {
	onSites(t, func(w *site) {
		accepted := make(chan net.Conn, 1)
		w.handle(func(ctx *gallop.RequestCtx) {
			if !ctx.IsConnect() {
				ctx.SetBody(make([]byte, 100_000))
				return
			}
			nc, err := ctx.AcceptStream()
			if err != nil {
				w.t.Error(err)
			}
			accepted <- nc
		})
		c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
		c.hold = true
		tunnel := c.connectTo()
		nc := await(w, accepted)
		written := make(chan error, 1)
		go func() { written <- second(nc.Write(make([]byte, 5000))) }()
		c.awaitBody(tunnel, 1000)
		begun := time.Now()
		id := c.open("GET", "/", true)
		c.until("a reset", func() bool { return c.streams[id].code != nil })
		w.between(begun, "the response", 59*time.Second, 62*time.Second) // 30 s, and 30 s for each KiB without credit
		c.credit(tunnel, 4000)
		if err := await(w, written); err != nil {
			w.t.Error(err)
		}
		nc.Close()
	})
}
