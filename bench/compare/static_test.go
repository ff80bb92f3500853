//go:build linux

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestStaticFiles shows that wrk requests the files that there are, and that checkStatic notices wrong responses.
func TestStaticFiles(t *testing.T) {
	script, err := os.ReadFile("../wrk/static.lua")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(script), `"f`); n != len(staticFiles) {
		t.Errorf("wrk requests %d files of %d", n, len(staticFiles))
	}
	for _, f := range staticFiles {
		if !strings.Contains(string(script), `"`+f.name+`"`) {
			t.Errorf("wrk does not request %s", f.name)
		}
	}
	for name, tc := range map[string]struct {
		right  bool
		change func(f *staticFile)
	}{
		"right":          {true, func(*staticFile) {}},
		"another coding": {false, func(f *staticFile) { f.packed = nil }},
		"a byte changed": {false, func(f *staticFile) { f.content = append([]byte{f.content[0] + 1}, f.content[1:]...) }},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, f := range staticFiles {
				if r.URL.Path != "/"+f.name {
					continue
				}
				if tc.change(&f); f.packed != nil {
					w.Header().Set("Content-Encoding", "gzip")
					w.Write(f.packed)
					return
				}
				w.Write(f.content)
			}
		}))
		if err := checkStatic(server.URL); (err == nil) != tc.right {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}
