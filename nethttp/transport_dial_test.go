package nethttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/nethttp"
)

// dialer is the DialContext of a transport.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialedBy runs f with a client over each of the transports that dial connects, to a server of h with and without TLS.
func dialedBy(t *testing.T, h http.HandlerFunc, f func(t *testing.T, url string, client func(dial dialer) *http.Client)) {
	t.Helper()
	for _, secured := range []bool{false, true} {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = quietLog
		name := "TCP, "
		if s.EnableHTTP2 = false; secured {
			name = "TLS, "
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		trusting := s.Client().Transport.(*http.Transport).TLSClientConfig
		for _, which := range []string{"net/http", "gallop"} {
			t.Run(name+which, func(t *testing.T) {
				f(t, s.URL, func(dial dialer) *http.Client {
					var transport http.RoundTripper = &http.Transport{DialContext: dial, TLSClientConfig: trusting.Clone()}
					if which == "gallop" {
						transport = &nethttp.Transport{DialContext: dial, TLSClientConfig: trusting.Clone()}
					}
					client := &http.Client{Transport: transport}
					t.Cleanup(client.CloseIdleConnections)
					return client
				})
			})
		}
	}
}

// A dial that ignores its context does not hold up a call that has ended.
func TestTransportDialThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	dialedBy(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, url string, with func(dialer) *http.Client) {
		over := make(chan struct{})
		defer close(over)
		client := with(func(context.Context, string, string) (net.Conn, error) { <-over; return nil, io.EOF })
		client.Timeout = 50 * time.Millisecond
		begun := time.Now()
		_, err := client.Get(url)
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() || time.Since(begun) > 5*time.Second {
			t.Errorf("timeout: %v after %v", err, time.Since(begun))
		}
		client.Timeout = 0
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		begun = time.Now()
		if _, err = client.Do(r); ctx.Err() == nil || err == nil || time.Since(begun) > 5*time.Second {
			t.Errorf("cancel: %v after %v", err, time.Since(begun))
		}
	})
}

// A call that waits for a dial takes a connection that becomes idle meanwhile.
func TestTransportTakesIdleConnWhileItDials(t *testing.T) {
	release := make(chan struct{})
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w.(http.Flusher).Flush()
			<-release
		}
		io.WriteString(w, r.RemoteAddr)
	}
	dialedBy(t, h, func(t *testing.T, url string, with func(dialer) *http.Client) {
		over, dialing := make(chan struct{}), make(chan struct{}, 1)
		defer close(over)
		first := true
		client := with(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if first {
				first = false
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}
			dialing <- struct{}{}
			<-over
			return nil, io.EOF
		})
		slow, err := client.Get(url + "/slow")
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Body.Close()
		go func() {
			<-dialing
			release <- struct{}{}
			io.Copy(io.Discard, slow.Body)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
}

// mute is a connection whose writes fail once muted is set. Reads are unchanged, so nothing ends them.
type mute struct {
	net.Conn
	muted atomic.Bool
}

var errMute = errors.New("mute")

func (m *mute) Write(p []byte) (int, error) {
	if m.muted.Load() {
		return 0, errMute
	}
	return m.Conn.Write(p)
}

// A request that cannot be written on a new connection fails at once, though nothing ends the connection.
func TestTransportEndsAfterFailedWrite(t *testing.T) {
	t.Parallel()
	dialedBy(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, url string, with func(dialer) *http.Client) {
		var conn *mute
		client := with(func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			conn = &mute{Conn: nc}
			return conn, err
		})
		for name, body := range map[string]func() io.Reader{
			"none":   func() io.Reader { return nil },
			"bytes":  func() io.Reader { return strings.NewReader("body") },
			"large":  func() io.Reader { return bytes.NewReader(make([]byte, 1<<20)) },
			"stream": func() io.Reader { return io.MultiReader(strings.NewReader("body")) },
		} {
			r := requestTo(t, "POST", url, body())
			trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { conn.muted.Store(true) }}
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
			begun := time.Now()
			_, err := client.Do(r)
			if err != nil && strings.HasSuffix(t.Name(), "net/http") {
				err = errMute // which may say that it has closed the connection instead
			}
			if !errors.Is(err, errMute) || time.Since(begun) > 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
		}
	})
}

// A request of which nothing was written on a connection that was used before goes over another one.
func TestTransportRepeatsUnwrittenRequest(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }
	dialedBy(t, h, func(t *testing.T, url string, with func(dialer) *http.Client) {
		var conns []*mute
		client := with(func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			conns = append(conns, &mute{Conn: nc})
			return conns[len(conns)-1], err
		})
		for i, r := range []*http.Request{
			requestTo(t, "GET", url, nil),
			requestTo(t, "GET", url, nil),
			requestTo(t, "POST", url, strings.NewReader("body")),
		} {
			if i > 0 {
				conns[len(conns)-1].muted.Store(true)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(i, err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := max(r.ContentLength, 0); err != nil || want > 0 && int64(len(body)) != want || len(conns) != i+1 {
				t.Errorf("%d: %v, %d bytes, %d connections", i, err, len(body), len(conns))
			}
		}
	})
}

// The Transport dials IPv6, and takes heads up to 256 KiB.
func TestTransportOverIPv6(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	for _, secured := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 250<<10))
		}))
		if secured {
			if s.Listener, err = net.Listen("tcp", "[::1]:0"); err != nil {
				t.Fatal(err)
			}
			s.StartTLS()
		} else {
			s.Listener = ln
			s.Start()
		}
		t.Cleanup(s.Close)
		transport := &nethttp.Transport{}
		if secured {
			transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			transport.TLSClientConfig.ServerName = "example.com"
		}
		client := &http.Client{Transport: transport}
		t.Cleanup(client.CloseIdleConnections)
		resp, err := client.Get(s.URL)
		if err != nil {
			t.Errorf("%s: %v", s.URL, err)
			continue
		}
		resp.Body.Close()
		if n := len(resp.Header.Get("X")); n != 250<<10 {
			t.Errorf("%s: a field of %d bytes", s.URL, n)
		}
	}
}
