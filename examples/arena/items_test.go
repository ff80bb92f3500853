package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/examples/arena/postgres"
	"github.com/gallop-http/gallop/examples/arena/profile"
)

// startDatabase returns the URL of an empty database.
func startDatabase(t *testing.T) string {
	t.Helper()
	server, err := postgres.Start()
	if errors.Is(err, postgres.ErrMissing) {
		t.Skip("there is no PostgreSQL: install it to test the workloads with a database")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

func TestItems(t *testing.T) {
	url := startDatabase(t)
	p := start(t, options{database: url})
	for base, client := range p.clients {
		t.Run(base, func(t *testing.T) { talkAboutItems(t, client, base) })
	}
}

func talkAboutItems(t *testing.T, client *http.Client, base string) {
	if err := profile.Check(client, base, true); err != nil {
		t.Error(err)
	}
	const id = 200_000
	item := fmt.Sprintf("%s/crud/items/%d", base, id)
	expect := func(method, url, body string, status int, cache, part string) {
		t.Helper()
		resp, got := ask(t, client, method, url, strings.NewReader(body))
		if resp.StatusCode != status || resp.Header.Get("X-Cache") != cache || !strings.Contains(string(got), part) {
			t.Fatalf("%s %s: %d, cache %q, %.200s", method, url, resp.StatusCode, resp.Header.Get("X-Cache"), got)
		}
	}
	expect("PUT", base+"/crud/items/300000", `{"name":"x"}`, 404, "", "no such item")
	expect("PUT", item, `{"name":""}`, 422, "", "needs")
	expect("POST", base+"/crud/items", `{"id":`, 400, "", "JSON")
	expect("GET", base+"/crud/items/x", "", 404, "", "number")
	expect("DELETE", item, "", 405, "", "method")
}

func TestCacheForgetsWhatChangedMeanwhile(t *testing.T) {
	var c profile.Cache
	_, ticket := c.Get(7)
	c.Drop(7)
	c.Put(7, ticket, []byte("old"))
	if body, _ := c.Get(7); body != nil {
		t.Errorf("the cache has %q", body)
	}
	_, ticket = c.Get(7)
	c.Put(7, ticket, []byte("new"))
	if body, _ := c.Get(7); string(body) != "new" {
		t.Errorf("the cache has %q", body)
	}
}
