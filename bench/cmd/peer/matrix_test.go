package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/bench/peers"
)

// Each server sends the same bytes in all four ways.
func TestMatrix(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "file"), 0o700); err != nil {
		t.Fatal(err)
	}
	const size = 10_000
	content := strings.Repeat("0123456789", size/10)
	if err := os.WriteFile(filepath.Join(dir, "file", "10.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"gallop", "fasthttp", "nethttp"} {
		s, err := peers.New(server, matrix(dir), peers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(l)
		t.Cleanup(func() { s.Shutdown(t.Context()) })
		for kind, length := range map[string]int64{"bytes": size, "string": size, "chunked": -1, "file": size} {
			response, err := http.Get(fmt.Sprintf("http://%s/%s/10.txt", l.Addr(), kind))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || response.ContentLength != length || string(body) != content {
				t.Errorf("%s %s: %s, length %d, %d bytes, %v", server, kind, response.Status, response.ContentLength, len(body), err)
			}
			if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
				t.Errorf("%s %s: %s", server, kind, got)
			}
		}
		response, err := http.Get(fmt.Sprintf("http://%s/bytes/11.txt", l.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s for a name that does not exist", server, response.Status)
		}
	}
}
