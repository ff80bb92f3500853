package nethttp_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
)

// streamed returns a handler that streams: what write writes, behind what is in the body already.
func streamed(t *testing.T, before func(ctx *gallop.RequestCtx), write func(s *gallop.ResponseStream)) http.Handler {
	return nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		if before != nil {
			before(ctx)
		}
		s, err := ctx.StreamResponse()
		if err != nil || !ctx.Streaming() {
			t.Errorf("%v, streaming %v", err, ctx.Streaming())
			return
		}
		if again, err := ctx.StreamResponse(); again != s || err != nil {
			t.Errorf("called again: %v", err)
		}
		write(s)
	})
}

// Each flush reaches the client while the handler runs.
func TestToHTTPStreams(t *testing.T) {
	read := make(chan struct{})
	server := httptest.NewServer(streamed(t, func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyString("before\n")
	}, func(s *gallop.ResponseStream) {
		for range 2 {
			s.WriteString("line\n")
			if err := s.Flush(); err != nil {
				t.Error(err)
			}
			<-read
		}
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, want := range []string{"before\n", "line\n", "line\n"} {
		if line, err := lines.ReadString('\n'); line != want {
			t.Fatalf("%q, %v", line, err)
		}
		if want == "line\n" {
			read <- struct{}{}
		}
	}
	if _, err := lines.ReadByte(); err != io.EOF || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v %v", err, response.Header)
	}
}

func TestToHTTPStreamIsFramed(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		before func(ctx *gallop.RequestCtx)
		status int
		length int64
		body   string
		typed  string
	}{
		"plain":  {"GET", nil, 200, -1, "body", "text/plain; charset=utf-8"},
		"length": {"GET", func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetContentLength(4) }, 200, 4, "body", "text/plain; charset=utf-8"},
		"HEAD":   {"HEAD", func(ctx *gallop.RequestCtx) { ctx.Response.Header.SetContentLength(4) }, 200, 4, "", "text/plain; charset=utf-8"},
		"204":    {"GET", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(204) }, 204, 0, "", ""},
		"status": {"GET", func(ctx *gallop.RequestCtx) { ctx.SetStatusCode(418); ctx.SetContentType("a/b") }, 418, -1, "body", "a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(streamed(t, test.before, func(s *gallop.ResponseStream) {
				if n, err := s.WriteString("body"); n != 4 || err != nil {
					t.Errorf("%d %v", n, err)
				}
				if err := s.Flush(); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			request, _ := http.NewRequest(test.method, server.URL, nil)
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != test.status || response.ContentLength != test.length || string(body) != test.body ||
				response.Header.Get("Content-Type") != test.typed {
				t.Errorf("%v %d, length %d, %q, %q", err, response.StatusCode, response.ContentLength, body, response.Header.Get("Content-Type"))
			}
		})
	}
}

func TestToHTTPStreamHasTrailers(t *testing.T) {
	server := httptest.NewServer(nethttp.ToHTTP(func(ctx *gallop.RequestCtx) {
		s, _ := ctx.StreamResponse()
		s.WriteString("body")
		if err := errors.Join(s.Flush(), ctx.Response.Header.AddTrailer("X-Sum")); err != nil {
			t.Error(err)
		}
		ctx.Response.Header.Set("X-Sum", "4")
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "body" || err != nil || response.Trailer.Get("X-Sum") != "4" {
		t.Errorf("%q %v %v", body, err, response.Trailer)
	}
}

// A stream is the handler's. If it times out in the middle of the body, the client sees that something is missing.
func TestToHTTPStreamEndsWithTheHandler(t *testing.T) {
	for limit := range wiretest.LongerLimits(50 * time.Millisecond) {
		if streamEndsWithTheHandler(t, limit) {
			return
		}
	}
	t.Error("the handler never begins its response in time")
}

// streamEndsWithTheHandler returns false if the machine was too slow to begin the response within the limit.
func streamEndsWithTheHandler(t *testing.T, limit time.Duration) bool {
	late := make(chan error, 1)
	begun := make(chan bool, 1)
	leave := make(chan struct{})
	server := httptest.NewServer(nethttp.ToHTTP(gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
		s, err := ctx.StreamResponse()
		if err == nil {
			s.WriteString("some")
			err = s.Flush()
		}
		if begun <- err == nil; err != nil {
			return
		}
		<-leave
		_, err = s.WriteString("late")
		late <- err
	}, limit, "too late")))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err == nil {
		defer response.Body.Close()
	}
	if !<-begun {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "some" || err == nil {
		t.Errorf("%q %v", body, err)
	}
	close(leave)
	if err := <-late; err == nil {
		t.Error("a late write is no error")
	}
	return true
}

// Middleware of net/http in the way need not be able to flush.
func TestToHTTPStreamWithoutFlush(t *testing.T) {
	h := streamed(t, nil, func(s *gallop.ResponseStream) {
		s.WriteString("body")
		if err := s.Flush(); err != nil {
			t.Error(err)
		}
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(struct{ http.ResponseWriter }{w}, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || w.Body.String() != "body" || w.Flushed {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
