package nethttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Interim responses arrive, with their headers.
func TestInterimOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusProcessing)
		io.WriteString(w, "x")
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		var got []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			got = append(got, fmt.Sprint(code, header))
			return nil
		}}
		r := requestTo(t, "GET", url, nil)
		resp := do(t, client, r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		want := []string{"103 map[Link:[</style.css>; rel=preload]]", "102 map[]"}
		if body := bodyOf(t, resp); body != "x" || resp.Header["Link"] != nil || !slices.Equal(got, want) {
			t.Errorf("interim responses %q, then %v, %q", got, resp.Header, body)
		}
	}, "gallop in net/http")
}

// Flushed bytes arrive while the handler runs.
func TestFlushOverHTTP2(t *testing.T) {
	next := make(chan bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "%d\n", i)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-next
		}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		lines := bufio.NewReader(do(t, client, requestTo(t, "GET", url, nil)).Body)
		for i := range 3 {
			if line, err := lines.ReadString('\n'); line != fmt.Sprintf("%d\n", i) {
				t.Errorf("got %q, %v", line, err)
			}
			next <- true
		}
		if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
			t.Errorf("got %q, %v at the end", rest, err)
		}
	})
}

// Handlers read and write at the same time, and EnableFullDuplex changes nothing about that.
func TestFullDuplexOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if r.URL.Path == "/enabled" {
			if err := rc.EnableFullDuplex(); err != nil {
				t.Error(err)
			}
		}
		rc.Flush()
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(w, line)
			rc.Flush()
		}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		for _, path := range []string{"/", "/enabled"} {
			r, w := io.Pipe()
			lines := bufio.NewReader(do(t, client, requestTo(t, "POST", url+path, r)).Body)
			for i := range 3 {
				fmt.Fprintf(w, "%d\n", i)
				if line, err := lines.ReadString('\n'); line != fmt.Sprintf("%d\n", i) {
					t.Fatalf("got %q, %v", line, err)
				}
			}
			w.Close()
			if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
				t.Errorf("got %q, %v at the end", rest, err)
			}
		}
	}, "gallop, whole bodies")
}

// A deadline for reading belongs to one request: the next request on the connection has none.
func TestReadDeadlineOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/limited" {
			if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
				t.Error(err)
			}
		}
		b, err := io.ReadAll(r.Body)
		fmt.Fprint(w, len(b), errors.Is(err, os.ErrDeadlineExceeded))
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		r, w := io.Pipe()
		defer w.Close()
		go io.WriteString(w, "ab")
		if got := bodyOf(t, do(t, client, requestTo(t, "POST", url+"/limited", r))); !strings.HasSuffix(got, "true") {
			t.Errorf("got %q", got)
		}
		r, w = io.Pipe()
		go func() {
			time.Sleep(30 * time.Millisecond)
			io.WriteString(w, "ab")
			w.Close()
		}()
		if got := bodyOf(t, do(t, client, requestTo(t, "POST", url, r))); got != "2 false" {
			t.Errorf("got %q for the second request", got)
		}
	}, "gallop, whole bodies", "gallop in net/http")
}

// A write fails when its time is over and the client has opened no window. Other requests on the connection go on.
func TestWriteDeadlineOverHTTP2(t *testing.T) {
	failed := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/limited" {
			io.WriteString(w, "x")
			return
		}
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		_, err := w.Write(make([]byte, 10<<20))
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		failed <- err
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		resp := do(t, client, requestTo(t, "GET", url+"/limited", nil))
		select {
		case err := <-failed:
			if err == nil {
				t.Error("the write did not fail")
			}
		case <-time.After(5 * time.Second):
			t.Error("the write goes on")
		}
		if got := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil))); got != "x" {
			t.Errorf("got %q for another request", got)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("the client got %d bytes without an error", n)
		}
	}, "gallop in net/http")
}

// The context of a request ends when its stream is reset, and so does a read of its body. The connection goes on.
func TestContextOverHTTP2(t *testing.T) {
	waits, ends := make(chan bool), make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waits":
			waits <- true
			<-r.Context().Done()
			ends <- r.Context().Err()
		case "/reads":
			waits <- true
			_, err := io.ReadAll(r.Body)
			if err == nil {
				t.Error("the body came to an end")
			}
			<-r.Context().Done()
			ends <- r.Context().Err()
		case "/kept":
			go func() {
				<-r.Context().Done()
				ends <- r.Context().Err()
			}()
		default:
			io.WriteString(w, r.RemoteAddr)
		}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		before := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil)))
		for _, path := range []string{"/waits", "/reads"} {
			ctx, cancel := context.WithCancel(context.Background())
			body, w := io.Pipe()
			if path == "/waits" {
				w.Close()
			} else {
				go w.Write([]byte("begin"))
			}
			gone := make(chan error, 1)
			go func() {
				_, err := client.Do(requestTo(t, "POST", url+path, body).WithContext(ctx))
				gone <- err
			}()
			<-waits
			cancel()
			if err := <-ends; err != context.Canceled {
				t.Errorf("%s: got %v", path, err)
			}
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the client got %v", path, err)
			}
			w.Close()
		}
		do(t, client, requestTo(t, "GET", url+"/kept", nil))
		if err := <-ends; err != context.Canceled {
			t.Errorf("got %v behind the handler", err)
		}
		if after := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil))); after != before {
			t.Error("the client had to connect again")
		}
	}, "gallop, whole bodies")
}

// ErrAbortHandler resets the stream, and only that.
func TestAbortOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/begun":
			io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/at-once":
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, r.RemoteAddr)
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		before := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil)))
		resp, err := client.Get(url + "/at-once")
		if err == nil || !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("got %v, %v", resp, err)
		}
		body, err := io.ReadAll(do(t, client, requestTo(t, "GET", url+"/begun", nil)).Body)
		if err == nil || !strings.Contains(err.Error(), "INTERNAL_ERROR") || string(body) != "begun" {
			t.Errorf("got %q, %v in the body", body, err)
		}
		if after := bodyOf(t, do(t, client, requestTo(t, "GET", url, nil))); after != before {
			t.Error("the client had to connect again")
		}
	})
}

// The ResponseWriter cannot hijack or push over HTTP/2, and its header fields for HTTP/1 connections are not sent.
func TestNotOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		_, pushes := w.(http.Pusher)
		for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
			w.Header().Set(name, "x")
		}
		fmt.Fprint(w, errors.Is(err, http.ErrNotSupported), pushes)
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		resp := do(t, client, requestTo(t, "GET", url, nil))
		if got := bodyOf(t, resp); got != "true false" {
			t.Errorf("got %q", got)
		}
		for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
			if got := resp.Header.Get(name); got != "" {
				t.Errorf("the client got %s: %s", name, got)
			}
		}
	}, "net/http")
}

// 100 (Continue) is sent when the body is read, and never if the handler does not read it.
func TestContinueOverHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			io.Copy(w, r.Body)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		client.Transport.(*http.Transport).ExpectContinueTimeout = 10 * time.Second
		for path, want := range map[string]string{"/read": "200 true body", "/refuse": "403 false "} {
			continued := false
			trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
			r := requestTo(t, "POST", url+path, strings.NewReader("body"))
			r.Header.Set("Expect", "100-continue")
			resp := do(t, client, r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
			if got := fmt.Sprint(resp.StatusCode, continued, " ", bodyOf(t, resp)); got != strings.Replace(want, "e b", "e  b", 0) {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	})
}
