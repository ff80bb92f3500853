package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

const maxForm, maxFile = 100_000, 6 << 20

func start(t *testing.T) (p *program.Process, dir string) {
	dir = t.TempDir()
	return program.Start(t, 1, "-addr", "127.0.0.1:0", "-dir", dir, "-max-form", fmt.Sprint(maxForm), "-max-file", fmt.Sprint(maxFile)), dir
}

// form returns a form with one file, and its type.
func form(field, content string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile(field, "../../a name.txt")
	io.WriteString(part, content)
	w.Close()
	return b.String(), w.FormDataContentType()
}

func TestForm(t *testing.T) {
	p, dir := start(t)
	for _, tc := range []struct {
		rule, field, content string
		status               int
	}{
		{"small", "file", "hello", 201},
		{"empty", "file", "", 201},
		{"nearly as large as the limit", "file", strings.Repeat("x", maxForm-1000), 201},
		{"too large", "file", strings.Repeat("x", maxForm), 413},
		{"other field", "photo", "hello", 400},
	} {
		body, contentType := form(tc.field, tc.content)
		response, text := p.Do("POST", "/form", body, "Content-Type", contentType)
		check(t, tc.rule, response, text, tc.status, dir, tc.content)
	}
	response, text := p.Do("POST", "/form", "hello", "Content-Type", "text/plain")
	check(t, "no form", response, text, 415, dir, "")
	body, contentType := form("file", "hello")
	response, text = p.Do("POST", "/form", body[:len(body)/2], "Content-Type", contentType)
	check(t, "incomplete form", response, text, 400, dir, "")
	wantFiles(t, dir, 3)
}

func TestStream(t *testing.T) {
	p, dir := start(t)
	large := strings.Repeat("x", maxFile) // more than the server's MaxRequestBodySize
	response, text := p.Do("POST", "/stream", large)
	check(t, "as large as the limit", response, text, 201, dir, large)
	response, text = p.Do("POST", "/stream", "") // with Content-Length: 0
	check(t, "empty file", response, text, 201, dir, "")

	for head, want := range map[string]string{
		"": " 400 ", // no body
		fmt.Sprintf("Content-Length: %d\r\n", maxFile+1): " 413 ", // refused before the body is sent
	} {
		conn := dial(t, p)
		fmt.Fprintf(conn, "POST /stream HTTP/1.1\r\nHost: a\r\n%s\r\n", head)
		if status := readStatus(t, conn); !strings.Contains(status, want) {
			t.Errorf("%q: %s, want%s", head, status, want)
		}
	}
	wantFiles(t, dir, 2)
}

// A body in chunks announces no length, so the limit shows only while it arrives.
func TestStreamInChunks(t *testing.T) {
	p, dir := start(t)
	for size, want := range map[int64]int{maxFile: 201, maxFile + 1: 413} {
		request, _ := http.NewRequest("POST", p.URL+"/stream", struct{ io.Reader }{io.LimitReader(xs{}, size)})
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: %s", size, response.Status)
		}
	}
	wantFiles(t, dir, 1)
}

// An upload that breaks off leaves no file behind.
func TestStreamBreaksOff(t *testing.T) {
	p, dir := start(t)
	conn := dial(t, p)
	fmt.Fprint(conn, "POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n0123456789")
	program.Eventually(t, "the file is created", func() bool { return files(t, dir) == 1 })
	conn.Close()
	program.Eventually(t, "the file is removed", func() bool { return files(t, dir) == 0 })
}

// xs is a reader of endless text.
type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func check(t *testing.T, rule string, response *http.Response, text string, status int, dir, content string) {
	t.Helper()
	if response.StatusCode != status {
		t.Errorf("%s: %d %s, want %d", rule, response.StatusCode, text, status)
		return
	}
	if status != 201 {
		if response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", rule, response.Header.Get("Content-Type"))
		}
		return
	}
	var s saved
	err := json.Unmarshal([]byte(text), &s)
	got, readErr := os.ReadFile(filepath.Join(dir, s.Name))
	if err != nil || readErr != nil || string(got) != content || s.Size != int64(len(content)) {
		t.Errorf("%s: %d of %d bytes, %s, %v, %v", rule, len(got), len(content), text, err, readErr)
	}
}

func dial(t *testing.T, p *program.Process) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func readStatus(t *testing.T, conn net.Conn) string {
	t.Helper()
	buf := make([]byte, 64)
	n, err := io.ReadAtLeast(conn, buf, 16)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func files(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func wantFiles(t *testing.T, dir string, want int) {
	t.Helper()
	if n := files(t, dir); n != want {
		t.Errorf("%d files, want %d", n, want)
	}
}
