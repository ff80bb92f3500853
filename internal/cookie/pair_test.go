package cookie

import (
	"fmt"
	"strings"
	"testing"
)

func TestNextCookiePair(t *testing.T) {
	for _, tc := range []struct{ field, want string }{
		{"", ``},
		{"a=1", `"a"="1"`},
		{"a=1; b=2;c=3", `"a"="1" "b"="2" "c"="3"`},
		{`a="x y"; b="2"`, `"a"="x y" "b"="2"`},
		{`a=1; b="; c=2; d=x\y; e={"j":1}; f="\"; =\; g=3`, `"a"="1" "c"="2" "g"="3"`},
		{"a=b=c", `"a"="b=c"`},
		{"  a = 1 ;; ; b", `"a"="1" ""="b"`},
		{"=; =x; y=", `""="x" "y"=""`},
		{"v", `""="v"`},
		{"a=1;v", `"a"="1" ""="v"`},
		{"a=1; a=2", `"a"="1" "a"="2"`},
	} {
		var got []string
		for rest := []byte(tc.field); ; {
			name, value, next, ok := Next(rest)
			if !ok {
				break
			}
			got, rest = append(got, fmt.Sprintf("%q=%q", name, value)), next
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %s, want %s", tc.field, got, tc.want)
		}
	}
}

func TestCookieValueOfAField(t *testing.T) {
	field := []byte(`a=1; b="2"; a=3; d=`)
	for name, want := range map[string]string{"a": "1", "b": "2", "d": ""} {
		if v, ok := Find(field, []byte(name)); !ok || string(v) != want {
			t.Errorf("%s: got %q, %v", name, v, ok)
		}
	}
	if v, ok := Find([]byte("v"), nil); !ok || string(v) != "v" {
		t.Errorf("value without a name: got %q, %v", v, ok)
	}
	for _, name := range []string{"c", "A", ""} {
		if v, ok := Find(field, []byte(name)); ok {
			t.Errorf("%q: got %q", name, v)
		}
	}
}

func TestAppendCookie(t *testing.T) {
	for _, tc := range []struct{ field, name, value, want string }{
		{"", "a", "1", "a=1"},
		{"a=1", "b", "2", "a=1; b=2"},
		{"a=1", "b", "x y", `a=1; b="x y"`},
		{"a=1", "", "v", "a=1; v"},
		{"a=1", "", "", "a=1"},
		{"a=1", "b", "2; c=3", "a=1"},
		{"a=1", "b; c", "2", "a=1"},
		{"a=1", ";", "2", "a=1"},
		{"a=1", "b", ",2", `a=1; b=",2"`},
		{"a=1", "b", "2\r\nX: y", "a=1"},
		{"", "b\r\n", "2", ""},
	} {
		if got := Append([]byte(tc.field), []byte(tc.name), []byte(tc.value)); string(got) != tc.want {
			t.Errorf("%q + %q=%q: got %q, want %q", tc.field, tc.name, tc.value, got, tc.want)
		}
	}
}

func TestAppendCookiePairs(t *testing.T) {
	for _, tc := range []struct{ field, value, want string }{
		{"", "a=1; b=2", "a=1; b=2"},
		{"a=1", ` b="x y";;v`, `a=1; b="x y"; v`},
		{"a=1", `b=x\y; c="; d=4`, "a=1; d=4"},
		{"a=1", " ; ;", "a=1"},
	} {
		if got := AppendPairs([]byte(tc.field), []byte(tc.value)); string(got) != tc.want {
			t.Errorf("%q + %q: got %q, want %q", tc.field, tc.value, got, tc.want)
		}
	}
}

func TestDeleteCookie(t *testing.T) {
	for _, tc := range []struct{ field, name, want string }{
		{"", "a", ""},
		{"a=1", "a", ""},
		{"a=1; b=2; c=3", "a", "b=2; c=3"},
		{"a=1; b=2; c=3", "b", "a=1; c=3"},
		{"a=1; b=2; c=3", "c", "a=1; b=2"},
		{"a=1;b=2;c=3", "b", "a=1;c=3"},
		{"a=1;b=2;c=3;d=4", "x", "a=1;b=2;c=3;d=4"},
		{"a=1; b=2; a=3", "a", "b=2"},
		{" ; a = 1 ;; b=2;", "b", "a = 1"},
		{`a="1"; ab=2`, "a", "ab=2"},
		{"v; a=1", "", "a=1"},
	} {
		if got := Delete([]byte(tc.field), []byte(tc.name)); string(got) != tc.want {
			t.Errorf("%q - %q: got %q, want %q", tc.field, tc.name, got, tc.want)
		}
	}
}

func TestCookiePairsDoNotAllocate(t *testing.T) {
	field, name, value := []byte(`a=1; b="2"; c=3`), []byte("c"), []byte("k")
	var out []byte
	f := func() {
		if v, ok := Find(field, name); !ok || string(v) != "3" {
			t.Fatal(v)
		}
		out = Append(append(out[:0], field...), name, value)
		out = Delete(out, name)
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
