package rest_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// A client uses HTTP/2 if the server does, without any setting.
func TestHTTP2(t *testing.T) {
	type message struct{ Proto, Text string }
	var conns sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns.Store(r.RemoteAddr, true)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		case "/broken":
			http.Error(w, "no", http.StatusConflict)
		case "/stream":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `"`+strings.Repeat("0123456789", 100_000)+`"`)
		default:
			var m message
			json.NewDecoder(r.Body).Decode(&m)
			m.Proto = r.Proto
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(m)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	g := &gallop.Client{TLSConfig: &tls.Config{InsecureSkipVerify: true}, DetailedErrors: true, MaxConnWaitTimeout: -1}
	defer g.CloseIdleConnections()
	c, err := rest.New(s.URL, rest.WithClient(g))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for _, path := range []string{"/echo", "/moved"} {
				got, err := rest.Post[message](ctx, c, path, message{Text: "hello"})
				if err != nil || got != (message{"HTTP/2.0", "hello"}) {
					t.Errorf("%s: %+v, %v", path, got, err)
				}
			}
			if body, err := rest.Get[string](ctx, c, "/stream"); err != nil || len(body) != 1_000_000 {
				t.Errorf("%d bytes, %v", len(body), err)
			}
			if _, err := rest.Get[string](ctx, c, "/broken"); err == nil || !strings.Contains(err.Error(), "409") {
				t.Error(err)
			}
		})
	}
	group.Wait()
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d connections", n)
	}
}
