package template

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

var scope = &Scope{Columns: []string{"name", "bad"}, Vars: []string{"token"}}

func values() *Values {
	return &Values{Row: []string{"Ann B", "a\r\nX: y?&\"é"}, Vars: []string{"t1"}, User: 3, Iteration: 9, Seq: new(atomic.Int64), Rand: rand.New(rand.NewPCG(1, 2))}
}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct {
		source string
		place  Place
		want   string // a regular expression
	}{
		{"", Body, ""},
		{"plain { } } text", Body, "plain { } } text"},
		{"/u/{{.row.name}}/x", Body, "/u/Ann B/x"},
		{"/u/{{ .row.name }}/x", Path, "/u/Ann%20B/x"},
		{"{{.row.name | url}}", Path, `Ann\+B`},
		{"{{.row.bad}}", Path, `a%0D%0AX:%20y\?&%22%C3%A9`},
		{"{{.row.bad}}", Header, `a  X: y\?&"é`},
		{"{{.row.bad|json}}", Body, `a\\r\\nX: y\?(&|\\u0026)\\"é`},
		{"{{.token}}", Header, "t1"},
		{"{{.token|base64}}", Header, "dDE="},
		{"{{seq}} {{seq}} {{seq 100}}", Body, "1 2 102"},
		{"{{user}}-{{iteration}}", Body, "3-9"},
		{"{{uuid}}", Body, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
		{"{{rand 5 5}} {{rand -3 -1}}", Body, "5 -[123]"},
		{"{{rand -9223372036854775807 9223372036854775807}}", Body, `-?\d+`},
		{"{{randhex 8}}", Body, "[0-9a-f]{8}"},
		{`{{choice a a}} {{choice "b c"}}`, Body, "a b c"},
		{"{{now}}", Body, `\d{13}`},
		{`{{"{{ }}"}}`, Body, "{{ }}"},
		{`{{choice "}}"}}!`, Body, "}}!"},
	} {
		tmpl, err := Compile(tc.source, scope, tc.place)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		if got := string(tmpl.Append([]byte("> "), values())); !regexp.MustCompile("^> (?:" + tc.want + ")$").MatchString(got) {
			t.Errorf("%s: %q, want %q", tc.source, got, tc.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"{{": "without }}", "{{}}": "no action", "{{.row.age}}": "its columns are name, bad", "{{.nothing}}": `no variable "nothing"`,
		"{{frob}}": `no function "frob"`, "{{rand 2 1}}": "smaller one first", "{{rand 1}}": "two integers", "{{seq x}}": "first number",
		"{{rand -9223372036854775808 9223372036854775807}}": "two integers", "{{randhex 0}}": "number of digits",
		"{{uuid 4}}": "no arguments", "{{choice}}": "words to choose from", "{{uuid | upper}}": "a filter is one of", "{{uuid |}}": "a filter is one of",
		`{{"a}}`: "without }}", `{{choice "\q"}}`: "no end", `{{"a" b}}`: "no function",
	} {
		if _, err := Compile(source, scope, Body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
	if _, err := Compile("{{.row.a}}", &Scope{}, Body); err == nil || !strings.Contains(err.Error(), "no data file") {
		t.Errorf("%v", err)
	}
}

func TestConstant(t *testing.T) {
	for source, constant := range map[string]bool{"": true, "text": true, "{ }": true, "{{seq}}": false, "a{{uuid}}": false} {
		tmpl, err := Compile(source, scope, Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := tmpl.Constant(); ok != constant || ok && text != source {
			t.Errorf("%q: %q, %v", source, text, ok)
		}
	}
}

func TestRandomIntegersAreEven(t *testing.T) {
	tmpl, err := Compile("{{rand 1 4}}", scope, Body)
	if err != nil {
		t.Fatal(err)
	}
	counts, v := map[string]int{}, values()
	for range 4000 {
		counts[string(tmpl.Append(nil, v))]++
	}
	for _, n := range []string{"1", "2", "3", "4"} {
		if counts[n] < 850 || len(counts) != 4 {
			t.Errorf("%v", counts)
		}
	}
}

// FuzzCompile checks that no template panics, and that no value breaks out of a path or a header.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"/u/{{.row.name}}", "{{rand 1 2}}{{choice a \"b}}\"}}", "{{.token | url | json}}", "{{", "{{\"\\n\"}}"} {
		f.Add(s, "v\r\n")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		for place := Body; place <= Header; place++ {
			tmpl, err := Compile(source, scope, place)
			if err != nil {
				continue
			}
			v := values()
			v.Row = []string{value, value}
			got := string(tmpl.Append(nil, v))
			if place != Body && !strings.ContainsAny(source, "\r\n") && strings.ContainsAny(got, "\r\n") {
				t.Errorf("%q with %q breaks the line: %q", source, value, got)
			}
		}
	})
}
