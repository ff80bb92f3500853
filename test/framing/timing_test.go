package framing_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerTiming holds the timeouts that a Server has without being told, and how a
// connection ends on them. Each may come a sixteenth late, a second at the most.
func TestServerTiming(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, tt := range []struct {
			name   string
			stream bool
			talk   func(*wiretest.Conversation)
		}{
			{"a head that dribbles is cut off 10 s after its first octet", false, func(c *wiretest.Conversation) {
				for _, b := range []byte("GET / HTTP") {
					c.Send(string(b)).Pause(time.Second)
				}
				c.Want(408)
				c.WantEOF().WantAfter(10*time.Second, time.Second)
			}},
			{"the head of a later request has 10 s from its first octet on", false, func(c *wiretest.Conversation) {
				c.Send(get("A: b")).Want(200)
				c.Pause(30 * time.Second).Send("GET / HTTP/1.1\r\n").Pause(9 * time.Second)
				c.Send("Host: a\r\n\r\n").Want(200)
			}},
			{"each request has its own 10 s", false, func(c *wiretest.Conversation) {
				for range 5 {
					c.Send("GET / HTTP/1.1\r\n").Pause(9 * time.Second).Send("Host: a\r\n\r\n").Want(200)
				}
			}},
			{"a connection that says nothing is closed after 10 s, without a word", false, func(c *wiretest.Conversation) {
				c.WantSilence(10*time.Second).WantEOF().WantAfter(10*time.Second, time.Second)
			}},
			{"an idle connection is closed after 75 s, without a word", false, func(c *wiretest.Conversation) {
				c.Pause(5 * time.Second).Send(get("A: b")).Want(200)
				c.WantSilence(75*time.Second).WantEOF().WantAfter(80*time.Second, time.Second)
			}},
			{"empty lines are not a way to stay", false, func(c *wiretest.Conversation) {
				for range 20 {
					c.Send("\r\n").Pause(time.Second)
				}
				c.Want(400)
				c.WantEnd()
			}},
			{"a body may take its time as long as it brings 240 octets a second", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 30000", ""))
				for range 100 {
					c.Pause(time.Second).Send(strings.Repeat("x", 300))
				}
				c.Want(200)
			}},
			{"a body that brings less is cut off", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 30000", ""))
				for range 18 {
					c.Pause(500 * time.Millisecond).Send(strings.Repeat("x", 50))
				}
				c.Want(408)
				c.WantEOF()
			}},
			{"a body that never comes is cut off", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 1", "")).Want(408)
				c.WantEOF().WantAfter(5*time.Second, 2*time.Second)
			}},
			{"a streamed body that never comes is cut off", true, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 1", "")).Want(400)
				c.WantEOF().WantAfter(5*time.Second, 2*time.Second)
			}},
			{"chunks of one octet are no progress", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Transfer-Encoding: chunked", ""))
				for range 11 {
					c.Pause(500 * time.Millisecond).Send("1\r\nx\r\n")
				}
				c.Want(408)
				c.WantEOF()
			}},
			{"100 is sent once, when the handler reads", true, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Expect: 100-continue\r\nContent-Length: 2", ""))
				c.Want(100)
				c.Send("h").Await().Send("i").Want(200)
			}},
			{"100 is sent once, when the server reads for the handler", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Expect: 100-continue\r\nContent-Length: 2", ""))
				c.Want(100)
				c.Send("h").Await().Send("i").Want(200)
			}},
			{"a broken body behind 100 is refused, whatever the handler says", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Expect: 100-continue\r\nTransfer-Encoding: chunked", ""))
				c.Want(100)
				c.Send("5\r\nhelloX").Want(400)
				c.WantEOF()
			}},
			{"100 is not sent when the handler does not read", true, func(c *wiretest.Conversation) {
				c.Send("POST /_/nobody HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").Want(200)
				c.WantField("Connection", "close").WantEnd()
			}},
			{"a response says that the connection closes if the body will not be read", true, func(c *wiretest.Conversation) {
				c.Send("POST /_/nobody HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n").Want(200)
				c.WantField("Connection", "close").WantEOF()
			}},
			{"a body that the handler leaves is read, if it is not long", true, func(c *wiretest.Conversation) {
				c.Send("POST /_/nobody HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n").Want(200)
				c.WantField("Connection").Send(strings.Repeat("x", 200000), get("A: b")).Want(200)
			}},
			{"a body that the handler leaves and the client withholds ends the connection", true, func(c *wiretest.Conversation) {
				c.Send("POST /_/nobody HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n").Want(200)
				c.WantEOF().WantAfter(time.Second, 2*time.Second)
			}},
			{"a head that is cut off is answered, for who can still read", false, func(c *wiretest.Conversation) {
				c.Send("GET / HTTP/1.1\r\nHo").CloseWrite().Want(400)
				c.WantEOF()
			}},
			{"a body that is cut off is answered, for who can still read", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 3", "ab")).CloseWrite().Want(400)
				c.WantEOF()
			}},
			{"a refusal arrives although the client goes on sending", false, func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Content-Length: 5000000", ""))
				for range 100 {
					c.Send(strings.Repeat("x", 1000)).Pause(time.Millisecond)
				}
				c.Want(413)
				c.WantEOF()
			}},
			{"a client that goes on sending for ever after a refusal is left alone", false, func(c *wiretest.Conversation) {
				c.Send("BAD\r\n\r\n")
				for range 100 {
					c.Send(strings.Repeat("x", 100)).Pause(100 * time.Millisecond)
				}
				c.Want(400)
				c.WantEnd()
			}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := servertest.NewEchoServer(tt.stream)
					c := wiretest.Start(t, on.Serve(&s.Server))
					c.Patience = 10 * time.Minute
					tt.talk(c)
				})
			})
		}
	})
}

// TestServerLeavesAClientThatDoesNotRead holds the 30 s without progress in writing.
func TestServerLeavesAClientThatDoesNotRead(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, take := range map[string]int{"takes nothing": 0, "takes an octet a second for a while": 60} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &gallop.Server{Logger: new(servertest.Log), Handler: func(ctx *gallop.RequestCtx) {
						ctx.SetBody(make([]byte, 1<<20))
					}}
					client, server := wiretest.Pipe()
					defer client.Close()
					client.SetWindow(4 << 10)
					served := make(chan struct{})
					start := time.Now()
					go func() {
						defer close(served)
						_ = on.Serve(s)(server)
					}()
					_, _ = client.Write([]byte(get("A: b")))
					for range take {
						time.Sleep(time.Second)
						_, _ = client.Read(make([]byte, 1))
					}
					<-served
					want := time.Duration(take)*time.Second + 30*time.Second
					if d := time.Since(start); d < want-time.Second || d > want+5*time.Second {
						t.Errorf("left after %v, want about %v", d, want)
					}
				})
			})
		}
	})
}

// TestServerShutdown holds that idle connections end at once, and that a request that
// has begun is answered.
func TestServerShutdown(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := servertest.NewEchoServer(false)
			slow := make(chan struct{})
			echo := s.Handler
			s.Handler = func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) == "/slow" {
					<-slow
				}
				echo(ctx)
			}
			idle, busy, fresh := wiretest.Start(t, on.Serve(&s.Server)), wiretest.Start(t, on.Serve(&s.Server)), wiretest.Start(t, on.Serve(&s.Server))
			idle.Send(get("A: b")).Want(200)
			busy.Send(wiretest.Get("/slow"))
			synctest.Wait()
			down := make(chan error, 1)
			go func() { down <- s.ShutdownWithContext(t.Context()) }()
			idle.WantEOF().WantAfter(0, time.Second)
			fresh.WantEOF().WantAfter(0, time.Second)
			busy.WantSilence(time.Minute)
			select {
			case err := <-down:
				t.Fatalf("shutdown returned while a handler runs: %v", err)
			default:
			}
			close(slow)
			busy.Want(200)
			busy.WantField("Connection", "close").WantEOF()
			if err := <-down; err != nil {
				t.Errorf("shutdown: %v", err)
			}
		})
	})
}

// TestServerSurvivesPanics holds that a handler's panic costs its own connection only.
func TestServerSurvivesPanics(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := servertest.NewEchoServer(false)
			echo := s.Handler
			s.Handler = func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) == "/panic" {
					panic("on purpose")
				}
				echo(ctx)
			}
			good, bad := wiretest.Start(t, on.Serve(&s.Server)), wiretest.Start(t, on.Serve(&s.Server))
			good.Send(get("A: b")).Want(200)
			bad.Send(wiretest.Get("/panic")).Want(500)
			bad.WantEOF()
			good.Send(get("A: b")).Want(200)
			if lines := s.Log.String(); !strings.Contains(lines, "on purpose") || !strings.Contains(lines, "timing_test.go") {
				t.Errorf("log: %q", lines)
			}
		})
	})
}
