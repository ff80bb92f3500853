package multipart

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckHead(t *testing.T) {
	for head, want := range map[string]error{
		"":                        nil,
		"A: b\r\n":                nil,
		"A:b\r\nC:\t d \r\n":      nil,
		"A:\r\n":                  nil,
		"A: \xe9\r\n":             nil,
		"A b: c\r\n":              ErrHead,
		"A : b\r\n":               ErrHead,
		"abc\r\n":                 ErrHead,
		": b\r\n":                 ErrHead,
		"A: b\r\n c\r\n":          ErrHead,
		"A: b\x00\r\n":            ErrHead,
		"A: b\nC: d\r\n":          ErrHead,
		"A: b\r\nC d\r\nE: f\r\n": ErrHead,
		"A: b\rC: d\r\n":          ErrHead,
	} {
		if err := CheckHead(head); err != want {
			t.Errorf("%q: %v, want %v", head, err, want)
		}
	}
}

func TestFields(t *testing.T) {
	const head = "A: b\r\na:\t c \r\nD:\r\n"
	var got []string
	for name, value := range Fields(head) {
		got = append(got, fmt.Sprintf("%s=%s", name, value))
	}
	if strings.Join(got, " ") != "A=b a=c D=" {
		t.Errorf("got %q", got)
	}
	for range Fields(head) {
		break
	}
}

func TestDisposition(t *testing.T) {
	const form = "Content-Disposition: form-data; "
	for _, tc := range []struct {
		head, form, file string
		err              error
	}{
		{"", "", "", nil},
		{"A: b\r\n", "", "", nil},
		{form + "name=f\r\n", "f", "", nil},
		{"content-disposition: FORM-DATA; Name=\"a b\"\r\n", "a b", "", nil},
		{form + "name=f; filename=\"a b.txt\"\r\n", "f", "a b.txt", nil},
		{form + "name=f; filename=\"../../etc/passwd\"\r\n", "f", "passwd", nil},
		{form + `name=f; filename="C:\temp\a.txt"` + "\r\n", "f", "a.txt", nil},
		{form + "name=f; filename=\"a/\"\r\n", "f", "", nil},
		{form + "name=f; filename*=UTF-8''%e2%82%ac.txt\r\n", "f", "\u20ac.txt", nil},
		{form + "name=f; filename*=utf-8''c%2fd%c3%a9\r\n", "f", "d\u00e9", nil},
		{"Content-Disposition: attachment; name=f; filename=a\r\n", "", "a", nil},
		{form + "name=f\r\n" + form + "name=f\r\n", "", "", ErrHead},
		{form + "name=f; name=g\r\n", "", "", ErrHead},
		{form + "name*=utf-8''a%0d%0ab\r\n", "", "", ErrHead},
		{form + "name=f; filename*=utf-8''b.php%00.txt\r\n", "", "", ErrHead},
		{"Content-Disposition:\r\n", "", "", ErrHead},
	} {
		form, file, err := Disposition(tc.head)
		if form != tc.form || file != tc.file || err != tc.err {
			t.Errorf("%q: got %q, %q, %v; want %q, %q, %v", tc.head, form, file, err, tc.form, tc.file, tc.err)
		}
	}
}

func TestNamesAndHeadersToWrite(t *testing.T) {
	for name, want := range map[string]bool{"": true, "a": true, "a\"\\\r\n b\t\u00e9": true, "a\x00b": false, "a\x7f": false} {
		if IsName(name) != want {
			t.Errorf("name %q: want %v", name, want)
		}
	}
	for _, tc := range []struct {
		name, value string
		want        bool
	}{
		{"X", "a", true}, {"X", "", true}, {"X", "a\r\nSmuggled: b", false}, {"X", "a\x00", false}, {"X Y", "a", false}, {"", "a", false},
	} {
		if IsHeader(map[string][]string{"A": {"b", "c"}, tc.name: {"a", tc.value}}) != tc.want {
			t.Errorf("%q: %q: want %v", tc.name, tc.value, tc.want)
		}
	}
}
