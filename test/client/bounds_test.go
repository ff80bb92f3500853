package client_test

import (
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestClientAllocatesByWhatArrives checks that a response of n bytes makes a client on a new connection allocate at
// most 48 KiB + 4n, whatever lengths the response announces.
func TestClientAllocatesByWhatArrives(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	head := "HTTP/1.1 200 OK\r\n"
	inputs := map[string]string{
		"length of 60 MiB, nothing sent":       head + "Content-Length: 62914560\r\n\r\n",
		"length of 60 MiB, some sent":          head + "Content-Length: 62914560\r\n\r\n" + strings.Repeat("x", 10000),
		"length of 2^62":                       head + "Content-Length: 4611686018427387904\r\n\r\nhello",
		"length of 2^63-1":                     head + "Content-Length: 9223372036854775807\r\n\r\nhello",
		"chunk of 60 MiB, nothing sent":        head + "Transfer-Encoding: chunked\r\n\r\n3c00000\r\n",
		"chunk of 2^32+5":                      head + "Transfer-Encoding: chunked\r\n\r\n100000005\r\nhello",
		"chunk of 2^63-1":                      head + "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nhello",
		"second chunk of 2^63-6":               head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7ffffffffffffffa\r\nhello",
		"chunks of one octet":                  head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 10000) + "0\r\n\r\n",
		"chunk extensions without end":         head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("e", 1000)+"\r\nx\r\n", 200),
		"body of 1 MiB":                        head + "Content-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20),
		"body of 1 MiB to the end":             head + "\r\n" + strings.Repeat("x", 1<<20),
		"body of 1 MiB in chunks":              head + "Transfer-Encoding: chunked\r\n\r\n100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n0\r\n\r\n",
		"250 fields":                           head + strings.Repeat("A: b\r\n", 250) + "Content-Length: 0\r\n\r\n",
		"one field of 200 KiB":                 head + "A: " + strings.Repeat("b", 200<<10) + "\r\nContent-Length: 0\r\n\r\n",
		"head that never ends":                 head + strings.Repeat("A: b\r\n", 200_000),
		"line that never ends":                 strings.Repeat("H", 1<<20),
		"interim responses that never end":     strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 10_000),
		"trailers that never end":              head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 100_000),
		"one octet":                            "H",
		"nothing":                              "",
		"gzip that is not asked to be decoded": head + "Content-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n\x1f\x8b",
	}
	for _, c := range wiretest.ClientCases(t, smallResponse) {
		inputs[c.ID] = string(c.Raw)
	}
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			for name, in := range inputs {
				bound := uint64(48<<10 + 4*len(in))
				var got []uint64
				for range 5 {
					got = append(got, allocatedForAnswer(in, stream))
				}
				slices.Sort(got)
				if median := got[len(got)/2]; median > bound {
					t.Errorf("%s: %d octets in, %d allocated, want at most %d", name, len(in), median, bound)
				}
			}
		})
	}
}

// allocatedForAnswer returns how much a client allocates for a response of these bytes, after which the connection is
// closed. A streamed body is read and thrown away.
func allocatedForAnswer(in string, stream bool) uint64 {
	client, server := wiretest.Pipe()
	_, _ = io.WriteString(server, in)
	_ = server.CloseWrite()
	c := hostClient(func() (net.Conn, error) { return client, nil }, stream)
	c.MaxIdemponentCallAttempts = 1
	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("http://h1.test/")
	scratch := make([]byte, 4<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := c.Do(&req, &resp); err == nil && resp.BodyStream() != nil {
		for err == nil {
			_, err = resp.BodyStream().Read(scratch)
		}
	}
	runtime.ReadMemStats(&after)
	_ = resp.CloseBodyStream()
	c.CloseIdleConnections()
	_ = client.Close()
	return after.TotalAlloc - before.TotalAlloc
}

// TestClientBoundsBodies holds that a body over MaxResponseBodySize is an error whose
// connection is not used again, however the body is framed.
func TestClientBoundsBodies(t *testing.T) {
	body := strings.Repeat("x", 1001)
	for name, answer := range map[string]string{
		"length":   "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + body,
		"chunks":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n" + body[:500] + "\r\n1f5\r\n" + body[500:] + "\r\n0\r\n\r\n",
		"to close": "HTTP/1.1 200 OK\r\n\r\n" + body,
	} {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			for _, limit := range []int{1000, 1001} {
				dial, stop := wiretest.Memory(func(c net.Conn) {
					defer c.Close()
					if _, err := wiretest.NewRequests(c).Next(); err == nil {
						_, _ = io.WriteString(c, answer)
					}
				})
				c := hostClient(dial, false)
				c.MaxResponseBodySize = limit
				r, err := fetchWith(t.Context(), c.DoContext, &wiretest.Call{Method: "GET", Path: "/"})
				if limit == 1000 && err == nil || limit == 1001 && (err != nil || string(r.Body) != body) {
					t.Errorf("limit %d: %v", limit, err)
				}
				c.CloseIdleConnections()
				stop()
			}
		})
	}
}
