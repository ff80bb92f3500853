package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// start serves a board on a free port until the test ends.
func start(t *testing.T) (base, files string) {
	t.Helper()
	files = t.TempDir()
	b, err := newBoard(files, &middleware.MemoryStore{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.app.Serve(ln) }()
	t.Cleanup(func() {
		if err := b.health.Shutdown(t.Context(), b.app); err != nil && t.Context().Err() == nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		b.files.Close()
	})
	return "http://" + ln.Addr().String(), files
}

// person is a client with cookies.
type person struct {
	t    *testing.T
	base string
	http.Client
}

func newPerson(t *testing.T, base string) *person {
	jar, _ := cookiejar.New(nil)
	p := &person{t, base, http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// ask sends a request. The body is JSON unless there is a contentType.
func (p *person) ask(method, path, body string, contentType ...string) (status int, text string, header http.Header) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", append(contentType, "application/json")[0])
	response, err := p.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(answer), response.Header
}

// want sends a request, and fails the test unless the response has this status and its body contains part.
func (p *person) want(method, path, body string, status int, part string) {
	p.t.Helper()
	if got, text, _ := p.ask(method, path, body); got != status || !strings.Contains(text, part) {
		p.t.Errorf("%s %s: %d %s, want %d with %s", method, path, got, text, status, part)
	}
}

func (p *person) signIn(name string) { p.want("POST", "/api/login", `{"name":"`+name+`"}`, 200, name) }

func TestSessions(t *testing.T) {
	base, _ := start(t)
	ada, bob := newPerson(t, base), newPerson(t, base)
	ada.want("GET", "/api/me", "", 401, `"error":"sign in first"`)
	ada.want("POST", "/api/login", `{"name":" "}`, 422, "1 to 40")
	ada.want("POST", "/api/login", `{"name":`, 400, `"status":400`)
	ada.signIn("Ada")
	bob.signIn("Bob")
	ada.want("GET", "/api/me", "", 200, `"name":"Ada"`)
	bob.want("GET", "/api/me", "", 200, `"name":"Bob"`)
	_, _, header := ada.ask("POST", "/api/login", `{"name":"Ada"}`)
	if cookie := header.Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || !strings.Contains(strings.ToLower(cookie), "max-age=86400") {
		t.Errorf("Set-Cookie: %s", cookie)
	}
	ada.want("POST", "/api/logout", "", 204, "")
	ada.want("GET", "/api/me", "", 401, "")
	bob.want("GET", "/api/me", "", 200, `"name":"Bob"`)
}

// A page of another site cannot act for a user, and cannot sign a user in under another name.
func TestOtherSites(t *testing.T) {
	base, _ := start(t)
	ada := newPerson(t, base)
	ada.signIn("Ada")
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		for path, body := range map[string]string{"/api/notes": `{"text":"evil"}`, "/api/login": `{"name":"Eve"}`, "/api/logout": "", "/api/files": ""} {
			request, err := http.NewRequestWithContext(t.Context(), "POST", base+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set(header[0], header[1])
			response, err := ada.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != 403 {
				t.Errorf("%s with %s: %d", path, header, response.StatusCode)
			}
		}
	}
	ada.want("GET", "/api/me", "", 200, `"name":"Ada"`)
	ada.want("GET", "/api/notes", "", 200, "[]")
}

func TestLimits(t *testing.T) {
	base, _ := start(t)
	ada, bob := newPerson(t, base), newPerson(t, base)
	ada.signIn("Ada")
	bob.signIn("Bob")
	many := func(path, body string, limit int) { // more than the limit, because the limit grows while the test runs
		t.Helper()
		for n := range 20 * limit {
			status, text, header := ada.ask("POST", path, body)
			if status != 429 {
				continue
			}
			if n < limit || header.Get("Retry-After") == "" || !strings.Contains(text, `"status":429`) {
				t.Errorf("request %d to %s: %d %s, Retry-After: %q", n, path, status, text, header.Get("Retry-After"))
			}
			return
		}
		t.Errorf("%s has no limit", path)
	}
	many("/api/notes", `{"text":"again"}`, notesPerMinute)
	ada.want("GET", "/api/me", "", 200, "Ada")
	bob.want("POST", "/api/notes", `{"text":"mine"}`, 201, "") // the limit is per user

	many("/api/login", `{"name":"Ada"}`, loginsPerMinute-2) // two have signed in
}

func TestNotes(t *testing.T) {
	base, _ := start(t)
	ada, bob := newPerson(t, base), newPerson(t, base)
	ada.want("POST", "/api/notes", `{"text":"x"}`, 401, "")
	ada.want("GET", "/api/notes", "", 200, "[]")
	ada.signIn("Ada")
	bob.signIn("Bob")
	ada.want("POST", "/api/notes", `{"text":"hello"}`, 201, `"id":1,"by":"Ada","text":"hello"`)
	bob.want("POST", "/api/notes", `{"text":"<script>alert(1)</script>"}`, 201, `"id":2`)
	bob.want("POST", "/api/notes", `{"text":""}`, 422, "")
	bob.want("POST", "/api/notes", `{"text":"`+strings.Repeat("x", maxJSON)+`"}`, 413, `"status":413`)
	bob.want("GET", "/api/notes", "", 200, `"text":"hello"`)
	bob.want("DELETE", "/api/notes/1", "", 403, "only the author")
	bob.want("DELETE", "/api/notes/x", "", 404, "")
	bob.want("PUT", "/api/notes", "", 405, "")
	ada.want("DELETE", "/api/notes/1", "", 204, "")
	ada.want("DELETE", "/api/notes/1", "", 404, "")
	_, page, header := ada.ask("GET", "/", "")
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "&lt;script&gt;alert(1)") || !strings.Contains(page, `<p id="who">Ada</p>`) {
		t.Error(page)
	}
	_, rest, _ := strings.Cut(page, `<script nonce="`)
	nonce, _, _ := strings.Cut(rest, `"`)
	if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") || nonce == "" || !strings.Contains(policy, "'nonce-"+nonce+"'") {
		t.Errorf("Content-Security-Policy: %s, the page has the nonce %q", policy, nonce)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var n notes
	for range maxNotes + 5 {
		n.add(note{})
	}
	if all := n.all(); len(all) != maxNotes || all[0].ID != 6 {
		t.Errorf("%d notes, the first has ID %d", len(all), all[0].ID)
	}
}

// form is a form with one file.
func form(t *testing.T, field, name string, content []byte) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	w.WriteField("comment", "before the file")
	part, err := w.CreateFormFile(field, name)
	if err != nil {
		t.Fatal(err)
	}
	part.Write(content)
	w.Close()
	return b.String(), w.FormDataContentType()
}

func TestUploads(t *testing.T) {
	base, files := start(t)
	ada := newPerson(t, base)
	content := bytes.Repeat([]byte("0123456789abcdef"), maxFile/16)
	for _, tc := range []struct {
		what, field, name string
		content           []byte
		status            int
	}{
		{"without a session", "file", "a.txt", []byte("hello"), 401},
		{"small", "file", "a.txt", []byte("hello"), 201},
		{"as large as may be", "file", "b.PNG", content, 201},
		{"too large", "file", "c.txt", append(content, 'x'), 413},
		{"far too large", "file", "c.txt", append(content, content...), 413},
		{"a program", "file", "d.html", []byte("<script>"), 415},
		{"out of the directory", "file", "../../e.txt", []byte("hello"), 201},
		{"no file", "other", "a.txt", []byte("hello"), 400},
	} {
		if tc.what == "small" {
			ada.signIn("Ada")
		}
		body, contentType := form(t, tc.field, tc.name, tc.content)
		status, text, _ := ada.ask("POST", "/api/files", body, contentType)
		if status != tc.status {
			t.Errorf("%s: %d %s", tc.what, status, text)
		}
		var n note
		if json.Unmarshal([]byte(text), &n); tc.status == 201 {
			if _, got, _ := ada.ask("GET", n.File, ""); got != string(tc.content) {
				t.Errorf("%s: %s has %d bytes", tc.what, n.File, len(got))
			}
		}
	}
	ada.want("POST", "/api/files", "{}", 415, "")
	body, contentType := form(t, "file", "f.txt", content)
	if status, _, _ := ada.ask("POST", "/api/files", body[:len(body)/2], contentType); status != 400 {
		t.Errorf("a form that breaks off: %d", status)
	}
	left, err := os.ReadDir(files)
	if err != nil || len(left) != 3 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// An upload that stalls fails after the 5 seconds that the server allows at first, and leaves no file behind.
func TestUploadThatStalls(t *testing.T) {
	files := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, err := newBoard(files, &middleware.MemoryStore{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.files.Close()
		ln := memnet.NewListener()
		go b.app.Serve(ln)
		defer b.app.Close()
		conn, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		lines := bufio.NewReader(conn)
		const login = `{"name":"Ada"}`
		fmt.Fprintf(conn, "POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(login), login)
		response, err := http.ReadResponse(lines, nil)
		if err != nil || response.StatusCode != 200 || len(response.Cookies()) != 1 {
			t.Fatalf("login: %v, %v", response, err)
		}
		io.Copy(io.Discard, response.Body)
		cookie := response.Cookies()[0]
		body, contentType := form(t, "file", "a.txt", []byte("hello"))
		fmt.Fprintf(conn, "POST /api/files HTTP/1.1\r\nHost: a\r\nCookie: %s=%s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			cookie.Name, cookie.Value, contentType, len(body), body[:len(body)-50])
		begun := time.Now()
		response, err = http.ReadResponse(lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < 5*time.Second || took > 10*time.Second || response.StatusCode != 400 || !response.Close {
			t.Errorf("%s after %v, Connection: close: %t", response.Status, took, response.Close)
		}
	})
	if left, err := os.ReadDir(files); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestEvents(t *testing.T) {
	base, _ := start(t)
	ada := newPerson(t, base)
	ada.signIn("Ada")
	response, err := ada.Get(base + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	want := func(want string) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("no %q: %v", want, err)
			}
			if strings.HasPrefix(line, want) {
				return
			}
		}
	}
	want(": welcome")
	ada.want("POST", "/api/notes", `{"text":"news"}`, 201, "")
	want("event: note")
	want(`data: {"id":1,"by":"Ada","text":"news"`)
	ada.want("DELETE", "/api/notes/1", "", 204, "")
	want("event: removed")
	want("data: 1")
} // and the server stops although somebody listens

func TestSlowListenersAreDropped(t *testing.T) {
	var e events
	l, stop := e.listen()
	defer stop()
	for range cap(l) + 1 {
		e.publish("x", nil)
	}
	for range cap(l) {
		<-l
	}
	if _, ok := <-l; ok || len(e.listeners) > 0 {
		t.Error("a listener that does not keep up is still there")
	}
}

func TestAssets(t *testing.T) {
	base, _ := start(t)
	p := newPerson(t, base)
	_, script, header := p.ask("GET", "/assets/board.js", "")
	if !strings.Contains(script, "EventSource") || header.Get("Cache-Control") != "public, max-age=3600" || !strings.HasPrefix(header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%d bytes, %v", len(script), header)
	}
	p.want("GET", "/assets/../page.html", "", 404, "")
	p.want("GET", "/readyz", "", 200, "ok")
}
