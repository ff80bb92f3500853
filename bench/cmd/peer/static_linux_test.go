package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/gallop-http/gallop/bench/peers"
)

// TestFloorSendsFiles shows that the floor sends the responses that gallop sends. One does not fit into the socket's buffer.
func TestFloorSendsFiles(t *testing.T) {
	dir := t.TempDir()
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for _, file := range []struct {
		name    string
		content []byte
	}{{"a.css", []byte("plain")}, {"a.css.gz", []byte("packed")}, {"b.png", large}} { // a .gz file that is older than its original is not sent
		if err := os.WriteFile(filepath.Join(dir, file.name), file.content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := peers.New("floor", static(dir, false), peers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(ln) // until the process ends
	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	for range 2 {
		for name, want := range map[string]struct {
			coding  string
			content []byte
		}{"a.css": {"gzip", []byte("packed")}, "b.png": {"", large}} {
			resp, err := (&http.Client{Transport: transport}).Get("http://" + ln.Addr().String() + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if coding := resp.Header.Get("Content-Encoding"); err != nil || coding != want.coding || !bytes.Equal(body, want.content) {
				t.Errorf("%s: %d bytes in the coding %q, %v", name, len(body), coding, err)
			}
		}
	}
	if resp, err := http.Get("http://" + ln.Addr().String() + "/none"); err == nil {
		t.Errorf("%s for a file that does not exist", resp.Status)
	}
}
