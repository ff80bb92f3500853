package files

import "testing"

func TestCutTag(t *testing.T) {
	for _, tc := range []struct{ text, tag, rest string }{
		{`"a"`, `"a"`, ""},
		{`W/"a", "b"`, `W/"a"`, `, "b"`},
		{`""x`, `""`, "x"},
		{`"a!\#,` + "\x80" + `"`, `"a!\#,` + "\x80" + `"`, ""},

		{"", "", ""},
		{"a", "", "a"},
		{"*", "", "*"},
		{`W/`, "", "W/"},
		{`w/"a"`, "", `w/"a"`},
		{` "a"`, "", ` "a"`},
		{`"a`, "", `"a`},
		{`"a b"`, "", `"a b"`},
		{"\"a\x7f\"", "", "\"a\x7f\""},
	} {
		tag, rest := cutTag([]byte(tc.text))
		if string(tag) != tc.tag || string(rest) != tc.rest || (tag == nil) != (tc.tag == "") {
			t.Errorf("%q: %q and %q", tc.text, tag, rest)
		}
	}
}

func TestHasTag(t *testing.T) {
	for _, tc := range []struct {
		list, tag string
		want      bool
	}{
		{`"a"`, `"a"`, true},
		{`"b" ,, W/"a"`, `W/"a"`, true},
		{`"a"`, `W/"a"`, false},
		{`b, "a"`, `"a"`, false},
		{"", `"a"`, false},
		{"*", `"a"`, false},
	} {
		if got := HasTag([]byte(tc.list), tc.tag); got != tc.want {
			t.Errorf("%s in %s: %v", tc.tag, tc.list, got)
		}
	}
}

func TestIsStrong(t *testing.T) {
	for tag, want := range map[string]bool{`"a"`: true, `""`: true, `W/"a"`: false, "": false, "a": false} {
		if got := IsStrong([]byte(tag)); got != want {
			t.Errorf("%s: %v", tag, got)
		}
	}
}
