package template

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// filter converts a value.
type filter func(value string) string

var filters = map[string]filter{
	"url":    url.QueryEscape,
	"json":   jsonText,
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
}

// jsonText escapes a value for use between the quotes of a JSON string.
func jsonText(s string) string {
	quoted, _ := json.Marshal(s) // strings cannot fail
	return string(quoted[1 : len(quoted)-1])
}

func names[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// contain changes the value at dst[start:] so that it stays in its place: a value must not end a request line or a header.
func (p Place) contain(dst []byte, start int) []byte {
	switch p {
	case Header:
		for i := start; i < len(dst); i++ {
			if c := dst[i]; c < ' ' && c != '\t' || c == 0x7f {
				dst[i] = ' '
			}
		}
	case Path:
		return containPath(dst, start)
	}
	return dst
}

func containPath(dst []byte, start int) []byte {
	if !slices.ContainsFunc(dst[start:], unfit) {
		return dst
	}
	const upperHex = "0123456789ABCDEF"
	value := string(dst[start:])
	dst = dst[:start]
	for i := range len(value) {
		if c := value[i]; unfit(c) {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// unfit reports whether a request target cannot have a byte (RFC 3986 §2).
func unfit(c byte) bool {
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`{|}", c) >= 0
}
