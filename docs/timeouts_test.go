package docs_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The code of timeouts.md. Tests that wait do so in virtual time.

func TestLimitAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		defer close(release)
		slow := func(*gallop.RequestCtx) { <-release }
		handler := gallop.TimeoutHandler(slow, 10*time.Second, "too slow")
		v := visiting(t, &gallop.Server{Handler: handler})
		if status, body := v.send(v.request("GET", "/", "")); status != 408 || body != "too slow" {
			t.Error(status, body)
		}
	})
}

func TestLimitAHandlerOfWeb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		query := func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		s := &gallop.Server{}
		app := web.New(web.Config{Server: s, NoListenLog: true})
		app.Use(middleware.Timeout{After: 10 * time.Second})
		app.Get("/report", func(c *web.Ctx) error {
			report, err := query(c.Context()) // fails when the deadline passes
			if err != nil {
				return err
			}
			return c.SendString(report)
		})
		v := visiting(t, s)
		v.want(503, "GET", "/report", "")
	})
}

var lookUp = func(ctx context.Context, id string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func find(ctx *gallop.RequestCtx) {
	name, err := lookUp(ctx, string(ctx.QueryArgs().Peek("id")))
	if err != nil {
		ctx.Error("not found", gallop.StatusNotFound)
		return
	}
	ctx.WriteString(name)
}

type cancellable chan bool

func (c cancellable) Cancel() { close(c) }

func TestStopWorkWhenTheClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, job := make(chan bool), make(cancellable)
		v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			stop := ctx.OnDisconnect(func(cause error) { job.Cancel() })
			defer stop()
			find(ctx)
			ended <- true
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := v.client.DoContext(ctx, v.request("GET", "/?id=1", ""), nil); err != gallop.ErrTimeout {
			t.Error(err)
		}
		<-ended
		<-job
	})
}

func TestChangeTheTimeoutsOfOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := func(ctx *gallop.RequestCtx) {
			ctx.SetReadDeadline(time.Time{}) // no limit
			ctx.SetWriteDeadline(time.Now().Add(time.Hour))
		}
		s := &gallop.Server{
			Handler: handler,
			HeaderReceived: func(h *gallop.RequestHeader) gallop.RequestConfig {
				if string(h.RequestURI()) == "/import" {
					return gallop.RequestConfig{ReadTimeout: 10 * time.Minute}
				}
				return gallop.RequestConfig{}
			},
		}
		s.ReadTimeout = 50 * time.Millisecond
		v := visiting(t, s)
		for path, status := range map[string]int{"/import": 200, "/": 408} {
			req := v.request("POST", path, "")
			req.SetBodyStream(&late{after: 200 * time.Millisecond, text: "abc"}, 3)
			if got, _ := v.send(req); got != status {
				t.Error(path, got)
			}
		}
		time.Sleep(time.Second) // until the body has been read
	})
}

// late is a body that comes after a while.
type late struct {
	after time.Duration
	text  string
}

func (l *late) Read(p []byte) (int, error) {
	if l.text == "" {
		return 0, io.EOF
	}
	time.Sleep(l.after)
	n := copy(p, l.text)
	l.text = l.text[n:]
	return n, nil
}

// A shutdown serves what is in flight, and closes what is idle.
func TestShutDown(t *testing.T) {
	arrived, release := make(chan bool), make(chan bool)
	s := &gallop.Server{LameDuck: 10 * time.Millisecond, Handler: func(ctx *gallop.RequestCtx) {
		arrived <- true
		<-ctx.Done() // after LameDuck
		<-release
		ctx.WriteString("complete")
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Run(ctx, ln) }()
	got := make(chan string)
	go func() {
		_, body, _ := gallop.Get(nil, "http://"+ln.Addr().String()+"/")
		got <- string(body)
	}()
	<-arrived
	stop()
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	if body, err := <-got, <-served; body != "complete" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

var errTooSlow = errors.New("too slow")

func TestLimitACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, url := galloptest.Serve(t, func(ctx *gallop.RequestCtx) { <-ctx.Done() })
		call := func(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if err := client.DoContext(ctx, req, resp); err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					return errTooSlow
				}
				return err
			}
			return nil
		}
		req, resp := visit{url: url}.request("GET", "/", ""), new(gallop.Response)
		if err := call(t.Context(), req, resp); err != errTooSlow {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("no longer needed")
		cancel(cause)
		if err := call(ctx, req, resp); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Error(err)
		}

		first := client.DoTimeout(req, resp, 5*time.Second)
		second := client.DoDeadline(req, resp, time.Now().Add(5*time.Second))
		if first != gallop.ErrTimeout || second != gallop.ErrTimeout {
			t.Error(first, second)
		}
	})
}

func TestPassTheDeadlineOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		client, backend := galloptest.Serve(t, func(ctx *gallop.RequestCtx) {
			if slow.Load() {
				<-ctx.Done()
			}
			ctx.WriteString("from the backend")
		})
		front := func(ctx *gallop.RequestCtx) {
			req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
			defer gallop.ReleaseRequest(req)
			defer gallop.ReleaseResponse(resp)
			req.SetRequestURI(backend + "/")
			req.SetTimeout(2 * time.Second)
			if err := client.DoContext(ctx, req, resp); err != nil {
				ctx.Error("the backend does not respond", gallop.StatusBadGateway)
				return
			}
			ctx.SetStatusCode(resp.StatusCode())
			ctx.SetBody(resp.Body())
		}
		v := visiting(t, &gallop.Server{Handler: front})
		if status, body := v.send(v.request("GET", "/", "")); status != 200 || body != "from the backend" {
			t.Error(status, body)
		}
		slow.Store(true)
		v.want(502, "GET", "/", "")
	})
}

func TestRetry(t *testing.T) {
	client := &gallop.Client{
		DetailedErrors:            true, // errors say whether the server can have acted on the request
		MaxIdemponentCallAttempts: 3,
		RetryIfErr: func(req *gallop.Request, attempts int, err error) (resetTimeout, retry bool) {
			return false, gallop.SafeToRetry(req, err)
		},
	}
	calls := 0
	v := visiting(t, &gallop.Server{Handler: func(*gallop.RequestCtx) {
		if calls++; calls%3 != 0 {
			panic(gallop.ErrAbortHandler)
		}
	}})
	client.DialContext = v.client.DialContext
	v.client = client
	v.want(200, "GET", "/", "")
	if err := v.client.DoContext(t.Context(), v.request("POST", "/", ""), nil); !errors.Is(err, gallop.ErrConnectionClosed) || calls != 4 {
		t.Error(calls, err)
	}
	var closed *gallop.ClosedError
	if err := v.client.DoContext(t.Context(), v.request("POST", "/", ""), nil); !errors.As(err, &closed) || closed.NotProcessed() || !strings.Contains(err.Error(), closed.Addr) {
		t.Error(err)
	}
}

// A client that does not acknowledge a PING frame loses its connection.
func TestTimeoutsOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: func(*gallop.RequestCtx) {}, Protocols: new(gallop.Protocols)}
		s.Protocols.SetUnencryptedHTTP2(true)
		s.HTTP2 = &gallop.HTTP2Config{
			SendPingTimeout:  30 * time.Second, // send a PING frame to a client that is silent for so long
			PingTimeout:      10 * time.Second, // then close the connection if the client does not respond
			WriteByteTimeout: 10 * time.Second, // close the connection if the client accepts no data at all
		}
		server, client := net.Pipe()
		go s.ServeConn(server)
		settings, ack := "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
		go io.WriteString(client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings+ack)
		begun := time.Now()
		got, err := io.ReadAll(client)
		if took := time.Since(begun); took != 41*time.Second || err != nil {
			t.Errorf("the connection ended after %v, %v", took, err)
		}
		if !strings.Contains(string(got), "\x00\x00\x08\x06\x00\x00\x00\x00\x00") {
			t.Errorf("no PING frame is in %q", got)
		}
	})
}
