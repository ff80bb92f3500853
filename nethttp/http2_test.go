package nethttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/nethttp"
)

// waysH2 lists the servers that can run a handler over HTTP/2, like ways.
var waysH2 = []struct {
	name  string
	start func(t *testing.T, h http.Handler) (url string, client *http.Client)
}{
	{"net/http", startNetHTTPOverH2},
	{"gallop", func(t *testing.T, h http.Handler) (string, *http.Client) {
		return startGallopOverH2(t, nethttp.NewServer(h))
	}},
	{"gallop on goroutines", func(t *testing.T, h http.Handler) (string, *http.Client) {
		s := nethttp.NewServer(h)
		s.Engine = gallop.EngineGoroutine
		return startGallopOverH2(t, s)
	}},
	{"gallop, whole bodies", func(t *testing.T, h http.Handler) (string, *http.Client) {
		s := nethttp.NewServer(h)
		s.StreamRequestBody = false
		return startGallopOverH2(t, s)
	}},
	{"gallop in net/http", func(t *testing.T, h http.Handler) (string, *http.Client) {
		return startNetHTTPOverH2(t, nethttp.ToHTTP(nethttp.FromHTTP(h)))
	}},
}

// servedH2 runs f against each of these servers whose name is not left out.
func servedH2(t *testing.T, h http.Handler, f func(t *testing.T, url string, client *http.Client), without ...string) {
	t.Helper()
	for _, way := range waysH2 {
		if slices.Contains(without, way.name) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			url, client := way.start(t, h)
			f(t, url, client)
		})
	}
}

func startNetHTTPOverH2(t *testing.T, h http.Handler) (string, *http.Client) {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quietLog
	s.StartTLS()
	t.Cleanup(s.Close)
	client := clientOverH2(t, s.Client().Transport.(*http.Transport).TLSClientConfig)
	return s.URL, client
}

func startGallopOverH2(t *testing.T, s *gallop.Server) (string, *http.Client) {
	cert, roots := galloptest.Certificate()
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Logger = quietLog
	ln := listen(t)
	go s.ServeTLS(ln, "", "")
	t.Cleanup(func() { s.Close() })
	return "https://" + ln.Addr().String(), clientOverH2(t, &tls.Config{RootCAs: roots})
}

// clientOverH2 returns a client that fails unless the server uses HTTP/2.
func clientOverH2(t *testing.T, config *tls.Config) *http.Client {
	config = config.Clone()
	config.NextProtos = nil
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	transport := &http.Transport{TLSClientConfig: config, Protocols: protocols, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request and returns the response, whose body is closed at the end of the test.
func do(t *testing.T, client *http.Client, r *http.Request) *http.Response {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A handler's calls lead to the same response from every server, over HTTP/2 too.
func TestAnswerOverHTTP2(t *testing.T) {
	for _, tc := range append(answerCases(t), []answerCase{
		{"trailers behind a length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "1")
		}},
		{"trailers by prefix behind a length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		}},
		{"trailers without a body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			w.WriteHeader(200)
			w.Header().Set("Grpc-Status", "0")
		}},
	}...) {
		var without []string
		switch tc.name {
		case "more than the length", "by io.ReaderFrom": // net/http fails these over HTTP/2
			without = []string{"net/http"}
		}
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(tc.name+"/"+method, func(t *testing.T) {
				var first string
				servedH2(t, http.HandlerFunc(tc.handle), func(t *testing.T, url string, client *http.Client) {
					var body io.Reader
					if method == "POST" {
						body = strings.NewReader("body")
					}
					resp := do(t, client, requestTo(t, method, url, body))
					resp.Header.Del("X-Lines") // net/http drops a value with line ends over HTTP/2
					if (tc.name == "trailers" || tc.name == "trailers without a body") && strings.HasSuffix(t.Name(), "/net/http") {
						resp.ContentLength = -1 // for gallop, as over HTTP/1, trailers come behind a body of unknown length
						resp.Header.Del("Content-Length")
					}
					got := describe(t, resp, method)
					if first == "" {
						first = got
					} else if got != first {
						t.Errorf("got\n%s\nas net/http has it\n%s", got, first)
					}
				}, append(without, "gallop in net/http")...)
			})
		}
	}
}

// requestFacts is what a handler sees of a request over HTTP/2.
type requestFacts struct {
	Method, RequestURI, Host, Proto string
	ProtoMajor, ProtoMinor          int
	URL                             url.URL
	Header                          http.Header
	ContentLength                   int64
	TransferEncoding                []string
	Trailer                         http.Header
	Close, TLS                      bool
	Body                            string
	BodyTrailer                     http.Header
}

// factsOf reads the body of r, too.
func factsOf(t *testing.T, r *http.Request) requestFacts {
	f := requestFacts{
		Method: r.Method, RequestURI: r.RequestURI, Host: r.Host, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, URL: *r.URL,
		Header: r.Header.Clone(), ContentLength: r.ContentLength, TransferEncoding: r.TransferEncoding,
		Trailer: r.Trailer.Clone(), Close: r.Close, TLS: r.TLS != nil && r.TLS.NegotiatedProtocol == "h2",
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error("reading the body: ", err)
	}
	f.Body, f.BodyTrailer = string(b), r.Trailer
	return f
}

// unsized hides the length of a body.
func unsized(body string) io.Reader { return io.MultiReader(strings.NewReader(body)) }

// A handler sees the same request behind every server, over HTTP/2 too.
func TestRequestOverHTTP2(t *testing.T) {
	for _, tc := range []struct {
		name, method, path string
		body               func() io.Reader
		change             func(r *http.Request)
	}{
		{name: "plain", method: "GET", path: "/"},
		{name: "path and query", method: "GET", path: "/a/b;c=1/@x?q=1&r=%20"},
		{name: "empty query", method: "GET", path: "/a?"},
		{name: "escapes", method: "GET", path: "/a%2Fb/%C3%BC%20"},
		{name: "two slashes", method: "GET", path: "//x/y"},
		{name: "dots", method: "GET", path: "/a/../b/./c"},
		{name: "another host", method: "GET", path: "/", change: func(r *http.Request) { r.Host = "A.Example:80" }},
		{name: "headers", method: "GET", path: "/", change: func(r *http.Request) {
			r.Header = http.Header{"X-One": {"1", "2"}, "X_two": {"b"}, "Accept": {""}, "Te": {"trailers"}, "Referer": {"/x"}}
		}},
		{name: "cookies", method: "GET", path: "/", change: func(r *http.Request) { r.Header["Cookie"] = []string{"a=b; c=d", "e=f"} }},
		{name: "pragma", method: "GET", path: "/", change: func(r *http.Request) { r.Header.Set("Pragma", "no-cache") }},
		{name: "HEAD", method: "HEAD", path: "/"},
		{name: "method of its own", method: "BREW", path: "/pot"},
		{name: "OPTIONS", method: "OPTIONS", path: "/x"},
		{name: "POST without a body", method: "POST", path: "/x"},
		{name: "POST with an empty body", method: "POST", path: "/x", body: func() io.Reader { return http.NoBody }},
		{name: "POST with an empty body of unknown length", method: "POST", path: "/x", body: func() io.Reader { return unsized("") }},
		{name: "body", method: "POST", path: "/x", body: func() io.Reader { return strings.NewReader("abc") }},
		{name: "body of unknown length", method: "PUT", path: "/x", body: func() io.Reader { return unsized("abc") }},
		{name: "body of GET", method: "GET", path: "/x", body: func() io.Reader { return unsized("abc") }},
		{name: "large body", method: "POST", path: "/x", body: func() io.Reader { return bytes.NewReader(make([]byte, 3<<20)) }},
		{name: "trailers", method: "POST", path: "/x", body: func() io.Reader { return unsized("abc") }, change: func(r *http.Request) {
			r.Trailer = http.Header{"X-Sum": {"7"}, "X-More": {"8", "9"}}
		}},
		{name: "Expect", method: "POST", path: "/x", body: func() io.Reader { return strings.NewReader("abc") }, change: func(r *http.Request) {
			r.Header.Set("Expect", "100-continue")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got, want *requestFacts
			var without []string
			if tc.name == "trailers" { // whose names ToHTTP does not pass on before the trailers arrive
				without = []string{"gallop in net/http"}
			}
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				f := factsOf(t, r)
				f.Host = strings.ReplaceAll(f.Host, r.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String(), "server")
				got = &f
			})
			servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
				var body io.Reader
				if tc.body != nil {
					body = tc.body()
				}
				r := requestTo(t, tc.method, url+tc.path, body)
				if tc.change != nil {
					tc.change(r)
				}
				do(t, client, r)
				if want == nil {
					want = got
					return
				}
				if tc.name == "POST with an empty body of unknown length" {
					got.ContentLength = -1 // gallop knows the length if the end of the body arrives with the header
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got\n%+v\nas net/http has it\n%+v", *got, *want)
				}
			}, without...)
		})
	}
}

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
