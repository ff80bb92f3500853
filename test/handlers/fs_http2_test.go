package handlers_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// overHTTP2 lets a server speak HTTP/2 without TLS.
func overHTTP2(s *gallop.Server) {
	s.Protocols = new(gallop.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
}

// h2cClient returns a client that speaks only HTTP/2 without TLS.
func h2cClient(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// TestCachedFilesOverHTTP2 requests each file often enough that later responses come from the cache, and compares all
// responses with what they must be.
func TestCachedFilesOverHTTP2(t *testing.T) {
	needsCache(t)
	t.Parallel()
	css, br := text("css", 1, 20_000), packed("br", text("css", 1, 20_000))
	data, large := text("data", 1, 100_000), text("large", 1, 300_000)
	dir := tree(t, map[string]string{"a.css": css, "a.css.br": br, "b.data": data, "empty": "", "large.data": large})
	time.Sleep(ripe)
	url, inMemory := serveFiles(t, (&gallop.FS{
		Root: dir, AcceptByteRange: true, Compress: true, CompressBrotli: true, CheckEvery: time.Hour,
	}).NewRequestHandler(), overHTTP2)
	client := h2cClient(t)
	tags := map[string]string{}
	for _, path := range []string{"/a.css", "/b.data", "/empty", "/large.data"} {
		resp, _, err := get(client, "GET", url+path)
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatal(path, resp, err)
		}
		tags[path] = resp.Header.Get("Etag")
	}
	for _, tc := range []struct {
		method, path, field string
		status              int
		coding, body        string
		length              int64
	}{
		{"GET", "/a.css", "", 200, "", css, 20_000},
		{"GET", "/a.css", "Accept-Encoding: br", 200, "br", br, int64(len(br))},
		{"GET", "/a.css", "Accept-Encoding: gzip, br;q=0", 200, "gzip", css, -1}, // made for the request
		{"HEAD", "/a.css", "", 200, "", "", 20_000},
		{"HEAD", "/a.css", "Accept-Encoding: br", 200, "br", "", int64(len(br))},
		{"GET", "/a.css", "If-None-Match: " + tags["/a.css"], 304, "", "", -1},
		{"GET", "/b.data", "", 200, "", data, 100_000},
		{"GET", "/b.data", "Range: bytes=10-99", 206, "", data[10:100], 90},
		{"GET", "/b.data", "Range: bytes=-7", 206, "", data[100_000-7:], 7},
		{"GET", "/b.data", "Range: bytes=100000-", 416, "", "*", -1},
		{"HEAD", "/b.data", "", 200, "", "", 100_000},
		{"GET", "/b.data", "If-None-Match: " + tags["/b.data"], 304, "", "", -1},
		{"GET", "/empty", "", 200, "", "", 0},
		{"HEAD", "/empty", "", 200, "", "", 0},
		{"GET", "/large.data", "", 200, "", large, 300_000},
		{"GET", "/large.data", "Range: bytes=200000-", 206, "", large[200_000:], 100_000},
		{"HEAD", "/large.data", "", 200, "", "", 300_000},
		{"GET", "/large.data", "If-None-Match: " + tags["/large.data"], 304, "", "", -1},
	} {
		for i := range 4 {
			var fields []string
			if tc.field != "" {
				fields = append(fields, tc.field)
			}
			resp, body, err := get(client, tc.method, url+tc.path, fields...)
			if err != nil {
				t.Errorf("%+v: %v", tc, err)
				break
			}
			coding := resp.Header.Get("Content-Encoding")
			if coding == "gzip" {
				if body, err = unpacked(coding, body); err != nil {
					t.Error(err)
				}
			}
			right := resp.StatusCode == tc.status && coding == tc.coding && (string(body) == tc.body || tc.body == "*")
			if tc.length >= 0 && resp.ContentLength != tc.length || !right {
				t.Errorf("%s %s %s, request %d: %d, %q, a length of %d, %d bytes: %.40q", tc.method, tc.path, tc.field, i,
					resp.StatusCode, coding, resp.ContentLength, len(body), body)
			}
		}
	}
	if n := inMemory.Load(); n < 30 {
		t.Errorf("%d responses came from memory", n)
	}
}

// TestSharedFileOverHTTP2 streams one large file to many streams at once. They read the same descriptor.
func TestSharedFileOverHTTP2(t *testing.T) {
	needsCache(t)
	t.Parallel()
	content := text("shared", 1, 1<<20)
	want := sha256.Sum256([]byte(content))
	dir := tree(t, map[string]string{"large.data": content})
	time.Sleep(ripe)
	url, _ := serveFiles(t, (&gallop.FS{Root: dir, AcceptByteRange: true}).NewRequestHandler(), overHTTP2)
	client := h2cClient(t)
	for range 3 {
		if _, _, err := get(client, "GET", url+"/large.data"); err != nil {
			t.Fatal(err)
		}
	}
	var began, all sync.WaitGroup
	const streams = 20
	began.Add(streams)
	for i := range streams {
		all.Go(func() {
			from := i % 4 * 1000 // some streams begin elsewhere
			body, err := openStream(client, url+"/large.data", from, &began)
			if err != nil {
				t.Errorf("stream %d: %v", i, err)
				return
			}
			if got := sha256.Sum256(append([]byte(content[:from]), body...)); got != want {
				t.Errorf("stream %d: %d bytes are not those of the file from %d on", i, len(body), from)
			}
		})
	}
	all.Wait()
}

// openStream requests a file from an offset on. It reads the first bytes, waits until all streams have begun, and reads
// the rest.
func openStream(client *http.Client, url string, from int, began *sync.WaitGroup) ([]byte, error) {
	req, err := http.NewRequest("GET", url, nil)
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	resp, err2 := client.Do(req)
	if err := errors.Join(err, err2); err != nil {
		began.Done()
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = io.CopyN(&b, resp.Body, 1000)
	began.Done()
	began.Wait()
	if _, err2 := io.Copy(&b, resp.Body); err2 != nil || err != nil {
		return nil, errors.Join(err, err2)
	}
	if resp.ProtoMajor != 2 || resp.StatusCode != 206 {
		return nil, fmt.Errorf("%s %s", resp.Proto, resp.Status)
	}
	return b.Bytes(), nil
}
