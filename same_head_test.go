package gallop_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// FuzzSameHead gives a request to the parser of HTTP/1 and to the engine of HTTP/2. Both judge it in the same way, except for
// the fields that only one version permits, and both make the same head.
func FuzzSameHead(f *testing.F) {
	f.Add("GET", "/", "accept: */*\nx-a: b")
	f.Add("POST", "/a?b=%20", "content-length: 5\nexpect: 100-continue")
	f.Add("PUT", "/", "cookie: a=1\ncookie: b=2\nx-a:\nx-a: \xe4")
	f.Add("get", "/\"", "a b: c\nx: y\tz\nx: y\x01")
	f.Fuzz(func(t *testing.T, method, path, fields string) {
		lines := strings.Split(fields, "\n")
		if len(method) > 64 || len(path)+len(fields) > 5000 || method == "CONNECT" || !strings.HasPrefix(path, "/") || slices.ContainsFunc(lines, differsByVersion) ||
			strings.Count(fields, "content-length:") > 1 { // HTTP/2 accepts equal values
			return
		}
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nhost: a\r\n%s\r\n\r\n", method, path, strings.Join(lines, "\r\n"))
		if fields == "" {
			lines, head = nil, fmt.Sprintf("%s %s HTTP/1.1\r\nhost: a\r\n\r\n", method, path)
		}
		var one message.Head
		var parser http1.Parser
		n, err := parser.ParseRequest(&one, []byte(head), &http1.Limits{Target: 8000, Head: 8000, Fields: 90})
		two, accepted := overHTTP2(one.Body == message.NoBody, append([]string{":method: " + method, ":scheme: http", ":authority: a", ":path: " + path}, lines...))
		accepted = accepted && hasValidTarget(two)
		switch {
		case accepted != (err == nil && hasValidTarget(&one)):
			t.Fatalf("%q: HTTP/1 says %v, HTTP/2 accepts it: %v", head, err, accepted)
		case accepted && n != len(head):
			t.Fatalf("%q: HTTP/1 read %d of %d bytes", head, n, len(head))
		case accepted:
			if got, want := describeHead(two), describeHead(&one); got != want {
				t.Fatalf("HTTP/2:\n%s\nHTTP/1:\n%s", got, want)
			}
		}
	})
}

// overHTTP2 gives the engine of HTTP/2 a request with these fields.
func overHTTP2(end bool, lines []string) (h *message.Head, accepted bool) {
	var block []byte
	for _, line := range lines {
		i := strings.Index(line[1:], ":") + 1
		block = appendString(appendString(append(block, 0), line[:i]), strings.TrimPrefix(line[i+1:], " "))
	}
	flags := byte(4) // END_HEADERS
	if end {
		flags |= 1
	}
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	in := append([]byte(http2.Preface+settings), byte(len(block)>>16), byte(len(block)>>8), byte(len(block)), 1, flags, 0, 0, 0, 1)
	var c http2.Conn
	c.Init(&http2.Config{
		Role: http2.Server, MaxConcurrentStreams: 10, StreamWindow: 65535, ConnWindow: 1 << 20, MaxFrameSize: 16384, MaxSendFrame: 16384,
		HeaderTableSize: 4096, EncoderTableSize: 4096, MaxBlock: 1 << 16, Header: hpack.Limits{List: 1 << 16, Fields: 90, String: 8000},
	})
	m := http2.Message{Head: new(message.Head)}
	for p := append(in, block...); ; {
		ev, n := c.Next(p, &m, 1)
		switch p = p[n:]; ev.Kind {
		case http2.Head:
			return m.Head, true
		case http2.More, http2.Failed:
			return nil, false
		}
	}
}

// appendString appends a string as HPACK writes it without Huffman (RFC 7541 §5.2).
func appendString(b []byte, s string) []byte {
	if len(s) < 127 {
		return append(append(b, byte(len(s))), s...)
	}
	return append(binary.AppendUvarint(append(b, 127), uint64(len(s)-127)), s...)
}

// hasValidTarget checks the target, as a server does unless the parser has.
func hasValidTarget(h *message.Head) bool {
	_, err := target.Check(h.Fields.Bytes(h.Method), h.Fields.Bytes(h.Target))
	return err == nil
}

// differsByVersion reports whether a field line is judged differently on purpose. RFC 9113 forbids capital letters, fields of the
// connection and blanks around values, and pseudo-fields have no counterpart. HTTP/1 trims values, and knows transfer codings.
func differsByVersion(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "te", "host":
		return true
	}
	return !ok || name == "" || name != strings.ToLower(name) || value != string(ascii.TrimOWS([]byte(value))) || strings.ContainsAny(line, "\r\n")
}

// describeHead writes all of a head that does not depend on the version.
func describeHead(h *message.Head) string {
	var lines []string
	for i := range h.Fields.Len() {
		name, value := h.Fields.At(i)
		switch h.Fields.ID(i) {
		case field.Cookie, field.ContentLength: // which HTTP/2 joins and merges
		default:
			lines = append(lines, fmt.Sprintf("%d %s: %s", h.Fields.ID(i), name, value))
		}
	}
	return fmt.Sprintf("%d %s %s\n%s\nbody %d, length %d, flags %d", h.MethodID, h.Fields.Bytes(h.Method), h.Fields.Bytes(h.Target),
		strings.Join(lines, "\n"), h.Body, h.Length, h.Flags)
}
