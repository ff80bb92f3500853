package handlers_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// put replaces a file by renaming.
func put(name, body string) error {
	return errors.Join(os.WriteFile(name+".tmp", []byte(body), 0o644), os.Rename(name+".tmp", name))
}

// link replaces a symlink by renaming.
func link(to, name string) error {
	return errors.Join(os.Symlink(to, name+".tmp"), os.Rename(name+".tmp", name))
}

// text returns the content of version i.
func text(what string, i, size int) string {
	return strings.Repeat(fmt.Sprintf("%s %04d,", what, i), size/6+1)[:size]
}

// packed returns text in a coding.
func packed(coding, text string) string {
	if coding == "br" {
		return string(gallop.AppendBrotliBytes(nil, []byte(text)))
	}
	return string(gallop.AppendGzipBytes(nil, []byte(text)))
}

// unpacked decodes a body.
func unpacked(coding string, body []byte) ([]byte, error) {
	switch coding {
	case "br":
		return gallop.AppendUnbrotliBytes(nil, body)
	case "gzip":
		return gallop.AppendGunzipBytes(nil, body)
	}
	return body, nil
}

// serveFiles serves with a server on a socket, and counts responses that have their body in memory.
func serveFiles(t *testing.T, files gallop.RequestHandler, change func(*gallop.Server)) (url string, inMemory *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inMemory = new(atomic.Int64)
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		if files(ctx); !ctx.Response.IsBodyStream() && ctx.Response.StatusCode() == 200 {
			inMemory.Add(1)
		}
	}}
	if change != nil {
		change(s)
	}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return "http://" + ln.Addr().String(), inMemory
}

// keepAlive returns a client with one connection, which decodes nothing.
func keepAlive(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// get sends a request, and returns the response with its whole body.
func get(c *http.Client, method, url string, fields ...string) (*http.Response, []byte, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// changing is a way to change a file.
type changing struct {
	name, path string
	root       string // below the directory of the test
	codings    []string
	change     func(h *history, dir string, i int) error // makes version i
}

var changings = []changing{
	{"renamed", "/a.css", "", nil, func(h *history, dir string, i int) error {
		b := text("renamed", i, 1000*(i+1))
		return h.change("", b, func() error { return put(dir+"/a.css", b) })
	}},
	{"renamed, of the same length", "/a.css", "", nil, func(h *history, dir string, i int) error {
		b := text("same", i, 1000)
		return h.change("", b, func() error { return put(dir+"/a.css", b) })
	}},
	{"written in place", "/a.css", "", nil, func(h *history, dir string, i int) error {
		before := ""
		if i > 0 {
			before = text("in place", i-1, 1000)
		}
		return h.rewrite(dir+"/a.css", before, text("in place", i, 1000))
	}},
	{"large, renamed", "/a.css", "", nil, func(h *history, dir string, i int) error {
		b := text("large", i, 200_000)
		return h.change("", b, func() error { return put(dir+"/a.css", b) })
	}},
	{"original and siblings", "/a.css", "", []string{"br", "gzip"}, func(h *history, dir string, i int) error {
		original, br, gz := text("original", i, 1000), text("br", i, 1000), text("gzip", i, 1000)
		return errors.Join(
			h.change("", original, func() error { return put(dir+"/a.css", original) }),
			h.change("gzip", gz, func() error { return put(dir+"/a.css.gz", packed("gzip", gz)) }),
			h.change("br", br, func() error { return put(dir+"/a.css.br", packed("br", br)) }),
		)
	}},
	{"siblings alone", "/a.css", "", []string{"br", "gzip"}, func(h *history, dir string, i int) error {
		br, gz := text("br", i, 1000), text("gzip", i, 1000)
		var err error
		if original := text("original", i, 1000); i == 0 {
			err = h.change("", original, func() error { return put(dir+"/a.css", original) })
		}
		return errors.Join(err,
			h.change("br", br, func() error { return put(dir+"/a.css.br", packed("br", br)) }),
			h.change("gzip", gz, func() error { return put(dir+"/a.css.gz", packed("gzip", gz)) }),
		)
	}},
	{"the root is a link that leads elsewhere", "/a.css", "current", nil, func(h *history, dir string, i int) error {
		return swap(h, dir, i)
	}},
	{"a directory is a link that leads elsewhere", "/current/a.css", "", nil, func(h *history, dir string, i int) error {
		return swap(h, dir, i)
	}},
	{"comes and goes", "/a.css", "", nil, func(h *history, dir string, i int) error {
		if i%2 == 1 {
			return h.change("", "", func() error { return os.Remove(dir + "/a.css") })
		}
		b := text("comes", i, 1000)
		return h.change("", b, func() error { return put(dir+"/a.css", b) })
	}},
	{"becomes a link outside", "/a.css", "", nil, func(h *history, dir string, i int) error {
		if i%2 == 1 {
			return h.change("", "", func() error { return link("/etc/passwd", dir+"/a.css") })
		}
		b := text("a file", i, 1000)
		return h.change("", b, func() error { return put(dir+"/a.css", b) })
	}},
}

// swap makes a directory with version i, and leads the link to the directory.
func swap(h *history, dir string, i int) error {
	b := text("link", i, 1000)
	to := fmt.Sprint("v", i)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, to), 0o755), put(filepath.Join(dir, to, "a.css"), b)); err != nil {
		return err
	}
	time.Sleep(ripe) // so that the file can be cached at once
	return h.change("", b, func() error { return link(to, dir+"/current") })
}

// TestFreshnessOfFiles changes files that a server serves. It compares each response with what was on the disk within the
// interval of checks before the request, or, if each request checks, while the request was in flight.
func TestFreshnessOfFiles(t *testing.T) {
	needsCache(t)
	t.Parallel()
	changes := 2
	if wiretest.Long() {
		changes = 6
	}
	var all sync.WaitGroup
	for _, every := range []time.Duration{0, 200 * time.Millisecond, -1} {
		for _, c := range changings {
			dir := t.TempDir()
			all.Go(func() { c.judge(t, dir, every, changes) })
		}
	}
	all.Wait()
}

// judging is a file that changes while clients download it.
type judging struct {
	*changing
	t        *testing.T
	history  *history
	every    time.Duration
	window   time.Duration // how old a response may be
	url      string
	inMemory *atomic.Int64
	accepted []string // the values of Accept-Encoding, one for each client
	seen     []atomic.Pointer[fingerprint]
	done     atomic.Bool
}

// judge serves a file that changes a few times, and judges each response.
func (c *changing) judge(t *testing.T, dir string, every time.Duration, changes int) {
	const slack = time.Second // a check may be in progress for so long on a busy machine
	j := &judging{changing: c, t: t, every: every, window: every + slack, history: &history{files: map[string][]version{}}}
	switch {
	case every == 0:
		j.window = time.Second + slack
	case every < 0:
		j.window = 0
	}
	j.accepted = append([]string{""}, c.codings...)
	j.seen = make([]atomic.Pointer[fingerprint], len(j.accepted))
	if err := c.change(j.history, dir, 0); err != nil {
		t.Error(err)
		return
	}
	j.url, j.inMemory = serveFiles(t, (&gallop.FS{
		Root: filepath.Join(dir, c.root), CheckEvery: every, Compress: true, CompressBrotli: true,
	}).NewRequestHandler(), nil)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer j.done.Store(true)
	for i := range j.accepted {
		client := keepAlive(t)
		clients.Go(func() { j.watch(client, i) })
	}
	for i := 1; j.awaitVersion(i-1) && i <= changes; i++ {
		j.awaitCache(i - 1)
		if err := c.change(j.history, dir, i); err != nil {
			t.Error(err)
		}
	}
}

// watch downloads the file all the time, as client number i, and judges each response.
func (j *judging) watch(client *http.Client, i int) {
	for !j.done.Load() {
		time.Sleep(5 * time.Millisecond)
		began := time.Now()
		resp, body, err := get(client, "GET", j.url+j.path, "Accept-Encoding: "+j.accepted[i])
		ended := time.Now()
		if err != nil {
			j.t.Errorf("%s, every %v: %v", j.name, j.every, err)
			return
		}
		coding := resp.Header.Get("Content-Encoding")
		plain, err := unpacked(coding, body)
		var is fingerprint
		if resp.StatusCode != 404 {
			is = sha256.Sum256(plain)
		}
		if err != nil || !j.history.allows(is, began, ended, j.window, "", coding) {
			j.t.Errorf("%s, every %v, accepted %q: %d, %.16q in %d bytes %q was not on the disk, %v",
				j.name, j.every, j.accepted[i], resp.StatusCode, plain, len(body), coding, err)
			return
		}
		j.seen[i].Store(&is)
	}
}

// awaitVersion waits until each client has version i. It reports false if the test has failed.
func (j *judging) awaitVersion(i int) bool {
	end := time.Now().Add(j.window + 20*time.Second)
	for n, suffix := range j.accepted {
		for is := j.seen[n].Load(); is == nil || *is != j.history.last(suffix); is = j.seen[n].Load() {
			if time.Now().After(end) || j.t.Failed() {
				j.t.Errorf("%s, every %v, accepted %q: no response has version %d", j.name, j.every, suffix, i)
				return false
			}
			time.Sleep(time.Millisecond)
		}
	}
	return true
}

// awaitCache waits until version i comes from the cache, or, if responses do not show that, until it can.
func (j *judging) awaitCache(i int) {
	if !j.isCached() || j.history.last("") == (fingerprint{}) {
		time.Sleep(ripe)
		return
	}
	end := time.Now().Add(10 * time.Second)
	for enough := j.inMemory.Load() + 4; j.inMemory.Load() < enough; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			j.t.Errorf("%s, every %v: version %d is not cached", j.name, j.every, i)
			return
		}
	}
}

// isCached reports whether the responses of the cache have their body in memory, and no other responses have.
func (c *changing) isCached() bool { return len(c.codings) == 0 && !strings.HasPrefix(c.name, "large") }
