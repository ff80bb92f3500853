package nethttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

// An error of RoundTrip names the phase and the address. http.Client adds method and URL, which then stand there once.
func TestTransportErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		name, url, serve string
		want             string // behind method and URL
		is               error
	}{
		{"malformed head", "http://h.test/a", "SSH-2.0\r\n\r\n", "nethttp: reading the response head (h.test:80): ", nil},
		{"connection closed", "http://h.test/a", "", "nethttp: h.test:80 closed a new connection before the first byte of the response: EOF", gallop.ErrConnectionClosed},
		{"head cut off", "http://h.test/a", "HTTP/1.1 200", "nethttp: reading the response head (h.test:80): ", io.ErrUnexpectedEOF},
		{"head too large", "http://h.test/a", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 300<<10), "nethttp: reading the response head (h.test:80): ", gallop.ErrSmallReadBuffer},
		{"no scheme", "example.com/x", "", `nethttp: unsupported protocol scheme ""; use "http://example.com/x"`, nil},
		{"no scheme, a port", "localhost:80/x", "", `nethttp: unsupported protocol scheme "localhost"; use "http://localhost:80/x"`, nil},
		{"another scheme", "ftp://example.com/x", "", `nethttp: unsupported protocol scheme "ftp"`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := &http.Client{Transport: &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, server := memnet.Pipe()
				go func() {
					server.Read(make([]byte, 4<<10))
					io.WriteString(server, tt.serve)
					server.Close()
				}()
				return client, nil
			}}}
			_, err := client.Get(tt.url)
			if want := `Get "` + tt.url + `": ` + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("got  %v\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), "gallop: ") || strings.Contains(err.Error(), "GET") {
				t.Error(err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
}

// brokenBody is a request body that cannot be read.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errRefused }

// The error of a request body is returned itself, because programs compare it.
func TestTransportBodyErrors(t *testing.T) {
	s := serveWith(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	r, err := http.NewRequest("POST", s.URL, brokenBody{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = nethttp.NewTransport().RoundTrip(r); err != errRefused {
		t.Errorf("%T %v", err, err)
	}
}
