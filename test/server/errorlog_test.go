package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// records are what was written to a slog.Logger, one line of JSON each.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(r, nil)) }

// all returns the attributes of each record.
func (r *records) all(t *testing.T) (all []map[string]any) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "time")
		if stack, _ := m["stack"].(string); strings.Contains(stack, "goroutine ") {
			m["stack"] = "…"
		}
		all = append(all, m)
	}
	return all
}

// An error becomes a record with attributes, and Logger gets nothing.
func TestErrorLog(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request string
		want    map[string]any // without remote and conn
	}{
		{"refused", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
			map[string]any{"level": "WARN", "msg": "request refused", "status": 400.0, "err": "gallop: Content-Length is not one number (RFC 9112 §6.3)"}},
		{"panic", wiretest.Get("/panic"), map[string]any{"level": "ERROR", "msg": "panic in the handler", "err": "on purpose", "stack": "…"}},
		{"panic with an error", wiretest.Get("/panicerr"),
			map[string]any{"level": "ERROR", "msg": "panic in the handler", "err": "an error", "stack": "…"}},
		{"not final", wiretest.Get("/103"),
			map[string]any{"level": "ERROR", "msg": "the handler answered with a status that is not final", "status": 103.0}},
		{"stream", wiretest.Get("/stream"),
			map[string]any{"level": "WARN", "msg": "connection failed", "err": "*"}},
		{"by the handler", wiretest.Get("/log?a=b"),
			map[string]any{"level": "ERROR", "msg": "n is 3", "method": "GET", "uri": "http://test/log?a=b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
				var log records
				var text servertest.Log
				s := &gallop.Server{ErrorLog: log.logger(), Logger: &text, Handler: func(ctx *gallop.RequestCtx) {
					switch string(ctx.Path()) {
					case "/panic":
						panic("on purpose")
					case "/panicerr":
						panic(errors.New("an error"))
					case "/103":
						ctx.SetStatusCode(103)
					case "/stream":
						ctx.SetBodyStream(strings.NewReader("short"), 10)
					case "/log":
						ctx.Logger().Printf("n is %d", 3)
					}
				}}
				synctest.Test(t, func(t *testing.T) {
					ln := on.Listen(s)
					served := make(chan error, 1)
					go func() { served <- s.Serve(ln) }()
					c, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					go io.Copy(io.Discard, c)
					_, _ = io.WriteString(c, tt.request)
					time.Sleep(time.Second)
					_ = c.Close()
					time.Sleep(time.Minute)
					_ = s.Close()
					<-served
				})
				all := log.all(t)
				if len(all) == 0 {
					t.Fatal("nothing was logged")
				}
				got := all[0]
				for _, key := range []string{"remote", "conn"} {
					if got[key] == nil {
						t.Errorf("without %s: %v", key, got)
					}
					delete(got, key)
				}
				if tt.want["err"] == "*" && got["err"] != nil {
					got["err"] = "*"
				}
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
				if text.String() != "" {
					t.Errorf("Logger has %q", text.String())
				}
			})
		})
	}
}

func TestErrorLogOfRejectedConnections(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		var log records
		s := &gallop.Server{Engine: over, MaxConnsPerIP: 1, Handler: servertest.Say, ErrorLog: log.logger()}
		addr := listen(t, s, s.Serve)
		if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
			t.Fatal(got)
		}
		c := dialTCP(t, addr)
		if got := firstLine(t, c, ""); got != "HTTP/1.1 429 Too Many Requests" {
			t.Error(got)
		}
		want := map[string]any{"level": "WARN", "msg": "connection refused", "remote": c.LocalAddr().String(), "status": 429.0,
			"err": gallop.ErrPerIPConnLimit.Error()}
		if all := log.all(t); len(all) != 1 || fmt.Sprint(all[0]) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", all, want)
		}
	})
}

func TestLogTo(t *testing.T) {
	var log records
	gallop.LogTo(log.logger()).Printf("%s is %d\n", "n", 3)
	if got := log.all(t); len(got) != 1 || got[0]["msg"] != "n is 3" || got[0]["level"] != "ERROR" {
		t.Errorf("%v", got)
	}
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(log.logger())
	gallop.LogTo(nil).Printf("more")
	if got := log.all(t); len(got) != 2 || got[1]["msg"] != "more" {
		t.Errorf("%v", got)
	}
}

// Of requests beyond MaxConcurrentRequests the client gets 503, and goes on with its connection.
func TestMaxConcurrentRequests(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for _, own := range []bool{false, true} {
			var log servertest.Log
			begun, finish := make(chan struct{}, 2), make(chan struct{})
			s := &gallop.Server{Engine: over, MaxConcurrentRequests: 2, Logger: &log, Handler: func(ctx *gallop.RequestCtx) {
				switch string(ctx.Path()) {
				case "/wait":
					begun <- struct{}{}
					<-finish
				case "/panic":
					panic("on purpose")
				}
				ctx.SetBodyString("ok")
			}}
			if own {
				s.ErrorHandler = func(ctx *gallop.RequestCtx, err error) {
					if err != gallop.ErrRequestLimit {
						t.Error(err)
					}
					ctx.Response.Header.Set("Retry-After", "1")
				}
			}
			addr := listen(t, s, s.Serve)
			if got := firstLine(t, dialTCP(t, addr), wiretest.Get("/panic")); got != "HTTP/1.1 500 Internal Server Error" {
				t.Error(got) // and does not count any longer
			}
			var waiting []net.Conn
			for range 2 {
				c := dialTCP(t, addr)
				_, _ = io.WriteString(c, wiretest.Get("/wait"))
				<-begun
				waiting = append(waiting, c)
			}
			c := dialTCP(t, addr)
			post := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
			for _, request := range []string{wiretest.Get("/"), post} {
				_, _ = io.WriteString(c, request)
				got := readResponse(t, c)
				if !strings.HasPrefix(got, "HTTP/1.1 503 Service Unavailable\r\n") || strings.Contains(got, "Connection: close") ||
					strings.Contains(got, "Retry-After: 1") != own || !strings.HasSuffix(got, "Service Unavailable") {
					t.Errorf("got %q", got)
				}
			}
			if !strings.Contains(log.String(), "refused with 503") {
				t.Errorf("logged %q", log.String())
			}
			close(finish)
			for _, w := range waiting {
				if got := readResponse(t, w); !strings.HasSuffix(got, "ok") {
					t.Errorf("got %q", got)
				}
			}
			_, _ = io.WriteString(c, wiretest.Get("/"))
			if got := readResponse(t, c); !strings.HasSuffix(got, "ok") {
				t.Errorf("got %q", got)
			}
			if st := s.Stats(); st.Refused != 2 || st.RefusedConcurrency != 2 {
				t.Errorf("%+v", st)
			}
		}
	})
}

// readResponse reads a response with a Content-Length, byte by byte.
func readResponse(t *testing.T, c net.Conn) string {
	t.Helper()
	var got []byte
	left := -1
	for b := make([]byte, 1); left != 0; left-- {
		if _, err := c.Read(b); err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		if got = append(got, b[0]); left < 0 && bytes.HasSuffix(got, []byte("\r\n\r\n")) {
			_, length, _ := strings.Cut(string(got), "Content-Length: ")
			if _, err := fmt.Sscan(length, &left); err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			if left == 0 {
				break
			}
			left++
		}
	}
	return string(got)
}
