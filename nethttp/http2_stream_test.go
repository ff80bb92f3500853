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

// Close of a request body ends a Read on another goroutine, although the client sends nothing. The response is complete all the same,
// and other streams go on.
func TestCloseWhileReadingOverHTTP2(t *testing.T) {
	t.Parallel()
	h := beside(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
		w.(http.Flusher).Flush()
		read := make(chan error)
		go func() {
			for {
				if _, err := r.Body.Read(make([]byte, 10)); err != nil {
					read <- err
					return
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
		r.Body.Close()
		if err := <-read; err == io.EOF {
			t.Error(err)
		}
		w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		besides(t, url, client, func() {
			body, w := io.Pipe()
			defer w.Close()
			resp := do(t, client, requestTo(t, "POST", url, body))
			if got := bodyOf(t, resp); got != "hello" || resp.Trailer.Get("X-Sum") != "1" {
				t.Errorf("%q, trailers %v", got, resp.Trailer)
			}
		})
	}, "gallop, whole bodies", "gallop in net/http")
}

// besides runs f while another stream is open on the connection, whose handler echoes lines, and checks that this stream is
// not affected.
func besides(t *testing.T, url string, client *http.Client, f func()) {
	t.Helper()
	r, w := io.Pipe()
	resp := do(t, client, requestTo(t, "POST", url+"/echo", r))
	lines := bufio.NewReader(resp.Body)
	conn, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	f()
	for i := range 3 {
		fmt.Fprintf(w, "%d\n", i)
		if line, err := lines.ReadString('\n'); line != fmt.Sprintf("%d\n", i) {
			t.Fatalf("the other stream got %q, %v", line, err)
		}
	}
	w.Close()
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("the other stream got %q, %v at the end", rest, err)
	}
	if got := bodyOf(t, do(t, client, requestTo(t, "GET", url+"/conn", nil))); got != conn {
		t.Errorf("a later request came over the connection %q, want %q", got, conn)
	}
}

// beside handles the requests of besides, and leaves all other requests to h.
func beside(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/conn":
			fmt.Fprintln(w, r.RemoteAddr)
		case "/echo":
			fmt.Fprintln(w, r.RemoteAddr)
			w.(http.Flusher).Flush()
			lines := bufio.NewReader(r.Body)
			for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
				io.WriteString(w, line)
				w.(http.Flusher).Flush()
			}
		default:
			h(w, r)
		}
	})
}

// A deadline for reading ends the reads of one request. Other streams of the connection and later requests have none.
func TestReadDeadlineOverHTTP2(t *testing.T) {
	t.Parallel()
	h := beside(func(w http.ResponseWriter, r *http.Request) {
		for _, at := range deadlinesOf(r) {
			if err := http.NewResponseController(w).SetReadDeadline(at); err != nil {
				t.Error(err)
			}
		}
		b, err := io.ReadAll(r.Body)
		fmt.Fprint(w, len(b), errors.Is(err, os.ErrDeadlineExceeded))
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		besides(t, url, client, func() {
			for _, path := range []string{"/soon", "/past"} {
				r, w := io.Pipe()
				go io.WriteString(w, "ab")
				if got := bodyOf(t, do(t, client, requestTo(t, "POST", url+path, r))); !strings.HasSuffix(got, "true") {
					t.Errorf("%s: got %q", path, got)
				}
				w.Close()
			}
			for _, path := range []string{"/none", "/lifted"} {
				r, w := io.Pipe()
				go func() {
					time.Sleep(30 * time.Millisecond)
					io.WriteString(w, "ab")
					w.Close()
				}()
				if got := bodyOf(t, do(t, client, requestTo(t, "POST", url+path, r))); got != "2 false" {
					t.Errorf("%s: got %q", path, got)
				}
			}
		})
	}, "gallop, whole bodies", "gallop in net/http")
}

// deadlinesOf returns the deadlines that a handler sets for a request, one after the other.
func deadlinesOf(r *http.Request) []time.Time {
	switch r.URL.Path {
	case "/soon":
		return []time.Time{time.Now().Add(20 * time.Millisecond)}
	case "/past":
		return []time.Time{time.Now().Add(-time.Second)}
	case "/lifted":
		return []time.Time{time.Now().Add(20 * time.Millisecond), {}}
	}
	return nil
}

// A write fails when its time is over, and the stream is reset. Other streams of the connection and later requests have no
// deadline, even if their clients read slowly.
func TestWriteDeadlineOverHTTP2(t *testing.T) {
	t.Parallel()
	const size = 10 << 20 // more than the client takes without a reader
	type end struct {
		path string
		err  error
	}
	ends := make(chan end, 1)
	h := beside(func(w http.ResponseWriter, r *http.Request) {
		for _, at := range deadlinesOf(r) {
			if err := http.NewResponseController(w).SetWriteDeadline(at); err != nil {
				t.Error(err)
			}
		}
		_, err := w.Write(make([]byte, size))
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		ends <- end{r.URL.Path, err}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		besides(t, url, client, func() {
			slow := do(t, client, requestTo(t, "GET", url+"/none", nil))
			lifted := do(t, client, requestTo(t, "GET", url+"/lifted", nil))
			for _, path := range []string{"/soon", "/past"} {
				resp, failed := client.Do(requestTo(t, "GET", url+path, nil))
				select {
				case got := <-ends:
					if got.path != path || got.err == nil {
						t.Errorf("%s: a write ended with %v", got.path, got.err)
					}
				case <-time.After(5 * time.Second):
					t.Errorf("%s: the write goes on", path)
				}
				if failed != nil {
					continue
				}
				if n, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Errorf("%s: the client got %d bytes without an error", path, n)
				}
				resp.Body.Close()
			}
			for _, resp := range []*http.Response{slow, lifted} {
				if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
					t.Errorf("%s: the client got %d bytes, %v", resp.Request.URL.Path, n, err)
				}
				if got := <-ends; got.err != nil {
					t.Errorf("%s: the write failed: %v", got.path, got.err)
				}
			}
		})
	}, "gallop, whole bodies", "gallop in net/http")
}

// A handler that has sent a part of its response in time gets an error from writes after the deadline, although the client
// has opened windows. The client notices that the response is not complete.
func TestLateWriteOverHTTP2(t *testing.T) {
	t.Parallel()
	h := beside(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		io.WriteString(w, "begun")
		rc.Flush()
		if err := rc.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		time.Sleep(300 * time.Millisecond) // net/http needs a timer and a goroutine to run meanwhile
		if r.URL.Path == "/write" {
			io.WriteString(w, "late")
			if err := rc.Flush(); err == nil {
				t.Error("a write after the deadline did not fail")
			}
		}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		t.Parallel()
		besides(t, url, client, func() {
			for _, path := range []string{"/write", "/return"} {
				body, err := io.ReadAll(do(t, client, requestTo(t, "GET", url+path, nil)).Body)
				if err == nil || string(body) != "begun" {
					t.Errorf("%s: the client got %q, %v", path, body, err)
				}
			}
		})
	}, "gallop, whole bodies", "gallop in net/http")
}

// A body that is too large for the handler costs its request only.
func TestTooLargeOverHTTP2(t *testing.T) {
	h := beside(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 3)
		_, err := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprint(w, err)
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		besides(t, url, client, func() {
			for path, want := range map[string]string{"/refused": "too large\n", "/limited": "http: request body too large"} {
				r, w := io.Pipe()
				go io.WriteString(w, "body")
				if resp := do(t, client, requestTo(t, "POST", url+path, r)); resp.StatusCode != http.StatusRequestEntityTooLarge || bodyOf(t, resp) != want {
					t.Errorf("%s: got %v", path, resp.Status)
				}
				w.Close()
			}
		})
	}, "gallop, whole bodies")
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
			if got := fmt.Sprint(resp.StatusCode, continued, " ", bodyOf(t, resp)); got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	})
}
