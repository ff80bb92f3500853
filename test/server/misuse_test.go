package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A form is bound by MaxRequestBodySize, also if its client asks first.
func TestExpectIsNoWayAroundTheBodyLimit(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		form := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 5000) + "\r\n--b--\r\n"
		for name, read := range map[string]gallop.RequestHandler{
			"form":   func(ctx *gallop.RequestCtx) { ctx.MultipartForm() },
			"stream": func(ctx *gallop.RequestCtx) { io.Copy(io.Discard, ctx.RequestBodyStream()) },
			"bytes":  func(ctx *gallop.RequestCtx) { ctx.PostBody() },
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{MaxRequestBodySize: 1000, Handler: read}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n" +
						"Content-Type: multipart/form-data; boundary=b\r\n\r\n")
					c.Want(100)
					for i := 0; i < len(form); i += 500 {
						piece := form[i:min(i+500, len(form))]
						c.Send(hex(len(piece)), "\r\n", piece, "\r\n")
					}
					c.Send("0\r\n\r\n").Want(413)
				})
			})
		}
	})
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

// Shutdown with a bound ends at the bound, whatever a handler does.
func TestShutdownDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(*gallop.RequestCtx) { time.Sleep(time.Hour) }}
			client, server := wiretest.Pipe()
			go on.Serve(s)(server)
			io.WriteString(client, wiretest.Get("/"))
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if err := s.ShutdownWithContext(ctx); err != context.DeadlineExceeded || time.Since(began) > time.Minute {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if _, err := client.Read(make([]byte, 1)); err == nil {
				t.Error("the connection is open")
			}
			time.Sleep(time.Hour) // the handler ends
		})
	})
}

// Hooks that panic cost their connection, and nothing else.
func TestHooksThatPanic(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		boom := errors.New("on purpose")
		for name, set := range map[string]func(*gallop.Server){
			"HeaderReceived": func(s *gallop.Server) {
				s.HeaderReceived = func(*gallop.RequestHeader) gallop.RequestConfig { panic(boom) }
			},
			"ContinueHandler": func(s *gallop.Server) { s.ContinueHandler = func(*gallop.RequestHeader) bool { panic(boom) } },
			"ExpectHandler":   func(s *gallop.Server) { s.ExpectHandler = func(*gallop.RequestCtx) int { panic(boom) } },
			"ConnState": func(s *gallop.Server) {
				s.ConnState = func(_ net.Conn, state gallop.ConnState) {
					if state == gallop.StateActive {
						panic(boom)
					}
				}
			},
			"ConnState at the end": func(s *gallop.Server) {
				s.ConnState = func(_ net.Conn, state gallop.ConnState) {
					if state == gallop.StateClosed {
						panic(boom)
					}
				}
				s.DisableKeepalive = true
			},
		} {
			t.Run(name, func(t *testing.T) {
				var log servertest.Log
				s := &gallop.Server{Logger: &log, Handler: func(*gallop.RequestCtx) {}}
				set(s)
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
					io.Copy(io.Discard, c.Conn())
					c.Conn().Close()
					wantBoom(t, s, &log)
				})
			})
		}
	})
}

// A connection that is told to be hijacked has an owner, whatever the hook does.
func TestConnStatePanicsAtAHijack(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		mine := func(c net.Conn) { io.WriteString(c, "mine") }
		for name, handle := range map[string]gallop.RequestHandler{
			"Hijack": func(ctx *gallop.RequestCtx) {
				ctx.HijackSetNoResponse(true)
				ctx.Hijack(mine)
			},
			"HijackConn": func(ctx *gallop.RequestCtx) {
				ctx.HijackSetNoResponse(true)
				if c, err := ctx.HijackConn(); err == nil {
					defer c.Close()
					mine(c)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				var log servertest.Log
				s := &gallop.Server{Logger: &log, Handler: handle}
				s.ConnState = func(_ net.Conn, state gallop.ConnState) {
					if state == gallop.StateHijacked {
						panic("on purpose")
					}
				}
				synctest.Test(t, func(t *testing.T) {
					client, server := wiretest.Pipe()
					go on.Serve(s)(server)
					io.WriteString(client, wiretest.Get("/"))
					client.SetReadDeadline(time.Now().Add(time.Hour))
					if b, err := io.ReadAll(client); string(b) != "mine" || err != nil {
						t.Errorf("%q, %v", b, err)
					}
					client.Close()
					wantBoom(t, s, &log)
				})
			})
		}
	})
}

// The function that OnDisconnect calls runs beside the handler, and does not end the process either.
func TestOnDisconnectThatPanics(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: func(ctx *gallop.RequestCtx) {
			ctx.OnDisconnect(func(error) { panic("on purpose") })
			<-ctx.Done()
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Pause(time.Second)
			c.Conn().Close()
			wantBoom(t, s, &log)
		})
	})
}

// wantBoom checks that a panic on purpose was logged, and has left no connection behind.
func wantBoom(t *testing.T, s *gallop.Server, log *servertest.Log) {
	t.Helper()
	synctest.Wait()
	if n := s.GetOpenConnectionsCount(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
	if !strings.Contains(log.String(), "on purpose") {
		t.Errorf("logged %q", log.String())
	}
}

func TestServerWithoutAHandler(t *testing.T) {
	client, server := wiretest.Pipe()
	if err := new(gallop.Server).ServeConn(server); err == nil {
		t.Error("served")
	}
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := new(gallop.Server).Serve(ln); err == nil {
		t.Error("served")
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

func TestServerNameThatIsNoFieldValue(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Name: "a\r\nInjected: 1", Handler: func(*gallop.RequestCtx) {}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			if r := c.Send(wiretest.Get("/")).Want(200); len(r.Values("Injected")) > 0 || r.Get("Server") != "gallop" {
				t.Errorf("%q", r.Fields)
			}
		})
	})
}

// A client that goes on sending what nobody wants is not read from without an end.
func TestLingeringIsBounded(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(*gallop.RequestCtx) {}}
			client, server := wiretest.Pipe()
			server.SetWindow(64 << 10)
			go on.Serve(s)(server)
			io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
			piece := make([]byte, 64<<10)
			sent := 0
			for sent < 100<<20 {
				n, err := client.Write(piece)
				if sent += n; err != nil {
					break
				}
			}
			if sent < 4<<20 || sent > 20<<20 {
				t.Errorf("%d bytes were read", sent)
			}
		})
	})
}

// Every method of a RequestCtx that nobody initialised returns.
func TestZeroRequestCtx(t *testing.T) {
	ctxType := reflect.TypeFor[*gallop.RequestCtx]()
	for i := range ctxType.NumMethod() {
		m := ctxType.Method(i)
		t.Run(m.Name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			args := []reflect.Value{reflect.ValueOf(&ctx)}
			for j := 1; j < m.Type.NumIn(); j++ {
				in := m.Type.In(j)
				switch {
				case m.Type.IsVariadic() && j == m.Type.NumIn()-1:
				case in == reflect.TypeFor[*gallop.Response]():
					args = append(args, reflect.ValueOf(new(gallop.Response)))
				case in == reflect.TypeFor[any]():
					args = append(args, reflect.ValueOf("k"))
				default:
					args = append(args, reflect.Zero(in))
				}
			}
			m.Func.Call(args)
			_ = ctx.String()
		})
	}
}

func TestRedirectWithoutAHost(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.Redirect("/there?a=b", 302) }}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			r := c.Send("GET /here HTTP/1.0\r\n\r\n").Want(302)
			if got := r.Get("Location"); got != "/there?a=b" {
				t.Errorf("Location %q", got)
			}
		})
		s.Handler = func(ctx *gallop.RequestCtx) { ctx.Redirect("/a/..//evil.example", 302) }
		on.Talk(t, s, func(c *wiretest.Conversation) {
			r := c.Send("GET /here HTTP/1.0\r\n\r\n").Want(302)
			if got := r.Get("Location"); strings.HasPrefix(got, "//") {
				t.Errorf("Location %q", got)
			}
		})
	})
}

// Settings at the ends of their ranges are none, defaults or endless, as they say.
func TestExtremeSettings(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for _, extreme := range []int64{-1, math.MinInt64, 1, math.MaxInt64} {
			server := reflect.TypeFor[gallop.Server]()
			for i := range server.NumField() {
				f := server.Field(i)
				kind := f.Type.Kind()
				if !f.IsExported() || kind != reflect.Int && kind != reflect.Int64 {
					continue
				}
				if extreme == math.MaxInt64 && strings.HasSuffix(f.Name, "BufferSize") {
					continue // as much memory is not to be had
				}
				if extreme == 1 && (kind == reflect.Int64 || strings.Contains(f.Name, "Request") || strings.HasPrefix(f.Name, "MaxHeader")) {
					continue // a nanosecond, or one byte, is too little to answer 200
				}
				t.Run(fmt.Sprint(f.Name, " ", extreme), func(t *testing.T) {
					s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { ctx.Write(ctx.PostBody()) }}
					reflect.ValueOf(s).Elem().Field(i).SetInt(extreme)
					if f.Name == "ReadBufferSize" {
						s.MaxHeaderBytes = 1000
					}
					on.Talk(t, s, func(c *wiretest.Conversation) {
						for range 2 {
							c.Send(wiretest.Post("Content-Length: 5", "he")).Pause(time.Second).Send("llo").Want(200)
							c.WantBody("hello").Pause(time.Second)
						}
					})
				})
			}
		}
	})
}

// The same for a hook that is told of the first bytes of a request, when these come late.
func TestConnStatePanicsLater(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: func(*gallop.RequestCtx) {}}
		calls := 0
		s.ConnState = func(_ net.Conn, state gallop.ConnState) {
			if state == gallop.StateActive {
				if calls++; calls == 2 {
					panic("on purpose")
				}
			}
		}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(200)
			c.Pause(time.Second).Send(wiretest.Get("/")).WantEnd()
			c.Conn().Close()
			wantBoom(t, s, &log)
		})
	})
}

// Nor does Shutdown wait for the end of a pause in accepting.
func TestShutdownInAPauseOfAccepting(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: servertest.Say, Concurrency: 1, SleepWhenConcurrencyLimitsExceeded: time.Hour}
			ln := on.Listen(s)
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			for range 2 {
				c, err := ln.Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				synctest.Wait()
			}
			begun := time.Now()
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if d := time.Since(begun); d > time.Second {
				t.Errorf("after %v", d)
			}
		})
	})
}

// The longest method that a server reads has 64 bytes, over every protocol.
func TestMethodLength(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for n, status := range map[int]int{64: 200, 65: 501} {
			on.Talk(t, &gallop.Server{Handler: servertest.Say}, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request(strings.Repeat("M", n), "/")).Want(status)
			})
		}
	})
}
