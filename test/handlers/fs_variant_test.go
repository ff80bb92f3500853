package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// variantServer serves the files of dir, whose cached files stay until the test ends, over HTTP/1 and HTTP/2.
func variantServer(t *testing.T, dir string, every time.Duration) (url string) {
	url, _ = serveFiles(t, (&gallop.FS{
		Root: dir, AcceptByteRange: true, Compress: true, CompressBrotli: true, CompressZstd: true,
		CheckEvery: every, CacheDuration: time.Hour,
	}).NewRequestHandler(), overHTTP2)
	return url
}

// overBoth runs a test over HTTP/1 and HTTP/2.
func overBoth(t *testing.T, f func(t *testing.T, client *http.Client)) {
	t.Run("h1", func(t *testing.T) {
		transport := &http.Transport{DisableCompression: true}
		defer transport.CloseIdleConnections()
		f(t, &http.Client{Transport: transport, Timeout: 30 * time.Second})
	})
	t.Run("h2", func(t *testing.T) { f(t, h2cClient(t)) })
}

// code has the size of a page, and gets smaller by compression.
func code(seed, size int) string {
	var b strings.Builder
	for i := seed; b.Len() < size; i++ {
		fmt.Fprintf(&b, "function f%d(a) { return a.item%d + %d }\n", i*7919%1000, i%13, i*i%997)
	}
	return b.String()[:size]
}

// TestCompressedCopies checks every kind of response that a compressed copy of a cached file may be.
func TestCompressedCopies(t *testing.T) {
	needsCache(t)
	t.Parallel()
	small, large := code(1, 20_000), code(2, 300_000) // which are kept as bytes, and as an open file
	dir := tree(t, map[string]string{"small.js": small, "large.js": large, "tiny.js": small[:100], "random.js": noise(20_000)})
	time.Sleep(ripe)
	url := variantServer(t, dir, time.Hour)
	overBoth(t, func(t *testing.T, client *http.Client) {
		for _, file := range []struct{ name, content string }{{"/small.js", small}, {"/large.js", large}} {
			for _, coding := range []string{"br", "gzip"} {
				accept := "Accept-Encoding: " + coding
				var whole *http.Response
				var body []byte
				for range 3 { // the cache has the file from the second request on
					var err error
					if whole, body, err = get(client, "GET", url+file.name, accept); err != nil {
						t.Fatal(err)
					}
				}
				plain, err := unpacked(coding, body)
				if err != nil || string(plain) != file.content {
					t.Fatalf("%s: %d bytes of %s, %v", file.name, len(plain), coding, err)
				}
				tag := whole.Header.Get("ETag")
				if !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, "-"+coding+`"`) {
					t.Errorf("the tag is %s", tag)
				}
				for _, tc := range []struct {
					method, field string
					status        int
					want          []byte
				}{
					{"GET", "", 200, body},
					{"HEAD", "", 200, nil},
					{"GET", "If-None-Match: " + tag, 304, nil},
					{"GET", "If-None-Match: W/" + tag, 304, nil},
					{"GET", `If-Match: "x"`, 412, nil},
					{"GET", "Range: bytes=10-19", 206, body[10:20]},
					{"GET", "Range: bytes=-5", 206, body[len(body)-5:]},
					{"GET", "Range: bytes=" + strconv.Itoa(len(body)) + "-", 416, nil},
				} {
					fields := []string{accept}
					if tc.field != "" {
						fields = append(fields, tc.field)
					}
					resp, got, err := get(client, tc.method, url+file.name, fields...)
					if err != nil {
						t.Fatal(err)
					}
					if resp.StatusCode != tc.status || tc.want != nil && !bytes.Equal(got, tc.want) {
						t.Errorf("%s %s %s: %d with %d bytes, want %d with %d", tc.method, file.name, tc.field, resp.StatusCode, len(got), tc.status, len(tc.want))
					}
					if tc.status < 300 && (resp.Header.Get("Content-Encoding") != coding || resp.Header.Get("ETag") != tag) {
						t.Errorf("%s: %v", tc.field, resp.Header)
					}
					if tc.status < 400 && resp.Header.Get("Vary") != "Accept-Encoding" {
						t.Errorf("%s: %v", tc.field, resp.Header)
					}
					if tc.status == 200 && resp.ContentLength != int64(len(body)) {
						t.Errorf("%s: length %d, want %d", tc.method, resp.ContentLength, len(body))
					}
				}
				for _, validator := range []struct {
					tag    string
					status int
				}{{tag, 206}, {`"other"`, 200}} {
					resp, _, err := get(client, "GET", url+file.name, accept, "Range: bytes=0-4", "If-Range: "+validator.tag)
					if err != nil || resp.StatusCode != validator.status {
						t.Errorf("If-Range %s: %v, %v", validator.tag, resp.StatusCode, err)
					}
				}
			}
			resp, body, err := get(client, "GET", url+file.name)
			if err != nil || string(body) != file.content || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s without Accept-Encoding: %d bytes, %v, %v", file.name, len(body), resp.Header, err)
			}
		}
		for _, name := range []string{"/tiny.js", "/random.js"} { // which compression would not help
			for range 3 {
				resp, _, err := get(client, "GET", url+name, "Accept-Encoding: gzip, br")
				if err != nil || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Vary") == "" {
					t.Errorf("%s: %v, %v", name, resp.Header, err)
				}
			}
		}
	})
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 4 {
		t.Errorf("files on the disk: %q, %v", names, err)
	}
}

// noise returns bytes that no encoder makes smaller.
func noise(size int) string {
	b := make([]byte, size)
	x := uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return string(b)
}

// TestCompressedCopiesAreFresh replaces files under load. Each response must have one of the contents in whole, and after
// the load the last one.
func TestCompressedCopiesAreFresh(t *testing.T) {
	needsCache(t)
	t.Parallel()
	dir := tree(t, map[string]string{"a.js": code(0, 20_000)})
	url := variantServer(t, dir, -1)
	overBoth(t, func(t *testing.T, client *http.Client) {
		for i := range 4 {
			want := code(i, 20_000) // always of the same size
			if err := put(filepath.Join(dir, "a.js"), want); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ripe)
			tags := map[string]bool{}
			for range 5 {
				resp, body, err := get(client, "GET", url+"/a.js", "Accept-Encoding: gzip")
				if err != nil {
					t.Fatal(err)
				}
				tags[resp.Header.Get("ETag")] = true
				if got, err := unpacked("gzip", body); err != nil || string(got) != want {
					t.Fatalf("version %d: another one was sent, %v", i, err)
				}
			}
			if len(tags) > 2 { // of the first response, which is not from the cache, and of the copy
				t.Errorf("tags: %v", tags)
			}
		}
		// A precompressed file that appears replaces the copy.
		stored := packed("gzip", "stored")
		if err := put(filepath.Join(dir, "a.js.gz"), stored); err != nil {
			t.Fatal(err)
		}
		if _, body, err := get(client, "GET", url+"/a.js", "Accept-Encoding: gzip"); err != nil || string(body) != stored {
			t.Errorf("%d bytes instead of the stored file, %v", len(body), err)
		}
		if err := os.Remove(filepath.Join(dir, "a.js.gz")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCompressedCopyForManyClients lets many clients ask at once for a copy that does not exist yet.
func TestCompressedCopyForManyClients(t *testing.T) {
	needsCache(t)
	t.Parallel()
	text := code(3, 100_000)
	dir := tree(t, map[string]string{"a.js": text})
	time.Sleep(ripe)
	url := variantServer(t, dir, time.Hour)
	overBoth(t, func(t *testing.T, client *http.Client) {
		for range 2 {
			if _, _, err := get(client, "GET", url+"/a.js"); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				resp, body, err := get(client, "GET", url+"/a.js", "Accept-Encoding: br")
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := unpacked("br", body); err != nil || string(got) != text || strings.HasPrefix(resp.Header.Get("ETag"), "W/") {
					t.Errorf("%d bytes with the tag %s, %v", len(got), resp.Header.Get("ETag"), err)
				}
			})
		}
		wg.Wait()
	})
}

// TestNoCopyIfTransformIsForbidden sets no-transform for some requests only.
func TestNoCopyIfTransformIsForbidden(t *testing.T) {
	needsCache(t)
	t.Parallel()
	dir := tree(t, map[string]string{"a.js": code(4, 10_000)})
	time.Sleep(ripe)
	files := (&gallop.FS{Root: dir, Compress: true, CheckEvery: time.Hour}).NewRequestHandler()
	for range 4 {
		if resp := serveOnce(t, files, "GET", "/a.js", "Accept-Encoding: gzip"); peek(resp, "Content-Encoding") != "gzip" {
			t.Error("not compressed")
		}
		if resp := serveOnce(t, withField(files, "Cache-Control", "no-transform"), "GET", "/a.js", "Accept-Encoding: gzip"); peek(resp, "Content-Encoding") != "" {
			t.Error("transformed")
		}
	}
}
