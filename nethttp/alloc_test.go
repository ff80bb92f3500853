package nethttp_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

// How much is allocated for a request is written down here. net/http's own server is
// measured beside it, to show what the figure is worth.
func TestAllocs(t *testing.T) {
	const request = "GET /hello?name=world HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n"
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "Hello, World!")
	})
	const most = 10
	ours := allocs(t, request, func(ln net.Listener) { nethttp.Serve(ln, h) })
	theirs := allocs(t, request, func(ln net.Listener) { http.Serve(ln, h) })
	t.Logf("%.0f allocations a request, %.0f by net/http's server", ours, theirs)
	if ours > most && !raceEnabled {
		t.Errorf("%.0f allocations a request, at most %d are allowed", ours, most)
	}
}

// allocs returns how many allocations there are for a request.
func allocs(t *testing.T, request string, serve func(net.Listener)) float64 {
	ln := memnet.NewListener()
	defer ln.Close()
	go serve(ln)
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 4096)
	return testing.AllocsPerRun(500, func() {
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
	})
}
