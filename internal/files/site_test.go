package files

import (
	"encoding/json"
	"testing"
	"time"
)

func TestIsHashed(t *testing.T) {
	for name, want := range map[string]bool{
		"app.3f2a9c1b.js": true, "app-3f2a9c1b.js": true, "app-3f2a9c1b.min.css": true, "assets/main.0a1b2c3d4e5f6789.js": true,
		"logo.9d8c7b6a5f4e3d2c1b0a.svg": true, "a/b.c/app.3f2a9c1b.js.map": true,
		"app.js": false, "app.20261127.js": false, "report-20261127.pdf": false, "app.deadbeef.js": false, "app.3f2a9c1.js": false,
		"app.3F2A9C1B.js": false, "3f2a9c1b.js": false, "app.3f2a9c1b": false, "app-3f2a9c1b": false, "3f2a9c1b/app.js": false,
		"app.3f2a9c1bx.js": false, ".3f2a9c1b.js": false, "": false, ".": false, "app..js": false,
	} {
		if got := IsHashed(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a/b.html", true},
		{"*.html", "a/b.html", true},
		{"*.html", "a/b.htm", false},
		{"b.html", "a/b.html", true},
		{"a/*.html", "a/b.html", true},
		{"a/*.html", "x/a/b.html", false},
		{"a/*", "a/b/c", false},
		{"/a/*", "a/b", true},
		{"a/", "a/b/c", true},
		{"/a/", "a/b", true},
		{"a/", "ab", false},
		{"a/", "x/a/b", false},
		{"[", "[", false},
	} {
		if got := Matches(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q, %q: %v", tc.pattern, tc.name, got)
		}
	}
}

func TestNavigation(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	for _, tc := range []struct {
		accept, path string
		want         bool
	}{
		{browser, "/users/7", true},
		{browser, "/", true},
		{browser, "/v1.2/users", true},
		{"Text/HTML", "/users/7", true},
		{browser, "/app.js", false},
		{browser, "/users/.x", false},
		{"*/*", "/users/7", false},
		{"", "/users/7", false},
		{"application/json, text/html;q=0.5", "/users/7", false},
		{"text/html;q=0, */*", "/users/7", false},
		{"image/avif,image/webp,*/*;q=0.8", "/picture", false},
	} {
		if got := PrefersPage(tc.accept) && IsRoute([]byte(tc.path)); got != tc.want {
			t.Errorf("%q, %q: %v", tc.accept, tc.path, got)
		}
	}
}

func TestListingJSON(t *testing.T) {
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.FixedZone("", 3600))
	list := []Entry{{"d", true, 4096, at}, {"</script>\"\\\n\u202e\xff\x7f", false, 0, time.Time{}}, {"é.txt", false, 1 << 40, at}}
	var got struct {
		Entries []struct {
			Name, Type string
			Size       *int64
			Modified   *string
		}
		Truncated bool
	}
	text := AppendListingJSON(nil, list, true)
	if err := json.Unmarshal(text, &got); err != nil || !got.Truncated || len(got.Entries) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	if e := got.Entries[0]; e.Name != "d" || e.Type != "directory" || e.Size != nil || *e.Modified != "2026-11-27T09:00:00Z" {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[1]; e.Name != "</script>\"\\\n\u202e\uFFFD\x7f" || e.Type != "file" || *e.Size != 0 || e.Modified != nil {
		t.Errorf("%+v", e)
	}
	if e := got.Entries[2]; e.Name != "é.txt" || *e.Size != 1<<40 {
		t.Errorf("%+v", e)
	}
	if got := string(AppendListingJSON(nil, nil, false)); got != "{\"entries\":[]}\n" {
		t.Errorf("an empty directory: %s", got)
	}
}
