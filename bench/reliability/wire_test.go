//go:build linux

package reliability

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

func TestClientRead(t *testing.T) {
	tests := []struct {
		name, wire string
		status     int
		body       string
		closes     bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", 200, "abc", false},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", 200, "abcd", false},
		{"to the end", "HTTP/1.0 200 OK\r\n\r\nabc", 200, "abc", true},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		{"close", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 400, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &client{in: bufio.NewReader(strings.NewReader(test.wire))}
			r, err := c.read()
			if err != nil || r.status != test.status || string(r.body) != test.body || r.closes != test.closes {
				t.Errorf("got %d %q %v, %v", r.status, r.body, r.closes, err)
			}
		})
	}
}

func TestClientReadErrors(t *testing.T) {
	for name, wire := range map[string]string{
		"cut in the status line": "HTTP/1.1 20",
		"cut in a field":         "HTTP/1.1 200 OK\r\nContent-",
		"cut in the body":        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
		"cut between chunks":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"not HTTP":               "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{in: bufio.NewReader(strings.NewReader(wire))}
			if r, err := c.read(); err == nil || errors.Is(err, errNoResponse) {
				t.Errorf("got %d %q, %v", r.status, r.body, err)
			}
		})
	}
	c := &client{in: bufio.NewReader(strings.NewReader(""))}
	if _, err := c.read(); !errors.Is(err, errNoResponse) {
		t.Errorf("got %v for a connection that was closed", err)
	}
}
