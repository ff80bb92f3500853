package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/gallop-http/gallop/examples/internal/program"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// start runs the proxy in front of a handler.
func start(t *testing.T, h http.HandlerFunc, args ...string) *program.Process {
	t.Helper()
	upstream := httptest.NewServer(h)
	t.Cleanup(upstream.Close)
	return program.Start(t, 1, append([]string{"-addr", "127.0.0.1:0", "-upstream", upstream.URL}, args...)...)
}

// show responds with what a proxy may have added to the request.
func show(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	fmt.Fprintf(w, "for=%q proto=%q host=%q forwarded=%q hop=%q", h.Values("X-Forwarded-For"), h.Get("X-Forwarded-Proto"), h.Get("X-Forwarded-Host"), h.Get("Forwarded"), h.Get("X-Hop"))
}

func TestForwarded(t *testing.T) {
	spoofed := []string{"X-Forwarded-For", "203.0.113.66", "X-Forwarded-For", "198.51.100.7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example", "Forwarded", "for=203.0.113.66"}
	for _, tc := range []struct {
		rule, trusted string
		want          string
	}{
		{"headers of a client are dropped", "", `for=["127.0.0.1"] proto="http" host="ADDR" forwarded="" hop=""`},
		{"a trusted proxy appends the client that it saw; what that client sent is dropped", "127.0.0.0/8", `for=["198.51.100.7"] proto="https" host="shop.example" forwarded="" hop=""`},
		{"two trusted proxies", "127.0.0.0/8,198.51.100.0/24", `for=["203.0.113.66"] proto="https" host="shop.example" forwarded="" hop=""`},
	} {
		p := start(t, show, "-trusted", tc.trusted)
		_, text := p.Do("GET", "/", "", spoofed...)
		if want := strings.ReplaceAll(tc.want, "ADDR", p.Addr); text != want {
			t.Errorf("%s:\n%s, want\n%s", tc.rule, text, want)
		}
	}
}

func TestHopByHop(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "upstream")
		w.Header().Set("X-End", "upstream")
		show(w, r)
	})
	response, text := p.Do("GET", "/", "", "Connection", "X-Hop", "X-Hop", "client")
	if !strings.Contains(text, `hop=""`) || response.Header.Get("X-Hop") != "" || response.Header.Get("X-End") != "upstream" {
		t.Errorf("%s, %v", text, response.Header)
	}
}

func TestPathAndQuery(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	})
	response, text := p.Do("PUT", "/a/b%2Fc?d=e%20f", "hello")
	if response.StatusCode != http.StatusTeapot || text != "PUT /a/b%2Fc?d=e%20f hello" {
		t.Errorf("%s %s", response.Status, text)
	}
}

// Parts of a response arrive while the upstream still makes the rest, and so do those of a request.
func TestStreaming(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(w, "got ", line)
			w.(http.Flusher).Flush()
		}
	})
	body, write := io.Pipe()
	request, _ := http.NewRequest("POST", p.URL, body)
	go fmt.Fprintln(write, "one") // the transport reads it when it has a connection
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); line != "got one\n" {
		t.Fatalf("%q, %v", line, err)
	}
	fmt.Fprintln(write, "two") // only now
	if line, err := lines.ReadString('\n'); line != "got two\n" {
		t.Fatalf("%q, %v", line, err)
	}
	write.Close()
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("rest: %q, %v", rest, err)
	}
}

func TestUpstreamDown(t *testing.T) {
	addr := wiretest.FreeAddress(t)
	p := program.Start(t, 1, "-addr", "127.0.0.1:0", "-upstream", "http://"+addr)
	response, text := p.Do("GET", "/", "")
	if response.StatusCode != http.StatusBadGateway || strings.Contains(text, addr) {
		t.Errorf("%s %s", response.Status, text)
	}
	program.Eventually(t, "the log names the upstream", func() bool { return strings.Contains(p.Log(), addr) })
}

// A response that the upstream does not finish is not made to look complete.
func TestUpstreamBreaksOff(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half of it")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	response, err := http.Get(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%q without an error", text)
	}
}

// A connection that both sides upgrade is passed through.
func TestUpgrade(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		if kind, text, err := conn.Read(r.Context()); err == nil {
			conn.Write(r.Context(), kind, text)
		}
		conn.Close(websocket.StatusNormalClosure, "")
	})
	conn, _, err := websocket.Dial(t.Context(), p.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.Read(t.Context()); string(text) != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
