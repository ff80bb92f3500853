package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestVersus compares two targets of which one takes its time.
func TestVersus(t *testing.T) {
	t.Parallel()
	fast := serve(t, ok)
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		ok(w, r)
	})
	stdout, stderr, status := printed("-n", "30", "--quiet", "--versus", slow, fast)
	if status != 0 || !strings.Contains(stdout, "p50-sec") || !strings.Contains(stdout, "p=0.002 n=6") {
		t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
	}
}

// TestPrometheus counts what a receiver gets. A receiver that fails makes the command fail, after the run.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	target := serve(t, ok)
	var got, wrong atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ada" || password != "secret" || r.Header.Get("Content-Encoding") != "snappy" {
			wrong.Add(1)
		}
		got.Add(1)
		if strings.HasPrefix(r.URL.Path, "/refuse") {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer receiver.Close()
	url := strings.Replace(receiver.URL, "http://", "http://ada:secret@", 1)
	if stdout, stderr, status := printed("-n", "30", "--quiet", "--prometheus", url+"/write", target); status != 0 || got.Load() != 2 || wrong.Load() != 0 {
		t.Errorf("status %d, %d requests, %d of them wrong\n%s%s", status, got.Load(), wrong.Load(), stdout, stderr)
	}
	if stdout, stderr, status := printed("-n", "30", "--quiet", "--prometheus", url+"/refuse", target); status != exitFailed || !strings.Contains(stderr, "--prometheus") || !strings.Contains(stdout, "30 complete") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if _, stderr, status := printed("-n", "1", "--quiet", "--prometheus", "ftp://x", target); status != exitInvalid {
		t.Errorf("status %d, %s", status, stderr)
	}
}
