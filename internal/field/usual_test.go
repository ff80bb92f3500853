package field

import (
	"bytes"
	"strings"
	"testing"
)

// addUsual calls AddUsual with line after some other bytes, for a list whose previous message had a field with that
// ID in this position. It returns the results, and the field in the list.
func addUsual(id ID, line string) (n int, got ID, name, value string) {
	const before = "GET / HTTP/1.1\r\n"
	var l List
	l.fields = []Field{{ID: id}}[:0]
	b := []byte(before + line)
	l.Borrow(b)
	if n, got = l.AddUsual(b, len(before)); n == 0 {
		if l.Len() != 0 || l.FindID(id) != -1 && id != Unknown {
			panic("a field was added, and not spoken of")
		}
		return n, got, "", ""
	}
	if l.Len() != 1 || l.FindID(got) != 0 || l.ID(0) != got || got < 64 && l.HasNone(1<<got) || !l.HasNone(^(1 << got)) {
		panic("not added as it should be")
	}
	nameBytes, valueBytes := l.At(0)
	return n, got, string(nameBytes), string(valueBytes)
}

func TestAddUsual(t *testing.T) {
	const more = "\r\nAccept: */*\r\n\r\n"
	for _, tt := range []struct {
		name, line string
		expected   ID
		value      string // "-": AddUsual ignores the line
	}{
		{"short", "Host: a" + more, Host, "a"},
		{"other case", "hOST: a" + more, Host, "a"},
		{"longer than a word", "Host: www.example.com" + more, Host, "www.example.com"},
		{"name of two words", "Accept-Encoding: gzip" + more, AcceptEncoding, "gzip"},
		{"name of four words", "Upgrade-Insecure-Requests: 1" + more, UpgradeInsecureRequests, "1"},
		{"blanks within", "User-Agent: a b  c" + more, UserAgent, "a b  c"},
		{"all that is visible", "Cookie: !~" + more, Cookie, "!~"},

		{"unexpected", "Host: a" + more, Accept, "-"},
		{"unknown", "X-Name: a" + more, Unknown, "-"},
		{"zeros", strings.Repeat("\x00", 64), Unknown, "-"},
		{"longer name", "Hostess: a" + more, Host, "-"},
		{"shorter name", "Hos: a" + more, Host, "-"},
		{"blank before the colon", "Host : a" + more, Host, "-"},
		{"end of a name of four words differs", "Upgrade-Insecure-Requestz: 1" + more, UpgradeInsecureRequests, "-"},
		{"no blank", "Host:a" + more, Host, "-"},
		{"two blanks", "Host:  a" + more, Host, "-"},
		{"tab", "Host:\ta" + more, Host, "-"},
		{"tab behind the blank", "Host: \ta" + more, Host, "-"},
		{"blank behind", "Host: a " + more, Host, "-"},
		{"tab behind", "Host: a\t" + more, Host, "-"},
		{"empty", "Host:" + more, Host, "-"},
		{"empty behind a blank", "Host: " + more, Host, "-"},
		{"only blanks", "Host:    " + more, Host, "-"},
		{"NUL", "Host: a\x00b" + more, Host, "-"},
		{"DEL", "Host: a\x7fb" + more, Host, "-"},
		{"obs-text", "Host: a\x80b" + more, Host, "-"},
		{"bare CR", "Host: a\rb" + more, Host, "-"},
		{"bare LF", "Host: a\nb: c" + more, Host, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, id, name, value := addUsual(tt.expected, tt.line)
			if tt.value == "-" {
				if n != 0 || id != Unknown {
					t.Errorf("added %v: %q, %d bytes", id, value, n)
				}
				return
			}
			if line := name + ": " + value + "\r\n"; id != tt.expected || value != tt.value || n != len(line) || tt.line[:n] != line {
				t.Errorf("got %v, %q: %q, %d bytes", id, name, value, n)
			}
		})
	}
}

// Wherever the bytes end, a line is added with its whole value or not at all. It is added if a word of bytes follows
// the value.
func TestAddUsualOfPieces(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		for length := 1; length < 20; length++ {
			value := strings.Repeat("v", length)
			line := names[id] + ": " + value + "\r\n"
			whole := line + "\r\nnext"
			for end := range len(whole) + 1 {
				n, got, _, gotValue := addUsual(id, whole[:end])
				if n != 0 && (end < len(line) || n != len(line) || got != id || gotValue != value) {
					t.Fatalf("%q: got %v: %q, %d bytes", whole[:end], got, gotValue, n)
				}
				if n == 0 && end >= max(len(line)+2, usualLine, 8*(len(names[id])/8+1)) {
					t.Fatalf("%q: not added", whole[:end])
				}
			}
		}
	}
}

// A name that differs from the expected one in any bit except its case is another name.
func TestAddUsualTellsNamesApart(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		for i := range names[id] + ":" {
			for bit := range 8 {
				line := []byte(names[id] + ": value\r\n\r\nand more, so that there is enough")
				line[i] ^= 1 << bit
				n, _, _, _ := addUsual(id, string(line))
				same := bytes.EqualFold(line[:len(names[id])+1], []byte(names[id]+":"))
				if same != (n != 0) {
					t.Errorf("%q is taken for %v: %v", line[:len(names[id])+1], id, n != 0)
				}
			}
		}
	}
}
