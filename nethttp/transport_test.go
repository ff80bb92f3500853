package nethttp_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
)

// transports are the round trippers that are compared: what holds for the first has
// to hold for the other.
var transports = []struct {
	name string
	make func(tlsConfig *tls.Config, proxy func(*http.Request) (*url.URL, error)) http.RoundTripper
}{
	{"net/http", func(c *tls.Config, proxy func(*http.Request) (*url.URL, error)) http.RoundTripper {
		return &http.Transport{TLSClientConfig: c, Proxy: proxy, ExpectContinueTimeout: time.Second}
	}},
	{"gallop", func(c *tls.Config, proxy func(*http.Request) (*url.URL, error)) http.RoundTripper {
		return &nethttp.Transport{TLSClientConfig: c, Proxy: proxy}
	}},
}

// sent runs f with a client over each of the transports.
func sent(t *testing.T, f func(t *testing.T, client *http.Client)) {
	t.Helper()
	for which := range transports {
		sentOver(t, which, f)
	}
}

// sentByUs is sent without net/http's transport, for what that does not do, or not always.
func sentByUs(t *testing.T, f func(t *testing.T, client *http.Client)) {
	t.Helper()
	sentOver(t, len(transports)-1, f)
}

func sentOver(t *testing.T, which int, f func(t *testing.T, client *http.Client)) {
	t.Helper()
	t.Run(transports[which].name, func(t *testing.T) {
		client := &http.Client{Transport: transports[which].make(nil, nil)}
		defer client.CloseIdleConnections()
		f(t, client)
	})
}

// serveWith starts a server for the test.
func serveWith(t *testing.T, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = quietLog
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A server receives the same request from every transport.
func TestTransportRequest(t *testing.T) {
	var got string
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Del("Accept-Encoding") // asserted on its own
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s host=%s length=%d coding=%v close=%v body=%.20q/%d trailer=%v\n",
			r.Method, r.RequestURI, r.Proto, strings.ReplaceAll(r.Host, r.Context().Value(http.LocalAddrContextKey).(net.Addr).String(), "SERVER"),
			r.ContentLength, r.TransferEncoding, r.Close, body, len(body), r.Trailer)
		r.Header.Write(&b)
		got = b.String()
	})
	request := func(method, path string, body func() io.Reader, more ...func(r *http.Request)) func() *http.Request {
		return func() *http.Request {
			var content io.Reader
			if body != nil {
				content = body()
			}
			r, err := http.NewRequest(method, s.URL+path, content)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range more {
				f(r)
			}
			return r
		}
	}
	text := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	stream := func(s string) func() io.Reader {
		return func() io.Reader { return io.MultiReader(strings.NewReader(s)) }
	}
	big := strings.Repeat("x", 200<<10)
	for _, tc := range []struct {
		name string
		make func() *http.Request
	}{
		{"get", request("GET", "/", nil)},
		{"no path", request("GET", "", nil)},
		{"no method", request("", "/x", nil)},
		{"query", request("GET", "/a?b=c&d=%20", nil)},
		{"escapes", request("GET", "/a%2Fb/../c//d/%C3%BC", nil)},
		{"opaque", request("GET", "/", nil, func(r *http.Request) { r.URL.Opaque = "/a%2fb" })},
		{"another host", request("GET", "/", nil, func(r *http.Request) { r.Host = "other.example" })},
		{"host beyond ASCII", request("GET", "/", nil, func(r *http.Request) { r.Host = "b\u00fccher.example:80" })},
		{"host with a zone", request("GET", "/", nil, func(r *http.Request) { r.Host = "[fe80::1%eth0]:80" })},
		{"head", request("HEAD", "/", nil)},
		{"options", request("OPTIONS", "/x", nil)},
		{"method of its own", request("BREW", "/x", text("x"))},
		{"fields", request("GET", "/", nil, func(r *http.Request) {
			r.Header = http.Header{"X-A": {"1", "2"}, "x-lower": {"3"}, "Cookie": {"a=b"}, "Empty": {""}}
		})},
		{"user agent", request("GET", "/", nil, func(r *http.Request) { r.Header.Set("User-Agent", "me") })},
		{"no user agent", request("GET", "/", nil, func(r *http.Request) { r.Header["User-Agent"] = nil })},
		{"close", request("GET", "/", nil, func(r *http.Request) { r.Close = true })},
		{"basic auth", request("GET", "/", nil, func(r *http.Request) { r.SetBasicAuth("u", "p") })},
		{"post", request("POST", "/", text("body"))},
		{"post nothing", request("POST", "/", nil)},
		{"put nothing", request("PUT", "/", nil)},
		{"patch nothing", request("PATCH", "/", nil)},
		{"delete nothing", request("DELETE", "/", nil)},
		{"delete with a body", request("DELETE", "/", text("x"))},
		{"a method of its own without a body", request("BREW", "/", nil)},
		{"a method of its own with an empty body", request("BREW", "/", text(""))},
		{"post an empty body", request("POST", "/", text(""))},
		{"big", request("POST", "/", text(big))},
		{"stream", request("POST", "/", stream("body"))},
		{"stream of known length", request("POST", "/", stream(big), func(r *http.Request) { r.ContentLength = int64(len(big)) })},
		{"empty stream", request("POST", "/", stream(""))},
		{"get with an empty stream", request("GET", "/", stream(""))},
		{"get with an empty stream of no known length", request("GET", "/", stream(""), func(r *http.Request) { r.ContentLength = -1 })},
		{"get with a stream", request("GET", "/", stream("x"))},
		{"no body", request("POST", "/", func() io.Reader { return http.NoBody })},
		{"put", request("PUT", "/", text("put"))},
		{"content type", request("POST", "/", text("a=b"), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})},
		{"chunked though the length is known", request("POST", "/", text("body"), func(r *http.Request) { r.TransferEncoding = []string{"chunked"} })},
		{"expect", request("POST", "/", text("body"), func(r *http.Request) { r.Header.Set("Expect", "100-continue") })},
		{"trailers", request("POST", "/", text("body"), func(r *http.Request) {
			r.ContentLength = -1
			r.Trailer = http.Header{"X-Sum": {"7"}}
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first := ""
			sent(t, func(t *testing.T, client *http.Client) {
				resp, err := client.Do(tc.make())
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if first == "" {
					first = got
				} else if got != first {
					t.Errorf("got\n%s\nof net/http's\n%s", got, first)
				}
			})
		})
	}
}

// Characters that net/http sends in a target unescaped are escaped. If net/http refuses a target, the request fails
// and nothing is sent.
func TestTransportTarget(t *testing.T) {
	var got string
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI + " " + r.Host })
	addr := strings.TrimPrefix(s.URL, "http://")
	for _, tc := range []struct {
		name   string
		change func(r *http.Request)
		want   string // empty if it fails
	}{
		{"letters in a query", func(r *http.Request) { r.URL.RawQuery = "q=\u00fc" }, "/?q=%C3%BC " + addr},
		{"quotes in a query", func(r *http.Request) { r.URL.RawQuery = `a="<b>"` }, "/?a=%22%3Cb%3E%22 " + addr},
		{"number sign in a query", func(r *http.Request) { r.URL.RawQuery = "a#b" }, "/?a%23b " + addr},
		{"line end in a query", func(r *http.Request) { r.URL.RawQuery = "a\r\nX: y" }, ""},
		{"DEL in a query", func(r *http.Request) { r.URL.RawQuery = "a\x7f" }, ""},
		{"tab in what is opaque", func(r *http.Request) { r.URL.Opaque = "/a\tb" }, ""},
		{"tunnel to another host", func(r *http.Request) { r.Method, r.URL.Path, r.Host = "CONNECT", "", "x.example:1" }, "x.example:1 x.example:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sentByUs(t, func(t *testing.T, client *http.Client) {
				got = ""
				r := requestTo(t, "GET", s.URL+"/", nil)
				tc.change(r)
				resp, err := client.Transport.RoundTrip(r)
				if err == nil {
					resp.Body.Close()
				}
				if got != tc.want || (err != nil) != (tc.want == "") {
					t.Errorf("got %q, %v, want %q", got, err, tc.want)
				}
			})
		})
	}
}

// A client gets the same response from every transport.
func TestTransportAnswer(t *testing.T) {
	var gz bytes.Buffer
	zw := gzip.NewWriter(&gz)
	zw.Write([]byte("zipped"))
	zw.Close()
	zipped := gz.String()
	for _, tc := range []struct{ name, answer string }{
		{"plain", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"reason", "HTTP/1.1 200 All right\r\nContent-Length: 0\r\n\r\n"},
		{"no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
		{"old", "HTTP/1.0 200 OK\r\n\r\nto the end"},
		{"to the end", "HTTP/1.1 200 OK\r\n\r\nto the end"},
		{"closing", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"trailers", "HTTP/1.1 200 OK\r\nTrailer: X-Sum, X-None\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Else: 2\r\n\r\n"},
		{"trailers without chunks", "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nContent-Length: 3\r\n\r\nabc"},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nEtag: x\r\nContent-Length: 7\r\n\r\n"},
		{"fields", "HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nSet-Cookie: c=d\r\nx-a:  1 \r\nX-a: 2\r\nContent-Length: 0\r\n\r\n"},
		{"interim", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"},
		{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + fmt.Sprint(len(zipped)) + "\r\n\r\n" + zipped},
		{"gzip to the end", "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\n\r\n" + zipped},
		{"broken gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"},
		{"another coding", "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nnope"},
		{"an error", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno"},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"},
		{"chunks cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"},
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(tc.name+"/"+method, func(t *testing.T) {
				first, answer := "", tc.answer
				if method == "HEAD" {
					answer = answer[:strings.LastIndex(answer, "HTTP/1.")]
					head, _, _ := strings.Cut(tc.answer[len(answer):], "\r\n\r\n")
					answer += head + "\r\n\r\n"
				}
				sent(t, func(t *testing.T, client *http.Client) {
					resp, err := client.Do(requestTo(t, method, "http://"+answering(t, answer), nil))
					if err != nil {
						t.Fatal(err)
					}
					got := describeReceived(resp)
					if first == "" {
						first = got
					} else if got != first {
						t.Errorf("got\n%s\nof net/http\n%s", got, first)
					}
				})
			})
		}
	}
}

// A body that is decompressed ends with Close, whatever has been read of it.
func TestTransportClosedGzip(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		zw.Write(make([]byte, 100<<10))
		zw.Close()
	})
	sent(t, func(t *testing.T, client *http.Client) {
		resp, err := client.Do(requestTo(t, "GET", s.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := resp.Body.Read(make([]byte, 10)); n == 0 || err != nil || !resp.Uncompressed {
			t.Errorf("read %d, %v of %v", n, err, resp)
		}
		resp.Body.Close()
		if n, err := resp.Body.Read(make([]byte, 10)); n > 0 || err == nil || err == io.EOF {
			t.Errorf("read %d, %v behind Close", n, err)
		}
	})
}

func requestTo(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answering returns the address of a server that gives this answer to one request, and
// ends the connection.
func answering(t *testing.T, answer string) string {
	ln := listen(t)
	t.Cleanup(func() { ln.Close() })
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, answer)
		}
	}()
	return ln.Addr().String()
}

func describeReceived(resp *http.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %s %d %d.%d length=%d coding=%v close=%v uncompressed=%v trailer=%v request=%v tls=%v nobody=%v\n",
		resp.Status, resp.Proto, resp.StatusCode, resp.ProtoMajor, resp.ProtoMinor, resp.ContentLength,
		resp.TransferEncoding, resp.Close, resp.Uncompressed, resp.Trailer, resp.Request != nil, resp.TLS != nil, resp.Body == http.NoBody)
	resp.Header.Write(&b)
	body, err := io.ReadAll(resp.Body)
	fmt.Fprintf(&b, "%q unexpected=%v failed=%v trailer=%v\n", body, errors.Is(err, io.ErrUnexpectedEOF), err != nil, resp.Trailer)
	resp.Body.Close()
	_, err = resp.Body.Read(make([]byte, 1))
	fmt.Fprintf(&b, "read behind Close: failed=%v\n", err != nil)
	return b.String()
}

// The fields Host, ContentLength, TransferEncoding and Trailer of a request decide. Entries of those names in its Header
// are ignored.
func TestTransportFieldsOfItsOwn(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %v %s %v", r.Host, r.ContentLength, r.TransferEncoding, r.Trailer, body, err)
	})
	want := strings.TrimPrefix(s.URL, "http://") + " 4 [] map[] body <nil>"
	for _, name := range []string{"host", "HOST", "content-length", "transfer-encoding", "trailer"} {
		sentByUs(t, func(t *testing.T, client *http.Client) {
			r := requestTo(t, "POST", s.URL, strings.NewReader("body"))
			r.Header[name] = []string{"chunked"}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, resp); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		})
	}
}

// A length without a body is a mistake, and not a request without one.
func TestTransportLengthOfNoBody(t *testing.T) {
	s := serveWith(t, func(http.ResponseWriter, *http.Request) { t.Error("a request has arrived") })
	sent(t, func(t *testing.T, client *http.Client) {
		r := requestTo(t, "POST", s.URL, nil)
		r.ContentLength = 4
		if resp, err := client.Transport.RoundTrip(r); err == nil {
			t.Errorf("got %v", resp)
		}
	})
}

// DisableKeepAlives leaves alone what asks for another protocol.
func TestTransportUpgradeWithoutKeepAlives(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header["Connection"]) })
	for _, transport := range []http.RoundTripper{&http.Transport{DisableKeepAlives: true}, &nethttp.Transport{DisableKeepAlives: true}} {
		for _, upgrade := range []string{"", "x"} {
			r := requestTo(t, "GET", s.URL, nil)
			want := "[close]"
			if upgrade != "" {
				r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {upgrade}}
				want = "[Upgrade]"
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, resp); got != want {
				t.Errorf("%T, upgrade %q: got %s, want %s", transport, upgrade, got, want)
			}
		}
	}
}

// The same connection serves one request after the other if the bodies are read or closed.
func TestTransportReuse(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RemoteAddr)
	})
	sent(t, func(t *testing.T, client *http.Client) {
		seen := ""
		for i := range 4 {
			resp, err := client.Do(requestTo(t, "GET", s.URL, nil))
			if err != nil {
				t.Fatal(err)
			}
			if addr := bodyOf(t, resp); seen != "" && addr != seen {
				t.Errorf("call %d came from %s, the one before from %s", i, addr, seen)
			} else {
				seen = addr
			}
		}
		client.CloseIdleConnections()
		resp, err := client.Do(requestTo(t, "GET", s.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		if addr := bodyOf(t, resp); addr == seen {
			t.Errorf("CloseIdleConnections left %s", addr)
		}
	})
}

// Where no connection is kept each call has one of its own, also if it asks for another protocol and gets none.
func TestTransportKeepsNone(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	for _, tc := range []struct {
		name         string
		theirs, ours http.RoundTripper
		header       http.Header
	}{
		{"DisableKeepAlives", &http.Transport{DisableKeepAlives: true}, &nethttp.Transport{DisableKeepAlives: true}, http.Header{}},
		{"DisableKeepAlives, and an upgrade", &http.Transport{DisableKeepAlives: true}, &nethttp.Transport{DisableKeepAlives: true},
			http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}}},
		{"MaxIdleConnsPerHost", &http.Transport{MaxIdleConnsPerHost: -1}, &nethttp.Transport{MaxIdleConnsPerHost: -1}, http.Header{}},
	} {
		for _, transport := range []http.RoundTripper{tc.theirs, tc.ours} {
			seen := map[string]bool{}
			for range 3 {
				r := requestTo(t, "GET", s.URL, nil)
				r.Header = tc.header.Clone()
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				seen[bodyOf(t, resp)] = true
			}
			if len(seen) != 3 {
				t.Errorf("%s, %T: %d connections for 3 calls", tc.name, transport, len(seen))
			}
		}
	}
}

// closeCounter is a body that knows how often it was closed.
type closeCounter struct {
	io.Reader
	mu     sync.Mutex
	closes int
	closed chan struct{}
}

func counted(r io.Reader) *closeCounter { return &closeCounter{Reader: r, closed: make(chan struct{})} }

func (c *closeCounter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closes++; c.closes == 1 {
		close(c.closed)
	}
	return nil
}

// The body of a request is closed, however the call ends.
func TestTransportClosesBody(t *testing.T) {
	t.Parallel()
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			http.Error(w, "no", http.StatusRequestEntityTooLarge)
			return
		}
		io.Copy(io.Discard, r.Body)
	})
	broken := errors.New("broken")
	for _, tc := range []struct {
		name, url string
		body      io.Reader
		change    func(r *http.Request)
		fails     bool
	}{
		{"well", s.URL, strings.NewReader("body"), nil, false},
		{"refused", s.URL + "/refuse", io.LimitReader(zeros{}, 1<<30), nil, false},
		{"no server", "http://" + wiretest.FreeAddress(t), strings.NewReader("body"), nil, true},
		{"unknown scheme", "ftp://h/", strings.NewReader("body"), nil, true},
		{"no host", "http:///x", strings.NewReader("body"), nil, true},
		{"bad method", s.URL, strings.NewReader("body"), func(r *http.Request) { r.Method = "A B" }, true},
		{"bad name", s.URL, strings.NewReader("body"), func(r *http.Request) { r.Header["A B"] = []string{"x"} }, true},
		{"bad value", s.URL, strings.NewReader("body"), func(r *http.Request) { r.Header.Set("X", "a\r\nb") }, true},
		{"bad trailer", s.URL, strings.NewReader("body"), func(r *http.Request) {
			r.Trailer = http.Header{"Content-Length": nil}
			r.ContentLength = -1
		}, true},
		{"body fails", s.URL, iotest.ErrReader(broken), nil, true},
		{"body too short", s.URL, strings.NewReader("body"), func(r *http.Request) { r.ContentLength = 5 }, true},
		{"body too long", s.URL, strings.NewReader("body"), func(r *http.Request) { r.ContentLength = 3 }, true},
		{"cancelled before", s.URL, strings.NewReader("body"), func(r *http.Request) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			*r = *r.WithContext(ctx)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seeker, _ := tc.body.(io.Seeker)
			sent(t, func(t *testing.T, client *http.Client) {
				if seeker != nil {
					seeker.Seek(0, io.SeekStart)
				}
				body := counted(tc.body)
				r := requestTo(t, "POST", tc.url, nil)
				r.Body, r.ContentLength = body, -1
				if tc.change != nil {
					tc.change(r)
				}
				resp, err := client.Transport.RoundTrip(r)
				if err == nil {
					resp.Body.Close()
				}
				_, theirs := client.Transport.(*http.Transport)
				if (err != nil) != tc.fails && !(theirs && tc.name == "body too long") { // which net/http may learn too late
					t.Errorf("got %v", err)
				}
				if tc.name == "body fails" && !errors.Is(err, broken) {
					t.Errorf("got %v, want the body's error", err)
				}
				select {
				case <-body.closed:
				case <-time.After(5 * time.Second):
					t.Error("the body was not closed")
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A context ends a call in any of its stages, and the error says so.
func TestTransportCancel(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	begun := make(chan struct{}, 100)
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
		case "/upload":
			r.Body.Read(make([]byte, 1))
		}
		begun <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	silent := listen(t) // accepts and says nothing
	defer silent.Close()
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			begun <- struct{}{}
		}
	}()
	for _, tc := range []struct {
		name, url string
		body      func() io.Reader
		inBody    bool // the response begins
	}{
		{"head", s.URL + "/head", nil, false},
		{"body", s.URL + "/body", nil, true},
		{"upload", s.URL + "/upload", halfPipe, false},
		{"handshake", "https://" + silent.Addr().String(), nil, false},
	} {
		for _, end := range []string{"cancel", "cause", "deadline", "client timeout"} {
			t.Run(tc.name+"/"+end, func(t *testing.T) {
				over := sent
				if tc.body != nil {
					over = sentByUs // net/http waits for bodies that wait
				}
				over(t, func(t *testing.T, client *http.Client) {
					ctx, cancel := context.WithCancelCause(context.Background())
					defer cancel(nil)
					cause := errors.New("cause")
					switch end {
					case "deadline":
						c, stop := context.WithTimeout(ctx, 50*time.Millisecond)
						defer stop()
						ctx = c
					case "client timeout":
						client.Timeout = 50 * time.Millisecond
					default:
						go func() {
							<-begun
							if end == "cancel" {
								cause = nil
							}
							cancel(cause)
						}()
					}
					var body io.Reader
					if tc.body != nil {
						body = tc.body()
					}
					r := requestTo(t, "POST", tc.url, body).WithContext(ctx)
					resp, err := client.Do(r)
					if tc.inBody && err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					checkEnd(t, err, end, cause)
				})
				for len(begun) > 0 {
					<-begun
				}
			})
		}
	}
}

func checkEnd(t *testing.T, err error, end string, cause error) {
	t.Helper()
	var n net.Error
	switch end {
	case "cancel":
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	case "cause":
		if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the cause", err)
		}
	default:
		if !errors.As(err, &n) || !n.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a timeout", err)
		}
	}
}

// halfPipe returns a body that begins, and does not go on until it is closed.
func halfPipe() io.Reader {
	pr, pw := io.Pipe()
	go io.WriteString(pw, "x")
	return pr
}

// The hooks of httptrace are called, in the same order.
func TestTransportTrace(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(103)
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "x")
	})
	sent(t, func(t *testing.T, client *http.Client) {
		var mu sync.Mutex
		var log []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf(format, args...))
		}
		fields := map[string]bool{}
		idle := make(chan bool, 3)
		trace := &httptrace.ClientTrace{
			GetConn: func(addr string) { note("GetConn %v", strings.HasSuffix(s.URL, addr)) },
			GotConn: func(i httptrace.GotConnInfo) {
				note("GotConn reused=%v idle=%v conn=%v", i.Reused, i.WasIdle, i.Conn != nil)
			},
			PutIdleConn:          func(err error) { note("PutIdleConn %v", err); idle <- true },
			ConnectStart:         func(network, addr string) { note("ConnectStart %s", network) },
			ConnectDone:          func(network, addr string, err error) { note("ConnectDone %s %v", network, err) },
			WroteHeaderField:     func(name string, value []string) { fields[name] = true },
			WroteHeaders:         func() { note("WroteHeaders") },
			Wait100Continue:      func() { note("Wait100Continue") },
			Got100Continue:       func() { note("Got100Continue") },
			WroteRequest:         func(i httptrace.WroteRequestInfo) { note("WroteRequest %v", i.Err) },
			GotFirstResponseByte: func() { note("GotFirstResponseByte") },
			Got1xxResponse:       func(code int, h textproto.MIMEHeader) error { note("Got1xx %d", code); return nil },
		}
		for _, body := range []string{"", "expect", ""} {
			r := requestTo(t, "POST", s.URL, strings.NewReader(body))
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
			if body != "" {
				r.Header.Set("Expect", "100-continue")
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			bodyOf(t, resp)
			<-idle
			mu.Lock()
			log = append(log, "-")
			mu.Unlock()
		}
		got := strings.Join(log, "\n")
		for _, want := range []string{
			"GetConn true\nConnectStart tcp\nConnectDone tcp <nil>\nGotConn reused=false idle=false conn=true\nWroteHeaders\nWroteRequest <nil>\n",
			"GetConn true\nGotConn reused=true idle=true conn=true\nWroteHeaders\n",
			"Wait100Continue", "GotFirstResponseByte", "Got100Continue", "Got1xx 100", "Got1xx 103", "PutIdleConn <nil>",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
		if !fields["User-Agent"] || !fields["Host"] {
			t.Errorf("header fields %v", fields)
		}
	})
}

// TLS: the state is in the response, and a certificate is checked.
func TestTransportTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") }))
	s.Config.ErrorLog = quietLog
	s.StartTLS()
	defer s.Close()
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			trusting := s.Client().Transport.(*http.Transport).TLSClientConfig
			client := &http.Client{Transport: transport.make(trusting, nil)}
			defer client.CloseIdleConnections()
			for range 2 {
				resp, err := client.Do(requestTo(t, "GET", s.URL, nil))
				if err != nil {
					t.Fatal(err)
				}
				if body := bodyOf(t, resp); body != "x" || resp.TLS == nil || len(resp.TLS.PeerCertificates) == 0 {
					t.Errorf("got %q, %+v", body, resp.TLS)
				}
			}
			wary := &http.Client{Transport: transport.make(nil, nil)}
			if resp, err := wary.Do(requestTo(t, "GET", s.URL, nil)); err == nil {
				t.Errorf("got %v", resp)
			} else if cert := new(tls.CertificateVerificationError); !errors.As(err, &cert) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Behind a 101 the body is the connection.
func TestTransportUpgrade(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(101)
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		rw.WriteString("ahead\n")
		rw.Flush()
		io.Copy(conn, rw)
	})
	sent(t, func(t *testing.T, client *http.Client) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r := requestTo(t, "GET", s.URL, nil).WithContext(ctx)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "echo")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		rw, ok := resp.Body.(io.ReadWriteCloser)
		if !ok || resp.StatusCode != 101 || resp.ContentLength != 0 || resp.Header.Get("Upgrade") != "echo" {
			t.Fatalf("got %v, %T", resp, resp.Body)
		}
		br := bufio.NewReader(rw)
		for _, say := range []string{"ahead\n", "one\n", "two\n"} {
			if say != "ahead\n" {
				io.WriteString(rw, say)
			}
			if line, err := br.ReadString('\n'); line != say {
				t.Fatalf("got %q, %v", line, err)
			}
		}
		if err := rw.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A half-closed connection stays half-closed through httputil.ReverseProxy, with every server and every transport.
func TestUpgradeClosedHalf(t *testing.T) {
	up := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		b, err := io.ReadAll(rw)
		fmt.Fprintf(conn, "%s %v", b, err)
	})
	to, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range transports {
		proxy := httputil.NewSingleHostReverseProxy(to)
		proxy.ErrorLog, proxy.Transport = quietLog, transport.make(nil, nil)
		served(t, proxy, func(t *testing.T, addr string) {
			p := dial(t, addr)
			p.say("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			resp, err := http.ReadResponse(p.r, nil)
			if err != nil || resp.StatusCode != 101 {
				t.Fatalf("got %v, %v", resp, err)
			}
			p.say("all there is")
			p.Conn.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(p.r); string(got) != "all there is <nil>" || err != nil {
				t.Errorf("over %s: got %q, %v", transport.name, got, err)
			}
		}, "gallop in net/http")
	}
}

// A response may begin before the request body has ended.
func TestTransportFullDuplex(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		rc.EnableFullDuplex()
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
	sent(t, func(t *testing.T, client *http.Client) {
		for range 2 {
			pr, pw := io.Pipe()
			resp, err := client.Do(requestTo(t, "POST", s.URL, pr))
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(resp.Body)
			for _, say := range []string{"one\n", "two\n"} {
				go io.WriteString(pw, say)
				if line, err := lines.ReadString('\n'); line != say {
					t.Fatalf("got %q, %v", line, err)
				}
			}
			pw.Close()
			if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
				t.Errorf("got %q, %v", rest, err)
			}
			resp.Body.Close()
		}
	})
}

// Plain requests go to a proxy as whole URIs, secured ones through a tunnel.
func TestTransportProxy(t *testing.T) {
	plain := serveWith(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "from the origin") })
	secured := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secured") }))
	defer secured.Close()
	var asked []string
	proxy := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		asked = append(asked, fmt.Sprintf("%s %v %s:%s", r.Method, r.URL.IsAbs(), user, password))
		if r.Method != http.MethodConnect {
			r.RequestURI = ""
			r.Header.Del("Proxy-Authorization")
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			io.Copy(w, resp.Body)
			return
		}
		tunnel(t, w, r)
	})
	u, err := url.Parse(strings.Replace(proxy.URL, "http://", "http://user:pass@", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			asked = nil
			trusting := secured.Client().Transport.(*http.Transport).TLSClientConfig
			client := &http.Client{Transport: transport.make(trusting, http.ProxyURL(u))}
			defer client.CloseIdleConnections()
			for url, want := range map[string]string{plain.URL: "from the origin", secured.URL: "secured"} {
				resp, err := client.Do(requestTo(t, "GET", url, nil))
				if err != nil {
					t.Fatal(err)
				}
				if body := bodyOf(t, resp); body != want {
					t.Errorf("got %q, want %q", body, want)
				}
			}
			slices.Sort(asked)
			if got := strings.Join(asked, ", "); got != "CONNECT false user:pass, GET true user:pass" {
				t.Errorf("the proxy was asked %s", got)
			}
		})
	}
}

// tunnel connects the client with what it asks for.
func tunnel(t *testing.T, w http.ResponseWriter, r *http.Request) {
	up, err := net.Dial("tcp", r.Host)
	if err != nil {
		t.Error(err)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		defer up.Close()
		io.Copy(up, conn)
	}()
	go func() {
		defer conn.Close()
		io.Copy(conn, up)
	}()
}

// A request whose connection turns out to be closed is sent again with a body from
// GetBody.
func TestTransportRetry(t *testing.T) {
	ln := listen(t)
	defer ln.Close()
	go func() { // answers one request on each connection, and closes it at the next
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				r, err := http.ReadRequest(br)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				http.ReadRequest(br)
			}()
		}
	}()
	// net/http fails now and then when it notices while it sends the body.
	sentByUs(t, func(t *testing.T, client *http.Client) {
		for _, body := range []string{"one", "two", strings.Repeat("three", 20<<10)} {
			r := requestTo(t, "POST", "http://"+ln.Addr().String(), strings.NewReader(body))
			r.Header.Set("Idempotency-Key", "k")
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, resp); got != body || resp.Request != r {
				t.Errorf("got %.20q, want %.20q; for that request: %v", got, body, resp.Request == r)
			}
		}
	})
}

// Redirects, cookies and forms are the http.Client's, and work.
func TestTransportInClient(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, r.Method, r.URL.Path, r.FormValue("a"))
	})
	sent(t, func(t *testing.T, client *http.Client) {
		client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.Response == nil || r.Response.StatusCode != http.StatusTemporaryRedirect {
				t.Errorf("the redirect came with %v", r.Response)
			}
			return nil
		}
		resp, err := client.PostForm(s.URL+"/from", url.Values{"a": {"b"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyOf(t, resp); got != "POST/tob" {
			t.Errorf("got %q", got)
		}
	})
}

// A failed dial is a net.Error, and says what the system said.
func TestTransportDialError(t *testing.T) {
	addr := wiretest.FreeAddress(t)
	sent(t, func(t *testing.T, client *http.Client) {
		_, err := client.Do(requestTo(t, "GET", "http://"+addr, nil))
		var n net.Error
		var op *net.OpError
		if !errors.As(err, &n) || n.Timeout() || !errors.As(err, &op) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %#v", err)
		}
	})
}

// A body that a call has left behind may end when the request is another one: its trailers go nowhere.
func TestTransportLateTrailers(t *testing.T) {
	addr := answering(t, "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	sentByUs(t, func(t *testing.T, client *http.Client) {
		goOn := make(chan struct{})
		body := counted(io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) {
			<-goOn
			return 0, io.EOF
		})))
		r := requestTo(t, "POST", "http://"+addr, body)
		r.Trailer = http.Header{"X-Sum": {"1"}}
		resp, err := client.Do(r)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Fatalf("got %v, %v", resp, err)
		}
		resp.Body.Close()
		var others []*gallop.Request // one of them was that of the call
		for range 100 {
			others = append(others, gallop.AcquireRequest())
		}
		close(goOn)
		<-body.closed
		for _, req := range others {
			if req.Header.Len() > 0 {
				t.Errorf("another request got %q", req.Header.String())
			}
			gallop.ReleaseRequest(req)
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that may be empty and does not say so holds up neither the call nor its end.
func TestTransportSilentBody(t *testing.T) {
	t.Parallel()
	sentByUs(t, func(t *testing.T, client *http.Client) {
		body, w := io.Pipe()
		defer w.Close()
		addr := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
		resp, err := client.Do(requestTo(t, "GET", "http://"+addr, body))
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyOf(t, resp); got != "x" {
			t.Errorf("got %q", got)
		}

		body, w = io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = client.Do(requestTo(t, "DELETE", "http://"+addr, body).WithContext(ctx))
		checkEnd(t, err, "deadline", nil)
	})
}

// A body whose first bytes took their time arrives whole.
func TestTransportSlowBody(t *testing.T) {
	t.Parallel()
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	sent(t, func(t *testing.T, client *http.Client) {
		body, w := io.Pipe()
		go func() {
			time.Sleep(300 * time.Millisecond)
			io.WriteString(w, "late")
			w.Close()
		}()
		resp, err := client.Do(requestTo(t, "GET", s.URL, body))
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyOf(t, resp); got != "late" {
			t.Errorf("got %q", got)
		}
	})
}

// Request.Cancel ends a call, and the body of its response.
func TestTransportRequestCancel(t *testing.T) {
	begun := make(chan bool, 1)
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		begun <- true
		<-r.Context().Done()
	})
	for _, path := range []string{"/head", "/body"} {
		sent(t, func(t *testing.T, client *http.Client) {
			client.Timeout = 5 * time.Second
			r := requestTo(t, "GET", s.URL+path, nil)
			stop := make(chan struct{})
			//lint:ignore SA1019 programs still set it
			r.Cancel = stop
			go func() {
				<-begun
				close(stop)
			}()
			resp, err := client.Do(r)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "request canceled") {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}
