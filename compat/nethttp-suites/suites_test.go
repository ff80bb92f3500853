// Package suites runs programs made for net/http on nethttp.FromHTTP and in package web, over TCP.
package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	coder "github.com/coder/websocket"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	gorilla "github.com/gorilla/websocket"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gallop-http/gallop/nethttp"
)

// serve returns the address of a gallop server for h.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := nethttp.NewServer(h)
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// clients returns an http.Client on net/http's transport and one on gallop's.
func clients(t *testing.T) map[string]*http.Client {
	ours, theirs := &nethttp.Transport{}, &http.Transport{}
	t.Cleanup(ours.CloseIdleConnections)
	t.Cleanup(theirs.CloseIdleConnections)
	return map[string]*http.Client{"gallop": {Transport: ours}, "net/http": {Transport: theirs}}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestChi(t *testing.T) {
	r := chi.NewRouter()
	r.Use(middleware.RequestID, middleware.RealIP, middleware.Recoverer, middleware.Compress(5), middleware.Timeout(time.Minute))
	r.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "user ", chi.URLParam(r, "id")) })
	r.Get("/big", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.Repeat("compress me ", 10000))
	})
	r.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("on purpose") })
	r.Route("/sub", func(r chi.Router) {
		r.With(middleware.BasicAuth("x", map[string]string{"u": "p"})).Get("/secret", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret") })
	})
	addr := serve(t, r)
	for name, client := range clients(t) {
		t.Run(name, func(t *testing.T) {
			for _, tc := range []struct {
				path, body string
				status     int
			}{
				{"/users/7", "user 7", 200},
				{"/big", strings.Repeat("compress me ", 10000), 200},
				{"/panic", "", 500},
				{"/nowhere", "404 page not found\n", 404},
				{"/sub/secret", "", 401},
			} {
				resp, body := get(t, client, "http://"+addr+tc.path)
				if resp.StatusCode != tc.status || body != tc.body {
					t.Errorf("%s: got %d %.40q, want %d %.40q", tc.path, resp.StatusCode, body, tc.status, tc.body)
				}
				if tc.path == "/big" && !resp.Uncompressed {
					t.Error("not compressed")
				}
			}
		})
	}
}

// echoCoder and echoGorilla send back all messages.
func echoCoder(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := coder.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		for {
			kind, p, err := c.Read(r.Context())
			if err != nil {
				if coder.CloseStatus(err) != coder.StatusNormalClosure {
					t.Error(err)
				}
				return
			}
			if err := c.Write(r.Context(), kind, p); err != nil {
				t.Error(err)
			}
		}
	}
}

func echoGorilla(t *testing.T) http.HandlerFunc {
	upgrader := gorilla.Upgrader{}
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for {
			kind, p, err := c.ReadMessage()
			if err != nil {
				if !gorilla.IsCloseError(err, gorilla.CloseNormalClosure) {
					t.Error(err)
				}
				return
			}
			if err := c.WriteMessage(kind, p); err != nil {
				t.Error(err)
			}
		}
	}
}

// WebSockets work directly and through a ReverseProxy that gallop serves and that calls with gallop.
func TestWebSocket(t *testing.T) {
	for name, echo := range map[string]http.HandlerFunc{"coder": echoCoder(t), "gorilla": echoGorilla(t)} {
		origin := serve(t, echo)
		for way, addr := range map[string]string{"straight": origin, "proxied": serve(t, proxyTo(origin, &nethttp.Transport{})), "proxied by net/http": serve(t, proxyTo(origin, nil))} {
			for by, client := range clients(t) {
				t.Run(name+"/"+way+"/"+by, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					defer cancel()
					c, _, err := coder.Dial(ctx, "ws://"+addr, &coder.DialOptions{HTTPClient: client})
					if err != nil {
						t.Fatal(err)
					}
					defer c.CloseNow()
					for _, say := range []string{"a", "", strings.Repeat("long ", 5000)} {
						if err := c.Write(ctx, coder.MessageText, []byte(say)); err != nil {
							t.Fatal(err)
						}
						if _, p, err := c.Read(ctx); err != nil || string(p) != say {
							t.Fatalf("got %.40q, %v, want %.40q", p, err, say)
						}
					}
					if err := c.Close(coder.StatusNormalClosure, ""); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func proxyTo(addr string, by http.RoundTripper) http.Handler {
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	p.Transport, p.FlushInterval = by, -1
	return p
}

// A ReverseProxy forwards bodies, streams, trailers and interim responses.
func TestReverseProxy(t *testing.T) {
	origin := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			io.Copy(w, r.Body)
		case "/events":
			for i := range 3 {
				fmt.Fprintln(w, i)
				w.(http.Flusher).Flush()
			}
		case "/trailer":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "x")
			w.Header().Set("X-Sum", "1")
		case "/abort":
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	addr := serve(t, proxyTo(origin, &nethttp.Transport{}))
	for name, client := range clients(t) {
		t.Run(name, func(t *testing.T) {
			big := strings.Repeat("0123456789", 100000)
			resp, err := client.Post("http://"+addr+"/echo", "", io.MultiReader(strings.NewReader(big)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != big || err != nil {
				t.Errorf("echo: %d bytes, %v", len(body), err)
			}
			if _, body := get(t, client, "http://"+addr+"/events"); body != "0\n1\n2\n" {
				t.Errorf("events: %q", body)
			}
			if resp, body := get(t, client, "http://"+addr+"/trailer"); body != "x" || resp.Trailer.Get("X-Sum") != "1" {
				t.Errorf("trailer: %q %v", body, resp.Trailer)
			}
			resp, err = client.Get("http://" + addr + "/abort")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("an aborted answer arrived whole")
			}
		})
	}
}

// Connect works over HTTP/1.1: a unary call, a stream from the server and a stream from the client.
func TestConnect(t *testing.T) {
	type text = wrapperspb.StringValue
	mux := http.NewServeMux()
	mux.Handle("/s/Hello", connect.NewUnaryHandler("/s/Hello", func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		if r.Msg.GetValue() == "" {
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no name"))
		}
		return connect.NewResponse(wrapperspb.String("hello " + r.Msg.GetValue())), nil
	}))
	mux.Handle("/s/Count", connect.NewServerStreamHandler("/s/Count", func(_ context.Context, r *connect.Request[text], s *connect.ServerStream[text]) error {
		for i := range 3 {
			if err := s.Send(wrapperspb.String(fmt.Sprint(r.Msg.GetValue(), i))); err != nil {
				return err
			}
		}
		return connect.NewError(connect.CodeAborted, errors.New("enough"))
	}))
	mux.Handle("/s/Join", connect.NewClientStreamHandler("/s/Join", func(_ context.Context, s *connect.ClientStream[text]) (*connect.Response[text], error) {
		all := ""
		for s.Receive() {
			all += s.Msg().GetValue()
		}
		return connect.NewResponse(wrapperspb.String(all)), s.Err()
	}))
	addr := "http://" + serve(t, mux)
	for name, client := range clients(t) {
		for protocol, option := range map[string]connect.ClientOption{"connect": connect.WithSendGzip(), "grpc-web": connect.WithGRPCWeb()} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				ctx := t.Context()
				hello := connect.NewClient[text, text](client, addr+"/s/Hello", option)
				if resp, err := hello.CallUnary(ctx, connect.NewRequest(wrapperspb.String("you"))); err != nil || resp.Msg.GetValue() != "hello you" {
					t.Errorf("Hello: %v, %v", resp, err)
				}
				if _, err := hello.CallUnary(ctx, connect.NewRequest(wrapperspb.String(""))); connect.CodeOf(err) != connect.CodeInvalidArgument {
					t.Errorf("Hello without a name: %v", err)
				}
				count, err := connect.NewClient[text, text](client, addr+"/s/Count", option).CallServerStream(ctx, connect.NewRequest(wrapperspb.String("n")))
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for count.Receive() {
					got += count.Msg().GetValue()
				}
				if got != "n0n1n2" || connect.CodeOf(count.Err()) != connect.CodeAborted {
					t.Errorf("Count: %q, %v", got, count.Err())
				}
				count.Close()
				join := connect.NewClient[text, text](client, addr+"/s/Join", option).CallClientStream(ctx)
				for _, part := range []string{"a", "b", "c"} {
					if err := join.Send(wrapperspb.String(part)); err != nil {
						t.Fatal(err)
					}
				}
				if resp, err := join.CloseAndReceive(); err != nil || resp.Msg.GetValue() != "abc" {
					t.Errorf("Join: %v, %v", resp, err)
				}
			})
		}
	}
}
