package nethttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop/nethttp"
)

// tunnelHandler accepts a CONNECT and sends back each line, refuses it, or does something else, as the host says.
func tunnelHandler(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc, begun := http.NewResponseController(w), make(chan bool)
		w.Header().Set("X-Request", fmt.Sprint(r.Method, " ", r.URL.Host == r.Host, r.RequestURI == r.Host, r.URL.Path, r.ContentLength, r.Header["User-Agent"]))
		w.Header().Set("X-Protocol", fmt.Sprint(r.Header[":protocol"]))
		switch r.Header.Get("X-Do") {
		case "refuse":
			http.Error(w, "no tunnels", http.StatusForbidden)
			return
		case "return":
			w.WriteHeader(http.StatusOK)
			return
		case "nothing":
			return
		case "late":
			if err := rc.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Error(err)
			}
		case "begin":
			go func() {
				defer close(begun)
				time.Sleep(10 * time.Millisecond)
				w.WriteHeader(http.StatusOK)
				rc.Flush()
			}()
		}
		if r.Header.Get("X-Do") != "begin" {
			close(begun)
			w.WriteHeader(http.StatusOK)
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
		}
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			<-begun
			if line == "bye\n" {
				return
			}
			if err != nil {
				fmt.Fprint(w, "end ", err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded))
				return
			}
			io.WriteString(w, line)
			rc.Flush()
		}
	})
}

// connect sends a CONNECT whose handler does what is said.
func connect(t *testing.T, client *http.Client, url, what string) (*http.Response, *io.PipeWriter) {
	t.Helper()
	body, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	r := requestTo(t, "CONNECT", url, body)
	r.Header.Set("X-Do", what)
	r.Header.Set("User-Agent", "test")
	return do(t, client, r), w
}

// A handler serves a CONNECT as a request with a streamed body and a streamed response.
func TestConnectOverHTTP2(t *testing.T) {
	t.Parallel()
	servedH2(t, tunnelHandler(t), func(t *testing.T, url string, client *http.Client) {
		for _, what := range []string{"", "begin"} {
			resp, w := connect(t, client, url, what)
			if got := fmt.Sprint(resp.StatusCode, resp.Header["X-Request"]); got != "200 [CONNECT true true-1 [test]]" {
				t.Errorf("got %s", got)
			}
			lines := bufio.NewReader(resp.Body)
			for i := range 3 {
				fmt.Fprintf(w, "%d\n", i)
				if line, err := lines.ReadString('\n'); line != fmt.Sprintf("%d\n", i) {
					t.Fatalf("got %q, %v", line, err)
				}
			}
			w.Close()
			if rest, err := io.ReadAll(lines); string(rest) != "end true false" || err != nil {
				t.Errorf("got %q, %v at the end", rest, err)
			}
		}
		resp, w := connect(t, client, url, "")
		fmt.Fprint(w, "bye\n")
		if got := bodyOf(t, resp); got != "" {
			t.Errorf("got %q", got)
		}
		resp, _ = connect(t, client, url, "late")
		if got := bodyOf(t, resp); got != "end false true" {
			t.Errorf("got %q after the deadline", got)
		}
		for what, want := range map[string]string{"refuse": "403 no tunnels\n", "return": "200 ", "nothing": "200 "} {
			resp, _ = connect(t, client, url, what)
			if got := fmt.Sprint(resp.StatusCode, " ", bodyOf(t, resp)); got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
	}, "gallop in net/http")
}

// The context of a CONNECT ends when the client resets the stream.
func TestConnectContextOverHTTP2(t *testing.T) {
	ends := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			ends <- r.Context().Err()
		case <-time.After(10 * time.Second):
			ends <- errors.New("the context did not end")
		}
	})
	servedH2(t, h, func(t *testing.T, url string, client *http.Client) {
		body, w := io.Pipe()
		defer w.Close()
		do(t, client, requestTo(t, "CONNECT", url, body)).Body.Close()
		if err := <-ends; err != context.Canceled {
			t.Error(err)
		}
	}, "gallop in net/http")
}

// An extended CONNECT has its protocol in the header field ":protocol". net/http needs GODEBUG for that, before it starts.
func TestExtendedConnectOverHTTP2(t *testing.T) {
	if !strings.Contains(os.Getenv("GODEBUG"), "http2xconnect=1") {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExtendedConnectOverHTTP2$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "GODEBUG=http2xconnect=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, way := range []string{"net/http", "gallop"} {
		t.Run(way, func(t *testing.T) {
			var base string
			var client *http.Client
			if way == "gallop" {
				s := nethttp.NewServer(tunnelHandler(t))
				s.ExtendedConnect = true
				base, client = startGallopOverH2(t, s, true)
			} else {
				base, client = startNetHTTPOverH2(t, tunnelHandler(t), true)
			}
			u, err := url.Parse(base + "/chat")
			if err != nil {
				t.Fatal(err)
			}
			transport := &http2.Transport{TLSClientConfig: client.Transport.(*http.Transport).TLSClientConfig}
			defer transport.CloseIdleConnections()
			client.Transport = transport // http.Transport sends no such field
			body, w := io.Pipe()
			resp := do(t, client, &http.Request{Method: "CONNECT", URL: u, Body: body, ContentLength: -1,
				Header: http.Header{":protocol": {"websocket"}, "User-Agent": {"test"}}})
			if got := fmt.Sprint(resp.StatusCode, resp.Header["X-Request"], resp.Header["X-Protocol"]); got != "200 [CONNECT false false/chat-1 [test]] [[websocket]]" {
				t.Errorf("got %s", got)
			}
			go func() {
				fmt.Fprint(w, "line\n")
				w.Close()
			}()
			if got := bodyOf(t, resp); got != "line\nend true false" {
				t.Errorf("got %q", got)
			}
		})
	}
}
