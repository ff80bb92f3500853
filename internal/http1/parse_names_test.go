package http1

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// A name that is longer than a field can hold is refused regardless of the limits. With its length cut to 16 bits, a
// name of 65,540 bytes would become a name of 4 bytes.
func TestParseLongNames(t *testing.T) {
	lim := Limits{Target: 1 << 10, Head: 80 << 10, Fields: 10}
	for length, want := range map[int]error{
		field.MaxNameLen - 1: nil, field.MaxNameLen: nil,
		field.MaxNameLen + 1: ErrHeadTooLarge, field.MaxNameLen + 5: ErrHeadTooLarge, 70_000: ErrHeadTooLarge,
	} {
		line := strings.Repeat("n", length) + ": v\r\n\r\n"
		for _, start := range []string{"GET / HTTP/1.1\r\nHost: a\r\n", "HTTP/1.1 200 OK\r\n"} {
			parse := parseRequest
			if start[0] == 'H' {
				parse = parseResponse
			}
			var h parsed
			if _, err := parse(&h, []byte(start+line), &lim); err != want {
				t.Errorf("%q, a name of %d bytes: %v, want %v", start, length, err, want)
			} else if err == nil {
				if name, _ := h.Fields.At(h.Fields.Len() - 1); len(name) != length {
					t.Errorf("%q: a name of %d bytes instead of %d", start, len(name), length)
				}
			}
		}
	}
}
