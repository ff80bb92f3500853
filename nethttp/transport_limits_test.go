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
			two := make(chan struct{})
			closeTwo := sync.OnceFunc(func() { close(two) })
			s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				n := now.Add(1)
				if most.Store(max(most.Load(), n)); n == 2 {
					closeTwo()
				}
				select {
				case <-two:
				case <-time.After(10 * time.Second):
				}
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

// countingConns starts a server, and counts the connections that it has and has had.
func countingConns(t *testing.T, h http.HandlerFunc) (addr string, open, all *atomic.Int32) {
	open, all = new(atomic.Int32), new(atomic.Int32)
	s := &http.Server{Handler: h, ConnState: func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
			all.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}}
	ln := listen(t)
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String(), open, all
}

// settles waits until n is the wanted number, and fails if it is not for a while.
func settles(t *testing.T, n *atomic.Int32, want int32) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); n.Load() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d connections, want %d", n.Load(), want)
			return
		}
	}
}

// A connection is closed when it was idle for IdleConnTimeout, and stays without it.
func TestTransportIdleConnTimeout(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{50 * time.Millisecond, 0} {
		setFields(t, map[string]any{"IdleConnTimeout": limit}, func(t *testing.T, client *http.Client) {
			addr, open, all := countingConns(t, func(http.ResponseWriter, *http.Request) {})
			get := func() {
				resp, err := client.Get("http://" + addr)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			get()
			if limit > 0 {
				settles(t, open, 0)
				return
			}
			time.Sleep(200 * time.Millisecond)
			if get(); all.Load() != 1 {
				t.Error("the connection was closed")
			}
		})
	}
}

// Of the connections to a host no more than MaxIdleConnsPerHost stay idle.
func TestTransportMaxIdleConnsPerHost(t *testing.T) {
	const calls = 4
	for _, limit := range []int{1, 3} {
		setFields(t, map[string]any{"MaxIdleConnsPerHost": limit}, func(t *testing.T, client *http.Client) {
			var running sync.WaitGroup
			running.Add(calls)
			addr, open, all := countingConns(t, func(http.ResponseWriter, *http.Request) {
				running.Done()
				running.Wait()
			})
			var done sync.WaitGroup
			for range calls {
				done.Go(func() {
					resp, err := client.Get("http://" + addr)
					if err != nil {
						t.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				})
			}
			done.Wait()
			if all.Load() != calls {
				t.Fatalf("%d connections for %d calls at once", all.Load(), calls)
			}
			settles(t, open, int32(limit))
		})
	}
}
