package messages_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// argsText writes keys and values so that every difference shows.
func argsText(a *gallop.Args) string {
	var b strings.Builder
	written := strings.Split(a.String(), "&")
	for key, value := range a.All() {
		fmt.Fprintf(&b, "%q", key)
		if strings.Contains(written[0], "=") {
			fmt.Fprintf(&b, "=%q", value)
		}
		b.WriteByte(' ')
		written = written[1:]
	}
	return strings.TrimSpace(b.String())
}

func TestArgsParse(t *testing.T) {
	for _, tc := range []struct{ name, query, want, encoded string }{
		{"empty", "", ``, ""},
		{"pair", "a=b", `"a"="b"`, "a=b"},
		{"no value", "a", `"a"`, "a"},
		{"empty value", "a=", `"a"=""`, "a="},
		{"empty key", "=b", `""="b"`, "=b"},
		{"neither", "=", ``, ""},
		{"equals sign in the value", "a=b=c", `"a"="b=c"`, "a=b%3Dc"},
		{"repeated keys, in order", "a=1&b=2&a=3", `"a"="1" "b"="2" "a"="3"`, "a=1&b=2&a=3"},
		{"empty pairs", "&&a=1&&=&b&", `"a"="1" "b"`, "a=1&b"},
		{"plus is a blank", "a+b=c+d", `"a b"="c d"`, "a+b=c+d"},
		{"escapes", "%61%3d=%26%2B%00", `"a="="&+\x00"`, "a%3D=%26%2B%00"},
		{"no escapes", "a=%&b=%z1&c=%1", `"a"="%" "b"="%z1" "c"="%1"`, "a=%25&b=%25z1&c=%251"},
		{"semicolon separates nothing", "a=1;b=2", `"a"="1;b=2"`, "a=1%3Bb%3D2"},
		{"above ASCII", "a=\u00e9%c3%a9\xff", `"a"="éé\xff"`, "a=%C3%A9%C3%A9%FF"},
		{"unreserved stays", "a=-._~!*'()", `"a"="-._~!*'()"`, "a=-._~%21%2A%27%28%29"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a gallop.Args
			a.Parse(tc.query)
			if got := argsText(&a); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := a.String(); got != tc.encoded {
				t.Errorf("encoded: got %s, want %s", got, tc.encoded)
			}
			a.ParseBytes(a.QueryString())
			if got := argsText(&a); got != tc.want {
				t.Errorf("parsed again: got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestArgsChanges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(a *gallop.Args)
		want   string
	}{
		{"Set the first of two", func(a *gallop.Args) { a.Set("a", "x") }, `"a"="x" "b"="2" "a"="3"`},
		{"Set a longer value", func(a *gallop.Args) { a.Set("b", "longer") }, `"a"="1" "b"="longer" "a"="3"`},
		{"Set a new key", func(a *gallop.Args) { a.Set("c", "x") }, `"a"="1" "b"="2" "a"="3" "c"="x"`},
		{"SetNoValue", func(a *gallop.Args) { a.SetNoValue("b") }, `"a"="1" "b" "a"="3"`},
		{"Set after SetNoValue", func(a *gallop.Args) { a.SetNoValue("b"); a.Set("b", "") }, `"a"="1" "b"="" "a"="3"`},
		{"Add", func(a *gallop.Args) { a.Add("b", "x") }, `"a"="1" "b"="2" "a"="3" "b"="x"`},
		{"AddNoValue", func(a *gallop.Args) { a.AddNoValue("b") }, `"a"="1" "b"="2" "a"="3" "b"`},
		{"Del all of a key", func(a *gallop.Args) { a.Del("a") }, `"b"="2"`},
		{"Del nothing", func(a *gallop.Args) { a.Del("c") }, `"a"="1" "b"="2" "a"="3"`},
		{"SetUint", func(a *gallop.Args) { a.SetUint("b", 1234567890) }, `"a"="1" "b"="1234567890" "a"="3"`},
		{"from itself", func(a *gallop.Args) { a.SetBytesKV(a.PeekMulti("a")[1], a.Peek("b")) }, `"a"="1" "b"="2" "a"="3" "3"="2"`},
		{"Sort", func(a *gallop.Args) { a.Add("a", "2"); a.Sort(bytes.Compare) }, `"a"="1" "a"="2" "a"="3" "b"="2"`},
		{"SortKeys", func(a *gallop.Args) { a.Add("a", "2"); a.SortKeys(bytes.Compare) }, `"a"="1" "a"="3" "a"="2" "b"="2"`},
		{"Reset", func(a *gallop.Args) { a.Reset() }, ``},

		{"AddBytesK", func(a *gallop.Args) { a.AddBytesK([]byte("k"), "v") }, `"a"="1" "b"="2" "a"="3" "k"="v"`},
		{"AddBytesV", func(a *gallop.Args) { a.AddBytesV("k", []byte("v")) }, `"a"="1" "b"="2" "a"="3" "k"="v"`},
		{"AddBytesKV", func(a *gallop.Args) { a.AddBytesKV([]byte("k"), nil) }, `"a"="1" "b"="2" "a"="3" "k"=""`},
		{"AddBytesKNoValue", func(a *gallop.Args) { a.AddBytesKNoValue([]byte("k")) }, `"a"="1" "b"="2" "a"="3" "k"`},
		{"SetBytesK", func(a *gallop.Args) { a.SetBytesK([]byte("b"), "v") }, `"a"="1" "b"="v" "a"="3"`},
		{"SetBytesV", func(a *gallop.Args) { a.SetBytesV("b", []byte("v")) }, `"a"="1" "b"="v" "a"="3"`},
		{"SetBytesKNoValue", func(a *gallop.Args) { a.SetBytesKNoValue([]byte("b")) }, `"a"="1" "b" "a"="3"`},
		{"SetUintBytes", func(a *gallop.Args) { a.SetUintBytes([]byte("b"), 0) }, `"a"="1" "b"="0" "a"="3"`},
		{"DelBytes", func(a *gallop.Args) { a.DelBytes([]byte("b")) }, `"a"="1" "a"="3"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a, before gallop.Args
			a.Parse("a=1&b=2&a=3")
			a.CopyTo(&before)
			if tc.change(&a); argsText(&a) != tc.want {
				t.Errorf("got %s, want %s", argsText(&a), tc.want)
			}
			if argsText(&before) != `"a"="1" "b"="2" "a"="3"` {
				t.Errorf("the copy became %s", argsText(&before))
			}
		})
	}
}

func TestArgsReads(t *testing.T) {
	var a gallop.Args
	a.Parse("a=1&b&c=&a=2")
	if a.Len() != 4 {
		t.Errorf("Len: got %d", a.Len())
	}
	for key, want := range map[string]string{"a": "1", "b": "", "c": ""} {
		if v := a.Peek(key); v == nil || string(v) != want || !a.Has(key) || !a.HasBytes([]byte(key)) {
			t.Errorf("%s: got %q, %v", key, v, a.Has(key))
		}
	}
	if a.Peek("d") != nil || a.PeekMulti("d") != nil || a.Has("d") {
		t.Error("d is there")
	}
	if got := fmt.Sprintf("%q", a.PeekMultiBytes([]byte("a"))); got != `["1" "2"]` {
		t.Errorf("PeekMulti: got %s", got)
	}
	if empty := a.PeekMulti("c"); len(empty) != 1 || empty[0] != nil {
		t.Errorf("PeekMulti: got %#v", empty)
	}
	var all, visited []string
	for key, value := range a.All() {
		if all = append(all, string(key)+"="+string(value)); len(all) == 3 {
			break
		}
	}
	a.VisitAll(func(key, value []byte) { visited = append(visited, string(key)+"="+string(value)) })
	if fmt.Sprint(all) != "[a=1 b= c=]" || fmt.Sprint(visited) != "[a=1 b= c= a=2]" {
		t.Errorf("got %v, %v", all, visited)
	}
	if v := a.Peek("a"); cap(v) != len(v) {
		t.Error("appending to a value would overwrite what follows")
	}
	var buf bytes.Buffer
	if n, err := a.WriteTo(&buf); n != 12 || err != nil || buf.String() != "a=1&b&c=&a=2" {
		t.Errorf("WriteTo: %d, %v, %q", n, err, buf.String())
	}
}

func TestArgsNumbers(t *testing.T) {
	var a gallop.Args
	a.Parse("n=42&f=1.5&neg=-1&empty=&nan=NaN&big=99999999999999999999&word=x")
	for _, tc := range []struct {
		key  string
		n    int
		f    float64
		nErr bool
		fErr bool
	}{
		{"n", 42, 42, false, false},
		{"f", -1, 1.5, true, false},
		{"neg", -1, -1, true, true},
		{"nan", -1, -1, true, true},
		{"big", -1, 99999999999999999999, true, false},
		{"word", -1, -1, true, true},
	} {
		n, err := a.GetUint(tc.key)
		if n != tc.n || (err != nil) != tc.nErr || a.GetUintOrZero(tc.key) != max(n, 0) {
			t.Errorf("GetUint %s: %d, %v", tc.key, n, err)
		}
		f, err := a.GetUfloat(tc.key)
		if f != tc.f || (err != nil) != tc.fErr || a.GetUfloatOrZero(tc.key) != max(f, 0) {
			t.Errorf("GetUfloat %s: %v, %v", tc.key, f, err)
		}
	}
	for _, key := range []string{"empty", "missing"} {
		if n, err := a.GetUint(key); n != -1 || err != gallop.ErrNoArgValue {
			t.Errorf("GetUint %s: %d, %v", key, n, err)
		}
		if f, err := a.GetUfloat(key); f != -1 || err != gallop.ErrNoArgValue {
			t.Errorf("GetUfloat %s: %v, %v", key, f, err)
		}
	}
}

func TestArgsGetBool(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "t": true, "T": true, "true": true, "TRUE": true, "True": true, "y": true,
		"Y": true, "yes": true, "YES": true, "Yes": true, "": false, "0": false, "tRUE": false, "on": false, "true ": false} {
		var a gallop.Args
		if a.Set("k", value); a.GetBool("k") != want {
			t.Errorf("%q: got %v", value, !want)
		}
	}
}

func FuzzArgsParse(f *testing.F) {
	for _, s := range []string{"", "a=b", "a&b=&=c&&=", "a=%zz&b=%41+", "a=1;b=2", "%", "\xff=\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a, b gallop.Args
		a.Parse(s)
		b.ParseBytes(a.QueryString())
		if argsText(&a) != argsText(&b) {
			t.Fatalf("%q: %s becomes %s", s, argsText(&a), argsText(&b))
		}
		values, err := url.ParseQuery(s)
		if err != nil {
			return
		}
		if v := values[""]; len(v) > 0 { // arguments with neither key nor value are left out here
			kept := v[:0]
			for _, s := range v {
				if s != "" {
					kept = append(kept, s)
				}
			}
			if values[""] = kept; len(kept) == 0 {
				delete(values, "")
			}
		}
		count := 0
		for key, want := range values {
			got := a.PeekMulti(key)
			if len(got) != len(want) {
				t.Fatalf("%q: %d values of %q, net/url has %d", s, len(got), key, len(want))
			}
			for i := range got {
				if count++; string(got[i]) != want[i] {
					t.Fatalf("%q: value %d of %q is %q, net/url says %q", s, i, key, got[i], want[i])
				}
			}
		}
		if count != a.Len() {
			t.Fatalf("%q: %d arguments, net/url has %d", s, a.Len(), count)
		}
	})
}

func TestArgsDoNotAllocate(t *testing.T) {
	var a, b gallop.Args
	query := []byte("a=1&b=%41+b&c&a=2&d=" + strings.Repeat("x", 100))
	f := func() {
		a.ParseBytes(query)
		n := 0
		for key, value := range a.All() {
			n += len(key) + len(value)
		}
		a.VisitAll(func(key, value []byte) { n -= len(key) + len(value) })
		if n != 0 || string(a.Peek("b")) != "A b" || !a.Has("c") || a.GetUintOrZero("a") != 1 {
			t.Fatal(a.String())
		}
		a.Set("a", "x")
		a.Add("e", "y")
		a.SetUint("f", 12345)
		a.Del("b")
		a.Sort(bytes.Compare)
		a.CopyTo(&b)
		a.QueryString()
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkArgsParse(b *testing.B) {
	var a gallop.Args
	query := []byte("page=2&sort=date&q=some+words%21&lang=en")
	b.SetBytes(int64(len(query)))
	for b.Loop() {
		a.ParseBytes(query)
	}
}

func TestArgsParseAtMost(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		most       int
		want       string
		err        error
	}{
		{"at the limit", "a=1&b=2&c=3", 3, "a=1&b=2&c=3", nil},
		{"beyond the limit", "a=1&b=2&c=3&d=4", 3, "a=1&b=2&c=3", gallop.ErrTooManyArgs},
		{"empty ones do not count", "&&a=1&&=&b=2&=&c=3&&=&&", 3, "a=1&b=2&c=3", nil},
		{"empty ones before one too many", "a&b&c&&=&d", 3, "a&b&c", gallop.ErrTooManyArgs},
		{"as short as they can be", "a&b&c", 3, "a&b&c", nil},
		{"as short as they can be, and one more", "a&b&c&d", 3, "a&b&c", gallop.ErrTooManyArgs},
		{"escapes", "%=1&+&c", 2, "%25=1&+", gallop.ErrTooManyArgs},
		{"unlimited", "a&b&c&d", 0, "a&b&c&d", nil},
		{"negative", "a&b&c&d", -1, "a&b&c&d", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a gallop.Args
			if err := a.ParseAtMost([]byte(tt.text), tt.most); err != tt.err || a.Err() != tt.err || a.String() != tt.want {
				t.Errorf("%s, %v", a.String(), err)
			}
			var c gallop.Args
			if a.CopyTo(&c); c.Err() != tt.err {
				t.Errorf("the copy: %v", c.Err())
			}
			if a.Parse("x"); a.Err() != nil {
				t.Errorf("parsed again: %v", a.Err())
			}
		})
	}
}
