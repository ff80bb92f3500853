package target

import (
	"errors"
	"strings"
	"testing"
)

func TestASCIIHost(t *testing.T) {
	for host, want := range map[string]string{
		"example.com":               "example.com",
		"under_score.xn--a.test:80": "under_score.xn--a.test:80",
		"b\u00fccher.example:8080":  "xn--bcher-kva.example:8080",
		"B\u00dcCHER.example.":      "xn--bcher-kva.example.",
		"b\u00fccher.example:":      "xn--bcher-kva.example:",
		"":                          "",
		"b\xfccher.example":         "",
		"b\u00fccher..example":      "",
		"b\u00fccher.example:x":     "",
		"a\uff0fb.example":          "",
	} {
		got, err := ASCIIHost(host)
		if got != want || errors.Is(err, ErrIDN) != (want == "" && host != "") {
			t.Errorf("%q: got %q, %v, want %q", host, got, err, want)
		}
	}
}

// A KnownHost accepts what ValidHost accepts, whatever it was asked about before.
func TestKnownHost(t *testing.T) {
	var k KnownHost
	long := strings.Repeat("a", 49) + ".test"
	for _, tc := range []struct {
		host string
		want bool
	}{
		{"", false}, {"a.test", true}, {"a.test", true}, {"A.test", true}, {"a.test.", true}, {"a b", false}, {"a.test.", true},
		{long, true}, {"a.test.", true}, {long[:48], true}, {long[:48], true}, {long[:48] + "\x00", false}, {"", false},
	} {
		if got := k.IsValid([]byte(tc.host)); got != tc.want {
			t.Errorf("%q: got %v", tc.host, got)
		}
	}
}
