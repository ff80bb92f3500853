package arenas

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gallop-http/gallop/examples/arena/postgres"
	"github.com/gallop-http/gallop/examples/arena/profile"
)

// TestServersGiveTheSameResponses asks every server for every workload.
func TestServersGiveTheSameResponses(t *testing.T) {
	var items *profile.Database
	database, err := postgres.Start()
	switch {
	case err == nil:
		defer database.Stop()
		if items, err = profile.Open(t.Context(), database.URL, 1000); err != nil {
			t.Fatal(err)
		}
		defer items.Close()
	case !errors.Is(err, postgres.ErrMissing):
		t.Fatal(err)
	}
	for _, name := range Names() {
		for _, h2c := range []bool{false, true} {
			if h2c && name != "nethttp" {
				continue
			}
			serve, err := New(name, Options{Items: items, H2C: h2c})
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go serve(l)
			tr := &http.Transport{Protocols: new(http.Protocols)}
			tr.Protocols.SetHTTP1(!h2c)
			tr.Protocols.SetUnencryptedHTTP2(h2c)
			client := &http.Client{Transport: tr, Timeout: 20 * time.Second}
			if err := profile.Check(client, "http://"+l.Addr().String(), items != nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			tr.CloseIdleConnections()
			l.Close()
		}
	}
}
