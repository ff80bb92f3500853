package http2_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// onTLS runs a test on each kind of site that uses TLS.
func onTLS(t *testing.T, test func(w *site)) {
	onSites(t, func(w *site) {
		if w.tls {
			test(w)
		}
	})
}

// onCleartext runs a test on each kind of site that does not use TLS.
func onCleartext(t *testing.T, test func(w *site)) {
	onSites(t, func(w *site) {
		if !w.tls {
			test(w)
		}
	})
}

// HTTP/2 is refused on connections that RFC 9113 §9.2 does not permit, with an error that says so.
func TestInadequateSecurity(t *testing.T) {
	prohibited := &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}
	for _, tt := range []struct {
		name    string
		client  *tls.Config
		permits bool // PermitProhibitedCipherSuites
		want    int  // status, or 0 for an error
	}{
		{"TLS 1.3", &tls.Config{MinVersion: tls.VersionTLS13}, false, 200},
		{"TLS 1.2", &tls.Config{MaxVersion: tls.VersionTLS12}, false, 200},
		{"TLS 1.2 with CBC", prohibited, false, 0},
		{"TLS 1.2 with CBC, permitted", prohibited, true, 200},
		{"TLS 1.1", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onTLS(t, func(w *site) {
				w.dialer = tt.client
				w.serve(&gallop.Server{
					TLSConfig: &tls.Config{MinVersion: tls.VersionTLS10, CipherSuites: append(allSuites(), prohibited.CipherSuites...)},
					HTTP2:     &gallop.HTTP2Config{PermitProhibitedCipherSuites: tt.permits},
					Handler:   func(ctx *gallop.RequestCtx) {},
				})
				c := w.dial()
				if tt.want != 0 {
					c.want(c.get("/"), tt.want, "")
					return
				}
				c.open("GET", "/", true)
				if aways := c.awaitEnd(); len(aways) != 1 || aways[0] != (away{0, http2.ErrCodeInadequateSecurity}) {
					w.t.Errorf("GOAWAY %v", aways)
				}
			})
		})
	}
}

// allSuites returns all cipher suites of TLS 1.2 that Go considers secure.
func allSuites() (ids []uint16) {
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return ids
}

// An HTTP/1 request that asks for an upgrade to HTTP/2 gets a response in HTTP/1.1. RFC 9113 has no upgrade, and a proxy that
// lets one through would not see what follows.
func TestUpgradeToHTTP2(t *testing.T) {
	onCleartext(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) { ctx.SetBodyString("over HTTP/1") })
		nc := w.connect("")
		go io.WriteString(nc, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n"+
			"GET /again HTTP/1.1\r\nHost: a\r\n\r\n")
		in := bufio.NewReader(nc)
		for range 2 {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != 200 || resp.Proto != "HTTP/1.1" || string(body) != "over HTTP/1" || err != nil || resp.Header.Get("Upgrade") != "" {
				w.t.Errorf("%s %s %v %q %v", resp.Proto, resp.Status, resp.Header, body, err)
			}
		}
	})
}

// A preface that is wrong somewhere ends the connection at once, with GOAWAY.
func TestWrongPreface(t *testing.T) {
	for _, tt := range []struct{ name, begin string }{
		{"ends wrongly", http2.ClientPreface[:23] + "X"},
		{"no SETTINGS", http2.ClientPreface + "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"},
		{"another version", "PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onSites(t, func(w *site) {
				w.handle(func(*gallop.RequestCtx) { w.t.Error("the handler was called") })
				begun := time.Now()
				c := w.dialSilently()
				c.send(func() error {
					_, err := io.WriteString(c.nc, tt.begin)
					return err
				})
				if aways := c.awaitEnd(); len(aways) != 1 || aways[0] != (away{0, http2.ErrCodeProtocol}) {
					w.t.Errorf("GOAWAY %v", aways)
				}
				w.between(begun, "the end", 0, 2*time.Second)
			})
		})
	}
}

// Handlers that do not read hold up no other stream: the connection's window is given back as soon as bytes arrive.
func TestUnreadBodiesHoldUpNobody(t *testing.T) {
	onSites(t, func(w *site) {
		release := make(chan bool)
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/unread" {
				<-release
			}
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n, err)
		}})
		let := sync.OnceFunc(func() { close(release) })
		w.t.Cleanup(let)
		c := w.dial()
		full := strings.Repeat("x", 65_535)
		var ids []uint32
		for range 40 { // two and a half times the connection's window
			id := c.open("POST", "/unread", false)
			c.data(id, full, false)
			ids = append(ids, id)
			time.Sleep(time.Millisecond)
		}
		large := strings.Repeat("x", 400_000)
		id := c.open("POST", "/", false)
		for at := 0; at < len(large); at += 10_000 {
			c.until("credit", func() bool { return at+10_000 <= 65_535+int(c.windows[id]) })
			c.data(id, large[at:at+10_000], at+10_000 == len(large))
		}
		c.want(c.await(id), 200, fmt.Sprint(len(large), error(nil)))
		for _, id := range ids {
			if c.creditOf(id) != 0 {
				w.t.Errorf("stream %d got credit for bytes that nobody has read", id)
			}
		}
		let()
		for _, id := range ids {
			c.data(id, "", true)
			c.want(c.await(id), 200, fmt.Sprint(len(full), error(nil)))
		}
	})
}

// However a body ends, its bytes are given back to the connection's window.
func TestConnectionWindowOfDroppedBodies(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxRequestBodySize: 20_000, HeaderReceived: func(h *gallop.RequestHeader) (rc gallop.RequestConfig) { return rc },
			Handler: func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) == "/panic" {
					panic("on purpose")
				}
			}})
		c := w.dial()
		sent, body := 0, strings.Repeat("x", 16_384)
		post := func(path string, parts int, end bool, lines ...string) uint32 {
			id := c.open("POST", path, false, lines...)
			for i := range parts {
				c.data(id, body, end && i == parts-1)
				sent += len(body)
			}
			return id
		}
		for range 30 {
			c.await(post("/", 1, true))                                                   // collected
			c.awaitReset(post("/", 2, false), http2.ErrCodeNo)                            // too large
			c.awaitReset(post("/", 2, false, "content-length: 100000"), http2.ErrCodeNo)  // announced as too large
			c.awaitReset(post("/", 1, true, "content-length: 10"), http2.ErrCodeProtocol) // malformed
			c.awaitReset(post("/", 1, false, "connection: close"), http2.ErrCodeProtocol) // refused
			c.awaitReset(post("/", 1, false, "expect: something"), http2.ErrCodeNo)       // answered early
			c.await(post("/panic", 1, true))                                              // the handler panics
			c.reset(post("/", 1, false))                                                  // the client gives up
			c.wantAlive()
			time.Sleep(time.Second)
		}
		const window, first = 1 << 20, 65_535 // what the server announces, and the window before that
		time.Sleep(time.Second)
		if given := int(c.creditOf(0)) - (window - first); given > sent || sent-given > window/2 {
			w.t.Errorf("%d bytes were sent, %d given back", sent, given)
		}
	})
}

// A client must follow a smaller table for received headers once it has acknowledged it (RFC 9113 §4.3.1).
func TestDecoderTableSize(t *testing.T) {
	for name, follows := range map[string]bool{"followed": true, "not followed": false} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				w.serve(&gallop.Server{HTTP2: &gallop.HTTP2Config{MaxDecoderHeaderTableSize: 100}, Handler: func(ctx *gallop.RequestCtx) {
					ctx.SetBody(ctx.Request.Header.Peek("X-Name"))
				}})
				c := w.newClient()
				c.mute.Store(true)
				c.preface()
				go c.read()
				for _, value := range []string{"first", "first", "second"} {
					c.want(c.get("/", "x-name: "+value), 200, value) // the size is still 4096
				}
				c.send(c.fr.WriteSettingsAck)
				if follows {
					c.enc.SetMaxDynamicTableSize(100)
					for _, value := range []string{"first", "first", "second", strings.Repeat("x", 200)} {
						c.want(c.get("/", "x-name: "+value), 200, value)
					}
					return
				}
				c.open("GET", "/", true)
				if aways := c.awaitEnd(); len(aways) != 1 || aways[0].code != http2.ErrCodeCompression {
					w.t.Errorf("GOAWAY %v", aways)
				}
			})
		})
	}
}

// After GOAWAY of a client, the server completes the streams of that client.
func TestGoAwayOfClient(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			time.Sleep(time.Second)
			ctx.SetBody(ctx.PostBody())
		})
		c := w.dial()
		slow, upload := c.open("GET", "/", true), c.open("POST", "/", false)
		c.send(func() error { return c.fr.WriteGoAway(0, http2.ErrCodeNo, []byte("leaving")) })
		c.data(upload, "body", true)
		c.want(c.await(slow), 200, "")
		c.want(c.await(upload), 200, "body")
		c.wantAlive()
	})
}
