package framing_test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

type exitingReader struct{}

func (exitingReader) Read([]byte) (int, error) { runtime.Goexit(); return 0, nil }

// A handler that exits its goroutine ends its connection, with everything that belongs to it.
func TestGoexit(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, handle := range map[string]gallop.RequestHandler{
			"handler":         func(*gallop.RequestCtx) { runtime.Goexit() },
			"after a timeout": func(ctx *gallop.RequestCtx) { ctx.TimeoutError("late"); runtime.Goexit() },
			"stream writer":   func(ctx *gallop.RequestCtx) { ctx.SetBodyStreamWriter(func(*bufio.Writer) { runtime.Goexit() }) },
			"stream":          func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(exitingReader{}, -1) },
			"stream reader": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(gallop.NewStreamReader(func(*bufio.Writer) { runtime.Goexit() }), 3)
			},
			"hijack": func(ctx *gallop.RequestCtx) {
				ctx.HijackSetNoResponse(true)
				ctx.Hijack(func(net.Conn) { runtime.Goexit() })
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{Logger: servertest.Quiet, Handler: handle}
				synctest.Test(t, func(t *testing.T) {
					client, server := wiretest.Pipe()
					go on.Serve(s)(server)
					io.WriteString(client, wiretest.Get("/"))
					began := time.Now()
					io.Copy(io.Discard, client)
					client.Close()
					synctest.Wait()
					if n := s.GetOpenConnectionsCount(); n != 0 || time.Since(began) > 10*time.Second {
						t.Errorf("%d connections are open after %v", n, time.Since(began))
					}
					if err := s.Shutdown(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	})
}

// A stream of events may look for its client, and leaves the next request alone.
func TestDoneWhileAResponseIsWritten(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan bool, 1)
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
				if !ctx.IsGet() {
					t.Errorf("method %s", ctx.Method())
				}
				ends := string(ctx.Path()) == "/ends"
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					done := ctx.Done()
					if ends {
						time.Sleep(time.Second)
						w.WriteString("end")
						return
					}
					<-done
					left <- true
				})
			}}
			c := wiretest.Start(t, on.Serve(s))
			for range 3 {
				c.Send(wiretest.Get("/ends")).Want(200)
				c.WantBody("end").Pause(time.Second)
			}
			c.Send(wiretest.Get("/")).Pause(time.Second)
			c.Conn().Close()
			<-left
		})
	})
}

// A hijack handler reads everything that the handler has left: the rest of the body as it was sent, and what is
// behind it. The server waits for none of it.
func TestHijackWithABodyUnread(t *testing.T) {
	big := strings.Repeat("b", 300<<10)
	for name, tt := range map[string]struct {
		sent, want string
		read       int // bytes that the handler reads before
	}{
		"Content-Length":               {framed("Content-Length", "secret") + "ping", "ecretping", 1},
		"chunks":                       {framed("chunks", "secret") + "ping", "ec\r\n3\r\nret\r\n0\r\n\r\nping", 1},
		"nothing read":                 {framed("Content-Length", "secret") + "ping", "secretping", 0},
		"all read":                     {framed("Content-Length", "secret") + "ping", "ping", 6},
		"announced, and nothing sent":  {"Content-Length: 1000\r\n\r\n", "", 0},
		"announced, and a part sent":   {"Content-Length: 1000000\r\n\r\nsecret", "cret", 2},
		"300 KB":                       {"Content-Length: 307200\r\n\r\n" + big + "ping", big[5:] + "ping", 5},
		"half a chunked body":          {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo", "5\r\nhello\r\n5\r\nwo", 0},
		"half a chunked body, read on": {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo", "\r\n5\r\nwo", 5},
		"no body":                      {"\r\nping", "ping", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range []string{"Hijack", "without a response", "HijackConn"} {
				servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
					synctest.Test(t, func(t *testing.T) {
						got := make(chan string, 1)
						readAll := func(c net.Conn) {
							defer c.Close()
							b, _ := io.ReadAll(c)
							got <- string(b)
						}
						s := &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: true, MaxRequestsPerConn: 1, Handler: func(ctx *gallop.RequestCtx) {
							if tt.read > 0 {
								_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, tt.read))
							}
							if way != "HijackConn" {
								ctx.HijackSetNoResponse(way == "without a response")
								ctx.Hijack(readAll)
							} else if c, err := ctx.HijackConn(); err != nil {
								t.Error(err)
							} else {
								readAll(c)
							}
						}}
						client, server := wiretest.Pipe()
						go on.Serve(s)(server)
						go io.Copy(io.Discard, client)
						began := time.Now()
						_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\n"+tt.sent)
						_ = client.CloseWrite()
						if b := <-got; b != tt.want {
							t.Errorf("%s: %d bytes, %.40q, want %d, %.40q", way, len(b), b, len(tt.want), tt.want)
						}
						if took := time.Since(began); took > 0 {
							t.Errorf("%s: after %v", way, took)
						}
						client.Close()
					})
				})
			}
		})
	}
}

// Nor is a connection handed over behind a 500 that has taken the place of the response.
func TestHijackBehindAResponseThatFails(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader(""), 5)
			ctx.Hijack(func(c net.Conn) { io.WriteString(c, "hijacked") })
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(500)
			c.WantField("Connection", "close").WantEOF()
		})
	})
}

// A handler that exits in the middle of its response leaves nothing of it to other requests.
func TestGoexitInTheMiddleOfAResponse(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) == "/exit" {
					stream, err := ctx.StreamResponse()
					if err != nil {
						t.Error(err)
					}
					stream.WriteString("part")
					runtime.Goexit()
				}
				ctx.SetBodyString("whole")
			}}
			for range 20 { // pools may forget
				client, server := wiretest.Pipe()
				go on.Serve(s)(server)
				io.WriteString(client, wiretest.Get("/exit"))
				b, _ := io.ReadAll(client)
				client.Close()
				if !strings.HasSuffix(string(b), "\r\n\r\n4\r\npart\r\n") {
					t.Errorf("%q", b)
				}
				c := wiretest.Start(t, on.Serve(s))
				c.Send(wiretest.Get("/", "Connection: close")).Want(200)
				c.WantBody("whole").WantEOF()
			}
		})
	})
}

// Whatever ends a connection, answers to the requests before it arrive.
func TestAnswersBeforeTheEndOfAConnection(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		exit := func(*bufio.Writer) { runtime.Goexit() }
		for name, last := range map[string]gallop.RequestHandler{
			"exit":                  func(*gallop.RequestCtx) { runtime.Goexit() },
			"exit in a stream":      func(ctx *gallop.RequestCtx) { ctx.SetBodyStreamWriter(exit) },
			"abort":                 func(*gallop.RequestCtx) { panic(gallop.ErrAbortHandler) },
			"late behind its head":  func(ctx *gallop.RequestCtx) { ctx.StreamResponse(); ctx.TimeoutError("late") },
			"panic behind its head": func(ctx *gallop.RequestCtx) { ctx.StreamResponse(); panic("on purpose") },
			"panic in a hook":       nil,
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/last" {
						last(ctx)
					} else {
						ctx.SetBodyString("first")
					}
				}}
				if last == nil {
					s.HeaderReceived = func(h *gallop.RequestHeader) (rc gallop.RequestConfig) {
						if string(h.RequestURI()) == "/last" {
							panic("on purpose")
						}
						return rc
					}
				}
				s.Logger = servertest.Quiet
				synctest.Test(t, func(t *testing.T) {
					client, server := wiretest.Pipe()
					go on.Serve(s)(server)
					io.WriteString(client, wiretest.Get("/")+wiretest.Get("/last"))
					b, _ := io.ReadAll(client)
					client.Close()
					if !strings.HasPrefix(string(b), "HTTP/1.1 200 ") || !strings.Contains(string(b), "\r\n\r\nfirst") {
						t.Errorf("%q", b)
					}
				})
			})
		}
	})
}

// A connection that a handler has taken is its own, also if it exits then.
func TestGoexitBehindHijackConn(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			taken := make(chan net.Conn, 1)
			var mu sync.Mutex
			var states []string
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
				ctx.HijackSetNoResponse(true)
				c, err := ctx.HijackConn()
				if err != nil {
					t.Error(err)
				}
				taken <- c
				runtime.Goexit()
			}}
			s.ConnState = func(_ net.Conn, state gallop.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, state.String())
			}
			client, server := wiretest.Pipe()
			go on.Serve(s)(server)
			io.WriteString(client, wiretest.Get("/"))
			c := <-taken
			synctest.Wait()
			if _, err := io.WriteString(c, "mine"); err != nil {
				t.Error(err)
			}
			c.Close()
			if b, err := io.ReadAll(client); string(b) != "mine" || err != nil {
				t.Errorf("%q, %v", b, err)
			}
			if n := s.GetOpenConnectionsCount(); n != 0 {
				t.Errorf("%d connections are open", n)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(states, " "); got != "new active hijacked" {
				t.Error(got)
			}
		})
	})
}
