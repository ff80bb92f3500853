package framing_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerOwnsTheFraming has handlers treat bodies carelessly: whatever they read,
// or do not, the next request begins where this one ends, or there is none.
func TestServerOwnsTheFraming(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		const after = "GET /after HTTP/1.1\r\nHost: a\r\n\r\n"
		form := multipartSmuggle()
		chunked := wiretest.Post("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\nX: y\r\n\r\n")
		long := wiretest.Post("Transfer-Encoding: chunked", strings.Repeat("1000\r\n"+strings.Repeat(smuggled, 4096/len(smuggled)+1)[:4096]+"\r\n", 20)+"0\r\n\r\n")
		fixed := wiretest.Post(fmt.Sprintf("Content-Length: %d", 1000*len(smuggled)), strings.Repeat(smuggled, 1000))
		for _, tt := range []struct {
			name    string
			wire    string
			handler gallop.RequestHandler
		}{
			{"nothing of a fixed length is read", fixed, func(*gallop.RequestCtx) {}},
			{"one octet of a fixed length is read", fixed, func(ctx *gallop.RequestCtx) {
				if r := ctx.RequestBodyStream(); r != nil {
					_, _ = r.Read(make([]byte, 1))
				}
			}},
			{"the length is changed", fixed, func(ctx *gallop.RequestCtx) { ctx.Request.Header.SetContentLength(0) }},
			{"a form with an epilogue", form, func(ctx *gallop.RequestCtx) { _, _ = ctx.MultipartForm() }},
			{"a form of which one value is read", form, func(ctx *gallop.RequestCtx) { ctx.FormValue("a") }},
			{"a form that is too large for the handler", form, func(ctx *gallop.RequestCtx) { _, _ = ctx.MultipartFormWithLimit(10) }},
			{"read beyond the end", chunked, func(ctx *gallop.RequestCtx) {
				if r := ctx.RequestBodyStream(); r != nil {
					for range 3 {
						_, _ = io.Copy(io.Discard, r)
					}
				}
				ctx.PostBody()
			}},
			{"one octet is read", long, func(ctx *gallop.RequestCtx) {
				if r := ctx.RequestBodyStream(); r != nil {
					_, _ = r.Read(make([]byte, 1))
				}
			}},
			{"nothing is read", long, func(*gallop.RequestCtx) {}},
			{"the stream is closed", long, func(ctx *gallop.RequestCtx) { _ = ctx.Request.CloseBodyStream() }},
			{"the body is reset", long, func(ctx *gallop.RequestCtx) { ctx.Request.ResetBody() }},
			{"the body is replaced", long, func(ctx *gallop.RequestCtx) { ctx.Request.SetBodyString("other") }},
			{"the request is reset", long, func(ctx *gallop.RequestCtx) { ctx.Request.Reset() }},
			{"the framing fields are changed", long, func(ctx *gallop.RequestCtx) {
				ctx.Request.Header.Del("Transfer-Encoding")
				ctx.Request.Header.SetContentLength(3)
			}},
			{"the handler panics", long, func(*gallop.RequestCtx) { panic("on purpose") }},
		} {
			for _, stream := range []bool{false, true} {
				t.Run(tt.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var paths []string
						s := &gallop.Server{StreamRequestBody: stream, Logger: new(servertest.Log), Handler: func(ctx *gallop.RequestCtx) {
							paths = append(paths, string(ctx.Path()))
							if len(paths) == 1 {
								tt.handler(ctx)
							}
						}}
						out, err := wiretest.ConverseTranscript(on.Serve(s), nil, []byte(tt.wire+after))
						if err != nil {
							t.Fatalf("%v\n%s", err, out)
						}
						got, responses := strings.Join(paths, " "), strings.Count(out, "\n")
						switch {
						case got == "/ /after" && responses == 2:
						case got == "/" && responses == 1 && strings.Contains(out, `{"Connection" "close"}`):
						default:
							t.Errorf("handled %q\n%s", got, out)
						}
					})
				})
			}
		}
	})
}

// TestServerOwnsTheFramingInHooks has functions that see the head before the body change what it
// says: the request ends where it does.
func TestServerOwnsTheFramingInHooks(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		lines := fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d", len(smuggled))
		for name, change := range map[string]func(*gallop.RequestHeader){
			"the length is deleted": func(h *gallop.RequestHeader) { h.Del("Content-Length") },
			"the length is 0":       func(h *gallop.RequestHeader) { h.SetContentLength(0) },
			"the length is 1":       func(h *gallop.RequestHeader) { h.SetContentLength(1) },
			"there is a coding":     func(h *gallop.RequestHeader) { h.Set("Transfer-Encoding", "chunked") },
			"the head is empty":     func(h *gallop.RequestHeader) { h.Reset() },
		} {
			for hook, set := range map[string]func(*gallop.Server){
				"HeaderReceived": func(s *gallop.Server) {
					s.HeaderReceived = func(h *gallop.RequestHeader) (rc gallop.RequestConfig) { change(h); return }
				},
				"ContinueHandler": func(s *gallop.Server) {
					s.ContinueHandler = func(h *gallop.RequestHeader) bool { change(h); return true }
				},
				"ExpectHandler": func(s *gallop.Server) {
					s.ExpectHandler = func(ctx *gallop.RequestCtx) int { change(&ctx.Request.Header); return 100 }
				},
			} {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprint(hook, "/", name, "/stream ", stream), func(t *testing.T) {
						s := &gallop.Server{StreamRequestBody: stream, Handler: func(ctx *gallop.RequestCtx) { ctx.Write(ctx.PostBody()) }}
						set(s)
						on.Talk(t, s, func(c *wiretest.Conversation) {
							c.Send(wiretest.Post(lines, smuggled))
							if hook != "HeaderReceived" {
								c.Want(100)
							}
							c.Want(200)
							c.WantBody(smuggled).WantSilence(time.Second)
						})
					})
				}
			}
		}
	})
}

// TestServerCutsOffLateHandlers holds that a handler which has timed out reads nothing
// any more of a connection that is not its own.
func TestServerCutsOffLateHandlers(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			late := make(chan error, 1)
			s := &gallop.Server{StreamRequestBody: true, Logger: new(servertest.Log)}
			s.Handler = gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
				if string(ctx.Path()) != "/" {
					return
				}
				body := ctx.RequestBodyStream()
				time.Sleep(1500 * time.Millisecond)
				n, err := body.Read(make([]byte, 100))
				if n > 0 {
					t.Errorf("a late handler read %d octets", n)
				}
				late <- err
			}, time.Second, "late")
			c := wiretest.Start(t, on.Serve(s))
			c.Patience = time.Minute
			c.Send(wiretest.Post("Content-Length: 10", "hello")).Want(408)
			c.WantBody("late").WantField("Connection", "close")
			c.Pause(700 * time.Millisecond) // the server still waits for the client to end
			select {
			case err := <-late:
				if err == nil || err == io.EOF {
					t.Errorf("a late handler read to the end: %v", err)
				}
			default:
				t.Error("a late handler reads from the connection")
			}
			c.WantEnd()
		})
	})
}

// TestServerRefusedExpectation holds that a refused body is no request, sent or not,
// and that the refusal is forgotten with its connection.
func TestServerRefusedExpectation(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := servertest.NewEchoServer(false)
			s.ContinueHandler = func(h *gallop.RequestHeader) bool { return len(h.Peek("X-Refuse")) == 0 }
			for range 2 {
				c := wiretest.Start(t, on.Serve(&s.Server))
				c.Send(wiretest.Post("Expect: 100-continue\r\nX-Refuse: y\r\nContent-Length: 41", smuggled)).Want(417)
				c.WantEOF()
				c = wiretest.Start(t, on.Serve(&s.Server))
				c.Send(wiretest.Post("Expect: 100-continue\r\nContent-Length: 2", "")).Want(100)
				c.Send("hi").Want(200)
			}
			if n := s.Calls.Load(); n != 2 {
				t.Errorf("%d handler calls, want 2", n)
			}
		})
	})
}

// TestServerStreamsToHEAD holds that a response to HEAD has no body, not even the end
// of one, whatever the handler streams.
func TestServerStreamsToHEAD(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, set := range map[string]gallop.RequestHandler{
			"writer": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("body") })
			},
			"reader":      func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), -1) },
			"reader of 4": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("body"), 4) },
			"writer, trailers": func(ctx *gallop.RequestCtx) {
				_ = ctx.Response.Header.SetTrailer("X-T")
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("body") })
				ctx.Response.Header.Set("X-T", "v")
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{Logger: new(servertest.Log), Handler: set}
				c := wiretest.Start(t, on.Serve(s))
				head := "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
				c.Send(head, get("A: b"), head)
				c.WantTo("HEAD", 200)
				c.Want(200)
				c.WantBody("body")
				c.WantTo("HEAD", 200)
			})
		}
	})
}

// TestServerStreamFails holds that a response which breaks in its middle is not ended
// as if it were whole, and costs nothing but its connection.
func TestServerStreamFails(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, set := range map[string]gallop.RequestHandler{
			"writer panics": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = w.WriteString("part")
					_ = w.Flush()
					panic("on purpose")
				})
			},
			"reader fails": func(ctx *gallop.RequestCtx) {
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("part"), brokenReader{}), -1)
			},
			"reader is too short": func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("part"), 10) },
		} {
			t.Run(name, func(t *testing.T) {
				s := &gallop.Server{Logger: new(servertest.Log), Handler: set}
				out, err := wiretest.Converse(on.Serve(s), []byte(get("A: b")+get("A: b")))
				if err != nil {
					t.Fatal(err)
				}
				if r, n, err := wiretest.Parse(out, "GET", true); err == nil && n > 0 && r.Status == 200 {
					t.Errorf("a broken response looks whole: %q", out)
				}
				if n := strings.Count(string(out), "HTTP/1.1"); n > 1 {
					t.Errorf("%d responses behind a broken one: %q", n, out)
				}
			})
		}
	})
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// TestServerMethods holds what happens to methods that a server has to know about.
func TestServerMethods(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := servertest.NewEchoServer(false)
		for method, want := range map[string]int{"TRACE": 405, "CONNECT": 400, "BREW": 200, "get": 200} {
			c := wiretest.Start(t, on.Serve(&s.Server))
			r := c.Send(wiretest.Request(method, "/")).WantTo(method, want)
			if want == 405 && r.Get("Allow") == "" {
				t.Errorf("%s: 405 without Allow (RFC 9110 §15.5.6)", method)
			}
		}
	})
}

// TRACE and CONNECT have no content (RFC 9110 §9.3.6 and §9.3.8). A server that ignores the content would read it as
// the next request.
func TestServerRefusesContentOfTraceAndConnect(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for _, start := range []string{"TRACE / HTTP/1.1\r\nHost: a\r\n", "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n"} {
			for framing, want := range map[string]int{
				"": 200, "Content-Length: 0\r\n": 200,
				"Content-Length: 1\r\n": 400, "Content-Length: 44\r\n": 400, "Transfer-Encoding: chunked\r\n": 400,
			} {
				if want == 200 && start[0] == 'C' {
					continue // the handler has to take the connection over
				}
				s := servertest.NewEchoServer(false)
				s.AllowTrace = true
				on.Talk(t, &s.Server, func(c *wiretest.Conversation) {
					c.Send(start + framing + "\r\n").Want(want)
					if want == 400 {
						c.WantEOF()
					}
				})
			}
		}
	})
}
