//go:build linux

package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const wrkOutput = `Running 1s test @ http://127.0.0.1:8080/bytes/1.txt
  1 threads and 16 connections
Requests/sec:     75.00
matrix 150 165000 2000000 0 480 1650 1850 1990 20340
`

func TestParseWrk(t *testing.T) {
	want := outcome{sample{rate: 75, p50: .48, p75: 1.65, p90: 1.85, p99: 1.99, worst: 20.34}, 150, 165000}
	if got, err := parseWrk(wrkOutput); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"errors":       strings.Replace(wrkOutput, " 2000000 0 ", " 2000000 3 ", 1),
		"no responses": strings.Replace(wrkOutput, "matrix 150", "matrix 0", 1),
		"cut off":      strings.Replace(wrkOutput, " 20340", "", 1),
		"no number":    strings.Replace(wrkOutput, "20340", "x", 1),
		"no wrk":       "unable to connect to 127.0.0.1:8080 Connection refused\n",
	} {
		if got, err := parseWrk(text); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The bytes that wrk has read must be those of its responses.
func TestVerify(t *testing.T) {
	for _, row := range []struct {
		name  string
		kind  string
		bytes int
		right bool
	}{
		{"exactly all", "bytes", 100 * 1100, true},
		{"a response on each connection was not complete", "bytes", 116 * 1100, true},
		{"a byte is missing", "bytes", 100*1100 - 1, false},
		{"a byte too many", "bytes", 116*1100 + 1, false},
		{"chunks were cut differently", "chunked", 100*1100 - 1000, true},
		{"chunks are missing", "chunked", 97 * 1100, false},
		{"chunks too many", "chunked", 120 * 1100, false},
	} {
		err := outcome{requests: 100, bytes: row.bytes}.verify(cell{row.kind, 1}, 16, 1100, 1100)
		if (err == nil) != row.right || err != nil && !errors.As(err, new(sizeError)) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if (outcome{requests: 1, bytes: 1}).verify(cell{"bytes", 1}, 1, 0, 0) == nil {
		t.Error("bytes are verified although no response was checked")
	}
}

// check accepts the right responses only, and measures them on the wire.
func TestCheck(t *testing.T) {
	right := content(1)
	for _, row := range []struct {
		name  string
		kind  string
		serve func(w http.ResponseWriter)
		right bool
	}{
		{"right", "bytes", func(w http.ResponseWriter) { w.Write(right) }, true},
		{"another byte", "bytes", func(w http.ResponseWriter) { w.Write(append(right[:1023:1023], '!')) }, false},
		{"a byte less", "bytes", func(w http.ResponseWriter) { w.Write(right[:1023]) }, false},
		{"another status", "bytes", func(w http.ResponseWriter) { w.WriteHeader(500); w.Write(right) }, false},
		{"a stream instead of a length", "bytes", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); w.Write(right) }, false},
		{"a stream", "chunked", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); w.Write(right) }, true},
		{"a length instead of a stream", "chunked", func(w http.ResponseWriter) { w.Write(right) }, false},
		{"a closed connection", "bytes", func(w http.ResponseWriter) { w.Header().Set("Connection", "close"); w.Write(right) }, false},
	} {
		peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/"+row.kind+"/1.txt" {
				row.serve(w)
			}
		}))
		s := &server{name: "test", address: peer.Listener.Addr().String()}
		err := s.check(cell{row.kind, 1})
		if (err == nil) != row.right {
			t.Errorf("%s: %v", row.name, err)
		}
		if row.name == "right" && (s.least != s.most || s.least < 1024+100 || s.least > 1024+200) {
			t.Errorf("%d to %d bytes on the wire", s.least, s.most)
		}
		if s := (&server{name: puma, address: s.address}); row.name == "right" && (s.check(cell{row.kind, 1}) != nil || s.most != s.least+19) {
			t.Errorf("%d to %d bytes from puma, which adds 19 bytes when it closes", s.least, s.most)
		}
		peer.Close()
	}
}

func TestChoose(t *testing.T) {
	for _, row := range []struct {
		names, peers string
		cells, of    int
	}{
		{"", "gallop,fasthttp,nethttp,puma", 28, 4},
		{"file", "fasthttp,gallop", 7, 2},
		{"1", "gallop", 4, 1},
		{"file-1 2048 file-2048", "puma", 5, 1},
		{"fil", "gallop", 0, 0},
		{"", "gallop,apache", 0, 0},
		{"", "", 0, 0},
	} {
		cells, peers, err := choose(strings.Fields(row.names), row.peers)
		if len(cells) != row.cells || len(peers) != row.of || (err == nil) != (row.of > 0) {
			t.Errorf("%q of %q: %v %v %v", row.names, row.peers, cells, peers, err)
		}
	}
}
