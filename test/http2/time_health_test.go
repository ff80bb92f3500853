package http2_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// counts are the errors that a server has counted.
type counts struct {
	mu  sync.Mutex
	all []string
}

// of has s count its errors. The function calls the server, which fails if the server calls it with a lock held.
func (n *counts) of(s *gallop.Server) func(string) {
	return func(errType string) {
		s.Stats()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all = append(n.all, errType)
	}
}

// want checks that exactly these errors were counted since the last call.
func (n *counts) want(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.all, want) {
		t.Errorf("counted %q, want %q", n.all, want)
	}
	n.all = nil
}

// pinged checks that the server has sent PINGs this long after begun.
func (c *timedClient) pinged(begun time.Time, want ...time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []time.Duration
	for _, at := range c.pings {
		got = append(got, at.Sub(begun))
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("PINGs came after %v, want %v", got, want)
	}
}

// A client that is silent gets a PING. If it responds, its connection stays open, whether it is idle or waits for a response.
func TestSendPing(t *testing.T) {
	for _, path := range []string{"/idle", "/sleep"} {
		t.Run(path, func(t *testing.T) {
			var n counts
			talk(t, func(s *gallop.Server) {
				s.IdleTimeout = -1
				s.HTTP2 = &gallop.HTTP2Config{SendPingTimeout: 10 * time.Second, CountError: n.of(s)}
				s.Handler = func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/sleep" {
						time.Sleep(60 * time.Second)
					}
					ctx.SetStatusCode(204)
				}
			}, func(c *timedClient, _ *gallop.Server) {
				c.begin()
				begun := time.Now()
				c.open("GET", path, true)
				time.Sleep(35 * time.Second)
				c.pinged(begun, 10*time.Second, 20*time.Second, 30*time.Second)
				c.WriteWindowUpdate(0, 1) // the next PING comes 10 seconds after this
				time.Sleep(35 * time.Second)
				c.pinged(begun, 10*time.Second, 20*time.Second, 30*time.Second, 45*time.Second, 55*time.Second, 65*time.Second)
				c.want("1 headers :status=204 end")
				c.open("GET", "/", true)
				c.want("3 headers :status=204 end")
				n.want(t)
			})
		})
	}
}

// A client that sends frames gets no PINGs.
func TestSendPingToBusy(t *testing.T) {
	talk(t, func(s *gallop.Server) {
		s.HTTP2 = &gallop.HTTP2Config{SendPingTimeout: 10 * time.Second}
		hello(s)
	}, func(c *timedClient, _ *gallop.Server) {
		c.begin()
		for range 10 {
			time.Sleep(9 * time.Second)
			c.open("GET", "/", true)
		}
		c.pinged(time.Now())
	})
}

// A client that does not acknowledge a PING loses its connection a second after PingTimeout, even if it sends other frames. Its
// requests are canceled.
func TestLostPing(t *testing.T) {
	for _, tc := range []struct{ set, want time.Duration }{{0, 16 * time.Second}, {2 * time.Second, 3 * time.Second}} {
		t.Run(tc.set.String(), func(t *testing.T) {
			var n counts
			var canceled chan time.Time
			talk(t, func(s *gallop.Server) {
				s.HTTP2 = &gallop.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: tc.set, CountError: n.of(s)}
				canceled = make(chan time.Time, 1)
				s.Handler = func(ctx *gallop.RequestCtx) {
					<-ctx.Done()
					canceled <- time.Now()
				}
			}, func(c *timedClient, _ *gallop.Server) {
				c.deaf = true
				c.begin()
				begun := time.Now()
				c.open("GET", "/", true)
				for range 30 {
					time.Sleep(time.Second)
					if time.Since(begun) > 10*time.Second {
						c.WriteWindowUpdate(0, 1)
					}
				}
				if took := (<-canceled).Sub(begun); took != 10*time.Second+tc.want {
					t.Errorf("the request was canceled after %v", took)
				}
				c.pinged(begun, 10*time.Second)
				c.wantEnd(begun, 10*time.Second+tc.want)
				n.want(t, "conn_close_lost_ping")
			})
		})
	}
}

// PINGs of the server do not keep a connection from being idle, and those of the client do not either, even if there was no
// request yet.
func TestPingsWhileIdle(t *testing.T) {
	for _, by := range []string{"server", "client"} {
		t.Run(by, func(t *testing.T) {
			talk(t, func(s *gallop.Server) {
				if by == "server" {
					s.HTTP2 = &gallop.HTTP2Config{SendPingTimeout: 10 * time.Second}
				}
				hello(s)
			}, func(c *timedClient, s *gallop.Server) {
				begun := time.Now()
				c.begin()
				for range 100 {
					time.Sleep(time.Second)
					if by == "client" {
						c.WritePing(false, [8]byte{1})
					}
				}
				c.wantEnd(begun, 75*time.Second)
			})
		})
	}
}

// A connection ends if its client accepts no byte of the output for WriteByteTimeout. A slow client keeps its connection.
func TestWriteByteTimeoutSettings(t *testing.T) {
	big := strings.Repeat("x", 4<<20) // more than fits into any buffer
	for _, tc := range []struct {
		name       string
		set, write time.Duration
		slow       bool
		want       time.Duration
	}{
		{"default", 0, 0, false, 30 * time.Second},
		{"shorter", 5 * time.Second, 0, false, 5 * time.Second},
		{"shorter than a second", 500 * time.Millisecond, 0, false, 500 * time.Millisecond},
		{"longer than the default", time.Minute, 0, false, 30 * time.Second},
		{"with WriteTimeout", 5 * time.Second, time.Hour, false, 5 * time.Second},
		{"slow", 5 * time.Second, 0, true, 2 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var n counts
			talk(t, func(s *gallop.Server) {
				s.WriteTimeout = tc.write
				s.HTTP2 = &gallop.HTTP2Config{WriteByteTimeout: tc.set, CountError: n.of(s)}
				s.Handler = func(ctx *gallop.RequestCtx) { ctx.SetBodyString(big) }
			}, func(c *timedClient, s *gallop.Server) {
				if pipe, ok := c.Conn.(interface{ SetWindow(int) }); ok {
					pipe.SetWindow(64 << 10)
				}
				io.WriteString(c.Conn, http2.ClientPreface)
				c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
				c.Conn.Write([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}) // acknowledges SETTINGS
				c.WriteWindowUpdate(0, 1<<30)
				c.open("GET", "/", true)
				begun := time.Now()
				for i := range 1200 { // a tenth of a second each
					time.Sleep(100 * time.Millisecond)
					if s.GetOpenConnectionsCount() == 0 {
						break
					}
					if tc.slow && i%30 == 0 {
						io.ReadFull(c.Conn, make([]byte, 12<<10))
					}
				}
				if took := time.Since(begun); took < tc.want-100*time.Millisecond || took > tc.want+tc.want/10+4*time.Second {
					t.Errorf("the connection ended after %v, want %v", took, tc.want)
				}
				if synctest.Wait(); !tc.slow { // the error is counted after the connection
					n.want(t, "conn_cancel_no_progress")
				}
			})
		})
	}
}

// CountError gets every error of a client, outside of the server's locks, and may panic.
func TestCountError(t *testing.T) {
	frame := func(typ http2.FrameType, flags byte, id uint32, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(typ), flags, byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}) + payload
	}
	get := "\x82\x86\x84\x41\x01a" // GET http://a/
	for _, tc := range []struct {
		name, send string
		want       []string
	}{
		{"nothing", frame(http2.FrameHeaders, 5, 1, get), nil},
		{"the client resets a stream", frame(http2.FrameHeaders, 4, 1, get) + frame(http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x08"), nil},
		{"connection", frame(http2.FrameData, 0, 1, "x"), []string{"conn_protocol_error_idle_stream"}},
		{"only the first of a connection", frame(http2.FrameData, 0, 1, "x") + frame(http2.FrameData, 0, 3, "x"), []string{"conn_protocol_error_idle_stream"}},
		{"open stream", frame(http2.FrameHeaders, 4, 1, get) + frame(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00"), []string{"stream_protocol_error_stream_increment"}},
		{"new streams", frame(http2.FrameHeaders, 5, 1, get+"\x00\x01A\x01b") + frame(http2.FrameHeaders, 5, 3, get+"\x00\x02te\x01b"),
			[]string{"stream_protocol_error_name", "stream_protocol_error_te"}},
		{"refused stream", frame(http2.FrameHeaders, 4, 1, get) + frame(http2.FrameHeaders, 5, 3, get), []string{"stream_refused_stream_refused"}},
		{"limit of time", frame(http2.FrameHeaders, 1, 1, get), []string{"conn_enhance_your_calm_slow_block"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var n counts
			talk(t, func(s *gallop.Server) {
				count := n.of(s)
				s.HTTP2 = &gallop.HTTP2Config{MaxConcurrentStreams: 1, CountError: func(errType string) {
					count(errType)
					panic("in CountError")
				}}
				hello(s)
			}, func(c *timedClient, s *gallop.Server) {
				c.begin()
				io.WriteString(c.Conn, tc.send)
				time.Sleep(15 * time.Second)
				n.want(t, tc.want...)
			})
		})
	}
	t.Run("preface", func(t *testing.T) {
		var n counts
		talk(t, func(s *gallop.Server) {
			s.HTTP2 = &gallop.HTTP2Config{CountError: n.of(s)}
			hello(s)
		}, func(c *timedClient, s *gallop.Server) {
			fmt.Fprint(c.Conn, strings.Replace(http2.ClientPreface, "SM", "XX", 1))
			go io.Copy(io.Discard, c.Conn)
			time.Sleep(time.Second)
			n.want(t, "conn_protocol_error_preface")
		})
	})
}
