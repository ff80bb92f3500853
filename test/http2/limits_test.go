package http2_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// between fails the test unless the time since begun is in this range. Limits are looked at once per second.
func (w *site) between(begun time.Time, what string, least, most time.Duration) {
	w.t.Helper()
	if took := time.Since(begun); took < least || took > most {
		w.t.Errorf("%s took %v, want %v to %v", what, took, least, most)
	}
}

// A body that arrives too slowly is answered with 408, if the server collects it, and otherwise fails in the handler.
func TestSlowBodies(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  *gallop.Server
		at   time.Duration
	}{
		{"ReadTimeout", &gallop.Server{ReadTimeout: 20 * time.Second, MinBodyRate: -1}, 20 * time.Second},
		{"MinBodyRate", &gallop.Server{MinBodyRate: 1000}, 5 * time.Second},
		{"HeaderReceived", &gallop.Server{MinBodyRate: -1, HeaderReceived: func(*gallop.RequestHeader) gallop.RequestConfig {
			return gallop.RequestConfig{ReadTimeout: 30 * time.Second}
		}}, 30 * time.Second},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/StreamRequestBody=%v", tt.name, streaming), func(t *testing.T) {
				onSites(t, func(w *site) {
					errs := make(chan error, 1)
					w.serve(&gallop.Server{
						ReadTimeout: tt.set.ReadTimeout, MinBodyRate: tt.set.MinBodyRate, HeaderReceived: tt.set.HeaderReceived,
						IdleTimeout: time.Hour, StreamRequestBody: streaming, Handler: func(ctx *gallop.RequestCtx) {
							if r := ctx.RequestBodyStream(); r != nil && string(ctx.Path()) == "/body" {
								_, err := io.Copy(io.Discard, r)
								errs <- err
							}
						}})
					c := w.dial()
					begun := time.Now()
					id := c.open("POST", "/body", false)
					c.data(id, "some", false)
					if streaming {
						if err := await(w, errs); err == nil || errors.Is(err, io.EOF) {
							w.t.Errorf("the handler gets %v", err)
						}
						w.between(begun, "the handler", tt.at, tt.at+2*time.Second)
					} else if st := c.awaitReset(id, http2.ErrCodeNo); st.head.status() != 408 {
						w.t.Errorf("status %v", st.head)
					}
					w.between(begun, "the response", tt.at, tt.at+2*time.Second)
					c.wantAlive()
				})
			})
		}
	}
}

// MinBodyRate does not apply to bodies that consist of messages, between which a client may pause. ReadTimeout does.
func TestPausedMessages(t *testing.T) {
	for media, pauses := range map[string]bool{
		"application/grpc": true, "application/grpc-web+proto": true, "Application/Connect+JSON": true, "application/connect": false,
	} {
		t.Run(media, func(t *testing.T) {
			onSites(t, func(w *site) {
				errs := make(chan error, 1)
				w.serve(&gallop.Server{ReadTimeout: 4 * time.Minute, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
					if r := ctx.RequestBodyStream(); r != nil && string(ctx.Path()) == "/body" {
						_, err := io.Copy(io.Discard, r)
						errs <- err
					}
				}})
				c := w.dial()
				id := c.open("POST", "/body", false, "content-type: "+media)
				time.Sleep(3 * time.Minute)
				c.data(id, "some", true)
				if err := await(w, errs); (err == nil) != pauses {
					w.t.Errorf("after a pause, the handler gets %v", err)
				}
				begun := time.Now()
				c.data(c.open("POST", "/body", false, "content-type: "+media), "some", false)
				if err := await(w, errs); err == nil {
					w.t.Error("ReadTimeout has no effect")
				} else if pauses {
					w.between(begun, "the handler", 4*time.Minute, 4*time.Minute+2*time.Second)
				}
			})
		})
	}
}

// The time of a response is limited, whether the handler streams it or has returned.
func TestWriteTimeout(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit time.Duration
		at    time.Duration
	}{{"WriteTimeout", 20 * time.Second, 20 * time.Second}, {"default", 0, 59 * time.Second}} { // 30 s, and 30 s for each KiB without credit
		t.Run(tt.name, func(t *testing.T) {
			onSites(t, func(w *site) {
				errs := make(chan error, 1)
				w.serve(&gallop.Server{WriteTimeout: tt.limit, Handler: func(ctx *gallop.RequestCtx) {
					switch string(ctx.Path()) {
					case "/body":
						ctx.SetBody(make([]byte, 100_000))
					case "/reader":
						ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 100_000)), -1)
					case "/stream":
						s, _ := ctx.StreamResponse()
						_, err := s.Write(make([]byte, 100_000))
						errs <- err
					}
				}})
				c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
				c.hold = true
				for _, path := range []string{"/body", "/reader", "/stream"} {
					begun := time.Now()
					id := c.open("GET", path, true)
					c.until("a reset", func() bool { return c.streams[id].code != nil })
					w.between(begun, path, tt.at, tt.at+3*time.Second)
					if path == "/stream" {
						if err := await(w, errs); err == nil {
							w.t.Error("the write has not failed")
						}
					}
				}
				c.wantAlive()
			})
		})
	}
}

// WriteByteTimeout ends a connection whose client does not read the last bytes of a response, even if all of them are in TLS
// records. A client that reads slowly gets all of it.
func TestWriteByteTimeout(t *testing.T) {
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprintf("slow is %v", slow), func(t *testing.T) {
			onSites(t, func(w *site) {
				w.serve(&gallop.Server{HTTP2: &gallop.HTTP2Config{WriteByteTimeout: 5 * time.Second}, Handler: func(ctx *gallop.RequestCtx) {
					ctx.SetBody(make([]byte, 12<<10))
				}})
				nc := w.connect("h2")
				below := nc
				if tc, ok := nc.(*tls.Conn); ok {
					below = tc.NetConn()
				}
				pipe, ok := below.(interface{ SetWindow(int) })
				if !ok {
					w.t.Skipf("%T has room for the whole response", below)
				}
				pipe.SetWindow(2 << 10)
				fr := http2.NewFramer(nc, nil)
				io.WriteString(nc, http2.ClientPreface)
				fr.WriteSettings()
				fr.WriteSettingsAck()
				fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x82\x86\x84\x41\x01a"), EndHeaders: true, EndStream: true})
				begun := time.Now()
				for range 200 {
					time.Sleep(100 * time.Millisecond)
					if slow && time.Since(begun)%(2*time.Second) == 0 {
						io.ReadFull(below, make([]byte, 1<<10))
					}
					if w.s.GetOpenConnectionsCount() == 0 {
						break
					}
				}
				if slow {
					if w.s.GetOpenConnectionsCount() != 1 {
						w.t.Errorf("the connection of a slow client has ended after %v", time.Since(begun))
					}
					return
				}
				w.between(begun, "a client that does not read", 5*time.Second, 9*time.Second)
			})
		})
	}
}

// A connection that does not begin, or does not finish a header block, ends after ReadHeaderTimeout.
func TestReadHeaderTimeout(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: echo, ReadHeaderTimeout: 7 * time.Second})
		begun := time.Now()
		silent := w.dialSilently()
		silent.awaitEnd()
		w.between(begun, "a silent client", 7*time.Second, 9*time.Second)

		c := w.dial()
		c.wantAlive()
		time.Sleep(20 * time.Second)
		c.wantAlive()
		begun = time.Now()
		c.send(func() error {
			return c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.next, BlockFragment: []byte{0x82}})
		})
		if aways := c.awaitEnd(); len(aways) == 0 || aways[0].code != http2.ErrCodeEnhanceYourCalm {
			w.t.Errorf("unfinished block: %v", aways)
		}
		w.between(begun, "an unfinished block", 7*time.Second, 10*time.Second)
	})
}

// Only connections without streams are idle.
func TestIdleTimeout(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{IdleTimeout: 20 * time.Second, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				time.Sleep(time.Minute)
			}
		}})
		c := w.dial()
		c.want(c.get("/slow"), 200, "")
		time.Sleep(15 * time.Second)
		c.wantAlive()
		begun := time.Now()
		aways := c.awaitEnd()
		w.between(begun, "an idle connection", 20*time.Second, 22*time.Second)
		if len(aways) != 1 || aways[0].code != http2.ErrCodeNo || aways[0].last != 3 {
			w.t.Errorf("GOAWAY %v", aways)
		}
	})
}

// A target that is too long gets 414, the same response as over HTTP/1, and the connection goes on.
func TestMaxRequestLineBytes(t *testing.T) {
	onSites(t, func(w *site) {
		var refused error
		w.serve(&gallop.Server{MaxRequestLineBytes: 100, MaxHeaderBytes: 1000, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString("ok") },
			ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
				refused = err
				ctx.Error("refused", gallop.StatusRequestURITooLong)
			}})
		c := w.dial()
		c.want(c.get("/"+strings.Repeat("x", 99)), 200, "ok")
		for _, st := range []*stream{c.get("/" + strings.Repeat("x", 100)), c.do("POST", "/?"+strings.Repeat("x", 99), "body")} {
			var small *gallop.ErrSmallBuffer
			var parse *gallop.ParseError
			if c.want(st, 414, "refused"); !errors.As(refused, &small) || !errors.As(refused, &parse) || parse.StatusCode != 414 {
				w.t.Errorf("ErrorHandler got %v", refused)
			}
		}
		if st := c.get("/"+strings.Repeat("x", 100), "x-large: "+strings.Repeat("x", 1000)); st.head.status() != 414 {
			w.t.Errorf("a request with a large header, too: %v", st.head)
		}
		c.want(c.get("/"), 200, "ok")
	})
}

// If the client does not read, responses that wait for windows hold back the other requests of their connection. Requests that
// have waited for ten seconds are refused. Other connections go on.
func TestResponsesThatWaitHoldBackRequests(t *testing.T) {
	for _, unlimited := range []bool{false, true} {
		t.Run(fmt.Sprintf("unlimited handlers %v", unlimited), func(t *testing.T) {
			onSites(t, func(w *site) {
				const size, most, more = 1 << 20, 17, 20 // more than 16 MiB wait after so many
				s := &gallop.Server{}
				if unlimited {
					s.MaxConcurrentHandlers = -1
				}
				var calls atomic.Int32
				large := bytes.Repeat([]byte("x"), size)
				s.Handler = func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/large" {
						calls.Add(1)
						ctx.SetBody(large)
					}
				}
				w.serve(s)
				c := w.dial(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				c.hold = true
				var ids []uint32
				for range most + more {
					ids = append(ids, c.open("GET", "/large", true))
					synctest.Wait()
				}
				if n := calls.Load(); n != most {
					w.t.Fatalf("%d calls, want %d", n, most)
				}
				other := w.dial()
				other.want(other.get("/"), 200, "")

				begun, before := time.Now(), calls.Load()
				wantMore := func(what string) { // handlers that run at the same time do not know of each other's responses
					synctest.Wait()
					n := calls.Load()
					if n <= before || int(n-before) > runtime.GOMAXPROCS(0)+1 {
						w.t.Errorf("%d calls after a response was %s, %d before", n, what, before)
					}
					before = n
				}
				c.credit(0, size)
				c.credit(ids[0], size)
				c.await(ids[0])
				wantMore("read")
				for _, id := range ids[1 : 2+before-most-1] { // until there is room
					c.reset(id)
				}
				wantMore("reset")
				var refused int
				c.until("refused requests", func() bool {
					refused = 0
					for _, id := range ids {
						if code := c.streams[id].code; code != nil && *code == http2.ErrCodeRefusedStream {
							refused++
						}
					}
					return refused == most+more-int(before)
				})
				if refused > 0 { // with fewer processors than requests
					w.between(begun, "a request that waits", 9*time.Second, 12*time.Second)
				}
				if n := calls.Load(); n != before {
					w.t.Errorf("%d calls, want %d", n, before)
				}
				for _, id := range ids[:before] {
					c.reset(id)
				}
				c.want(c.get("/"), 200, "")
			})
		})
	}
}

// A head that exceeds a limit is refused with an error that ErrorHandlers written for fasthttp know.
func TestLargeHeadsWithAnErrorHandler(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxHeaderBytes: 1000, MaxHeaderFields: 10, Handler: func(*gallop.RequestCtx) {},
			ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
				if _, ok := err.(*gallop.ErrSmallBuffer); ok && errors.Is(err, gallop.ErrSmallReadBuffer) {
					ctx.Error("too big", gallop.StatusRequestHeaderFieldsTooLarge)
				} else {
					ctx.Error("error when parsing request", gallop.StatusBadRequest)
				}
			}})
		c := w.dial()
		c.want(c.get("/", "x-large: "+strings.Repeat("x", 1000)), 431, "too big")
		c.want(c.get("/", slices.Repeat([]string{"x-many: x"}, 11)...), 431, "too big")
		c.wantAlive()
	})
}

func TestMaxConcurrentRequests(t *testing.T) {
	onSites(t, func(w *site) {
		release, started := make(chan bool), make(chan bool, 2)
		w.serve(&gallop.Server{MaxConcurrentRequests: 2, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				started <- true
				<-release
			}
		}})
		c := w.dial()
		var ids []uint32
		for range 2 {
			ids = append(ids, c.open("GET", "/slow", true))
			await(w, started)
		}
		if st := c.get("/"); st.head.status() != 503 {
			w.t.Errorf("third request: %v", st.head)
		}
		close(release)
		for _, id := range ids {
			c.want(c.await(id), 200, "")
		}
		c.want(c.get("/"), 200, "")
	})
}

// A connection that has served its requests ends with two GOAWAY frames, and serves what its client has begun before.
func TestLastRequests(t *testing.T) {
	for name, set := range map[string]*gallop.Server{
		"MaxRequestsPerConn": {MaxRequestsPerConn: 2},
		"DisableKeepalive":   {DisableKeepalive: true},
		"SetConnectionClose": {},
	} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				var calls atomic.Int32
				w.serve(&gallop.Server{MaxRequestsPerConn: set.MaxRequestsPerConn, DisableKeepalive: set.DisableKeepalive,
					Handler: func(ctx *gallop.RequestCtx) {
						calls.Add(1)
						if name == "SetConnectionClose" && string(ctx.Path()) == "/last" {
							ctx.SetConnectionClose()
						}
						if string(ctx.Path()) == "/slow" {
							time.Sleep(10 * time.Second)
							ctx.SetBodyString("slow")
						}
					}})
				c := w.dial()
				slow := c.open("GET", "/slow", true)
				time.Sleep(time.Millisecond)
				c.mute.Store(true) // so that the server waits for streams that may be on their way
				c.want(c.get("/last"), 200, "")
				after := c.open("GET", "/after", true)
				c.want(c.await(after), 200, "")
				c.want(c.await(slow), 200, "slow")
				aways := c.awaitEnd()
				if len(aways) != 2 || aways[0] != (away{1<<31 - 1, http2.ErrCodeNo}) || aways[1] != (away{after, http2.ErrCodeNo}) {
					w.t.Errorf("GOAWAY %v", aways)
				}
				if calls.Load() != 3 {
					w.t.Errorf("%d calls", calls.Load())
				}
			})
		})
	}
}
