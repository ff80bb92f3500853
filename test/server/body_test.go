package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

type netConn = net.Conn

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: servertest.Say, MaxRequestBodySize: 10}
		chunked := wiretest.Request("POST", "/", "Transfer-Encoding: chunked")
		for _, tc := range []struct {
			name, request string
			status        int
		}{
			{"just fits", servertest.PostTo("/", "0123456789"), 200},
			{"one too long", servertest.PostTo("/", "0123456789a"), 413},
			{"announced only", wiretest.Request("POST", "/", "Content-Length: 99999999999"), 413},
			{"chunks fit", chunked + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", 200},
			{"chunks too long", chunked + "5\r\n01234\r\n6\r\n56789a\r\n0\r\n\r\n", 413},
			{"one chunk too long", chunked + "b\r\n0123456789a\r\n0\r\n\r\n", 413},
		} {
			t.Run(tc.name, func(t *testing.T) {
				on.Talk(t, s, func(c *wiretest.Conversation) {
					c.Send(tc.request)
					c.Want(tc.status)
				})
			})
		}
	})
}

func TestHeaderReceivedSetsLimits(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: servertest.Say, HeaderReceived: func(h *gallop.RequestHeader) gallop.RequestConfig {
			if string(h.RequestURI()) == "/small" {
				return gallop.RequestConfig{MaxRequestBodySize: 3, ReadTimeout: time.Second}
			}
			return gallop.RequestConfig{}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(servertest.PostTo("/large", "01234"))
			c.Want(200)
			c.Send(servertest.PostTo("/small", "01234"))
			c.Want(413)
		})
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Request("POST", "/small", "Content-Length: 2"))
			c.Want(408)
			slack := time.Second / 2
			if on.HTTP2() { // looks at its time limits once per second, and twice at a late body
				slack = 2 * time.Second
			}
			c.WantAfter(time.Second, slack)
		})
	})
}

// A request whose body is to be streamed reaches its handler before the body, and its body may be larger than others.
func TestHeaderReceivedStreamsBodies(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{MaxRequestBodySize: 3, Handler: func(ctx *gallop.RequestCtx) {
			body := ctx.RequestBodyStream()
			if body == nil {
				fmt.Fprintf(ctx, "collected %q", ctx.PostBody())
				return
			}
			all, err := io.ReadAll(body)
			fmt.Fprintf(ctx, "streamed %q %v", all, err)
		}, HeaderReceived: func(h *gallop.RequestHeader) gallop.RequestConfig {
			return gallop.RequestConfig{StreamRequestBody: string(h.RequestURI()) == "/stream"}
		}}
		for range 2 { // the setting of one request is not that of the next
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send(servertest.PostTo("/stream", "01234"))
				c.Want(200)
				c.WantBody(`streamed "01234" <nil>`)
				c.Send(servertest.PostTo("/", "012"))
				c.Want(200)
				c.WantBody(`collected "012"`)
				c.Send(servertest.PostTo("/stream", ""))
				c.Want(200)
				c.WantBody(`streamed "" <nil>`)
				c.Send(servertest.PostTo("/", "01234"))
				c.Want(413)
			})
		}
	})
}

func TestContinueIsSentByTheFirstRead(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		expect := wiretest.Request("POST", "/", "Content-Length: 5", "Expect: 100-continue")
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint("stream ", stream), func(t *testing.T) {
				read := &gallop.Server{Handler: servertest.Say, StreamRequestBody: stream}
				on.Talk(t, read, func(c *wiretest.Conversation) {
					c.Send(expect)
					if r := c.Next("POST"); r.Status != 100 {
						t.Fatalf("got %d", r.Status)
					}
					c.Send("hello")
					c.Want(200)
					c.WantBody(`POST / "hello"`)
					c.Send(wiretest.Get("/next"))
					c.Want(200)
				})
				refuse := &gallop.Server{StreamRequestBody: stream, Handler: func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(403) }}
				on.Talk(t, refuse, func(c *wiretest.Conversation) {
					c.Send(expect)
					c.Want(403)
					c.WantEnd() // the body may or may not come: no telling what is next
				})
			})
		}
		t.Run("sent already", func(t *testing.T) {
			on.Talk(t, &gallop.Server{Handler: servertest.Say}, func(c *wiretest.Conversation) {
				c.Send(expect + "hello")
				if r := c.Next("POST"); r.Status == 100 && on.HTTP2() { // the body comes in a frame of its own, perhaps later
					c.Next("POST")
				} else if r.Status != 200 {
					t.Fatalf("status %d", r.Status)
				}
				c.WantBody(`POST / "hello"`)
			})
		})
		t.Run("too large", func(t *testing.T) {
			on.Talk(t, &gallop.Server{Handler: servertest.Say, MaxRequestBodySize: 3}, func(c *wiretest.Conversation) {
				c.Send(expect)
				c.Want(413)
			})
		})
		t.Run("ContinueHandler", func(t *testing.T) {
			s := &gallop.Server{Handler: servertest.Say, ContinueHandler: func(h *gallop.RequestHeader) bool { return h.ContentLength() < 5 }}
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send(expect)
				c.Want(417)
				c.WantEnd()
			})
		})
		t.Run("ExpectHandler", func(t *testing.T) {
			s := &gallop.Server{Handler: servertest.Say, ExpectHandler: func(ctx *gallop.RequestCtx) int { return 401 }}
			on.Talk(t, s, func(c *wiretest.Conversation) {
				c.Send(expect)
				c.Want(401)
				c.WantEnd()
			})
		})
	})
}

func TestStreamedBody(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		handler := func(ctx *gallop.RequestCtx) {
			r := ctx.RequestBodyStream()
			if r == nil {
				ctx.SetBodyString("no stream")
				return
			}
			b, err := io.ReadAll(r)
			if err == nil {
				if n, again := r.Read(make([]byte, 10)); n != 0 || again != io.EOF {
					err = fmt.Errorf("read %d, %v behind the end", n, again)
				}
			}
			fmt.Fprintf(ctx, "%d %v", len(b), err)
		}
		s := &gallop.Server{Handler: handler, StreamRequestBody: true, MaxRequestBodySize: 10}
		big := strings.Repeat("x", 100_000)
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
			c.WantBody("no stream")
			c.Send(servertest.PostTo("/", big), servertest.PostTo("/", "hello"))
			c.Want(200)
			c.WantBody("100000 <nil>")
			c.Want(200)
			c.WantBody("5 <nil>")
			c.Send(wiretest.Request("POST", "/", "Transfer-Encoding: chunked"), fmt.Sprintf("%x\r\n%s\r\n", len(big), big), "1\r\ny\r\n0\r\n\r\n", wiretest.Get("/"))
			c.Want(200)
			c.WantBody("100001 <nil>")
			c.Want(200)
		})
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Request("POST", "/", "Content-Length: 9"), "short").CloseWrite()
			c.Want(200)
			c.WantBody("5 unexpected EOF")
			c.WantEnd()
		})
	})
}

func TestUnreadBody(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		unread := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {}}
		smuggled := wiretest.Get("/smuggled")
		t.Run("a little is dropped", func(t *testing.T) {
			on.Talk(t, unread, func(c *wiretest.Conversation) {
				c.Send(servertest.PostTo("/", strings.Repeat("x", 8192)+smuggled), wiretest.Get("/next", "Connection: close"))
				c.Want(200)
				c.Want(200)
				c.WantEOF()
			})
		})
		t.Run("much ends the connection", func(t *testing.T) {
			on.Talk(t, unread, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request("POST", "/", "Content-Length: 1000000"))
				c.Want(200)
				c.WantField("Connection", "close")
				c.WantEnd()
			})
		})
		t.Run("what does not come ends the connection", func(t *testing.T) {
			on.Talk(t, unread, func(c *wiretest.Conversation) {
				c.Send(wiretest.Request("POST", "/", "Content-Length: 1000"))
				c.Want(200)
				c.WantEnd()
				c.WantAfter(time.Second, 7*time.Second)
			})
		})
	})
}

func TestBodyKeptTooLongReadsNothing(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		kept := make(chan io.Reader, 1)
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) { kept <- ctx.RequestBodyStream() }}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(servertest.PostTo("/", "hello"))
			c.Want(200)
			if n, err := (<-kept).Read(make([]byte, 9)); n != 0 || !errors.Is(err, gallop.ErrBodyClosed) {
				t.Errorf("read %d, %v", n, err)
			}
		})
	})
}

func TestReaderLeftRunningIsInterrupted(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		ended := make(chan error, 1)
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			r := ctx.RequestBodyStream()
			go func() {
				_, err := io.Copy(io.Discard, r)
				ended <- err
			}()
			time.Sleep(time.Second)
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Request("POST", "/", "Content-Length: 100"), "some")
			c.Want(200)
			c.WantEnd()
			if err := <-ended; err == nil {
				t.Error("the reader saw a whole body")
			}
		})
	})
}

func TestStreamedResponses(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, tc := range []struct {
			name    string
			handler gallop.RequestHandler
			body    string
			chunked bool
		}{
			{"reader of unknown size", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), -1) }, "hello", true},
			{"reader of known size", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), 5) }, "hello", false},
			{"only so much of a reader", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), 3) }, "hel", false},
			{"empty reader", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader(""), -1) }, "", true},
			{"writer", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "hello") })
			}, "hello", true},
			{"large writer", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, strings.Repeat("x", 100000)) })
			}, strings.Repeat("x", 100000), true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				on.Talk(t, &gallop.Server{Handler: tc.handler}, func(c *wiretest.Conversation) {
					for _, method := range []string{"GET", "HEAD", "GET"} {
						c.Send(wiretest.Request(method, "/"))
						c.WantTo(method, 200)
						if method == "GET" {
							c.WantBody(tc.body)
						}
						if tc.chunked {
							c.WantField("Transfer-Encoding", "chunked")
						}
					}
					c.Send("GET / HTTP/1.0\r\n\r\n")
					c.Want(200)
					c.WantBody(tc.body)
					c.WantEOF()
				})
			})
		}
	})
}

func TestEventsArriveWhenFlushed(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetContentType("text/event-stream")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for i := range 3 {
					fmt.Fprintf(w, "data: %d\n\n", i)
					if w.Flush() != nil {
						return
					}
					time.Sleep(time.Minute)
				}
			})
		}}
		synctest.Test(t, func(t *testing.T) {
			client, server := wiretest.Pipe()
			go on.Serve(s)(server)
			client.Write([]byte(wiretest.Get("/")))
			buf := make([]byte, 4096)
			for i := range 3 {
				synctest.Wait()
				n, _ := client.Read(buf)
				if !strings.Contains(string(buf[:n]), fmt.Sprintf("data: %d", i)) {
					t.Errorf("event %d: %q", i, buf[:n])
				}
				time.Sleep(time.Minute)
			}
			client.Close()
		})
	})
}

func TestBrokenStreamsEndTheConnection(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, tc := range []struct {
			name    string
			handler gallop.RequestHandler
			status  string
			reason  string
		}{
			{"reader fails in the middle", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("x"), failing{}), -1)
			}, "200", "it broke"},
			{"reader is short", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("x"), 10) }, "200", "before the announced size"},
			{"reader fails at once", func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(failing{}, -1) }, "500", "it broke"},
			{"writer panics at once", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { panic("it broke") })
			}, "500", "it broke"},
			{"writer panics later", func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x"); w.Flush(); panic("it broke") })
			}, "200", "it broke"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				var l servertest.Log
				s := &gallop.Server{Handler: tc.handler, Logger: &l}
				synctest.Test(t, func(t *testing.T) {
					client, server := wiretest.Pipe()
					done := make(chan error, 1)
					go func() { done <- on.Serve(s)(server) }()
					client.Write([]byte(wiretest.Get("/") + wiretest.Get("/")))
					b, _ := io.ReadAll(client)
					if got := string(b); strings.Count(got, "HTTP/1.1 ") != 1 || !strings.HasPrefix(got, "HTTP/1.1 "+tc.status) || strings.HasSuffix(got, "0\r\n\r\n") {
						t.Errorf("got %q", got)
					}
					if why := fmt.Sprint(<-done, l.String()); !strings.Contains(why, tc.reason) {
						t.Errorf("got %s", why)
					}
				})
			})
		}
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("it broke") }

func TestResponsesWithoutBody(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			var status int
			fmt.Sscanf(string(ctx.Path()), "/%d", &status)
			ctx.SetStatusCode(status)
			ctx.SetBodyString("body")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for _, status := range []int{204, 304} {
				for _, method := range []string{"GET", "HEAD"} {
					c.Send(wiretest.Request(method, fmt.Sprint("/", status)))
					r := c.WantTo(method, status)
					if len(r.Body) > 0 {
						t.Errorf("%d has the body %q", status, r.Body)
					}
				}
			}
			c.Send(wiretest.Request("HEAD", "/200"))
			c.WantTo("HEAD", 200)
			c.WantField("Content-Length", "4")
		})
	})
}

func TestInterimResponses(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Add("Link", "</a.css>; rel=preload")
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			if err := ctx.WriteInterim(102); err != nil {
				t.Error(err)
			}
			if err := ctx.WriteInterim(101); err == nil {
				t.Error("101 was sent")
			}
			ctx.SetBodyString("done")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			if r := c.Next("GET"); r.Status != 103 {
				t.Errorf("got %d", r.Status)
			}
			c.WantField("Link", "</a.css>; rel=preload")
			if r := c.Next("GET"); r.Status != 102 {
				t.Errorf("got %d", r.Status)
			}
			c.Want(200)
			c.WantBody("done")
			c.Send("GET / HTTP/1.0\r\n\r\n")
			c.Want(200)
		})
	})
}

func TestHijack(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, silent := range []bool{false, true} {
			s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				ctx.SetStatusCode(101)
				ctx.Hijack(func(c net.Conn) {
					r := bufio.NewReader(c)
					line, _ := r.ReadString('\n')
					fmt.Fprintf(c, "you said %s", line)
				})
				ctx.HijackSetNoResponse(silent)
			}}
			synctest.Test(t, func(t *testing.T) {
				client, server := wiretest.Pipe()
				done := make(chan error, 1)
				go func() { done <- on.Serve(s)(server) }()
				client.Write([]byte(wiretest.Get("/", "Connection: upgrade", "Upgrade: x") + "hel"))
				if err := <-done; err != nil {
					t.Error(err)
				}
				client.Write([]byte("lo\n"))
				b, err := io.ReadAll(client)
				if err != nil {
					t.Error(err)
				}
				if got := string(b); !strings.HasSuffix(got, "you said hello\n") || strings.HasPrefix(got, "HTTP/1.1 101 ") == silent {
					t.Errorf("silent %v: got %q", silent, got)
				}
			})
		}
	})
}

func TestConnectNeedsAHijack(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.RequestURI()) == "deny.example:443" {
				ctx.SetStatusCode(403)
			}
		}, Logger: servertest.Quiet}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send("CONNECT deny.example:443 HTTP/1.1\r\nHost: deny.example:443\r\n\r\n")
			c.WantTo("CONNECT", 403)
			c.Send("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
			c.WantTo("CONNECT", 501)
			c.WantEnd()
		})
	})
}

func TestHandlerCannotChangeHowItsResponseIsFramed(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/method":
				ctx.Request.Header.SetMethod("GET")
			case "/reset":
				ctx.Request.Reset()
			case "/close":
				ctx.Request.Header.SetConnectionClose()
			}
			ctx.SetBodyString("body")
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for _, path := range []string{"/method", "/reset", "/close"} {
				c.Send(wiretest.Request("HEAD", path))
				c.WantTo("HEAD", 200)
			}
			c.Send(wiretest.Get("/"))
			c.Want(200)
			c.WantBody("body")
		})
	})
}

func TestEchoWhileTheRequestIsStillComing(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		}}
		big := strings.Repeat("0123456789abcdef", 64<<10)
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 2 {
				c.Send(servertest.PostTo("/", big))
				c.Want(200)
				c.WantBody(big)
			}
		})
	})
}

// A body that was announced is a stream where bodies are streams, also if nothing comes of it: a handler that reads it need
// not know before that the file is empty. Without a body there is none.
func TestEmptyBodyAsAStream(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			r := ctx.RequestBodyStream()
			if announced := ctx.Request.Header.Peek("Content-Length") != nil; (r != nil) != announced {
				t.Errorf("%s: announced %v, stream %v", ctx.Method(), announced, r)
			}
			if r != nil {
				body, err := io.ReadAll(r)
				fmt.Fprintf(ctx, "%q %v %q", body, err, ctx.PostBody())
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 2 {
				c.Send(wiretest.Post("Content-Length: 0", "")).Want(200)
				c.WantBody(`"" <nil> ""`)
				c.Send(wiretest.Get("/")).Want(200)
				c.WantBody("")
			}
		})
	})
}
