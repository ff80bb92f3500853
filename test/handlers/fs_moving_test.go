package handlers_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// movingSize is the size of a file that does not fit into the buffers of a TCP connection, or into the window of a stream of
// net/http's client.
var movingSize = map[string]int64{"HTTP/1": 32 << 20, "HTTP/2": 8 << 20}

// TestFilesThatMoveWhileServed changes a large file while a client downloads it, over HTTP/1 and HTTP/2, from the cache and
// without it. The client gets the bytes that were announced, or learns that bytes are missing.
func TestFilesThatMoveWhileServed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(file string, size int64) error
		whole  bool                   // the download gets all bytes
		after  func(size int64) int64 // the size of the next download, or -1 for a 404
	}{
		{"shrinks", func(f string, _ int64) error { return os.Truncate(f, 1000) }, false, func(int64) int64 { return 1000 }},
		{"is emptied", func(f string, _ int64) error { return os.Truncate(f, 0) }, false, func(int64) int64 { return 0 }},
		{"grows", func(f string, size int64) error { return os.Truncate(f, size+1000) }, true, func(size int64) int64 { return size + 1000 }},
		{"vanishes", func(f string, _ int64) error { return os.Remove(f) }, true, func(int64) int64 { return -1 }},
		{"is replaced", func(f string, _ int64) error { return put(f, "new") }, true, func(int64) int64 { return 3 }},
	} {
		for _, skip := range []bool{false, true} {
			for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
				name := tc.name + " over " + protocol
				if skip {
					name += " without the cache"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					size := movingSize[protocol]
					dir := t.TempDir()
					file := dir + "/a.data"
					if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Truncate(file, size)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(ripe)
					url, _ := serveFiles(t, (&gallop.FS{Root: dir, SkipCache: skip, CheckEvery: -1}).NewRequestHandler(), func(s *gallop.Server) {
						overHTTP2(s)
						s.Logger = noLog{}
					})
					client := keepAlive(t)
					if protocol == "HTTP/2" {
						client = h2cClient(t)
					}
					client.Timeout = 5 * time.Minute // for race builds on a busy machine
					for range 3 {                    // the file is in the cache then
						if resp, _, err := get(client, "HEAD", url+"/a.data"); err != nil || resp.ContentLength != size {
							t.Fatal(resp, err)
						}
					}
					n, err := downloadWhile(client, url+"/a.data", func() error { return tc.change(file, size) })
					if tc.whole != (err == nil) || tc.whole != (n == size) {
						t.Errorf("%d bytes, %v", n, err)
					}
					resp, body, err := get(client, "GET", url+"/a.data")
					switch after := tc.after(size); {
					case err != nil:
						t.Error(err)
					case after < 0 && resp.StatusCode != 404, after >= 0 && (resp.StatusCode != 200 || int64(len(body)) != after):
						t.Errorf("afterwards %d, %d bytes", resp.StatusCode, len(body))
					}
				})
			}
		}
	}
}

// downloadWhile calls change after the first bytes of a download. It returns the number of bytes.
func downloadWhile(client *http.Client, url string, change func() error) (int64, error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	first, err := io.CopyN(io.Discard, resp.Body, 1000)
	if err := errors.Join(err, change()); err != nil {
		return first, err
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	return first + rest, err
}
