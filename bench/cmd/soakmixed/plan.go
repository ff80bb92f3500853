//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// load is what one process of gallop-load sends. The fields are the keys of a scenario file.
type load struct {
	Name     string    `json:"name"`
	Target   string    `json:"target"`
	Proto    string    `json:"proto"`
	Conns    int       `json:"conns"`
	Streams  int       `json:"streams,omitempty"`
	PerConn  int       `json:"per-conn,omitempty"`
	Local    string    `json:"local,omitempty"`
	Insecure bool      `json:"insecure,omitempty"`
	Arrivals string    `json:"arrivals"`
	Timeout  string    `json:"timeout"`
	Rate     string    `json:"rate"`
	Duration string    `json:"duration"`
	Seed     uint64    `json:"seed"`
	Requests []request `json:"requests"`

	share float64 // of all requests
}

// request is a kind of request, with checks of the response.
type request struct {
	Name     string            `json:"name"`
	Weight   float64           `json:"weight"`
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	BodyFile string            `json:"body-file,omitempty"`
	Expect   string            `json:"expect"`
	Checks   []string          `json:"checks"`
}

const (
	uploadFile = "upload"
	uploadSize = 500_000
)

// requests returns all kinds of requests. sum is the path of the sums, which differs between HTTP/1.1 and HTTP/2.
func (h *hall) requests(sum string) []request {
	gzip := map[string]string{"Accept-Encoding": "gzip"}
	all := []request{
		{Name: "upload", Weight: 0.3, Method: "POST", URL: "/upload", BodyFile: h.file(uploadFile)},
		{Name: "post", Weight: 10, Method: "POST", URL: sum + "?a=13&b=42", Body: "20"},
		{Name: "small file", Weight: 10, Method: "GET", URL: "/static/" + smallFile},
		{Name: "part of a file", Weight: 2, Method: "GET", URL: "/static/" + styleFile, Headers: map[string]string{"Range": "bytes=100-299"}},
		{Name: "compressed file", Weight: 5, Method: "GET", URL: "/static/" + styleFile, Headers: gzip},
		{Name: "unchanged file", Weight: 3, Method: "GET", URL: "/static/" + smallFile, Headers: map[string]string{"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}},
		{Name: "nothing there", Weight: 2, Method: "GET", URL: "/nothing"},
		{Name: "wrong method", Weight: 1, Method: "DELETE", URL: "/json/5"},
		{Name: "wrong argument", Weight: 1, Method: "GET", URL: sum + "?a=x"},
		{Name: "pipeline", Weight: 10, Method: "GET", URL: "/pipeline"},
	}
	// Several requests of a kind, so that a response to another one of them would be noticed.
	for i := range 8 {
		all = append(all, request{Name: fmt.Sprint("get ", i), Weight: 4, Method: "GET", URL: fmt.Sprintf("%s?a=%d&b=%d", sum, 1000*i, i-5)})
	}
	for i, count := range []int{1, 5, 15, 50} {
		url := fmt.Sprintf("/json/%d?m=%d", count, i+2)
		all = append(all, request{Name: fmt.Sprint("json ", count), Weight: 5 - float64(i), Method: "GET", URL: url},
			request{Name: fmt.Sprint("compressed json ", count), Weight: 1, Method: "GET", URL: url, Headers: gzip})
	}
	return all
}

// plans returns the loads. Their checks compare responses with those that the server gives when it is idle, whose contents have been
// checked.
func (h *hall) plans(seed uint64) ([]*load, error) {
	loads := []*load{
		{Name: "keep-alive", share: .5, Target: "http://" + h.plain, Proto: "http1", Conns: 64, Requests: h.requests("/baseline11")},
		{Name: "new connections", share: .1, Target: "http://" + h.plain, Proto: "http1", Conns: 32, PerConn: 3, Local: "127.0.0.0/28", Requests: h.requests("/baseline11")},
		{Name: "HTTP/2", share: .2, Target: "http://" + h.h2c, Proto: "http2", Conns: 4, Streams: 32, Requests: h.requests("/baseline2")},
		{Name: "HTTP/2 over TLS", share: .2, Target: "https://" + h.secured, Proto: "http2", Conns: 8, Streams: 16, PerConn: 1000, Insecure: true, Requests: h.requests("/baseline2")},
	}
	defer h.client.CloseIdleConnections()
	// The server compresses a file quickly at first, and better later.
	for _, l := range loads {
		for n := range l.Requests {
			if err := h.expect(&l.Requests[n]); err != nil {
				return nil, fmt.Errorf("%s: %w", l.Requests[n].Name, err)
			}
		}
	}
	time.Sleep(2 * time.Second)
	for i, l := range loads {
		l.Arrivals, l.Timeout, l.Seed = "poisson", "20s", seed%1_000_000_000+uint64(i)
		for n := range l.Requests {
			if err := h.expect(&l.Requests[n]); err != nil {
				return nil, fmt.Errorf("%s: %w", l.Requests[n].Name, err)
			}
		}
	}
	return loads, nil
}

// expect requests something over HTTP/1.1 and makes the response the expected one.
func (h *hall) expect(r *request) error {
	body := []byte(r.Body)
	if r.BodyFile != "" {
		var err error
		if body, err = os.ReadFile(r.BodyFile); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(r.Method, "http://"+h.plain+r.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	r.Expect = strconv.Itoa(resp.StatusCode)
	r.Checks = []string{"body = " + strconv.QuoteToASCII(string(got))}
	if len(got) == 0 {
		r.Checks = []string{"size == 0"}
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" {
		r.Checks = append(r.Checks, "header:content-encoding = "+coding)
	}
	return nil
}
