package nethttp_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/nethttp"
)

// With MaxConnsPerHost calls wait for each other's connections.
func TestTransportMaxConnsPerHost(t *testing.T) {
	for name, transport := range map[string]http.RoundTripper{
		"net/http": &http.Transport{MaxConnsPerHost: 2}, "gallop": &nethttp.Transport{MaxConnsPerHost: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var conns, most, now atomic.Int32
			s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(5 * time.Millisecond)
				now.Add(-1)
			})}
			s.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					conns.Add(1)
				}
			}
			ln := listen(t)
			go s.Serve(ln)
			defer s.Close()
			var calls sync.WaitGroup
			for range 6 {
				calls.Go(func() {
					resp, err := (&http.Client{Transport: transport}).Get("http://" + ln.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				})
			}
			calls.Wait()
			if conns.Load() != 2 || most.Load() > 2 {
				t.Errorf("%d connections, %d calls at once", conns.Load(), most.Load())
			}
		})
	}
}

// DisableCompression asks for no compression, and leaves compressed bodies as they come.
func TestTransportDisableCompression(t *testing.T) {
	for name, make := range map[string]func(disable bool) http.RoundTripper{
		"net/http": func(disable bool) http.RoundTripper { return &http.Transport{DisableCompression: disable} },
		"gallop":   func(disable bool) http.RoundTripper { return &nethttp.Transport{DisableCompression: disable} },
	} {
		t.Run(name, func(t *testing.T) {
			ln := listen(t)
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, r.Header.Get("Accept-Encoding"))
			})}
			go s.Serve(ln)
			defer s.Close()
			for disable, want := range map[bool]string{false: "gzip", true: ""} {
				resp, err := (&http.Client{Transport: make(disable)}).Get("http://" + ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				if got := bodyOf(t, resp); got != want {
					t.Errorf("disabled %v: Accept-Encoding is %q", disable, got)
				}
				resp.Body.Close()
			}
		})
	}
}
