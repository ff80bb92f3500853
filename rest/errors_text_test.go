package rest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
)

// Errors have the prefix "rest: ", method and URL once, and the phase. They never show a secret.
func TestErrorTexts(t *testing.T) {
	const asked = "rest: GET http://api.test/v1/a?token=REDACTED: "
	for _, tc := range []struct {
		name, serve string
		into        any
		want        string
	}{
		{"an HTML page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", new(gopher),
			asked + "cannot decode the response (status 200, Content-Type text/html), offset "},
		{"no Content-Type", "HTTP/1.1 201 OK\r\nContent-Length: 3\r\n\r\n{,}", new(gopher),
			asked + "cannot decode the response (status 201, no Content-Type), offset "},
		{"404", "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", nil, asked + "404 Not Found"},
		{"connection closed", "", nil, asked + "api.test:80 closed a new connection before the first byte of the response: EOF"},
		{"malformed head", "SSH-2.0\r\n\r\n", nil, asked + "reading the response head"},
		{"body cut off", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{", new(gopher), asked + "reading the response body (api.test:80): unexpected EOF"},
		{"stream cut off", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{", &bytes.Buffer{}, asked + "reading the response body (api.test:80): unexpected EOF"},
		{"redirect", "HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: ftp://x/\r\n\r\n", nil, asked + "redirect 302 to "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &gallop.Client{DetailedErrors: true, Dial: func(string) (net.Conn, error) {
				client, server := memnet.Pipe()
				go func() {
					server.Read(make([]byte, 4<<10))
					io.WriteString(server, tc.serve)
					server.Close()
				}()
				return client, nil
			}}
			c, err := rest.New("http://api.test/v1/", rest.WithClient(g), rest.WithRetry(rest.Retry{}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Request().Get("a?token=hush", tc.into)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Count(err.Error(), "http:") != 1 {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "hush") {
					t.Errorf("a secret in %v", err)
				}
			}
		})
	}
}

// An error about a base URL says what to write instead.
func TestBaseURLErrors(t *testing.T) {
	for base, want := range map[string]string{
		"api.example.com/v1":          `no scheme; use "http://api.example.com/v1"`,
		"localhost:8080":              `no scheme; use "http://localhost:8080"`,
		"127.0.0.1:8080/x":            `no scheme; use "http://127.0.0.1:8080/x"`,
		"api.example.com/?token=hush": `no scheme; use "http://api.example.com/"`,
		"ftp://api.example.com/":      `unsupported scheme "ftp"; use http or https`,
		"http:///x":                   "no host",
	} {
		_, err := rest.New(base)
		if !errors.Is(err, rest.ErrURL) || !strings.HasPrefix(err.Error(), "rest: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A limit that keeps a request from being sent has the prefix, too.
func TestTransportErrorTexts(t *testing.T) {
	failed := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errFull })
	c, err := rest.New("http://api.test/", rest.WithTransport(failed), rest.WithRetry(rest.Retry{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Request().Get("a", nil); err == nil || err.Error() != "rest: GET http://api.test/a: full" {
		t.Error(err)
	}
}

// An error of a request that is not sent names the request.
func TestUnsentErrorTexts(t *testing.T) {
	c, err := rest.New("http://api.test/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Request().SetBody(func() {}).Post("a?token=hush", nil)
	if as[*rest.EncodeError](t, err); !strings.HasPrefix(err.Error(), "rest: POST a?token=REDACTED: cannot send the request body: ") {
		t.Error(err)
	}
	_, err = c.Request().Get("a/{id}", nil)
	if !errors.Is(err, rest.ErrPath) || !strings.HasPrefix(err.Error(), "rest: GET a/{id}: ") {
		t.Error(err)
	}
	_, err = c.Request().SetPathValue("id", "hush").SetPathValue("name", "hush").Get("a/{id}", nil)
	if !errors.Is(err, rest.ErrPath) || !strings.HasSuffix(err.Error(), "there is a value for {name}, but the path has no such parameter") {
		t.Error(err)
	}
}
