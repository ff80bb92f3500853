package wiretest

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name, wire string
		want       string // bodies of the requests, in brackets
		err        string // error that ends the requests; empty for io.EOF
	}{
		{"none", "", "", ""},
		{"without a body", Get("/"), "[]", ""},
		{"with a length", Request("POST", "/", "Content-Length: 5") + "hello" + Get("/"), "[hello][]", ""},
		{"in chunks", Request("POST", "/", "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\nT: 1\r\n\r\n", "[hello]", ""},
		{"in absolute form", "GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n", "[]", ""},
		{"cut in the head", "GET / HT", "", "breaks off"},
		{"cut in the body", Request("POST", "/", "Content-Length: 5") + "hell", "", "unexpected EOF"},
		{"blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "", "request line"},
		{"high byte in the target", "GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", "", "request line"},
		{"another version", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "", "request line"},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", "", "Host"},
		{"two Hosts", Get("/", "Host: b"), "", "Host"},
		{"userinfo in Host", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "", "Host"},
		{"bad field name", Get("/", "A b: c"), "", "field line"},
		{"bare CR", Get("/", "A: b\rc"), "", "field line"},
		{"two lengths", Request("POST", "/", "Content-Length: 0", "Content-Length: 0"), "", "framed by"},
		{"length and chunks", Request("POST", "/", "Content-Length: 0", "Transfer-Encoding: chunked"), "", "framed by"},
		{"another coding", Request("POST", "/", "Transfer-Encoding: gzip, chunked"), "", "Transfer-Encoding"},
		{"bad length", Request("POST", "/", "Content-Length: -1"), "", "bad Content-Length"},
		{"bad chunk", Request("POST", "/", "Transfer-Encoding: chunked") + "z\r\n", "", "bad chunk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, server := Pipe()
			write(t, client, tt.wire)
			_ = client.CloseWrite()
			requests := NewRequests(server)
			var got strings.Builder
			for {
				q, err := requests.Next()
				if err == nil {
					got.WriteString("[" + string(q.Body) + "]")
					continue
				}
				if got.String() != tt.want || tt.err == "" && err != io.EOF || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%s, then %v; want %s, then %s", &got, err, tt.want, tt.err)
				}
				if tt.err != "" && !errors.Is(err, errMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v is no fault of the client", err)
				}
				return
			}
		})
	}
}
