package nethttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// fields are what a test sets of a server, and methods that it calls.
type fields struct {
	base  func(net.Listener) context.Context
	conn  func(context.Context, net.Conn) context.Context
	state func(net.Conn, http.ConnState)
}

// fieldServer is a server of net/http or of gallop.
type fieldServer interface {
	Serve(net.Listener) error
	Close() error
	Shutdown() error
	RegisterOnShutdown(func())
	SetKeepAlivesEnabled(bool)
}

type standardServer struct{ *http.Server }

func (s standardServer) Shutdown() error { return s.Server.Shutdown(context.Background()) }

// withFields runs f against a server of each kind.
func withFields(t *testing.T, of fields, h http.HandlerFunc, f func(t *testing.T, s fieldServer, url string)) {
	for name, s := range map[string]func() fieldServer{
		"net/http": func() fieldServer {
			return standardServer{&http.Server{Handler: h, BaseContext: of.base, ConnContext: of.conn, ConnState: of.state}}
		},
		"gallop": func() fieldServer {
			s := nethttp.NewServer(h)
			s.BaseContext, s.ConnContext = of.base, of.conn
			if of.state != nil {
				s.ConnState = func(c net.Conn, state gallop.ConnState) { of.state(c, http.ConnState(state)) }
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, ln := s(), listen(t)
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			f(t, s, "http://"+ln.Addr().String())
			s.Close()
			if err := <-served; err != nil && err != http.ErrServerClosed {
				t.Error(err)
			}
		})
	}
}

type connKey struct{}

// The context of a request descends from those of the listener and of the connection.
func TestServerContexts(t *testing.T) {
	var cancel func()
	var states atomic.Int32
	later := make(chan bool, 1)
	of := fields{
		state: func(net.Conn, http.ConnState) { states.Add(1) },
		base: func(net.Listener) (ctx context.Context) {
			ctx, cancel = context.WithCancel(context.Background())
			return ctx
		},
		conn: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c.RemoteAddr())
		},
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later" {
			go func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(5 * time.Millisecond) // and the request is over
				later <- ctx.Value(connKey{}) != nil
			}(r.Context())
		}
		if r.URL.Path == "/wait" {
			cancel()
			<-r.Context().Done()
		}
		fmt.Fprint(w, r.Context().Value(connKey{}).(net.Addr).String() == r.RemoteAddr, " ", r.Context().Err())
	}
	withFields(t, of, h, func(t *testing.T, s fieldServer, url string) {
		for _, want := range [][2]string{{"/", "true <nil>"}, {"/later", "true <nil>"}, {"/wait", "true context canceled"}} {
			resp, err := http.Get(url + want[0])
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != want[1] || err != nil {
				t.Errorf("%s: %q, %v", want[0], body, err)
			}
		}
		if !<-later {
			t.Error("the values are gone behind the handler")
		}
		if states.Swap(0) == 0 {
			t.Error("ConnState was not called")
		}
	})
}

func TestServerMethods(t *testing.T) {
	h := func(http.ResponseWriter, *http.Request) {}
	withFields(t, fields{}, h, func(t *testing.T, s fieldServer, url string) {
		for _, enabled := range []bool{true, false, true} {
			s.SetKeepAlivesEnabled(enabled)
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.Close == enabled {
				t.Errorf("keep-alives %v: the response is the last one: %v", enabled, resp.Close)
			}
		}
		idle := dial(t, strings.TrimPrefix(url, "http://"))
		idle.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		idle.answer("GET")
		time.Sleep(10 * time.Millisecond) // until it waits for another request
		s.SetKeepAlivesEnabled(false)
		idle.expectEnd()
		s.SetKeepAlivesEnabled(true)
		called := make(chan bool)
		s.RegisterOnShutdown(func() { called <- true })
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		select {
		case <-called:
		case <-time.After(5 * time.Second):
			t.Error("nothing was called")
		}
	})
}
