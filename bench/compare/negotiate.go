//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// negotiated lists values of Accept with the responses of the app negotiate. wrk/negotiate.lua has the same list.
var negotiated = []struct{ accept, contentType, body string }{
	{"application/json", "application/json", `{"hello":"world"}`},
	{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html", "<p>Hello, World!</p>"},
	{"application/xml", "application/xml", "<hello>World</hello>"},
	{"text/plain;q=0.5, application/json;q=0.4", "text/plain", "Hello, World!"},
	{"image/png, */*;q=0.1", "application/json", `{"hello":"world"}`},
}

// checkNegotiation sends many requests over many connections at once, and returns an error if any response is wrong.
func checkNegotiation(url string) error {
	const conns, each = 25, 200
	errs := make(chan error, conns)
	for n := range conns {
		go func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = negotiateOnce(client, url+"/negotiate", n+i)
			}
			errs <- err
		}()
	}
	var all error
	for range conns {
		all = errors.Join(all, <-errs)
	}
	return all
}

func negotiateOnce(client *http.Client, url string, i int) error {
	want := negotiated[i%len(negotiated)]
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", want.accept)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	got := response.Header
	if err == nil && (response.StatusCode != http.StatusOK || got.Get("Content-Type") != want.contentType || got.Get("Vary") != "Accept" || string(body) != want.body) {
		err = fmt.Errorf("Accept: %s: %s, Content-Type %q, Vary %q, %q", want.accept, response.Status, got.Get("Content-Type"), got.Get("Vary"), body)
	}
	return err
}
