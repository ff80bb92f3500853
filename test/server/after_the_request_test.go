package server_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A body that is passed on as the response ends after the handler has returned. Watching the connection then would
// take the first byte of the next request.
func TestDoneAndABodyThatIsTheResponse(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			ctx.Done()
			if !ctx.IsPost() {
				t.Errorf("method %s", ctx.Method())
			}
			if body := ctx.RequestBodyStream(); body != nil {
				ctx.SetBodyStream(body, -1)
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 3 {
				c.Send(wiretest.Post("Content-Length: 5", "hello")).Want(200)
				c.WantBody("hello")
				c.Pause(time.Second)
			}
		})
	})
}

// A context that was derived from that of the request looks at it when the handler has
// returned, from a goroutine of package context's own.
func TestDerivedContextsOutliveTheRequest(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		derived := make(chan context.Context, 100)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetUserValue("k", "v")
			child, cancel := context.WithTimeout(ctx, time.Hour)
			_ = cancel // that the request ends has to do
			derived <- child
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for range 20 {
				c.Send(wiretest.Get("/")).Want(200)
				child := <-derived
				<-child.Done()
				if child.Err() != context.Canceled || child.Value("k") != "v" {
					t.Errorf("%v, %v", child.Err(), child.Value("k"))
				}
			}
		})
	})
}

// A response that replaces a handler's response is sent once.
func TestTimeoutErrorThenPanic(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/late" {
				ctx.TimeoutError("late")
				panic("on purpose")
			}
			ctx.SetBodyString("fine")
		}}
		synctest.Test(t, func(t *testing.T) {
			for range 10 {
				c := wiretest.Start(t, on.Serve(s))
				c.Send(wiretest.Get("/late")).Want(408)
				c.WantEOF()
				c = wiretest.Start(t, on.Serve(s))
				c.Send(wiretest.Get("/")).Want(200)
				c.WantBody("fine")
				c.Conn().Close()
				synctest.Wait()
			}
		})
	})
}

// A handler that exits its goroutine has not completed its response, so the client must not get it as if it were complete.
func TestTimeoutHandlerAndGoexit(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			ctx.SetBodyString("left")
			runtime.Goexit()
		}, time.Hour, "late")}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).WantEOF().WantAfter(0, time.Second)
		})
	})
}

// A handler may abort its response behind TimeoutHandler, too, in time and late.
func TestTimeoutHandlerAndAbort(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/late" {
				time.Sleep(time.Minute)
			}
			panic(gallop.ErrAbortHandler)
		}, time.Second, "late")}
		on.Talk(t, s, func(c *wiretest.Conversation) { c.Send(wiretest.Get("/")).WantEOF() })
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/late")).Want(408)
			c.Pause(2 * time.Minute)
		})
		if log.String() != "" {
			t.Errorf("logged %q", log.String())
		}
	})
}

func TestTimeoutHandlerLogsLatePanics(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: gallop.TimeoutHandler(func(*gallop.RequestCtx) {
			time.Sleep(time.Minute)
			panic("on purpose")
		}, time.Second, "late")}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(408)
			c.Pause(2 * time.Minute)
			if !strings.Contains(log.String(), "on purpose") {
				t.Errorf("logged %q", log.String())
			}
		})
	})
}

// A handler that is late may not write among what the server answers for it.
func TestLateInterimResponses(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			tried := make(chan error, 1)
			s := &gallop.Server{Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
				time.Sleep(2 * time.Second)
				ctx.Response.Header.Set("Link", "</a>")
				tried <- ctx.EarlyHints()
			}, time.Second, "late")}
			c := wiretest.Start(t, on.Serve(s))
			c.Patience = time.Hour
			c.Send(wiretest.Get("/"), "GET / HTTP/1.1\r\n") // so that the server waits for the end
			c.Want(408)
			if err := <-tried; err != context.DeadlineExceeded {
				t.Error(err)
			}
			c.WantEnd()
		})
	})
}

// A handler that keeps the body must not disturb where the body ends.
func TestBodyReadByAGoroutineThatStays(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		body := make(chan io.Reader, 1)
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			if r := ctx.RequestBodyStream(); r != nil {
				body <- r
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello").Want(200)
			synctest.Wait() // for the rest of the body
			if n, err := (<-body).Read(make([]byte, 3)); err != gallop.ErrBodyClosed {
				t.Errorf("%d, %v", n, err)
			}
			c.Send("world", wiretest.Get("/")).Want(200)
		})
	})
}

// closing is a user value that tells when it is closed, and may not survive it.
type closing struct {
	closed chan<- string
	panics bool
}

func (c closing) Close() error {
	c.closed <- "closed"
	if c.panics {
		panic("on purpose")
	}
	return nil
}

func TestUserValuesOfALateHandlerAreClosed(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			events := make(chan string, 10)
			s := &gallop.Server{Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
				ctx.SetUserValue("k", closing{closed: events})
				time.Sleep(time.Minute)
				events <- "returned"
			}, time.Second, "late")}
			c := wiretest.Start(t, on.Serve(s))
			c.Send(wiretest.Get("/")).Want(408)
			c.WantEOF()
			if first, then := <-events, <-events; first != "returned" || then != "closed" {
				t.Errorf("%s, then %s", first, then)
			}
		})
	})
}

// lookingValue is a user value that looks at its request when it is closed.
type lookingValue struct {
	ctx  *gallop.RequestCtx
	seen chan<- string
}

func (v lookingValue) Close() error {
	v.seen <- string(v.ctx.Request.Header.Peek("X-Own"))
	return nil
}

// A user value that is closed after the response still sees the request, on a connection that stays open as well.
func TestUserValueSeesItsRequestWhenClosed(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		seen := make(chan string, 2)
		s := &gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) { ctx.SetUserValue("k", lookingValue{ctx, seen}) }}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/", "X-Own: first")).Want(200)
			c.Send(wiretest.Get("/", "X-Own: second", "Connection: close")).Want(200)
			c.WantEOF()
		})
		if first, second := <-seen, <-seen; first != "first" || second != "second" {
			t.Errorf("saw %q and %q", first, second)
		}
	})
}

func TestUserValueThatPanicsWhenClosed(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		events := make(chan string, 10)
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetUserValue("k", closing{events, true})
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/")).Want(200)
			c.Send(wiretest.Get("/")).Want(200)
		})
		if n := strings.Count(log.String(), "on purpose"); n != 2 || len(events) != 2 {
			t.Errorf("closed %d times, logged %q", len(events), log.String())
		}
	})
}

// Nothing else stays open because of a value that panics when it is closed.
func TestWhatElseIsClosedBesideAPanic(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		events := make(chan string, 10)
		s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			for i := range 4 {
				ctx.SetUserValue(i, closing{events, i%2 == 0})
			}
			ctx.Hijack(func(net.Conn) {})
			ctx.HijackSetNoResponse(true)
			ctx.SetBodyStream(struct {
				io.Reader
				closing
			}{strings.NewReader("never sent"), closing{closed: events}}, -1)
		}}
		synctest.Test(t, func(t *testing.T) {
			client, server := wiretest.Pipe()
			go on.Serve(s)(server)
			io.WriteString(client, wiretest.Get("/"))
			io.Copy(io.Discard, client)
			client.Close()
			synctest.Wait()
			if len(events) != 5 {
				t.Errorf("%d of 5 were closed", len(events))
			}
		})
	})
}

// A late reader that is about to wait for the client does not keep its server waiting,
// whenever it is cut off.
func TestLateReaderThatJustBeganToRead(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Duration{0, time.Microsecond, 50 * time.Microsecond, time.Millisecond} {
		client, server := net.Pipe()
		slow := &slowDeadline{Conn: server}
		s := &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			body := ctx.RequestBodyStream()
			slow.delay.Store(true)
			go body.Read(make([]byte, 10))
			time.Sleep(at)
			ctx.TimeoutError("late")
		}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.ServeConn(slow)
		}()
		go io.Copy(io.Discard, client)
		io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("the server waits for the late reader")
		}
		client.Close()
		<-ended
	}
}

// slowDeadline takes its time to set the deadlines that are ahead.
type slowDeadline struct {
	net.Conn
	delay   atomic.Bool
	setting atomic.Bool // one has begun
}

func (c *slowDeadline) SetReadDeadline(t time.Time) error {
	c.wait(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *slowDeadline) SetWriteDeadline(t time.Time) error {
	c.wait(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *slowDeadline) wait(t time.Time) {
	if c.delay.Load() && (t.IsZero() || time.Until(t) > 0) {
		c.setting.Store(true)
		time.Sleep(20 * time.Millisecond)
	}
}

// A deadline that is set while the server sets one of its own is the one that holds, as does that a
// request is over.
func TestDeadlinesThatAreSetAtOnce(t *testing.T) {
	t.Parallel()
	read := func(ctx *gallop.RequestCtx) error {
		_, err := ctx.RequestBodyStream().Read(make([]byte, 10))
		return err
	}
	write := func(ctx *gallop.RequestCtx) error {
		stream, err := ctx.StreamResponse()
		if err == nil {
			_, err = stream.Write(make([]byte, 1<<20))
		}
		return err
	}
	past := time.Unix(1, 0)
	for name, tt := range map[string]struct {
		blocks func(*gallop.RequestCtx) error
		ends   func(*gallop.RequestCtx)
	}{
		"reading":                       {read, func(ctx *gallop.RequestCtx) { ctx.SetReadDeadline(past) }},
		"writing":                       {write, func(ctx *gallop.RequestCtx) { ctx.SetWriteDeadline(past) }},
		"writing when the time is over": {write, func(ctx *gallop.RequestCtx) { ctx.TimeoutError("late") }},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := net.Pipe()
			slow := &slowDeadline{Conn: server}
			late := make(chan error, 1)
			s := &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: true, MinBodyRate: -1, WriteTimeout: time.Hour, Handler: func(ctx *gallop.RequestCtx) {
				slow.delay.Store(true)
				go func() { late <- tt.blocks(ctx) }()
				for range 5000 {
					if slow.setting.Load() {
						break
					}
					time.Sleep(time.Millisecond)
				}
				if tt.ends(ctx); ctx.LastTimeoutErrorResponse() == nil {
					late <- <-late
				}
			}}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.ServeConn(slow)
			}()
			io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
			select {
			case <-ended:
			case err := <-late:
				if late <- err; err == nil {
					t.Error("no error")
				}
			case <-time.After(10 * time.Second):
				t.Error("it still waits")
			}
			client.Close()
			<-ended
		})
	}
}

// A context in the hands of a test can be made new as often as wanted.
func TestInitAfterDone(t *testing.T) {
	var ctx gallop.RequestCtx
	for range 3 {
		ctx.Init(nil, nil, nil)
		if ctx.Err() != nil || ctx.LastTimeoutErrorResponse() != nil || ctx.UserValue("k") != nil {
			t.Error("something is left")
		}
		select {
		case <-ctx.Done():
			t.Error("it has ended")
		default:
		}
		ctx.SetUserValue("k", "v")
		ctx.TimeoutError("late")
	}
}

// A handler that is late may not take the connection, and is told so.
func TestLateHijackConn(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, after := range map[string]time.Duration{"at the last request": 2 * time.Second, "at the end": time.Hour} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tried := make(chan error, 1)
					s := &gallop.Server{Logger: servertest.Quiet, Handler: gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
						time.Sleep(after)
						defer func() {
							if v := recover(); v != nil {
								t.Error(v)
								tried <- nil
							}
						}()
						_, err := ctx.HijackConn()
						tried <- err
					}, time.Second, "late")}
					c := wiretest.Start(t, on.Serve(s))
					c.Patience = 2 * time.Hour
					c.Send(wiretest.Get("/"), "GET / HTTP/1.1\r\n").Want(408) // the server waits for the end
					if err := <-tried; err != context.DeadlineExceeded {
						t.Error(err)
					}
				})
			})
		}
	})
}

// interrupted is a connection on which the rest of a body arrives just when the server interrupts a read.
type interrupted struct {
	net.Conn
	rest    string // of the body
	past    chan struct{}
	waits   atomic.Bool  // the next read waits for the interruption
	waiting atomic.Bool  // that read has begun
	reading atomic.Int64 // reads that have not ended
	left    atomic.Int64 // reads that had not ended when the server closed the connection
}

func (c *interrupted) Read(p []byte) (int, error) {
	if c.waits.Swap(false) {
		c.waiting.Store(true)
		<-c.past
		return copy(p, c.rest), nil
	}
	c.reading.Add(1)
	defer c.reading.Add(-1)
	return c.Conn.Read(p)
}

func (c *interrupted) Close() error {
	c.left.Store(c.reading.Load())
	return c.Conn.Close()
}

func (c *interrupted) SetReadDeadline(t time.Time) error {
	if c.waiting.Load() && t.Equal(time.Unix(1, 0)) {
		c.past <- struct{}{}
	}
	return c.Conn.SetReadDeadline(t)
}

// A goroutine may read the end of the body when its handler has returned. The server sends the response all the same, and
// nothing that the request began still reads from the connection afterwards.
func TestBodyThatEndsWhenItIsCutOff(t *testing.T) {
	for name, respond := range map[string]func(ctx *gallop.RequestCtx){
		"response in memory": func(ctx *gallop.RequestCtx) {},
		"body stream":        func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(strings.NewReader("stream"), -1) },
		"response stream": func(ctx *gallop.RequestCtx) {
			if _, err := ctx.StreamResponse(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				_ = client.SetDeadline(time.Now().Add(time.Minute))
				c := &interrupted{Conn: server, rest: "world", past: make(chan struct{}, 10)}
				s := &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
					ctx.Done()
					ctx.Request.FullDuplex = true
					body := ctx.RequestBodyStream()
					_, _ = io.ReadFull(body, make([]byte, 5))
					c.waits.Store(true)
					go io.ReadAll(body)
					synctest.Wait()
					respond(ctx)
				}}
				go s.ServeConn(c)
				defer client.Close()
				go io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
				got, err := io.ReadAll(client)
				synctest.Wait()
				if n := c.left.Load(); n > 0 || err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 ") {
					t.Errorf("%d reads outlive the request, and the response is %q, %v", n, got, err)
				}
			})
		})
	}
}

// Init ends the previous request of a RequestCtx. It closes each user value once, also if something may still wait for the end of that
// request.
func TestInitClosesValuesOnce(t *testing.T) {
	for name, before := range map[string]func(ctx *gallop.RequestCtx){
		"plain": func(*gallop.RequestCtx) {},
		"Done":  func(ctx *gallop.RequestCtx) { ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			closed := 0
			ctx.SetUserValue("value", countsClose{&closed})
			before(&ctx)
			ctx.Init(nil, nil, nil)
			if closed != 1 {
				t.Errorf("closed %d times", closed)
			}
			if ctx.UserValue("value") != nil {
				t.Error("the next request has the value")
			}
		})
	}
}

type countsClose struct{ n *int }

func (c countsClose) Close() error {
	*c.n++
	return nil
}
