package nethttp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

// docs/design/0006-nethttp.md says how much is allocated for a request, here and by net/http's own server.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	page, err := os.ReadFile("../docs/design/0006-nethttp.md")
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET /hello?name=world HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n"
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "Hello, World!")
	})
	ours := allocs(t, request, func(ln net.Listener) { nethttp.Serve(ln, h) })
	theirs := allocs(t, request, func(ln net.Listener) { http.Serve(ln, h) })
	want := fmt.Sprintf("gallop needs %.0f allocations for a request with %d fields in its header. net/http's server needs %.0f.", ours, strings.Count(request, ": "), theirs)
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("the page does not say %q", want)
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
