package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// The next response does not inherit the time that was left for this one.
func TestWriteTimeoutIsThatOfOneResponse(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, f := range map[string]func(c *wiretest.Conversation){
			"a refusal":             func(c *wiretest.Conversation) { c.Send("GET / HTTP/1.1\r\n\r\n").Want(400) },
			"a slow head":           func(c *wiretest.Conversation) { c.Send("GET /").Want(408) },
			"a refused expectation": func(c *wiretest.Conversation) { c.Send(wiretest.Post("Expect: x\r\nContent-Length: 1", "")).Want(417) },
			"100": func(c *wiretest.Conversation) {
				c.Send(wiretest.Post("Expect: 100-continue\r\nContent-Length: 1", "")).Want(100)
				c.Send("x").Want(200)
			},
			"103": func(c *wiretest.Conversation) {
				c.Send(wiretest.Get("/hints")).Want(103)
				c.Want(200)
			},
			"a response that waits while another body is read": func(c *wiretest.Conversation) {
				c.Send(wiretest.Get("/"), wiretest.Request("POST", "/slow", "Content-Length: 1")).Want(200)
				c.Send("x").Want(200)
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{WriteTimeout: time.Second, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
					switch string(ctx.Path()) {
					case "/hints":
						ctx.Response.Header.Set("Link", "</a>")
						if err := ctx.EarlyHints(); err != nil {
							t.Error(err)
						}
					case "/slow":
						time.Sleep(2 * time.Second)
					}
					ctx.PostBody()
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(wiretest.Get("/")).Want(200)
					c.Pause(5 * time.Second)
					f(c)
				})
			})
		}
	})
}

// The time that a handler takes is not the time that the next client takes, though its
// request had begun to arrive.
func TestTimeoutsOfARequestThatHadToWait(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, rest := range map[string]string{
			"its head": "GET / HTTP/1.1\r\nHo;st: a\r\n\r\n",
			"its body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nx;yz",
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{ReadTimeout: 12 * time.Second, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/slow" {
						time.Sleep(time.Minute)
					}
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					first, then, _ := strings.Cut(rest, ";")
					c.Send(wiretest.Get("/slow") + first)
					c.Pause(time.Second).Send(then)
					c.Want(200)
					c.Want(200)
				})
			})
		}
	})
}

// A tunnel begins behind the head: nothing may say that a body does (RFC 9110 §9.3.6).
func TestTunnelResponse(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetBodyString("not for the tunnel")
			ctx.Hijack(func(c net.Conn) { io.Copy(c, c) })
		}}
		synctest.Test(t, func(t *testing.T) {
			client, server := wiretest.Pipe()
			go on.Serve(s)(server)
			io.WriteString(client, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\nping")
			client.CloseWrite()
			b, err := io.ReadAll(client)
			head, rest, _ := strings.Cut(string(b), "\r\n\r\n")
			if err != nil || rest != "ping" || strings.Contains(head, "Content-Length") || strings.Contains(head, "Transfer-Encoding") {
				t.Errorf("%q, %v", b, err)
			}
		})
	})
}

// Handlers that say what would make the client take the next response for something else.
func TestResponsesThatWouldMislead(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, tt := range map[string]struct {
			status int
			body   string
			handle gallop.RequestHandler
		}{
			"a final 1xx":             {500, "Internal Server Error", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(103) }},
			"a status of two digits":  {500, "Internal Server Error", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(42) }},
			"a status of four digits": {500, "Internal Server Error", func(ctx *gallop.RequestCtx) { ctx.Error("x", 2000) }},
			"101 and no hijack":       {500, "Internal Server Error", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(101) }},
			"SkipBody for GET": {200, "", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyString("body")
				ctx.Response.SkipBody = true
			}},
			"SkipBody and a length": {200, "", func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetContentLength(100)
				ctx.Response.SkipBody = true
			}},
			"SkipBody and a stream": {200, "", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(strings.NewReader("body"), -1)
				ctx.Response.SkipBody = true
			}},
			"HTTP/1.0 and a stream": {200, "body", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(strings.NewReader("body"), -1)
				ctx.Response.Header.SetProtocol([]byte("HTTP/1.0"))
			}},
			"a reader that yields nothing": {200, "part", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("part"), emptyReader{}), 4)
			}},
			"a length of another body": {200, "body", func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.SetContentLength(100)
				ctx.SetBodyString("body")
			}},
			"Transfer-Encoding": {200, "body", func(ctx *gallop.RequestCtx) {
				ctx.Response.Header.Set("Transfer-Encoding", "chunked")
				ctx.SetBodyString("body")
			}},
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/next" {
						ctx.SetBodyString("next")
						return
					}
					tt.handle(ctx)
				}}
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(wiretest.Get("/") + wiretest.Get("/next"))
					r := c.Want(tt.status)
					c.WantBody(tt.body)
					if v := r.Get("Connection"); v == "close" {
						c.WantEnd()
						return
					}
					c.Want(200)
					c.WantBody("next")
				})
			})
		}
	})
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

// A stream that never yields anything ends its connection, not its processor.
func TestResponseStreamWithoutProgress(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(emptyReader{}, -1) }}
		out, err := wiretest.Converse(on.Serve(s), []byte(wiretest.Get("/")))
		if err != nil || strings.HasSuffix(string(out), "0\r\n\r\n") {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// The ConnState hook sees each state once, however a request is cut.
func TestConnStatesOfARequestInPieces(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var states []string
		s := &gallop.Server{
			Handler:   func(*gallop.RequestCtx) {},
			ConnState: func(_ net.Conn, state gallop.ConnState) { states = append(states, state.String()) },
		}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send("GET / HT").Pause(time.Second).Send("TP/1.1\r\nHost: a\r\n\r\n").Want(200)
			c.Send("GET / HT").Pause(time.Second).Send("TP/1.1\r\nHost: a\r\n\r\n").Want(200)
			c.CloseWrite().WantEOF()
			synctest.Wait()
			if got := strings.Join(states, " "); got != "new active idle active idle closed" {
				t.Error(got)
			}
		})
	})
}

// A connection that is turned away over TLS would have to shake hands first, and who
// does not keeps nobody else from being accepted.
func TestTurningAwayOverTLS(t *testing.T) {
	s := &gallop.Server{Handler: func(*gallop.RequestCtx) {}, Concurrency: 1, Logger: servertest.Quiet}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	go s.ServeTLSEmbed(ln, cert, key)
	defer s.Close()
	first, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 3 { // they say nothing
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := bufio.NewReader(c).ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Fatal("not turned away: ", err)
		}
	}
}

// A response may take no longer than WriteTimeout, also if its client takes all of it at once.
func TestWriteTimeoutOfAStream(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, handle := range map[string]func(ctx *gallop.RequestCtx, ended chan<- error){
			"StreamResponse": func(ctx *gallop.RequestCtx, ended chan<- error) {
				s, err := ctx.StreamResponse()
				for range 100 {
					if err == nil {
						_, err = s.WriteString("x")
					}
					if err == nil {
						err = s.Flush()
					}
					time.Sleep(100 * time.Millisecond)
				}
				ended <- err
			},
			"SetBodyStreamWriter": func(ctx *gallop.RequestCtx, ended chan<- error) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					var err error
					for range 100 {
						w.WriteString("x")
						err = w.Flush()
						time.Sleep(100 * time.Millisecond)
					}
					ended <- err
				})
			},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ended := make(chan error, 1)
					s := &gallop.Server{Logger: servertest.Quiet, WriteTimeout: time.Second, Handler: func(ctx *gallop.RequestCtx) { handle(ctx, ended) }}
					client, server := wiretest.Pipe()
					go on.Serve(s)(server)
					io.WriteString(client, wiretest.Get("/"))
					b, _ := io.ReadAll(client)
					if n := strings.Count(string(b), "\r\nx\r\n"); n < 5 || n > 10 {
						t.Errorf("%d pieces in a second", n)
					}
					if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
				})
			})
		}
	})
}

// The WriteTimeout that HeaderReceived sets for a response holds, even if it is short.
func TestWriteTimeoutOfHeaderReceived(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBodyString(strings.Repeat("x", 1000)) }}
			s.HeaderReceived = func(*gallop.RequestHeader) gallop.RequestConfig {
				return gallop.RequestConfig{WriteTimeout: 2 * time.Second}
			}
			client, server := wiretest.Pipe()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				on.Serve(s)(server)
			}()
			io.WriteString(client, wiretest.Get("/"))
			io.ReadFull(client, make([]byte, 1000))
			time.Sleep(time.Second) // the connection is idle
			client.SetWindow(10)
			begun := time.Now()
			io.WriteString(client, wiretest.Get("/"))
			<-ended
			if d := time.Since(begun); d > 3*time.Second {
				t.Errorf("given up after %v", d)
			}
			client.Close()
		})
	})
}
