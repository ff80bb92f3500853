package nethttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

var quietLog = log.New(io.Discard, "", 0)

// A handler sees the same request behind every server.
func TestRequest(t *testing.T) {
	type facts struct {
		Method, RequestURI, Host, Proto string
		ProtoMajor, ProtoMinor          int
		URL                             url.URL
		Header                          http.Header
		ContentLength                   int64
		TransferEncoding                []string
		Trailer                         http.Header
		Close                           bool
		Body                            string
		BodyTrailer                     http.Header
		Pattern                         string
	}
	for _, tc := range []struct{ name, request string }{
		{"plain", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"path and query", "GET /a/b;c=1/@x?q=1&r=%20 HTTP/1.1\r\nHost: a.example:80\r\n\r\n"},
		{"empty query", "GET /a? HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"two question marks", "GET /a?? HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"escapes", "GET /a%2Fb/%C3%BC%20 HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"two slashes", "GET //x/y HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"dots", "GET /a/../b/./c HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"characters", "GET /!*'() HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"upper case host", "GET / HTTP/1.1\r\nHost: A.Example\r\n\r\n"},
		{"whole URI", "GET http://b.example/x?y HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"whole URI with userinfo and no path", "GET http://b.example:81 HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		{"old", "GET / HTTP/1.0\r\n\r\n"},
		{"old, kept alive", "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"},
		{"to be closed", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		{"fields", "GET / HTTP/1.1\r\nhost: h\r\nx-one: 1\r\nX-ONE: 2\r\nx_two:   b  \r\nCookie: a=b\r\nCookie: c=d\r\naccept:\r\n\r\n"},
		{"cookies", "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=b; c=d\r\nX: y\r\n\r\n"},
		{"cookies in several fields", "GET / HTTP/1.1\r\nHost: h\r\nCookie:\r\ncookie: a=b; c=d \r\nX: y\r\nCOOKIE:\te=f\r\nCookies: g=h\r\n\r\n"},
		{"pragma", "GET / HTTP/1.1\r\nHost: h\r\nPragma: no-cache\r\n\r\n"},
		{"pragma and cache control", "GET / HTTP/1.1\r\nHost: h\r\nPragma: no-cache\r\nCache-Control: max-age=1\r\n\r\n"},
		{"method of its own", "BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"connect", "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n"},
		{"options", "OPTIONS /x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"body", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"},
		{"empty body", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"no body", "POST /x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"chunks", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"},
		{"empty chunks", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"trailers", "POST /x HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum, x-more\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\nX-Else: 8\r\n\r\n"},
		{"trailers without chunks", "POST /x HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum\r\nContent-Length: 1\r\n\r\na"},
		{"trailers without a body", "GET /x HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum\r\n\r\n"},
		{"form", "POST /x?a=1 HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=2&b=3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []facts
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				f := facts{
					Method: r.Method, RequestURI: r.RequestURI, Host: r.Host, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, URL: *r.URL,
					Header: r.Header.Clone(), ContentLength: r.ContentLength, TransferEncoding: r.TransferEncoding,
					Trailer: r.Trailer.Clone(), Close: r.Close, Pattern: r.Pattern,
				}
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error("reading the body: ", err)
				}
				f.Body, f.BodyTrailer = string(b), r.Trailer
				got = append(got, f)
			})
			served(t, h, func(t *testing.T, addr string) {
				got = got[:0:0]
				p := dial(t, addr)
				p.say("%s", tc.request)
				p.answer("GET")
				if len(got) != 1 {
					t.Fatalf("%d requests, want 1", len(got))
				}
				if strings.HasPrefix(t.Name(), "TestRequest/"+strings.ReplaceAll(tc.name, " ", "_")+"/net/http") {
					wanted[tc.name] = got[0]
				} else if !reflect.DeepEqual(got[0], wanted[tc.name]) {
					t.Errorf("got\n%+v\nas net/http has it\n%+v", got[0], wanted[tc.name])
				}
			}, unfit(tc.name)...)
		})
	}
}

// wanted is what net/http's own server made of the requests.
var wanted = map[string]any{}

// unfit names the ways that cannot serve a request as net/http does.
func unfit(name string) []string {
	switch name {
	case "fields", "cookies in several fields", "trailers", "old", "chunks", "empty chunks", "empty body", "connect":
		return []string{"gallop in net/http"}
	}
	return nil
}

func TestRequestSurroundings(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RemoteAddr == "" || r.TLS != nil {
			t.Errorf("RemoteAddr %q, TLS %v", r.RemoteAddr, r.TLS)
		}
		if _, ok := r.Context().Value(http.ServerContextKey).(*http.Server); !ok {
			t.Error("no server in the context")
		}
		fmt.Fprint(w, r.Context().Value(http.LocalAddrContextKey), " ", r.RemoteAddr)
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if got, want := bodyOf(t, p.answer("GET")), addr+" "+p.LocalAddr().String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// answerCase is a handler of which every server makes the same response.
type answerCase struct {
	name   string
	handle func(w http.ResponseWriter, r *http.Request)
}

func answerCases(t *testing.T) []answerCase {
	big := strings.Repeat("0123456789abcdef", 1<<12)
	file := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(file, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	return []answerCase{
		{"nothing", func(w http.ResponseWriter, r *http.Request) {}},
		{"a small body", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }},
		{"in pieces", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			w.Write(nil)
			fmt.Fprint(w, "b")
		}},
		{"html", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html><body>") }},
		{"html in pieces", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<ht")
			io.WriteString(w, "ml>")
		}},
		{"a type", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/x")
			io.WriteString(w, "<html>")
		}},
		{"no type", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<html>")
		}},
		{"a coding", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "x")
			io.WriteString(w, "<html>")
		}},
		{"a big body", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, big) }},
		{"a big body in pieces", func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(big); i += 100 {
				io.WriteString(w, big[i:min(i+100, len(big))])
			}
		}},
		{"a big body of known length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
			io.WriteString(w, big)
		}},
		{"a length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
		}},
		{"more than the length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
			if n, err := io.WriteString(w, "!"); n != 0 || err != http.ErrContentLength {
				t.Errorf("writing too much: %d, %v", n, err)
			}
		}},
		{"a status", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }},
		{"a status of its own", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(299) }},
		{"two statuses", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(500)
		}},
		{"a field too late", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-A", "1")
			w.WriteHeader(200)
			w.Header().Set("X-A", "2")
			w.Header().Set("X-B", "2")
		}},
		{"fields", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Set-Cookie", "a=b")
			w.Header().Add("Set-Cookie", "c=d")
			w.Header().Set("Vary", "x")
			w.Header().Add("Vary", "y")
			w.Header()["x-odd"] = []string{" 1 "}
			w.Header().Set("X-Lines", "a\r\nb")
		}},
		{"no date", func(w http.ResponseWriter, r *http.Request) { w.Header()["Date"] = nil }},
		{"another date", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Date", "then") }},
		{"no content", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			if n, err := io.WriteString(w, "x"); n != 0 || err != http.ErrBodyNotAllowed {
				t.Errorf("writing to 204: %d, %v", n, err)
			}
		}},
		{"not modified", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"x"`)
			w.Header().Set("Content-Type", `text/plain`)
			w.WriteHeader(304)
		}},
		{"flushed", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			io.WriteString(w, "b")
		}},
		{"flushed at once", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, "<html>")
		}},
		{"closing", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			io.WriteString(w, "x")
		}},
		{"identity", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Transfer-Encoding", "identity")
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}},
		{"trailers", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum, X-None")
			w.Header().Add("Trailer", "X-More")
			io.WriteString(w, "x")
			w.Header().Set("X-Sum", "1")
			w.Header().Add("X-More", "2")
			w.Header().Add("X-More", "3")
		}},
		{"trailers by prefix", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, big)
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }},
		{"an error", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) }},
		{"a file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }},
		{"a file without a length", func(w http.ResponseWriter, r *http.Request) {
			f, err := os.Open(file)
			if err != nil {
				t.Error(err)
			}
			defer f.Close()
			io.Copy(w, f)
		}},
		{"from a reader", func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(w, io.LimitReader(strings.NewReader(big), 10000))
			if n != 10000 || err != nil {
				t.Errorf("copied %d, %v", n, err)
			}
		}},
		{"by io.ReaderFrom", func(w http.ResponseWriter, r *http.Request) {
			if n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(big)); n != int64(len(big)) || err != nil {
				t.Errorf("ReadFrom returned %d, %v", n, err)
			}
		}},
		{"by io.StringWriter", func(w http.ResponseWriter, r *http.Request) {
			if n, err := w.(io.StringWriter).WriteString("text"); n != 4 || err != nil {
				t.Errorf("WriteString returned %d, %v", n, err)
			}
		}},
		{"an echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }},
		{"a copied body", func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
			fmt.Fprint(w, len(b), err)
		}},
		{"too large a body", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 2)) // with w, net/http's server closes the connection
			var tooLarge *http.MaxBytesError
			fmt.Fprint(w, errors.As(err, &tooLarge))
		}},
	}
}

// A handler's calls lead to the same response from every server.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range answerCases(t) {
		for _, request := range []string{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
			"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"} {
			name := fmt.Sprintf("%s/%s", tc.name, strings.ReplaceAll(request[:strings.IndexByte(request, '\r')], "/", " "))
			if strings.Contains(request, "keep-alive") {
				name += ", kept alive"
			}
			t.Run(name, func(t *testing.T) {
				compareAnswers(t, http.HandlerFunc(tc.handle), request)
			})
		}
	}
}

// compareAnswers sends a request to each server and compares what comes with what net/http
// sends.
func compareAnswers(t *testing.T, h http.Handler, request string) {
	var first string
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("%s", request)
		method, _, _ := strings.Cut(request, " ")
		got := describe(t, p.answer(method), method)
		if first == "" {
			first = got
		} else if got != first {
			t.Errorf("got\n%s\nas net/http has it\n%s", got, first)
		}
	}, "gallop in net/http")
}

// describe returns what a client can see of a response. It leaves out what may differ between
// the servers: Last-Modified, Connection, the parsed length for HEAD, and the Trailer header
// where there may be no chunks.
func describe(t *testing.T, resp *http.Response, method string) string {
	body := bodyOf(t, resp)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s close=%v\n", resp.Proto, resp.Status, resp.Close)
	if date := resp.Header.Get("Date"); len(date) == len(http.TimeFormat) {
		resp.Header.Set("Date", "now")
	}
	for _, name := range []string{"Last-Modified", "Connection"} { // see close=
		resp.Header.Del(name)
	}
	if method == "HEAD" || resp.ProtoMinor == 0 || resp.Close { // without chunks net/http announces trailers that never come
		resp.Header.Del("Trailer")
	}
	resp.Header.Write(&b)
	if method != "HEAD" {
		fmt.Fprintf(&b, "length=%d\n", resp.ContentLength)
	}
	fmt.Fprintf(&b, "%d bytes %.40q\n", len(body), body)
	resp.Trailer.Write(&b)
	return b.String()
}

// Trailers of a small answer arrive, where net/http's server loses them if nothing was
// flushed.
func TestTrailersOfSmallAnswer(t *testing.T) {
	p := dial(t, startGallop(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "x")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
	})))
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	resp := p.answer("GET")
	if body := bodyOf(t, resp); body != "x" || resp.Trailer.Get("X-Sum") != "1" {
		t.Errorf("got %q, %v", body, resp.Trailer)
	}
}

// A response is broken off if its body does not have the length that the handler announced. The response to HEAD
// still has that length.
func TestLengthNotKept(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		io.WriteString(w, "hel")
		if r.URL.Path == "/more" {
			for _, more := range []string{"lo!", "lo"} {
				if n, err := io.WriteString(w, more); n != 0 || err != http.ErrContentLength {
					t.Errorf("writing too much: %d, %v", n, err)
				}
			}
		}
	})
	served(t, h, func(t *testing.T, addr string) {
		for _, path := range []string{"/less", "/more"} {
			p := dial(t, addr)
			p.say("HEAD %s HTTP/1.1\r\nHost: h\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n", path, path)
			if resp := p.answer("HEAD"); resp.ContentLength != 5 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s: HEAD is told %v", path, resp)
			}
			if body, err := io.ReadAll(p.answer("GET").Body); string(body) != "hel" || err != io.ErrUnexpectedEOF {
				t.Errorf("%s: got %q, %v", path, body, err)
			}
		}
	}, "gallop in net/http")
}

// Trailers that are in the header already when the head is written come once, with what they are at the end; where
// there are no trailers they are fields of the head.
func TestTrailersSetBefore(t *testing.T) {
	addr := startGallop(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum, A-Sum")
		w.Header().Set("X-Sum", "0")
		w.Header().Set("A-Sum", "0")
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", "1")
		}
		io.WriteString(w, "x")
		w.Header().Set("X-Sum", "1")
		w.Header().Del("A-Sum")
	}))
	for _, tc := range []struct{ name, request, head, trailers string }{
		{"chunks", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "[] []", "[1] []"},
		{"length", "GET /length HTTP/1.1\r\nHost: h\r\n\r\n", "[0] [0]", "[] []"},
		{"old", "GET / HTTP/1.0\r\n\r\n", "[0] [0]", "[] []"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := dial(t, addr)
			p.say("%s", tc.request)
			resp := p.answer("GET")
			if body := bodyOf(t, resp); body != "x" {
				t.Errorf("got %q", body)
			}
			both := func(h http.Header) string { return fmt.Sprint(h["X-Sum"], h["A-Sum"]) }
			if head, trailers := both(resp.Header), both(resp.Trailer); head != tc.head || trailers != tc.trailers {
				t.Errorf("got %s in the head, %s behind the body", head, trailers)
			}
		})
	}
}

// A client that goes away ends the context, and so does the end of the handler.
func TestContext(t *testing.T) {
	ends := make(chan error, 1)
	waits := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/kept" {
			go func() {
				<-r.Context().Done()
				ends <- r.Context().Err()
			}()
			return
		}
		close(waits)
		<-r.Context().Done()
		ends <- r.Context().Err()
	})
	served(t, h, func(t *testing.T, addr string) {
		waits = make(chan struct{})
		p := dial(t, addr)
		p.say("GET /kept HTTP/1.1\r\nHost: h\r\n\r\n")
		p.answer("GET")
		if err := <-ends; err != context.Canceled {
			t.Errorf("got %v behind the handler", err)
		}
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		<-waits
		p.Close()
		if err := <-ends; err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

// So does one that goes away in the middle of its request, when that is noticed.
func TestContextInBody(t *testing.T) {
	ends := make(chan error, 1)
	waits := make(chan struct{}, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if r.URL.Path == "/derived" {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			ctx = derived
		}
		waits <- struct{}{}
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("the body has come")
		}
		<-ctx.Done()
		ends <- r.Context().Err()
	})
	served(t, h, func(t *testing.T, addr string) {
		for _, path := range []string{"/", "/derived"} {
			p := dial(t, addr)
			p.say("POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", path)
			<-waits
			p.Close()
			if err := <-ends; err != context.Canceled {
				t.Errorf("%s: got %v", path, err)
			}
		}
	}, "gallop, whole bodies")
}

// Server-sent events: what is flushed arrives while the handler runs.
func TestFlush(t *testing.T) {
	next := make(chan bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-next
		}
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		events := bufio.NewReader(p.answer("GET").Body)
		for i := range 3 {
			for _, want := range []string{fmt.Sprintf("data: %d\n", i), "\n"} {
				if line, err := events.ReadString('\n'); line != want {
					t.Fatalf("got %q, %v", line, err)
				}
			}
			next <- true
		}
		if rest, err := io.ReadAll(events); len(rest) > 0 || err != nil {
			t.Errorf("got %q, %v at the end", rest, err)
		}
	}, "gallop in net/http")
}

func TestHijack(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/upgrade" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "echo")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := w.Write([]byte("x")); err != http.ErrHijacked {
			t.Errorf("Write behind Hijack: %v", err)
		}
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("hijacked twice")
		}
		r.Context().Done() // must not read from the connection any more
		go func() {        // the handler may return before
			defer conn.Close()
			io.WriteString(conn, "raw: ")
			line, _ := rw.ReadString('\n')
			rw.WriteString(line)
			rw.Flush()
			io.Copy(conn, rw)
		}()
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\nsent ahead\n")
		p.expect("raw: sent ahead\n")
		p.say("more")
		p.expect("more")
		p = dial(t, addr)
		p.say("GET /upgrade HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		resp, err := http.ReadResponse(p.r, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "echo" || resp.Header.Get("Connection") != "Upgrade" {
			t.Fatalf("got %v, %v", resp, err)
		}
		p.expect("raw: ")
		p.say("line\nmore")
		p.expect("line\nmore")
	}, "gallop in net/http")
}

// Hijack works with a body that was not read, and waits for none of it. The bufio.Reader holds what arrived behind the head, and
// the connection yields the rest.
func TestHijackWithABodyUnread(t *testing.T) {
	big := strings.Repeat("b", 300<<10)
	for _, tt := range []struct {
		name, head, sent string
		whole            bool // all that is sent arrives with the head
	}{
		{"announced, and nothing sent", "Content-Length: 1000", "", true},
		{"300 KB", "Content-Length: 307200", big, false},
		{"half a chunked body", "Transfer-Encoding: chunked", "5\r\nhello\r\n5\r\nwo", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			waited := make(chan time.Duration, 1)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				began := time.Now()
				conn, rw, err := http.NewResponseController(w).Hijack()
				waited <- time.Since(began)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				n := rw.Reader.Buffered()
				if tt.whole && n != len(tt.sent) || n > len(tt.sent) {
					t.Errorf("%d bytes are buffered of %d", n, len(tt.sent))
				}
				got := make([]byte, len(tt.sent))
				if _, err := io.ReadFull(rw, got[:n]); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(conn, got[n:]); err != nil {
					t.Errorf("behind %d bytes that were buffered: %v", n, err)
				}
				if string(got) != tt.sent {
					t.Errorf("got %.40q, want %.40q", got, tt.sent)
				}
				io.WriteString(conn, "done")
			})
			served(t, h, func(t *testing.T, addr string) {
				took := time.Hour
				for try := 0; try < 5 && took > 100*time.Millisecond; try++ { // the machine may be slow itself
					p := dial(t, addr)
					p.say("POST / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n%s", tt.head, tt.sent)
					p.expect("done")
					took = min(took, <-waited)
				}
				if took > 100*time.Millisecond {
					t.Errorf("Hijack took %v", took)
				}
			}, "gallop, whole bodies", "gallop in net/http") // the first one reads the body before the handler runs
		})
	}
}

// A handler that aborts ends the connection, without a line in the log.
func TestAbort(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		p.expectEnd()
		p = dial(t, addr)
		p.say("GET /begun HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, err := io.ReadAll(p.answer("GET").Body); err != io.ErrUnexpectedEOF {
			t.Errorf("got %v", err)
		}
	}, "gallop in net/http")
}

// 100 (Continue) is sent when the body is read.
func TestContinue(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			b, err := io.ReadAll(r.Body)
			fmt.Fprint(w, string(b), err)
			return
		}
		w.WriteHeader(403)
	})
	const head = "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say(head, "/read")
		p.expect("HTTP/1.1 100 Continue\r\n\r\n")
		p.say("body")
		if got := bodyOf(t, p.answer("POST")); got != "body<nil>" {
			t.Errorf("got %q", got)
		}
		p.say(head, "/refused")
		if resp := p.answer("POST"); resp.StatusCode != 403 || !resp.Close {
			t.Errorf("got %v", resp)
		}
	})
}

// A type is one whatever the case of the field's name.
func TestTypeInLowerCase(t *testing.T) {
	p := dial(t, startGallop(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["content-type"] = []string{"text/x"}
		w.Header()["content-length"] = []string{"6"}
		io.WriteString(w, "<html>")
		w.(http.Flusher).Flush()
	})))
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	resp := p.answer("GET")
	if got := resp.Header["Content-Type"]; !slices.Equal(got, []string{"text/x"}) || bodyOf(t, resp) != "<html>" || resp.ContentLength != 6 {
		t.Errorf("got %v", resp)
	}
}

// An interim response leaves the header of the final response alone, including what code around the handler has set.
func TestInterimLeavesFields(t *testing.T) {
	h := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(103)
		w.Header().Del("Link")
	}))
	ln := listen(t)
	s := &gallop.Server{Logger: quietLog, Handler: func(ctx *gallop.RequestCtx) {
		ctx.Response.Header.Set("Link", "</y>")
		h(ctx)
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	p := dial(t, ln.Addr().String())
	p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	p.expect("HTTP/1.1 103 Early Hints\r\nLink: </y>\r\nLink: </x>\r\n\r\n")
	if got := p.answer("GET").Header["Link"]; !slices.Equal(got, []string{"</y>"}) {
		t.Errorf("got %q", got)
	}
}

func TestInterim(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(103)
		w.Header().Del("Link")
		w.Header().Set("X-A", "1")
		w.WriteHeader(102)
		w.WriteHeader(201)
		io.WriteString(w, "x")
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		p.expect("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\nX-A: 1\r\n\r\n")
		if resp := p.answer("GET"); resp.StatusCode != 201 || resp.Header.Get("Link") != "" || resp.Header.Get("X-A") != "1" || bodyOf(t, resp) != "x" {
			t.Errorf("got %v", resp)
		}
	}, "gallop in net/http")
}

// A body that somebody has read before, and not to its end, is no empty one.
func TestBodyThatFailedBefore(t *testing.T) {
	failed := make(chan error, 1)
	h := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
	}))
	ln := listen(t)
	s := &gallop.Server{Logger: quietLog, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
		ctx.PostBody()
		h(ctx)
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	for _, framing := range []string{"Content-Length: 9\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		p := dial(t, ln.Addr().String())
		p.say("POST / HTTP/1.1\r\nHost: h\r\n%s", framing)
		p.Conn.(*net.TCPConn).CloseWrite()
		if err := <-failed; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%.20s: got %v", framing, err)
		}
	}
}

// The files of a form that was larger than what stays in memory are removed, however the handler ends.
func TestFilesOfForm(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		if files, err := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("%d files while the handler runs, %v", len(files), err)
		}
		if r.URL.Path == "/panic" {
			panic("no")
		}
	})
	part := strings.Repeat("x", 11<<20) // 10 MiB are for what is no file
	form := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + part + "\r\n--b--\r\n"
	served(t, h, func(t *testing.T, addr string) {
		for _, path := range []string{"/", "/panic"} {
			p := dial(t, addr)
			p.say("POST %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", path, len(form), form)
			io.Copy(io.Discard, p.r)
			if files, err := os.ReadDir(dir); len(files) > 0 || err != nil {
				t.Errorf("%s: %d files are left, %v", path, len(files), err)
			}
		}
	}, "net/http", "gallop, whole bodies", "gallop in net/http") // which leaves those of one that panics; and 4 MiB at most
}

// A handler can read the request body while it writes the response.
func TestFullDuplex(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
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
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
		lines := bufio.NewReader(p.answer("POST").Body)
		for range 3 {
			if line, err := lines.ReadString('\n'); line != "a\n" {
				t.Fatalf("got %q, %v", line, err)
			}
			p.say("2\r\na\n\r\n")
		}
		p.say("0\r\n\r\n")
		if rest, err := io.ReadAll(lines); string(rest) != "a\n" || err != nil {
			t.Errorf("got %q, %v", rest, err)
		}
		p.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
		p.answer("POST")
	}, "gallop, whole bodies", "gallop in net/http")
}

func TestDeadlines(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		_, err := io.ReadAll(r.Body)
		fmt.Fprint(w, errors.Is(err, os.ErrDeadlineExceeded), time.Since(begun) < 5*time.Second)
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab")
		if got := bodyOf(t, p.answer("POST")); got != "true true" {
			t.Errorf("got %q", got)
		}
	}, "gallop, whole bodies", "gallop in net/http")
}

// A write fails when the time is over and the client has not taken what was written.
func TestWriteDeadline(t *testing.T) {
	failed := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		_, err := w.Write(make([]byte, 10<<20))
		failed <- err
	})
	served(t, h, func(t *testing.T, addr string) {
		dial(t, addr).say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		select {
		case err := <-failed:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the write goes on")
		}
	}, "gallop in net/http")
}

// A status that the response has before the handler is called stays, unless the handler sets one. An interim status
// becomes 200.
func TestPresetStatus(t *testing.T) {
	for _, tc := range []struct {
		preset int
		handle http.HandlerFunc
		want   int
	}{
		{403, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }, 403},
		{403, func(w http.ResponseWriter, _ *http.Request) {}, 403},
		{403, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }, 201},
		{103, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }, 200},
		{0, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }, 200},
	} {
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI("/")
		ctx.Request.SetHost("h")
		ctx.SetStatusCode(tc.preset)
		nethttp.FromHTTP(tc.handle)(&ctx)
		if got := ctx.Response.StatusCode(); got != tc.want {
			t.Errorf("preset %d: %d, want %d", tc.preset, got, tc.want)
		}
	}
}

// http.CloseNotifier tells of a client that goes away, once.
func TestCloseNotify(t *testing.T) {
	waits := make(chan struct{}, 1)
	gone := make(chan bool, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		//lint:ignore SA1019 programs still ask for it
		notifier, ok := w.(http.CloseNotifier)
		waits <- struct{}{}
		if !ok {
			gone <- false
			return
		}
		<-notifier.CloseNotify()
		gone <- r.Context().Err() != nil
	})
	served(t, h, func(t *testing.T, addr string) {
		p := dial(t, addr)
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		<-waits
		p.Close()
		if !<-gone {
			t.Error("the ResponseWriter is no http.CloseNotifier, or told of a client that is there")
		}
	})
}

// Without a server the whole answer is in the response, also with a RequestCtx that has a connection.
func TestWithoutServer(t *testing.T) {
	big := strings.Repeat("x", 10<<10)
	h := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		if n, err := io.WriteString(w, big); n != len(big) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		w.Header().Set("X-Sum", "1")
		rc := http.NewResponseController(w)
		_, _, hijacked := rc.Hijack()
		for _, err := range []error{rc.Flush(), rc.SetReadDeadline(time.Now()), rc.SetWriteDeadline(time.Now()), hijacked} {
			if !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("got %v, want http.ErrNotSupported", err)
			}
		}
	}))
	for name, init := range map[string]func(ctx *gallop.RequestCtx){
		"no connection": func(*gallop.RequestCtx) {},
		"Init":          func(ctx *gallop.RequestCtx) { ctx.Init(&gallop.Request{}, nil, nil) },
	} {
		var ctx gallop.RequestCtx
		init(&ctx)
		ctx.Request.SetRequestURI("/")
		ctx.Request.SetHost("h")
		h(&ctx)
		if got := string(ctx.Response.Body()); got != big || string(ctx.Response.Header.PeekTrailer("X-Sum")) != "1" {
			t.Errorf("%s: got %d bytes, trailers %q", name, len(got), ctx.Response.Header.TrailerHeader())
		}
	}
}

// A handler that writes nothing, as middleware may, leaves the response to the next handler. It also leaves the default
// for Content-Type unchanged.
func TestNothingAnswered(t *testing.T) {
	nothing := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "1") }))
	for _, noDefault := range []bool{false, true} {
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI("/")
		ctx.Request.SetHost("h")
		ctx.Response.Header.SetNoDefaultContentType(noDefault)
		nothing(&ctx)
		ctx.WriteString("x")
		if got := string(ctx.Response.Header.ContentType()); (got == "") != noDefault {
			t.Errorf("Content-Type %q, without a default: %v", got, noDefault)
		}
	}
}

// Gather leaves the whole answer in ctx.Response, however it is written, unless it is flushed or very large.
func TestGathering(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<12)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		handle http.HandlerFunc
		there  bool // in ctx.Response, when the handler has returned
		times  int  // big
	}{
		{"at once", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, big) }, true, 1},
		{"of a file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) }, true, 1},
		{"flushed", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, big)
		}, false, 1},
		{"over 16 MiB", func(w http.ResponseWriter, _ *http.Request) {
			for range 257 {
				io.WriteString(w, big)
			}
		}, false, 257},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := nethttp.FromHTTP(tc.handle, nethttp.Gather())
			ln := listen(t)
			s := &gallop.Server{Logger: quietLog, Handler: func(ctx *gallop.RequestCtx) {
				h(ctx)
				if there := string(ctx.Response.Body()) == big; there != tc.there || ctx.Streaming() == tc.there {
					t.Errorf("%d bytes in the response, streaming %v", len(ctx.Response.Body()), ctx.Streaming())
				}
			}}
			go s.Serve(ln)
			t.Cleanup(func() { s.Close() })
			p := dial(t, ln.Addr().String())
			p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if got := bodyOf(t, p.answer("GET")); got != strings.Repeat(big, tc.times) {
				t.Errorf("got %d bytes", len(got))
			}
		})
	}
}

// A nil handler is refused when it is converted, and a nil option has no effect.
func TestNilHandlers(t *testing.T) {
	for name, convert := range map[string]func(){
		"FromHTTP": func() { nethttp.FromHTTP(nil) },
		"ToHTTP":   func() { nethttp.ToHTTP(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes nil", name)
				}
			}()
			convert()
		}()
	}
	var ctx gallop.RequestCtx
	nethttp.FromHTTP(http.NotFoundHandler(), nil, nethttp.Gather(), nil)(&ctx)
	if ctx.Response.StatusCode() != 404 {
		t.Error(ctx.Response.StatusCode())
	}
}
