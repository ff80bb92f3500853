package nethttp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// wireOf sends a request to a server and returns what comes until the connection ends, without the date.
func wireOf(t *testing.T, addr, request string) string {
	t.Helper()
	p := dial(t, addr)
	p.say("%s", request)
	b, _ := io.ReadAll(p)
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "Date: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// Names that a handler assigns to the map keep their spelling.
func TestSpellingOfNames(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["x-lower"] = []string{"1", "2"}
		w.Header()["X-UPPER-case"] = []string{"3"}
		w.Header()["eTag"] = []string{`"4"`}
		w.Header().Set("x-set", "5")
		io.WriteString(w, "x")
	})
	served(t, h, func(t *testing.T, addr string) {
		got := wireOf(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		for _, want := range []string{"\r\nx-lower: 1\r\nx-lower: 2\r\n", "\r\nX-UPPER-case: 3\r\n", "\r\neTag: \"4\"\r\n", "\r\nX-Set: 5\r\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
	}, "gallop in net/http")
}

// So do those of a request.
func TestTransportSpellingOfNames(t *testing.T) {
	for name, transport := range map[string]http.RoundTripper{"net/http": &http.Transport{}, "gallop": &nethttp.Transport{}} {
		ln := listen(t)
		defer ln.Close()
		heads := make(chan string, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			var head strings.Builder
			for r := bufio.NewReader(c); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				head.WriteString(line)
			}
			heads <- head.String()
			io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		}()
		r, err := http.NewRequest("GET", "http://"+ln.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["SOAPAction"] = []string{"1"}
		r.Header["x-lower"] = []string{"2", "3"}
		r.Header.Set("x-set", "4")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		head := <-heads
		for _, want := range []string{"\r\nSOAPAction: 1\r\n", "\r\nx-lower: 2\r\nx-lower: 3\r\n", "\r\nX-Set: 4\r\n"} {
			if !strings.Contains(head, want) {
				t.Errorf("%s: %q is not in %q", name, want, head)
			}
		}
	}
}

// An empty list for Content-Length suppresses the field.
func TestNoContentLength(t *testing.T) {
	for name, write := range map[string]func(w http.ResponseWriter){
		"nothing": func(http.ResponseWriter) {},
		"a text":  func(w http.ResponseWriter) { io.WriteString(w, "text") },
		"204":     func(w http.ResponseWriter) { w.WriteHeader(204) },
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Length"] = nil
			write(w)
		})
		var want string
		for _, request := range []string{"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"} {
			served(t, h, func(t *testing.T, addr string) {
				resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(wireOf(t, addr, request))), &http.Request{Method: request[:strings.IndexByte(request, ' ')]})
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				got := fmt.Sprint(resp.StatusCode, resp.ContentLength, resp.Header["Content-Length"], string(body), err)
				if strings.Contains(t.Name(), "/net/http") {
					want = got
				} else if got != want {
					t.Errorf("%s, %.4s: got %s, want %s", name, request, got, want)
				}
			}, "gallop in net/http")
		}
	}
}

// A trailer by http.TrailerPrefix leaves a field of that name in the head alone.
func TestTrailerBesideField(t *testing.T) {
	for name, body := range map[string]string{"small": "x", "large": strings.Repeat("x", 10_000)} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Sum", "head")
			io.WriteString(w, body)
			w.Header().Set(http.TrailerPrefix+"X-Sum", "trailer")
			w.Header().Add(http.TrailerPrefix+"X-Sum", "more")
		})
		without := []string{"gallop in net/http"}
		if name == "small" {
			without = append(without, "net/http") // which loses the trailers of small responses
		}
		t.Run(name, func(t *testing.T) {
			served(t, h, func(t *testing.T, addr string) {
				p := dial(t, addr)
				p.say("GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(p), nil)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				if got := fmt.Sprint(resp.Header["X-Sum"], resp.Trailer["X-Sum"]); got != "[head] [trailer more]" {
					t.Errorf("got %s", got)
				}
			}, without...)
		})
	}
}

// A handler that panics with nil is no handler that has returned.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for _, size := range []int{1, 10_000} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Write(bytes.Repeat([]byte("x"), size))
			if size > 1 {
				w.(http.Flusher).Flush()
			}
			panic(nil)
		})
		served(t, h, func(t *testing.T, addr string) {
			if got := wireOf(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); strings.HasSuffix(got, "0\r\n\r\n") || size == 1 && strings.HasSuffix(got, "x") {
				t.Errorf("a complete response: %q", got)
			}
		}, "gallop in net/http")
	}
}

// A write that fails ends the context of the request, whether the body was read or a further request has come, and whichever method writes.
func TestWriteThatFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<32)); err != nil {
		t.Fatal(err)
	}
	writing := map[string]func(w http.ResponseWriter) error{
		"Write": func(w http.ResponseWriter) error {
			_, err := w.Write(make([]byte, 64<<10))
			return err
		},
		"WriteString": func(w http.ResponseWriter) error {
			_, err := io.WriteString(w, strings.Repeat("x", 64<<10))
			return err
		},
		"Flush": func(w http.ResponseWriter) error {
			if _, err := w.Write(make([]byte, 100)); err != nil {
				return fmt.Errorf("%w: Write has failed before Flush", err)
			}
			return http.NewResponseController(w).Flush()
		},
		"ReadFrom": func(w http.ResponseWriter) error {
			_, err := w.(io.ReaderFrom).ReadFrom(bytes.NewReader(make([]byte, 1<<20)))
			return err
		},
		"ReadFrom a file": func(w http.ResponseWriter) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			if w.Header().Get("Content-Length") == "" {
				w.Header().Set("Content-Length", fmt.Sprint(int64(1<<32)))
			}
			_, err = w.(io.ReaderFrom).ReadFrom(f)
			return err
		},
	}
	for name, write := range writing {
		var without []string
		if name == "ReadFrom a file" {
			without = append(without, "net/http") // which goes on if the body was not read
		}
		t.Run(name, func(t *testing.T) { testWriteThatFails(t, write, without...) })
	}
}

func testWriteThatFails(t *testing.T, write func(w http.ResponseWriter) error, without ...string) {
	for name, request := range map[string]string{
		"no body":           "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"body unread":       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 100_000),
		"a further request": "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		ended := make(chan error, 2)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for write(w) == nil {
			}
			select {
			case <-r.Context().Done():
				ended <- nil
			case <-time.After(10 * time.Second):
				ended <- fmt.Errorf("%s: the context goes on", name)
			}
		})
		served(t, h, func(t *testing.T, addr string) {
			p := dial(t, addr)
			p.say("%s", request)
			io.ReadFull(p, make([]byte, 1000))
			p.Conn.(*net.TCPConn).SetLinger(0)
			p.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}, append(without, "gallop in net/http", "gallop, whole bodies")...)
	}
}

// printed is a Logger.
type printed chan string

func (p printed) Printf(format string, args ...any) { p <- fmt.Sprintf(format, args...) }

// net/http's own handlers log to the server's Logger.
func TestErrorLog(t *testing.T) {
	h := http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.WriteHeader(404)
		r.Context().Value(http.ServerContextKey).(*http.Server).ErrorLog.Print("said by the handler")
	}), time.Minute, "")
	lines := make(printed, 2)
	s := nethttp.NewServer(h)
	s.Logger = lines
	ln := listen(t)
	go s.Serve(ln)
	defer s.Close()
	resp, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if first, second := <-lines, <-lines; !strings.Contains(first, "superfluous") || second != "said by the handler" {
		t.Errorf("logged %q and %q", first, second)
	}
}

// A body that is larger than an http.MaxBytesReader allows ends the connection, which the response says.
func TestMaxBytesReader(t *testing.T) {
	const limit = 10
	read := func(body io.Reader) { io.Copy(io.Discard, body) }
	for name, tt := range map[string]struct {
		size   int
		closes bool
		handle http.HandlerFunc
	}{
		"413": {1000, true, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			read(r.Body)
			w.WriteHeader(413)
		}},
		"400": {1000, true, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			read(r.Body)
			http.Error(w, "", 400)
		}},
		"200 with a large body": {1000, true, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			read(r.Body)
			w.Write(make([]byte, 10_000))
		}},
		"a form": {1000, true, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			if r.ParseForm() == nil {
				t.Error("the form is not too large")
			}
		}},
		"413, not in the request": {1000, true, func(w http.ResponseWriter, r *http.Request) {
			read(http.MaxBytesReader(w, r.Body, limit))
			w.WriteHeader(413)
		}},
		"as large as allowed": {limit, false, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			read(r.Body)
		}},
		"unread": {limit, false, func(w http.ResponseWriter, r *http.Request) { r.Body = http.MaxBytesReader(w, r.Body, limit) }},
		"413, read": {limit, false, func(w http.ResponseWriter, r *http.Request) {
			read(r.Body)
			w.WriteHeader(413)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			without := []string{"gallop in net/http"}
			if strings.Contains(name, "not in") {
				without = append(without, "gallop, whole bodies") // of which nothing is left on the connection
			}
			served(t, tt.handle, func(t *testing.T, addr string) {
				p := dial(t, addr)
				p.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", tt.size, strings.Repeat("x", tt.size))
				resp := p.answer("POST")
				bodyOf(t, resp)
				if resp.Close != tt.closes {
					t.Errorf("%d says that the connection ends: %v", resp.StatusCode, resp.Close)
				}
				if tt.closes {
					p.expectEnd()
				} else {
					p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
					p.answer("GET")
				}
			}, without...)
		})
	}
}

// OPTIONS * is answered without the handler unless that is disabled.
func TestGeneralOptions(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	serve := map[string]func(net.Listener, bool) error{
		"net/http": func(ln net.Listener, disabled bool) error {
			return (&http.Server{Handler: h, DisableGeneralOptionsHandler: disabled}).Serve(ln)
		},
		"NewServer": func(ln net.Listener, disabled bool) error {
			if disabled {
				return nethttp.NewServer(h, nethttp.DisableGeneralOptionsHandler(), nil).Serve(ln)
			}
			return nethttp.NewServer(h).Serve(ln)
		},
		"FromHTTP": func(ln net.Listener, disabled bool) error {
			if disabled {
				return gallop.Serve(ln, nethttp.FromHTTP(h, nethttp.DisableGeneralOptionsHandler()))
			}
			return gallop.Serve(ln, nethttp.FromHTTP(h))
		},
	}
	for name, serve := range serve {
		for disabled, want := range map[bool]string{false: "", true: "*"} {
			ln := listen(t)
			go serve(ln, disabled)
			p := dial(t, ln.Addr().String())
			p.say("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
			resp := p.answer("OPTIONS")
			if got := bodyOf(t, resp); got != want || resp.StatusCode != 200 {
				t.Errorf("%s, disabled %v: %d, %q", name, disabled, resp.StatusCode, got)
			}
			ln.Close()
		}
	}
}

// A 101, and a 2xx to CONNECT, leave with Hijack, also if they were flushed before. A 101 that nobody hijacks ends the connection.
func TestSwitching(t *testing.T) {
	hijack := func(w http.ResponseWriter) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			io.WriteString(c, "raw")
			c.Close()
		}
	}
	flush := func(w http.ResponseWriter) { http.NewResponseController(w).Flush() }
	for name, then := range map[string][]func(http.ResponseWriter){"alone": nil, "flushed": {flush}, "hijacked": {hijack}, "flushed and hijacked": {flush, hijack}} {
		for request, status := range map[string]int{
			"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n": 101, "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n": 200,
		} {
			if status == 200 && !strings.Contains(name, "hijacked") {
				continue // which is no tunnel: 0006
			}
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if status == 101 {
					w.Header().Set("Connection", "Upgrade")
					w.Header().Set("Upgrade", "x")
				}
				w.WriteHeader(status)
				for _, f := range then {
					f(w)
				}
			})
			without := []string{"gallop in net/http", "gallop, whole bodies"}
			if !strings.Contains(name, "hijacked") {
				without = append(without, "net/http") // which may go on and leave the client waiting
			}
			want := fmt.Sprint(status, map[int]string{101: "Upgradex", 200: ""}[status], map[bool]string{true: "raw"}[strings.Contains(name, "hijacked")])
			served(t, h, func(t *testing.T, addr string) {
				p := dial(t, addr)
				p.say("%s", request)
				resp, err := http.ReadResponse(p.r, &http.Request{Method: request[:strings.IndexByte(request, ' ')]})
				if err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(p.r)
				if got := fmt.Sprint(resp.StatusCode, resp.Header.Get("Connection"), resp.Header.Get("Upgrade"), string(rest)); err != nil || strings.ReplaceAll(got, " ", "") != want {
					t.Errorf("%s: %q, %v, want %q", name, got, err, want)
				}
			}, without...)
		}
	}
}

// Behind a 2xx to CONNECT that nobody hijacks, the server itself is the end of the tunnel.
func TestConnectWithoutHijack(t *testing.T) {
	flushes := false
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "CONNECT" {
			fmt.Fprint(w, r.Host, r.URL.Path)
			return
		}
		w.Header().Set("X-Proxy", "p")
		if w.WriteHeader(200); flushes {
			http.NewResponseController(w).Flush()
		}
	})
	without := []string{"gallop in net/http"}
	for range 2 {
		served(t, h, func(t *testing.T, addr string) {
			p := dial(t, addr)
			p.say("CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n")
			if resp := p.answer("CONNECT"); resp.StatusCode != 200 || resp.Header.Get("X-Proxy") != "p" {
				t.Fatalf("%v", resp)
			}
			p.say("GET /a HTTP/1.1\r\nHost: one\r\n\r\nGET /b HTTP/1.1\r\nHost: two\r\n\r\n")
			for _, want := range []string{"one/a", "two/b"} {
				if got := bodyOf(t, p.answer("GET")); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}, without...)
		flushes, without = true, append(without, "net/http") // which sends the end of a chunked body
	}
}
