package server_test

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

func TestRequestsAreAnsweredInOrder(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		on.Talk(t, &gallop.Server{Handler: servertest.Say}, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/1"), servertest.PostTo("/2", "hello"), wiretest.Request("POST", "/3", "Transfer-Encoding: chunked"),
				"3\r\nhel\r\n", "2;x=y\r\nlo\r\n0\r\nT: u\r\n\r\n", wiretest.Get("/4"))
			for _, want := range []string{`GET /1 ""`, `POST /2 "hello"`, `POST /3 "hello"`, `GET /4 ""`} {
				c.Want(200)
				c.WantBody(want)
			}
		})
	})
}

func TestOneReadIsAnsweredByOneWrite(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			client, server := wiretest.Pipe()
			counted := &countingConn{Conn: server}
			s := &gallop.Server{Handler: servertest.Say}
			done := make(chan error, 1)
			go func() { done <- on.Serve(s)(counted) }()
			client.Write([]byte(strings.Repeat(wiretest.Get("/"), 20)))
			synctest.Wait()
			if counted.writes != 1 {
				t.Errorf("%d writes", counted.writes)
			}
			client.Close()
			<-done
		})
	})
}

type countingConn struct {
	*wiretest.Conn
	writes int
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

func (c *countingConn) TryWrite(p []byte) (int, error) {
	c.writes++
	return c.Conn.TryWrite(p)
}

func TestConnectionEnds(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, tc := range []struct {
			name     string
			server   *gallop.Server
			request  string
			handler  gallop.RequestHandler
			answered string // value of Connection
		}{
			{name: "asked by the client", request: wiretest.Get("/", "Connection: close"), answered: "close"},
			{name: "asked by the handler", request: wiretest.Get("/"), answered: "close",
				handler: func(ctx *gallop.RequestCtx) { ctx.SetConnectionClose() }},
			{name: "DisableKeepalive", server: &gallop.Server{DisableKeepalive: true}, request: wiretest.Get("/"), answered: "close"},
			{name: "MaxRequestsPerConn", server: &gallop.Server{MaxRequestsPerConn: 1}, request: wiretest.Get("/"), answered: "close"},
			{name: "HTTP/1.0", request: "GET / HTTP/1.0\r\n\r\n", answered: "close"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				s := tc.server
				if s == nil {
					s = &gallop.Server{}
				}
				if s.Handler = tc.handler; s.Handler == nil {
					s.Handler = servertest.Say
				}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(tc.request + wiretest.Get("/never")) // in one, or it may have ended before it came
					c.Want(200)
					c.WantField("Connection", tc.answered)
					c.WantEOF()
				})
			})
		}
	})
}

func TestHTTP10KeepsAliveWhenAsked(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		on.Talk(t, &gallop.Server{Handler: servertest.Say}, func(c *wiretest.Conversation) {
			for range 2 {
				c.Send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
				c.Want(200)
				c.WantField("Connection", "keep-alive")
			}
		})
	})
}

func TestPanicsEndTheirConnectionOnly(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var l servertest.Log
		s := &gallop.Server{Logger: &l, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetBodyString("half an answer")
			panic("oops")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/") + wiretest.Get("/"))
			c.Want(500)
			c.WantBody("Internal Server Error")
			c.WantEOF()
		})
		if got := l.String(); !strings.Contains(got, "oops") || !strings.Contains(got, "conversation_test.go") {
			t.Errorf("the log lacks the panic or its stack:\n%s", got)
		}
	})
}

func TestTimeouts(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		const slack = time.Second
		for _, tc := range []struct {
			name   string
			server *gallop.Server
			send   func(c *wiretest.Conversation)
			status int // 0: no response
			after  time.Duration
		}{
			{"nothing sent", &gallop.Server{}, func(c *wiretest.Conversation) {}, 0, 10 * time.Second},
			{"only an empty line", &gallop.Server{}, func(c *wiretest.Conversation) { c.Send("\r\n") }, 0, 10 * time.Second},
			{"head unfinished", &gallop.Server{}, func(c *wiretest.Conversation) { c.Send("GET / HT") }, 408, 10 * time.Second},
			{"head dribbles", &gallop.Server{}, func(c *wiretest.Conversation) {
				c.SendSlowly("GET / HTTP/1", time.Second)
			}, 408, 10*time.Second + time.Second},
			{"own head timeout", &gallop.Server{ReadHeaderTimeout: 3 * time.Second}, func(c *wiretest.Conversation) { c.Send("G") }, 408, 3 * time.Second},
			{"idle", &gallop.Server{}, func(c *wiretest.Conversation) { c.Send(wiretest.Get("/")); c.Want(200) }, 0, 75 * time.Second},
			{"own idle timeout", &gallop.Server{IdleTimeout: 2 * time.Second}, func(c *wiretest.Conversation) { c.Send(wiretest.Get("/")); c.Want(200) }, 0, 2 * time.Second},
			{"body missing", &gallop.Server{}, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request("POST", "/", "Content-Length: 9"))
			}, 408, 5 * time.Second},
			{"body dribbles", &gallop.Server{}, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request("POST", "/", "Content-Length: 9000"))
				c.SendSlowly(strings.Repeat("x", 100), 100*time.Millisecond)
			}, 408, 5*time.Second + 5*time.Second},
			{"body as a whole", &gallop.Server{ReadTimeout: 2 * time.Second}, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request("POST", "/", "Content-Length: 9000"))
			}, 408, 2 * time.Second},
		} {
			t.Run(tc.name, func(t *testing.T) {
				s := tc.server
				s.Handler = servertest.Say
				on.Talk(t, s, func(c *wiretest.Conversation) {
					tc.send(c)
					if tc.status != 0 {
						c.Want(tc.status)
					}
					c.WantEnd()
					c.WantAfter(tc.after, slack+lingering(tc.status))
				})
			})
		}
	})
}

// lingering is how long a connection that was answered for the last time stays open
// for a client that does not close it.
func lingering(status int) time.Duration {
	if status == 0 {
		return 0
	}
	return 6 * time.Second
}

func TestNegativeTimeoutsAreNone(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: servertest.Say, IdleTimeout: -1, ReadHeaderTimeout: -1, MinBodyRate: -1}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Pause(10 * time.Minute).Send("POST ").Pause(10 * time.Minute).Send("/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx")
			c.Pause(10 * time.Minute).Send("y")
			c.Want(200)
			c.WantBody(`POST / "xy"`)
			c.WantSilence(10 * time.Minute)
		})
	})
}

func TestSlowWriters(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		body := strings.Repeat("x", 1<<20)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString(body) }}
		t.Run("no progress", func(t *testing.T) {
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Conn().SetWindow(1000)
				c.Send(wiretest.Get("/"))
				c.Pause(45 * time.Second)
				n := c.Conn().Unread()
				c.Pause(time.Minute)
				if m := c.Conn().Unread(); m != n || n > 1000 {
					t.Errorf("the server has written %d and then %d bytes", n, m)
				}
			})
		})
	})
}

func TestSlowReadersWithProgressAreServed(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		body := strings.Repeat("x", 100_000)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString(body) }, Logger: servertest.Quiet}
		synctest.Test(t, func(t *testing.T) {
			client, server := wiretest.Pipe()
			client.SetWindow(1000)
			done := make(chan error, 1)
			go func() { done <- on.Serve(s)(server) }()
			client.Write([]byte(wiretest.Get("/", "Connection: close")))
			total, buf := 0, make([]byte, 1000)
			for {
				time.Sleep(20 * time.Second)
				n, err := client.Read(buf)
				if total += n; err != nil {
					break
				}
			}
			if total < len(body) {
				t.Errorf("%d bytes arrived", total)
			}
			client.Close()
			<-done
		})
	})
}

func TestConnStates(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var mu sync.Mutex
		var states []string
		s := &gallop.Server{Handler: servertest.Say}
		s.ConnState = func(_ netConn, st gallop.ConnState) {
			mu.Lock()
			states = append(states, st.String())
			mu.Unlock()
		}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
			c.Send(wiretest.Get("/"))
			c.Want(200)
			c.CloseWrite()
			c.WantEOF()
		})
		if got := strings.Join(states, " "); got != "new active idle active idle closed" {
			t.Error(got)
		}
	})
}

func TestErrorHandler(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: servertest.Say, ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
			if ctx.Response.StatusCode() != 431 {
				t.Errorf("status %d beforehand", ctx.Response.StatusCode())
			}
			ctx.Error("mine: "+err.Error(), 499)
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/", strings.Repeat("X: y\r\n", 300)+"X: y"))
			c.Want(499)
			c.WantBody("mine: gallop: too many fields (RFC 6585 §5)")
			c.WantEnd()
		})
	})
}

// A function that responds to a refused request may write the response itself, and no other response follows.
func TestRefusalsThatAreStreamed(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		stream := func(ctx *gallop.RequestCtx) {
			ctx.Response.ResetBody()
			ctx.SetStatusCode(499)
			s, err := ctx.StreamResponse()
			if err != nil {
				t.Error(err)
				return
			}
			s.WriteString("mine")
		}
		expecting := wiretest.Post("Expect: 100-continue\r\nContent-Length: 4", "")
		for name, tt := range map[string]struct {
			wire string
			set  func(*gallop.Server)
			ends bool // in its middle
		}{
			"a head": {wiretest.Get("/", "A : b"), func(s *gallop.Server) {
				s.ErrorHandler = func(ctx *gallop.RequestCtx, _ error) { stream(ctx) }
			}, false},
			"a body": {wiretest.Post("Content-Length: 2000", ""), func(s *gallop.Server) {
				s.ErrorHandler = func(ctx *gallop.RequestCtx, _ error) { stream(ctx) }
			}, false},
			"a panic behind it": {wiretest.Post("Content-Length: 2000", ""), func(s *gallop.Server) {
				s.ErrorHandler = func(ctx *gallop.RequestCtx, _ error) { stream(ctx); panic("on purpose") }
			}, true},
			"an expectation": {expecting, func(s *gallop.Server) {
				s.ExpectHandler = func(ctx *gallop.RequestCtx) int { stream(ctx); return 499 }
			}, false},
			"an expectation, with 100 behind it": {expecting, func(s *gallop.Server) {
				s.ExpectHandler = func(ctx *gallop.RequestCtx) int { stream(ctx); return 100 }
			}, false},
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{MaxRequestBodySize: 1000, Handler: func(*gallop.RequestCtx) { t.Error("the handler is called") }}
				tt.set(s)
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(tt.wire)
					if tt.ends {
						if b, _ := io.ReadAll(c.Conn()); strings.Count(string(b), "HTTP/1.1") != 1 || !strings.HasSuffix(string(b), "\r\nmine\r\n") {
							t.Errorf("%q", b)
						}
						return
					}
					c.Want(499)
					c.WantBody("mine").WantField("Connection", "close").WantEnd()
				})
			})
		}
	})
}

func TestReadBufferSizeLimitsHeads(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		head := func(n int) string { return wiretest.Get("/", "X: "+strings.Repeat("y", n)) }
		target := func(n int) string { return wiretest.Get("/" + strings.Repeat("y", n)) }
		for _, tc := range []struct {
			buffer, head, line int
			wire               string
			status             int
		}{
			{1000, 0, 0, head(900), 200},
			{1000, 0, 0, head(1000), 431},
			{1000, 2000, 0, head(1000), 200},
			{200 << 10, 0, 0, head(190 << 10), 200},
			{200 << 10, 0, 0, target(190 << 10), 200},
			{200 << 10, 0, 10, target(10), 414},
			{200 << 10, 1000, 0, head(1000), 431},
			{200 << 10, 300 << 10, 0, target(20 << 10), 414},
		} {
			s := &gallop.Server{Handler: servertest.Say, ReadBufferSize: tc.buffer, MaxHeaderBytes: tc.head, MaxRequestLineBytes: tc.line}
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send(tc.wire)
				c.Want(tc.status)
			})
		}
	})
}

func TestLogHoldsNoRequestBytes(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var l servertest.Log
		s := &gallop.Server{Handler: servertest.Say, Logger: &l}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send("GET /secret\x01 HTTP/1.1\r\n\r\n")
			c.Want(400)
			c.WantEnd()
		})
		if got := l.String(); !strings.Contains(got, "refused with 400") || strings.Contains(got, "secret") || strings.Count(got, "\n") != 1 {
			t.Errorf("%q, want one line", got)
		}
	})
}

// The log says what to do about a refusal, but the client learns only the reason.
func TestRefusalsAreLoggedWithRemedies(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: a\r\n"
	for _, tc := range []struct {
		name, wire string
		status     int
		remedy     string
	}{
		{"https to an http server", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "the client uses https for a server that serves http"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "see Server.Protocols"},
		{"long target", "GET /" + strings.Repeat("a", 20<<10) + head + "\r\n", 414, "see Server.MaxRequestLineBytes"},
		{"long header", "GET /" + head + "X: " + strings.Repeat("a", 70<<10) + "\r\n\r\n", 431, "see Server.MaxHeaderBytes"},
		{"many headers", "GET /" + head + strings.Repeat("X: y\r\n", 300) + "\r\n", 431, "see Server.MaxHeaderFields"},
		{"large body", "POST /" + head + "Content-Length: 99999999\r\n\r\n", 413, "see Server.MaxRequestBodySize"},
		{"slow header", "GET /" + head, 408, "see Server.ReadHeaderTimeout"},
		{"slow body", "POST /" + head + "Content-Length: 10\r\n\r\nab", 408, "see Server.MinBodyRate and Server.ReadTimeout"},
		{"TRACE", "TRACE /" + head + "\r\n", 405, "see Server.AllowTrace"},
		{"expectation", "GET /" + head + "Expect: more\r\n\r\n", 417, "see Server.ExpectHandler"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				var l servertest.Log
				s := &gallop.Server{Handler: servertest.Say, Logger: &l, ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
					if ctx.SetBodyString(err.Error()); strings.Contains(err.Error(), "Server.") {
						t.Errorf("the client learns %q", err)
					}
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(tc.wire)
					c.Want(tc.status)
				})
				if got := l.String(); !strings.HasSuffix(got, "; "+tc.remedy+"\n") {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

func TestLogIsBounded(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var l servertest.Log
		s := &gallop.Server{Handler: servertest.Say, Logger: &l}
		for range 100 {
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send("x\r\n")
				c.Want(400)
				c.CloseWrite().WantEOF()
			})
		}
		if n := strings.Count(l.String(), "\n"); n == 0 || n > 60 {
			t.Errorf("%d lines", n)
		}
	})
}

// A handler sees that there is no default for Content-Type, and may set one of its own.
func TestNoDefaultContentTypeShows(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{NoDefaultContentType: true, Handler: func(ctx *gallop.RequestCtx) {
			if h := &ctx.Response.Header; len(h.ContentType()) == 0 && h.Peek("Content-Type") == nil {
				ctx.SetContentType("text/x")
			}
			ctx.WriteString("x")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 2 {
				c.Send(wiretest.Get("/")).Want(200)
				c.WantField("Content-Type", "text/x")
			}
		})
	})
}
