package wiretest

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []struct {
		name, method, wire string
		body, rest         string
	}{
		{"no length reads to the end", "GET", ok + "\r\nabc", "abc", ""},
		{"length", "GET", ok + "Content-Length: 3\r\n\r\nabcHTTP", "abc", "HTTP"},
		{"chunks", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nHTTP", "ab0123456789", "HTTP"},
		{"trailers", "GET", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\nHTTP", "", "HTTP"},
		{"to HEAD", "HEAD", ok + "Content-Length: 3\r\n\r\nHTTP", "", "HTTP"},
		{"204", "GET", "HTTP/1.1 204 No Content\r\n\r\nHTTP", "", "HTTP"},
		{"304 with the length of what it spares", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nHTTP", "", "HTTP"},
		{"100", "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP", "", "HTTP"},
		{"to CONNECT", "CONNECT", ok + "\r\ntunnel", "tunnel", ""},
		{"empty reason and values", "GET", "HTTP/1.0 299 \r\nA:\r\nContent-Length:\t0 \r\n\r\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n, err := Parse([]byte(tt.wire), tt.method, true)
			if err != nil || n == 0 {
				t.Fatalf("n = %d, %v", n, err)
			}
			if string(r.Body) != tt.body || tt.wire[n:] != tt.rest {
				t.Errorf("body %q, rest %q", r.Body, tt.wire[n:])
			}
			for i := range len(tt.wire) - len(tt.rest) {
				if _, n, err := Parse([]byte(tt.wire[:i]), tt.method, false); n > i || err != nil {
					t.Errorf("cut at %d: n = %d, %v", i, n, err)
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, wire string }{
		{"something else", "SSH-2.0\r\n\r\n"},
		{"HTTP/2 in text", "HTTP/2 200 OK\r\n\r\n"},
		{"unknown minor version", "HTTP/1.2 200 OK\r\n\r\n"},
		{"no space behind the status", "HTTP/1.1 200\r\n\r\n"},
		{"four digits", "HTTP/1.1 2000 OK\r\n\r\n"},
		{"status below 100", "HTTP/1.1 099 OK\r\n\r\n"},
		{"bare LF in the reason", "HTTP/1.1 200 O\nX: y\r\n\r\n"},
		{"bare CR in a value", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"},
		{"bare LF in a value", "HTTP/1.1 200 OK\r\nA: b\nSet-Cookie: c\r\n\r\n"},
		{"NUL in a value", "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n"},
		{"space before the colon", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"},
		{"obs-fold", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"},
		{"no colon", "HTTP/1.1 200 OK\r\nA\r\n\r\n"},
		{"empty name", "HTTP/1.1 200 OK\r\n: b\r\n\r\n"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"},
		{"signed length", "HTTP/1.1 200 OK\r\nContent-Length: +0\r\n\r\n"},
		{"length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
		{"coding in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"},
		{"two dates", "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"},
		{"RFC 850 date", "HTTP/1.1 200 OK\r\nDate: Sunday, 06-Nov-94 08:49:37 GMT\r\n\r\n"},
		{"short body", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"},
		{"chunk size of nothing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc\r\n"},
		{"chunk that runs on", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"},
		{"chunk line ended by LF", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n"},
		{"last chunk missing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"},
		{"framing in trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n"},
		{"head cut short", "HTTP/1.1 200 OK\r\nA: b\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r, n, err := Parse([]byte(tt.wire), "GET", true); err == nil {
				t.Errorf("taken: %+v, %d bytes", r, n)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nA: b\r\n\r\n"), "GET")
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), "HEAD")
	f.Fuzz(func(t *testing.T, b []byte, method string) {
		r, n, err := Parse(b, method, false)
		if n < 0 || n > len(b) || n > 0 && (r == nil || err != nil) {
			t.Fatalf("n = %d of %d, %v", n, len(b), err)
		}
		if n == 0 || r.Framing == ForTunnel {
			return
		}
		more := append(b[:n:n], strings.Repeat("\r\n0", 9)...)
		if _, m, err := Parse(more, method, false); m != n || err != nil {
			t.Fatalf("what follows changes where it ends: %d, then %d, %v", n, m, err)
		}
	})
}
