package http2_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

func hello(s *gallop.Server) {
	s.Handler = func(ctx *gallop.RequestCtx) { ctx.SetBodyString("Hello, World!") }
}

var ok13 = "headers :status=200 content-type=text/plain; charset=utf-8 content-length=13"

// A client that sends nothing, or only a part of the preface, or no SETTINGS, is cut off after ReadHeaderTimeout.
func TestPrefaceTimeout(t *testing.T) {
	for _, part := range []string{"", "PRI * HTT", http2.ClientPreface[:20], http2.ClientPreface} {
		t.Run(part, func(t *testing.T) {
			talk(t, hello, func(c *timedClient, s *gallop.Server) {
				begun := time.Now()
				io.WriteString(c.Conn, part)
				go io.Copy(io.Discard, c.Conn)
				time.Sleep(9 * time.Second)
				if s.GetOpenConnectionsCount() != 1 {
					t.Errorf("the connection ended after %v", time.Since(begun))
				}
				time.Sleep(8 * time.Second)
				if n := s.GetOpenConnectionsCount(); n != 0 {
					t.Errorf("%d connections are open after %v", n, time.Since(begun))
				}
			})
		})
	}
}

// An idle connection ends after IdleTimeout, which counts from the end of the last stream. PINGs do not extend it.
func TestIdleTimeoutBegins(t *testing.T) {
	for _, path := range []string{"/", "/sleep"} {
		t.Run(path, func(t *testing.T) {
			talk(t, func(s *gallop.Server) {
				s.Handler = func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/sleep" {
						time.Sleep(20 * time.Second)
					}
				}
			}, func(c *timedClient, _ *gallop.Server) {
				c.begin()
				for range 3 {
					c.open("GET", path, true)
					time.Sleep(30 * time.Second)
				}
				ended := time.Now()
				if path == "/sleep" {
					ended = ended.Add(-10 * time.Second)
				} else {
					ended = ended.Add(-30 * time.Second)
				}
				c.WritePing(false, [8]byte{1})
				time.Sleep(80 * time.Second)
				c.wantEnd(ended, 75*time.Second)
			})
		})
	}
}

// A header block that does not end, and SETTINGS that are never acknowledged, end the connection.
func TestControlTimeouts(t *testing.T) {
	t.Run("block", func(t *testing.T) {
		talk(t, hello, func(c *timedClient, _ *gallop.Server) {
			c.begin()
			begun := time.Now()
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82, 0x86}, EndStream: true})
			time.Sleep(20 * time.Second)
			c.want("goaway 0 ENHANCE_YOUR_CALM")
			c.wantEnd(begun, 11*time.Second)
		})
	})
	t.Run("settings", func(t *testing.T) {
		talk(t, hello, func(c *timedClient, _ *gallop.Server) {
			c.silent = true
			begun := time.Now()
			c.begin()
			c.open("GET", "/", true)
			time.Sleep(20 * time.Second)
			c.want("1 "+ok13, "1 end after 13 bytes", "goaway 1 SETTINGS_TIMEOUT")
			c.wantEnd(begun, 11*time.Second)
		})
	})
}

// A body that arrives too slowly gets 408 if it is collected, and fails the read of a handler that streams it.
func TestSlowBody(t *testing.T) {
	t.Run("collected", func(t *testing.T) {
		talk(t, hello, func(c *timedClient, _ *gallop.Server) {
			c.begin()
			id := c.open("POST", "/", false, "content-length: 1000")
			for range 10 {
				c.data(id, "a", false)
				time.Sleep(time.Second)
			}
			c.want("1 headers :status=408 content-type=text/plain; charset=utf-8 content-length=15", "1 end after 15 bytes", "1 reset NO_ERROR")
			c.open("GET", "/", true)
			c.want("3 "+ok13, "3 end after 13 bytes")
		})
	})
	t.Run("streamed", func(t *testing.T) {
		talk(t, func(s *gallop.Server) {
			s.StreamRequestBody = true
			s.Handler = func(ctx *gallop.RequestCtx) {
				n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				if n == 0 || err == nil {
					t.Errorf("%d bytes, %v", n, err)
				}
				ctx.SetStatusCode(204)
			}
		}, func(c *timedClient, _ *gallop.Server) {
			c.begin()
			id := c.open("POST", "/", false)
			for range 10 {
				c.data(id, "a", false)
				time.Sleep(time.Second)
			}
			c.want("1 headers :status=204 end", "1 reset NO_ERROR")
		})
	})
}

// A response that the client leaves without a window is reset, and the other streams go on.
func TestStalledWindow(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for _, path := range []string{"/bytes", "/stream"} {
		t.Run(path, func(t *testing.T) {
			talk(t, func(s *gallop.Server) {
				s.Handler = func(ctx *gallop.RequestCtx) {
					switch string(ctx.Path()) {
					case "/bytes":
						ctx.SetBodyString(big)
					case "/stream":
						w, err := ctx.StreamResponse()
						if err == nil {
							_, err = w.WriteString(big)
						}
						if !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error(err)
						}
						panic(gallop.ErrAbortHandler)
					default:
						ctx.SetStatusCode(204)
					}
				}
			}, func(c *timedClient, s *gallop.Server) {
				c.credits = false
				c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
				c.open("GET", path, true)
				time.Sleep(10 * time.Second)
				c.open("GET", "/", true)
				time.Sleep(50 * time.Second)
				c.mu.Lock()
				got := strings.Join(c.got, "\n")
				c.mu.Unlock()
				if !strings.Contains(got, "\n3 headers :status=204 end\n1 reset ") || len(c.body[1]) != 10 {
					t.Errorf("%s, %d bytes", got, len(c.body[1]))
				}
			})
		})
	}
}

// All responses that wait for a window are reset, also behind a handler that has set another limit for its own.
func TestStalledWindows(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	talk(t, func(s *gallop.Server) {
		s.Handler = func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/bytes" {
				ctx.SetBodyString(big)
				return
			}
			ctx.SetWriteDeadline(time.Now().Add(5 * time.Minute))
			if w, err := ctx.StreamResponse(); err == nil {
				w.WriteString(big)
			}
		}
	}, func(c *timedClient, s *gallop.Server) {
		c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		c.open("GET", "/stream", true)
		for range 20 {
			c.open("GET", "/bytes", true)
		}
		time.Sleep(40 * time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		for id := uint32(1); id <= 41; id += 2 {
			if reset := slices.Contains(c.got, fmt.Sprintf("%d reset CANCEL", id)); reset != (id > 1) {
				t.Errorf("stream %d: reset %v", id, reset)
			}
		}
	})
}

// serveBig serves a body of 200,000 bytes: /bytes as a whole, /stream as a stream. The errors of streams go to ends.
func serveBig(s *gallop.Server, ends chan<- error) {
	big := strings.Repeat("x", 200_000)
	s.Handler = func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/bytes" {
			ctx.SetBodyString(big)
			return
		}
		w, err := ctx.StreamResponse()
		if err == nil {
			_, err = w.WriteString(big)
		}
		ends <- err
	}
}

// credit opens the windows of a stream and of the connection.
func (c *timedClient) credit(id, n uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.WriteWindowUpdate(0, n)
	c.WriteWindowUpdate(id, n)
}

// A client that reads 50 bytes per second is served, although it gives credit only for half of a window at a time.
func TestSlowClients(t *testing.T) {
	for _, path := range []string{"/bytes", "/stream"} {
		t.Run(path, func(t *testing.T) {
			ends := make(chan error, 10)
			talk(t, func(s *gallop.Server) { serveBig(s, ends) }, func(c *timedClient, _ *gallop.Server) {
				c.credits = false
				c.begin()
				id := c.open("GET", path, true)
				for range 5 {
					time.Sleep(655 * time.Second)
					c.credit(id, 32<<10)
				}
				time.Sleep(time.Second)
				c.mu.Lock()
				defer c.mu.Unlock()
				if n := len(c.body[id]); n != 200_000 || !strings.HasSuffix(strings.Join(c.got, "\n"), "1 end after 200000 bytes") {
					t.Errorf("%d bytes, %q", n, c.got)
				}
			})
			for range len(ends) {
				if err := <-ends; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A client that gives no credit has 30 seconds, and 30 seconds more for each KiB that it has got, but at most an hour. That
// applies to the window of a stream, and to that of the connection.
func TestNoCredit(t *testing.T) {
	for _, tt := range []struct {
		name                string
		stream, conn, first uint32 // windows, and credit after a minute
		patience            time.Duration
	}{
		{"default", 65535, 0, 0, 1950 * time.Second},
		{"small", 10 << 10, 0, 0, 330 * time.Second},
		{"some credit", 10 << 10, 0, 5 << 10, 390 * time.Second},
		{"connection", 1 << 20, 0, 0, 1950 * time.Second},
		{"large", 190_000, 1 << 20, 0, time.Hour},
	} {
		for _, path := range []string{"/bytes", "/stream"} {
			t.Run(tt.name+path, func(t *testing.T) {
				ends := make(chan error, 10)
				talk(t, func(s *gallop.Server) { serveBig(s, ends) }, func(c *timedClient, _ *gallop.Server) {
					c.credits = false
					c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: tt.stream})
					if tt.conn > 0 {
						c.WriteWindowUpdate(0, tt.conn)
					}
					begun := time.Now()
					id := c.open("GET", path, true)
					if tt.first > 0 {
						time.Sleep(time.Minute)
						c.credit(id, tt.first)
					}
					isReset := func() bool {
						synctest.Wait()
						c.mu.Lock()
						defer c.mu.Unlock()
						return len(c.got) > 0 && strings.HasPrefix(c.got[len(c.got)-1], "1 reset")
					}
					time.Sleep(tt.patience - time.Since(begun) - time.Second)
					if isReset() {
						t.Error("reset too early")
					}
					if time.Sleep(4 * time.Second); !isReset() {
						t.Error("not reset in time")
					}
				})
				for range len(ends) {
					if err := <-ends; !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
				}
			})
		}
	}
}

// A response whose turn comes after minutes is sent, because the client reads other responses meanwhile.
func TestLateTurns(t *testing.T) {
	ends := make(chan error, 10)
	talk(t, func(s *gallop.Server) { serveBig(s, ends) }, func(c *timedClient, _ *gallop.Server) {
		defer time.Sleep(2 * time.Second) // until the client has noticed the end
		defer c.Conn.Close()
		c.readSlowly()
		c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		c.WriteWindowUpdate(0, 1<<20)
		for range 2 {
			c.open("GET", "/bytes", true)
			c.open("GET", "/stream", true)
		}
		time.Sleep(810 * time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		for id := uint32(1); id <= 7; id += 2 {
			if n := len(c.body[id]); n != 200_000 {
				t.Errorf("stream %d: %d bytes", id, n)
			}
		}
	})
	for range len(ends) {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

// TimeoutHandler ends a stream. The other streams go on, and the handler that was left behind hurts nobody.
func TestTimeoutHandler(t *testing.T) {
	talk(t, func(s *gallop.Server) {
		slow := gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			host := string(ctx.Host())
			for range 10 {
				time.Sleep(time.Second)
				ctx.SetBodyString("late")
				_ = ctx.SetReadDeadline(time.Now())
				_ = ctx.SetWriteDeadline(time.Now())
				_ = ctx.WriteInterim(103)
				_ = ctx.Conn().RemoteAddr()
				if ctx.Err() != nil && string(ctx.Host()) != host {
					t.Errorf("host %q", ctx.Host())
				}
			}
			if _, err := ctx.StreamResponse(); err == nil {
				t.Error("the response can still be streamed")
			}
			if ctx.Err() != context.DeadlineExceeded {
				t.Error(ctx.Err())
			}
		}, 2500*time.Millisecond, "too slow")
		s.Handler = func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				slow(ctx)
				return
			}
			ctx.SetBody(ctx.Path())
		}
	}, func(c *timedClient, _ *gallop.Server) {
		c.begin()
		c.open("GET", "/slow", true)
		time.Sleep(3 * time.Second)
		c.mu.Lock()
		for i, f := range c.got {
			if strings.HasPrefix(f, "1 headers :status=103") {
				c.got[i] = ""
			}
		}
		got := strings.TrimSpace(strings.Join(c.got, "\n"))
		c.got = nil
		c.mu.Unlock()
		if got != "1 headers :status=408 content-type=text/plain; charset=utf-8 content-length=8\n1 end after 8 bytes" {
			t.Error(got)
		}
		for range 20 {
			id := c.open("GET", "/fast", true)
			time.Sleep(time.Second)
			c.mu.Lock()
			if c.body[id] != "/fast" {
				t.Errorf("%q, %q", c.body[id], c.got)
			}
			c.mu.Unlock()
		}
	})
}

// Shutdown announces the end twice, serves what was opened in between, and waits for handlers.
func TestShutdown(t *testing.T) {
	talk(t, func(s *gallop.Server) {
		s.Handler = func(ctx *gallop.RequestCtx) {
			time.Sleep(5 * time.Second)
			ctx.SetStatusCode(204)
		}
	}, func(c *timedClient, s *gallop.Server) {
		c.silent = true
		c.begin()
		c.open("GET", "/", true)
		time.Sleep(time.Second)
		done := make(chan error, 1)
		begun := time.Now()
		go func() { done <- s.Shutdown() }()
		time.Sleep(100 * time.Millisecond)
		c.want("goaway 2147483647 NO_ERROR")
		c.open("GET", "/", true) // before the client knows
		time.Sleep(3 * time.Second)
		c.want("goaway 3 NO_ERROR")
		c.open("GET", "/", true) // too late
		time.Sleep(3 * time.Second)
		c.want("1 headers :status=204 end", "3 headers :status=204 end")
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 13*time.Second {
			t.Errorf("Shutdown took %v", took)
		}
	})
}

// An idle connection is told that the server stops, and ends at once.
func TestShutdownIdle(t *testing.T) {
	talk(t, hello, func(c *timedClient, s *gallop.Server) {
		c.begin()
		c.open("GET", "/", true)
		c.want("1 "+ok13, "1 end after 13 bytes")
		begun := time.Now()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("Shutdown took %v", took)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.got); n == 0 || c.got[n-1] != "goaway 1 NO_ERROR" {
			t.Errorf("%q", c.got)
		}
	})
}
