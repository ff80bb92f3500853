package nethttp

import (
	"bytes"
	"iter"
	"strings"

	"github.com/gallop-http/gallop"
)

// cookieFields returns the values of the Cookie fields that were received, if there were several and
// value is what gallop made of them. net/http does not join them in HTTP/1.
func cookieFields(h *gallop.RequestHeader, value []byte) []string {
	raw, n := h.RawHeaders(), 0
	for range cookieValues(raw) {
		n++
	}
	if n < 2 {
		return nil
	}
	var all, joined []string
	for v := range cookieValues(raw) {
		if all = append(all, string(v)); len(v) > 0 {
			joined = append(joined, string(v))
		}
	}
	if strings.Join(joined, "; ") != string(value) {
		return nil
	}
	return all
}

// cookieValues yields the values of the Cookie fields among lines.
func cookieValues(lines []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		for len(lines) > 0 {
			var line []byte
			line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
			const name = "Cookie"
			if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) &&
				!yield(bytes.Trim(line[len(name)+1:], " \t")) {
				return
			}
		}
	}
}
