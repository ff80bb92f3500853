package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gallop-http/gallop"
)

var dotfiles = map[string]string{
	".env": "SECRET", ".git/config": "SECRET", "sub/.htpasswd": "SECRET", "..a": "SECRET", "...": "SECRET",
	".well-known/acme": "token", ".well-known/.key": "SECRET", "sub/.well-known/x": "below",
	".well-known-not/x": "SECRET", ".Well-Known/x": "SECRET", "a.txt": "a", "a..b": "dots", "sub/c.": "dot at the end",
}

func TestFSHideDotfiles(t *testing.T) {
	mem := fstest.MapFS{}
	for name, content := range dotfiles {
		mem[name] = &fstest.MapFile{Data: []byte(content)}
	}
	dir := tree(t, dotfiles)
	for name, f := range map[string]*gallop.FS{"directory": {Root: dir}, "fs.FS": {FS: mem}} {
		f.HideDotfiles, f.GenerateIndexPages, f.IndexNames = true, true, []string{".env", "sub/.htpasswd"}
		handler := f.NewRequestHandler()
		for target, want := range map[string]string{ // "" is not there
			"/.env": "", "/%2eenv": "", "/%2Eenv": "", "//.env": "", "/sub/../.env": "", "/.env/": "", "/.env?x": "",
			"/.git": "", "/.git/": "", "/.git/config": "", "/sub/.htpasswd": "", "/sub/%2ehtpasswd": "", "/..a": "", "/...": "",
			"/.well-known/.key": "", "/.well-known-not/x": "", "/.Well-Known/x": "", "/.none": "",
			"/.well-known/acme": "token", "/%2ewell-known/acme": "token", "/sub/.well-known/x": "below",
			"/a.txt": "a", "/a..b": "dots", "/sub/c.": "dot at the end",
		} {
			resp := serveOnce(t, handler, "GET", target)
			status := map[bool]int{true: 404, false: 200}[want == ""]
			if resp.StatusCode() != status || want != "" && string(resp.Body()) != want || strings.Contains(string(resp.Body()), "SECRET") {
				t.Errorf("%s: %s: %d %q, want %q", name, target, resp.StatusCode(), resp.Body(), want)
			}
		}
		root, known := serveOnce(t, handler, "GET", "/"), serveOnce(t, handler, "GET", "/.well-known/")
		if page := string(root.Body()); !strings.Contains(page, "./a.txt") || !strings.Contains(page, "./.well-known/") ||
			strings.Contains(page, ".env") || strings.Contains(page, ".git") || strings.Contains(page, "SECRET") {
			t.Errorf("%s: listed %s", name, page)
		}
		if page := string(known.Body()); !strings.Contains(page, "./acme") || strings.Contains(page, ".key") {
			t.Errorf("%s: listed %s", name, page)
		}
	}
}

// The default is fasthttp's.
func TestFSServesDotfiles(t *testing.T) {
	handler := (&gallop.FS{Root: tree(t, dotfiles), GenerateIndexPages: true}).NewRequestHandler()
	for target, want := range dotfiles {
		if resp := serveOnce(t, handler, "GET", "/"+target); resp.StatusCode() != 200 || string(resp.Body()) != want {
			t.Errorf("%s: %d %q", target, resp.StatusCode(), resp.Body())
		}
	}
	if page := string(serveOnce(t, handler, "GET", "/").Body()); !strings.Contains(page, "./.env") {
		t.Errorf("listed %s", page)
	}
}

// Hidden names take no place of those that are shown.
func TestFSListsBehindManyDotfiles(t *testing.T) {
	mem := fstest.MapFS{"z.txt": {}}
	for i := range 10_100 {
		mem[fmt.Sprintf(".%d", i)] = &fstest.MapFile{}
	}
	handler := (&gallop.FS{FS: mem, HideDotfiles: true, GenerateIndexPages: true}).NewRequestHandler()
	page := string(serveOnce(t, handler, "GET", "/").Body())
	if !strings.Contains(page, "./z.txt") || strings.Contains(page, "only the first") {
		t.Errorf("listed %s", page)
	}
}
