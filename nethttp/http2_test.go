package nethttp_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	start func(t *testing.T, h http.Handler, tls bool) (url string, client *http.Client)
}{
	{"net/http", startNetHTTPOverH2},
	{"gallop", func(t *testing.T, h http.Handler, tls bool) (string, *http.Client) {
		return startGallopOverH2(t, nethttp.NewServer(h), tls)
	}},
	{"gallop on goroutines", func(t *testing.T, h http.Handler, tls bool) (string, *http.Client) {
		s := nethttp.NewServer(h)
		s.Engine = gallop.EngineGoroutine
		return startGallopOverH2(t, s, tls)
	}},
	{"gallop, whole bodies", func(t *testing.T, h http.Handler, tls bool) (string, *http.Client) {
		s := nethttp.NewServer(h)
		s.StreamRequestBody = false
		return startGallopOverH2(t, s, tls)
	}},
	{"gallop in net/http", func(t *testing.T, h http.Handler, tls bool) (string, *http.Client) {
		return startNetHTTPOverH2(t, nethttp.ToHTTP(nethttp.FromHTTP(h)), tls)
	}},
}

// servedH2 runs f against each of these servers whose name is not left out, with and without TLS. net/http's own server
// comes first.
func servedH2(t *testing.T, h http.Handler, f func(t *testing.T, url string, client *http.Client), without ...string) {
	t.Helper()
	for _, proto := range []string{"h2", "h2c"} {
		for _, way := range waysH2 {
			if slices.Contains(without, way.name) {
				continue
			}
			t.Run(proto+"/"+way.name, func(t *testing.T) {
				url, client := way.start(t, h, proto == "h2")
				f(t, url, client)
			})
		}
	}
}

func startNetHTTPOverH2(t *testing.T, h http.Handler, tls bool) (string, *http.Client) {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quietLog
	t.Cleanup(s.Close)
	if !tls {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		return s.URL, clientOverH2(t, nil)
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	return s.URL, clientOverH2(t, s.Client().Transport.(*http.Transport).TLSClientConfig)
}

func startGallopOverH2(t *testing.T, s *gallop.Server, withTLS bool) (string, *http.Client) {
	s.Logger = quietLog
	s.MinBodyRate = -1 // on a busy machine, clients may be slow
	ln := listen(t)
	t.Cleanup(func() { s.Close() })
	if !withTLS {
		s.Protocols = new(gallop.Protocols)
		s.Protocols.SetUnencryptedHTTP2(true)
		go s.Serve(ln)
		return "http://" + ln.Addr().String(), clientOverH2(t, nil)
	}
	cert, roots := galloptest.Certificate()
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	go s.ServeTLS(ln, "", "")
	return "https://" + ln.Addr().String(), clientOverH2(t, &tls.Config{RootCAs: roots})
}

// clientOverH2 returns a client that fails unless the server uses HTTP/2. Without a config, it does not use TLS.
func clientOverH2(t *testing.T, config *tls.Config) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	if config == nil {
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.TLSClientConfig = config.Clone()
		transport.TLSClientConfig.NextProtos = nil
		transport.Protocols.SetHTTP2(true)
	}
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
	t.Parallel()
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
		t.Run(tc.name, func(t *testing.T) {
			first := map[string]string{} // by method
			servedH2(t, http.HandlerFunc(tc.handle), func(t *testing.T, url string, client *http.Client) {
				for _, method := range []string{"GET", "HEAD", "POST"} {
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
					if first[method] == "" {
						first[method] = got
					} else if got != first[method] {
						t.Errorf("%s: got\n%s\nas net/http has it\n%s", method, got, first[method])
					}
				}
			}, append(without, "gallop in net/http")...)
		})
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
	Close                           bool
	TLS                             string // protocol
	Body                            string
	BodyTrailer                     http.Header
}

// factsOf reads the body of r, too.
func factsOf(t *testing.T, r *http.Request) requestFacts {
	f := requestFacts{
		Method: r.Method, RequestURI: r.RequestURI, Host: r.Host, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, URL: *r.URL,
		Header: r.Header.Clone(), ContentLength: r.ContentLength, TransferEncoding: r.TransferEncoding,
		Trailer: r.Trailer.Clone(), Close: r.Close,
	}
	if r.TLS != nil {
		f.TLS = r.TLS.NegotiatedProtocol
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
	t.Parallel()
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
				if (got.TLS == "h2") != (r.URL.Scheme == "https") {
					t.Errorf("the protocol over TLS is %q", got.TLS)
				}
				got.TLS = ""
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
