package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// browserAccept is the Accept header of browsers that navigate to a page.
const browserAccept = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// makeFiles creates a directory with empty files; names that end in a slash become directories.
func makeFiles(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(file, 0o755)
		} else if err == nil {
			err = os.WriteFile(file, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listed returns the links in the rows of a list.
func listed(page string) (links []string) {
	for _, m := range regexp.MustCompile(`<tr class="[a-z]+"><td><a href="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		links = append(links, html.UnescapeString(m[1]))
	}
	return links
}

func TestListIsSorted(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "b/", "A/", "file10.txt", "file9.txt", "File2.txt", "z")
	sizes := map[string]int{"file9.txt": 1000, "File2.txt": 2000, "file10.txt": 3000, "z": 4000}
	base := time.Now().Add(-time.Hour)
	for i, name := range []string{"file9.txt", "b", "z", "A", "file10.txt", "File2.txt"} { // oldest first
		file, at := filepath.Join(dir, name), base.Add(time.Duration(i)*time.Minute)
		if sizes[name] > 0 {
			if err := os.WriteFile(file, make([]byte, sizes[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, dir)
	for _, tc := range []struct{ query, want, marks string }{
		{"", "A/ b/ File2.txt file9.txt file10.txt z", "ascending - -"},
		{"?sort=name", "A/ b/ File2.txt file9.txt file10.txt z", "ascending - -"},
		{"?sort=name&order=desc", "b/ A/ z file10.txt file9.txt File2.txt", "descending - -"},
		{"?sort=size", "A/ b/ z file10.txt File2.txt file9.txt", "- descending -"},
		{"?sort=size&order=asc", "A/ b/ file9.txt File2.txt file10.txt z", "- ascending -"},
		{"?sort=modified", "A/ b/ File2.txt file10.txt z file9.txt", "- - descending"},
		{"?sort=modified&order=asc", "b/ A/ file9.txt z file10.txt File2.txt", "- - ascending"},
		{"?sort=colour&order=desc", "A/ b/ File2.txt file9.txt file10.txt z", "ascending - -"},
		{"?sort=size&order=x&x=%3Cscript%3E", "A/ b/ z file10.txt File2.txt file9.txt", "- descending -"},
	} {
		resp, page := p.get("GET", "/"+tc.query)
		var names []string
		for _, link := range listed(page) {
			name, _, _ := strings.Cut(strings.TrimPrefix(link, "./"), "?")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); resp.StatusCode != 200 || got != tc.want {
			t.Errorf("%s: %d %s, want %s", tc.query, resp.StatusCode, got, tc.want)
		}
		var marks []string
		for _, m := range regexp.MustCompile(`<th(?: aria-sort="([a-z]+)")?>`).FindAllStringSubmatch(page, -1) {
			marks = append(marks, map[bool]string{true: "-", false: m[1]}[m[1] == ""])
		}
		if got := strings.Join(marks, " "); got != tc.marks {
			t.Errorf("%s: the columns are marked %s, want %s", tc.query, got, tc.marks)
		}
	}
}

// TestListLinksKeepTheOrder follows the links of a list like a browser without JavaScript.
func TestListLinksKeepTheOrder(t *testing.T) {
	t.Parallel()
	p := serve(t, makeFiles(t, "a b/c/d.txt", "a b/x"))
	for _, tc := range []struct{ path, link, want string }{
		{"/", "Name", "/?sort=name&order=desc"},
		{"/?sort=name&order=desc", "Name", "/"},
		{"/", "Size", "/?sort=size&order=desc"},
		{"/?sort=size&order=desc", "Size", "/?sort=size&order=asc"},
		{"/?sort=size&order=desc", "Modified", "/?sort=modified&order=desc"},
		{"/?sort=size&order=desc", "a b/", "/a%20b/?sort=size&order=desc"},
		{"/a%20b/?sort=size", "c/", "/a%20b/c/?sort=size&order=desc"},
		{"/a%20b/c/", "d.txt", "/a%20b/c/d.txt"},
		{"/a%20b/c/?sort=size", "Parent directory", "/a%20b/?sort=size&order=desc"},
		{"/a%20b/c/?sort=size", "a b", "/a%20b/?sort=size&order=desc"},
		{"/a%20b/c/?sort=size", p.addr, "/?sort=size&order=desc"},
		{"/a%20b//c/", "Parent directory", "/a%20b//"},
		{"/a%20b//c/", p.addr, "/"},
	} {
		resp, page := p.get("GET", tc.path)
		link := regexp.MustCompile(`<a href="([^"]*)">(?:<svg[^>]*><use[^>]*></svg>)?(?:<span>)?` + regexp.QuoteMeta(tc.link) + `<`)
		m := link.FindStringSubmatch(page)
		if m == nil {
			t.Errorf("%s: there is no link %s in\n%s", tc.path, tc.link, page)
			continue
		}
		to, err := resp.Request.URL.Parse(html.UnescapeString(m[1]))
		if err != nil || to.RequestURI() != tc.want {
			t.Errorf("%s: %s leads to %v, want %s", tc.path, tc.link, to, tc.want)
			continue
		}
		if resp, _ := p.get("GET", to.RequestURI()); resp.StatusCode != 200 {
			t.Errorf("%s: %d", to, resp.StatusCode)
		}
	}
	if resp, _ := p.get("GET", "/a%20b?sort=size"); resp.Header.Get("Location") != "./a%20b/?sort=size" {
		t.Errorf("the redirection to the directory is %q", resp.Header.Get("Location"))
	}
	if _, page := p.get("GET", "/"); strings.Contains(page, "Parent directory") {
		t.Error("the root has a parent")
	}
}

// TestPagesAllowOnlyTheirOwnScript compares the policy of the pages with their scripts.
func TestPagesAllowOnlyTheirOwnScript(t *testing.T) {
	t.Parallel()
	p := serve(t, makeFiles(t, "a.txt"))
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	inline := func(page, element string) []string {
		m := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		var texts []string
		for _, m := range m {
			texts = append(texts, m[1])
		}
		return texts
	}
	for path, scripts := range map[string]int{"/": 1, "/nothing": 0} {
		resp, page := p.get("GET", path, browserAccept)
		want := "default-src 'none';"
		styles := inline(page, "style")
		if len(styles) != 1 || len(inline(page, "script")) != scripts {
			t.Fatalf("%s: %d style sheets, %d scripts", path, len(styles), len(inline(page, "script")))
		}
		want += " style-src " + hash(styles[0]) + ";"
		for _, script := range inline(page, "script") {
			want += " script-src " + hash(script) + ";"
		}
		want += " img-src 'self'; base-uri 'none'; form-action 'none'"
		if got := resp.Header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: Content-Security-Policy: %s\nwant %s", path, got, want)
		}
		if m := regexp.MustCompile(`(?i)<[^>]*\s(on[a-z]+|style|src)\s*=`).FindString(page); m != "" {
			t.Errorf("%s: the policy forbids %s", path, m)
		}
		if resp.Header.Get("Referrer-Policy") != "same-origin" || resp.Header.Get("Cache-Control") != "no-cache" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	if _, page := p.get("GET", "/"); !strings.Contains(page, `<input type="search"`) || !regexp.MustCompile(`<input [^>]* hidden>`).MatchString(page) {
		t.Error("there is no filter box, or it shows without its script")
	}
}

func TestListShowsHostileNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	names := []string{`<script>alert(1)<script>`, `"><b>`, "a&amp;b", "q?u#e", "per%41cent", "javascript:alert(1)", "rtl\u202egpj", "new\nline"}
	p := serve(t, makeFiles(t, append(names, "bad\xffutf8")...)) // io/fs does not allow names that are not UTF-8
	_, page := p.get("GET", "/")
	links := listed(page)
	if len(links) != len(names) {
		t.Fatalf("%d of %d files are listed: %q", len(links), len(names), links)
	}
	for _, link := range links {
		if !strings.HasPrefix(link, "./") {
			t.Errorf("%q may lead elsewhere", link)
		}
		if resp, _ := p.get("GET", strings.TrimPrefix(link, ".")); resp.StatusCode != 200 {
			t.Errorf("%s: %d", link, resp.StatusCode)
		}
	}
	for _, raw := range []string{"<script>alert", "<b>\"", "\u202e", "\xff", "new\nline"} {
		if strings.Contains(page, raw) {
			t.Errorf("the page contains %q", raw)
		}
	}
}

func TestListHasIcons(t *testing.T) {
	t.Parallel()
	p := serve(t, makeFiles(t, "sub/a", "sub/d/", "sub/doc.PDF", "sub/main.go", "sub/x.json", "sub/x.png", "sub/x.mp3", "sub/x.mp4", "sub/x.tar.gz"))
	_, page := p.get("GET", "/sub/")
	var kinds []string
	for _, m := range regexp.MustCompile(`<tr class="([a-z]+)"><td><a href="[^"]*"><svg[^>]*><use href="#([a-z]+)"/>`).FindAllStringSubmatch(page, -1) {
		if m[1] != m[2] || !strings.Contains(page, `<symbol id="`+m[2]+`"`) {
			t.Errorf("the icon of a row %s is %s", m[1], m[2])
		}
		kinds = append(kinds, m[1])
	}
	if got := strings.Join(kinds, " "); got != "up folder file text code data audio video image archive" {
		t.Errorf("the icons are %s", got)
	}
}

func TestListCounts(t *testing.T) {
	t.Parallel()
	p := serve(t, makeFiles(t, "a", "b", "dir/", "dir/empty/"))
	for path, want := range map[string]string{"/": "1 directory · 2 files, 0 B · times in ", "/dir/": "1 directory · times in ", "/dir/empty/": "This directory is empty."} {
		if _, page := p.get("GET", path); !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
}

func TestListIsCompressed(t *testing.T) {
	t.Parallel()
	p := serve(t, "--compress", site(t))
	resp, body := p.get("GET", "/", "Accept-Encoding: gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(resp.Header.Get("Vary"), "Accept-Encoding") || !strings.HasPrefix(body, "\x1f\x8b") {
		t.Errorf("%v", resp.Header)
	}
	if resp, body := p.get("HEAD", "/"); resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: %d %q", resp.StatusCode, body)
	}
}

func TestNoIndexLists(t *testing.T) {
	t.Parallel()
	p := serve(t, "--no-index", site(t))
	if _, page := p.get("GET", "/page/"); !slices.Equal(listed(page), []string{"../", "./index.html"}) {
		t.Errorf("%q", listed(page))
	}
}

func TestDotfilesAreListedWithHidden(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, ".env", ".well-known/x", "a")
	for want, args := range map[string][]string{"./.well-known/ ./a": {dir}, "./.well-known/ ./.env ./a": {dir, "--hidden"}} {
		if _, page := serve(t, args...).get("GET", "/"); strings.Join(listed(page), " ") != want {
			t.Errorf("%v: %q", args, listed(page))
		}
	}
}

func TestErrorPages(t *testing.T) {
	t.Parallel()
	p := serve(t, site(t))
	for _, tc := range []struct {
		method, path, field string
		status              int
		want                []string
	}{
		{"GET", "/nothing", "", 404, []string{"Not Found", "no file or directory", "GET /nothing", `<a href="./">Go to the start page`}},
		{"GET", "/sub/deep/", "", 404, []string{`<a href="../">Go to the parent directory`, `<a href="./../../">Go to the start page`}},
		{"GET", "/sub/nothing", "", 404, []string{`<a href="./">Go to the parent directory`, `<a href="./../">Go to the start page`}},
		{"GET", "/%3Cscript%3Ealert(1)", "", 404, []string{"GET /%3Cscript%3Ealert(1)"}},
		{"POST", "/hello.txt", "", 405, []string{"Method Not Allowed", "GET and HEAD", "POST /hello.txt"}},
		{"GET", "/hello.txt", "Range: bytes=99-", 416, []string{"Requested Range Not Satisfiable", "shorter"}},
		{"GET", "/hello.txt", `If-Match: "x"`, 412, []string{"Precondition Failed", "has changed"}},
		{"GET", "/a%00b", "", 400, []string{"Bad Request", "not valid"}},
	} {
		resp, page := p.get(tc.method, tc.path, tc.field, browserAccept)
		if resp.StatusCode != tc.status || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || resp.Header.Get("Vary") != "Accept" {
			t.Errorf("%s %s: %d %v", tc.method, tc.path, resp.StatusCode, resp.Header)
		}
		for _, want := range append(tc.want, fmt.Sprintf(`<p class="status">%d</p>`, tc.status)) {
			if !strings.Contains(page, want) {
				t.Errorf("%s %s does not say %q:\n%s", tc.method, tc.path, want, page)
			}
		}
		if allow := resp.Header.Get("Allow"); tc.status == 405 && allow != "GET, HEAD" {
			t.Errorf("Allow: %q", allow)
		}
		if r := resp.Header.Get("Content-Range"); tc.status == 416 && r != "bytes */13" {
			t.Errorf("Content-Range: %q", r)
		}
		for _, accept := range []string{"", "Accept: */*", "Accept: application/json", "Accept: text/html;q=0, */*"} {
			resp, body := p.get(tc.method, tc.path, tc.field, accept)
			if resp.StatusCode != tc.status || body != gallop.StatusMessage(tc.status) || resp.Header.Get("Vary") != "Accept" {
				t.Errorf("%s %s, %s: %d %q", tc.method, tc.path, accept, resp.StatusCode, body)
			}
		}
	}
	if resp, body := p.get("HEAD", "/nothing", browserAccept); resp.StatusCode != 404 || body != "" || resp.ContentLength < 1000 {
		t.Errorf("HEAD: %d, %d bytes, %q", resp.StatusCode, resp.ContentLength, body)
	}
	if answer := p.raw("/<img>", browserAccept); strings.Contains(answer, "<img>") {
		t.Errorf("the page has markup from the path:\n%s", answer)
	}
}

// TestUnreadableFiles has files and directories that gallop must not read.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "file", "locked/x", "page/index.html", "page/secret")
	for _, name := range []string{"file", "locked", "page/index.html"} {
		name = filepath.Join(dir, name)
		if err := os.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(name, 0o700) })
	}
	command := []string{os.Args[0], "serve", "--addr", "127.0.0.1:0", dir}
	if f, err := os.Open(filepath.Join(dir, "file")); err == nil {
		f.Close()
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skip("this user may read everything, and there is no setpriv to take that away")
		}
		command = append([]string{setpriv, "--bounding-set", "-dac_override,-dac_read_search"}, command...)
	}
	p := startCommand(t, nil, command...)
	for _, path := range []string{"/file", "/locked/", "/page/"} {
		resp, page := p.get("GET", path, browserAccept)
		if resp.StatusCode != 403 || !strings.Contains(page, "not allowed to read") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, page)
		}
		if resp, body := p.get("GET", path); resp.StatusCode != 403 || body != "Forbidden" {
			t.Errorf("%s: %d %q", path, resp.StatusCode, body)
		}
	}
}

func TestFavicon(t *testing.T) {
	t.Parallel()
	p := serve(t, makeFiles(t, "sub/a"))
	for path, want := range map[string]string{"/": "./favicon.ico", "/sub/": "./../favicon.ico", "/sub/no/thing": "./../../favicon.ico"} {
		resp, page := p.get("GET", path, browserAccept)
		if !strings.Contains(page, `<link rel="icon" href="`+want+`">`) {
			t.Errorf("%s does not link to %s", path, want)
		}
		icon, err := resp.Request.URL.Parse(want)
		if err != nil || icon.Path != "/favicon.ico" {
			t.Errorf("%s: the icon is at %v", path, icon)
		}
	}
	if resp, body := p.get("GET", "/favicon.ico"); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(body, "<svg ") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := p.get("GET", "/sub/favicon.ico"); resp.StatusCode != 404 {
		t.Errorf("another icon: %d", resp.StatusCode)
	}
	own := makeFiles(t)
	if err := os.WriteFile(filepath.Join(own, "favicon.ico"), []byte("own"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, body := serve(t, own).get("GET", "/favicon.ico"); body != "own" {
		t.Errorf("the icon of the site is %q", body)
	}
}

func TestSPA(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "assets/app.js", ".env")
	const index = "<title>app</title>"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "index.html"), []byte(index), 0o644), os.WriteFile(filepath.Join(dir, "assets/app.js"), []byte("js"), 0o644)); err != nil {
		t.Fatal(err)
	}
	p := serve(t, "--spa", dir)
	for _, tc := range []struct {
		method, path, accept string
		status               int
		body                 string
	}{
		{"GET", "/", "", 200, index},
		{"GET", "/users/7", "", 200, index},
		{"GET", "/users/7/?q=1", "", 200, index},
		{"HEAD", "/users/7", "", 200, ""},
		{"GET", "/users/jane.doe", browserAccept, 200, index},
		{"GET", "/assets/app.js", "", 200, "js"},
		{"GET", "/assets/", "", 200, index},
		{"GET", "/assets/old.js", "Accept: */*", 404, "Not Found"},
		{"GET", "/missing.png", "Accept: image/avif,image/webp,*/*;q=0.8", 404, "Not Found"},
		{"GET", "/.env", "", 404, "Not Found"},
		{"POST", "/users/7", "", 405, "Method Not Allowed"},
	} {
		resp, body := p.get(tc.method, tc.path, tc.accept)
		if resp.StatusCode != tc.status || body != tc.body {
			t.Errorf("%s %s: %d %q, want %d %q", tc.method, tc.path, resp.StatusCode, body, tc.status, tc.body)
		}
	}
	resp, _ := p.get("GET", "/users/7")
	if tag := resp.Header.Get("ETag"); tag == "" || resp.Header.Get("Vary") != "Accept" {
		t.Errorf("%v", resp.Header)
	} else if resp, _ := p.get("GET", "/users/7", "If-None-Match: "+tag); resp.StatusCode != 304 {
		t.Errorf("revalidation: %d", resp.StatusCode)
	}
	if resp, body := serve(t, dir).get("GET", "/users/7"); resp.StatusCode != 404 {
		t.Errorf("without --spa: %d %q", resp.StatusCode, body)
	}
}

func TestListAsJSON(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "b.txt", "A&.txt", "dir/x", ".env")
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for _, name := range []string{"b.txt", "A&.txt", "dir"} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, dir)
	const stamp = `"modified":"2026-11-27T10:00:00Z"}`
	d, a, b := `{"name":"dir","type":"directory",`+stamp, `{"name":"A\u0026.txt","type":"file","size":0,`+stamp, `{"name":"b.txt","type":"file","size":0,`+stamp
	for query, want := range map[string]string{"": d + "," + a + "," + b, "?sort=name&order=desc": d + "," + b + "," + a} {
		resp, body := p.get("GET", "/"+query, "Accept: application/json")
		if resp.StatusCode != 200 || body != `{"entries":[`+want+"]}\n" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s\n%v", query, resp.StatusCode, body, resp.Header)
		}
		if resp.Header.Get("Vary") != "Accept" || resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", query, resp.Header)
		}
	}
	for _, accept := range []string{browserAccept, "Accept: */*", ""} {
		if resp, body := p.get("GET", "/", accept); !strings.Contains(body, "<table") || resp.Header.Get("Vary") != "Accept" {
			t.Errorf("%q: %v", accept, resp.Header)
		}
	}
}

func TestPageForMissingFiles(t *testing.T) {
	t.Parallel()
	dir := makeFiles(t, "about.html", "about/x", "404.html", "docs/a.html")
	const page = "<h1>lost</h1>"
	for name, text := range map[string]string{"404.html": page, "about.html": "about", "docs/a.html": "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, dir)
	for path, want := range map[string]string{"/about": "200 about", "/about.html": "200 about", "/docs/a": "200 a", "/none": "404 " + page, "/docs/b": "404 " + page, "/.env": "404 " + page} {
		for _, accept := range []string{browserAccept, ""} {
			if resp, body := p.get("GET", path, accept); fmt.Sprint(resp.StatusCode, " ", body) != want || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %s, want %s", path, resp.StatusCode, body, want)
			}
		}
	}
	if _, body := p.get("GET", "/about/"); !strings.Contains(body, "./x") {
		t.Errorf("the directory beside a page: %s", body)
	}
	if resp, body := p.get("POST", "/none", browserAccept); resp.StatusCode != 405 || !strings.Contains(body, "GET and HEAD") {
		t.Errorf("POST: %d %s", resp.StatusCode, body)
	}
}
