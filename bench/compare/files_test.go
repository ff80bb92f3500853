//go:build linux

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrk/zipf.lua requests files by the names that writeMany gives them.
func TestZipfNames(t *testing.T) {
	script, err := os.ReadFile("../wrk/zipf.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"files, draws = 100000,", `"/d%02d/f%05d.txt", (low - 1) % 100, low - 1`} {
		if !strings.Contains(string(script), want) {
			t.Errorf("the script has no %s", want)
		}
	}
	if got := manyName(4_217); got != "d17/f04217.txt" || manyFiles != 100_000 || manyDirs != 100 {
		t.Errorf("%s, %d files in %d directories", got, manyFiles, manyDirs)
	}
}

// The checks of tiny and many accept the files that there are, and notice wrong responses.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	for name, size := range tinyFiles {
		if err := writeFile(filepath.Join(dir, name), filler(name, size)); err != nil {
			t.Fatal(err)
		}
	}
	onDisk := http.FileServer(http.Dir(dir))
	fromName := func(w http.ResponseWriter, r *http.Request) { w.Write(filler(r.URL.Path[1:], manySize)) }
	for _, row := range []struct {
		name  string
		check func(url string) error
		serve http.HandlerFunc
		right bool
	}{
		{"1 KiB", checkTiny("1k.txt"), onDisk.ServeHTTP, true},
		{"empty", checkTiny("empty.txt"), onDisk.ServeHTTP, true},
		{"not empty", checkTiny("empty.txt"), fromName, false},
		{"204 for an empty file", checkTiny("empty.txt"), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, false},
		{"a closed connection", checkTiny("1k.txt"), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			fromName(w, r)
		}, false},
		{"a stream", checkTiny("1k.txt"), func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			fromName(w, r)
		}, false},
		{"many", checkMany, fromName, true},
		{"the same file for all names", checkMany, func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte("."), manySize)) }, false},
	} {
		server := httptest.NewServer(row.serve)
		if err := row.check(server.URL); (err == nil) != row.right {
			t.Errorf("%s: %v", row.name, err)
		}
		server.Close()
	}
}
