package rest

import (
	stdjson "encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The types that texts are decoded into.
type (
	inner struct {
		A int
		B string
	}
	Inner2 struct {
		A int
		C string
	}
	textual  struct{ s string }
	own      struct{ s string }
	key      string
	nestling struct {
		N int
		R *nestling
		L []nestling
	}
	E1 struct{ X int }
	E2 struct{ X int }
)

func (t *textual) UnmarshalText(b []byte) error { t.s = "t:" + string(b); return nil }
func (o *own) UnmarshalJSON(b []byte) error     { o.s = "u:" + string(b); return nil }
func (k *key) UnmarshalText(b []byte) error     { *k = key("k" + string(b)); return nil }

// agreements are texts, separated by |, and the types that they are decoded into.
var agreements = []struct {
	texts string
	into  func() any
}{
	{`{"N":1}|{"N":"1"}|{"N":null}|{"N":"x"}|{"N":1e400}|{"N":""}`, func() any { return &struct{ N stdjson.Number }{} }},
	{`{"N":1}|{"N":"1"}`, func() any { return &struct{ N *stdjson.Number }{} }},
	{`{"n":"1"}|{"n":1}|{"n":null}|{"n":""}|{"n":"x"}|{"n":"null"}`, func() any {
		return &struct {
			N int `json:"n,string"`
		}{}
	}},
	{`{"n":"\"1\""}|{"n":"1"}|{"n":1}|{"n":null}`, func() any {
		return &struct {
			N string `json:"n,string"`
		}{}
	}},
	{`{"n":"true"}|{"n":true}|{"n":"1"}`, func() any {
		return &struct {
			N bool `json:"n,string"`
		}{}
	}},
	{`{"n":"1.5"}|{"n":1.5}`, func() any {
		return &struct {
			N *float64 `json:"n,string"`
		}{}
	}},
	{`{"n":"1"}|{"n":1}`, func() any {
		return &struct {
			N stdjson.Number `json:"n,string"`
		}{}
	}},
	{`{"A":1,"B":"x","a":2}|{"a":1,"b":"y"}`, func() any { return &struct{ inner }{} }},
	{`{"A":1,"C":"x"}`, func() any {
		return &struct {
			inner
			Inner2
		}{}
	}},
	{`{"A":1,"C":"x"}`, func() any { return &struct{ *Inner2 }{} }},
	{`{"X":1}`, func() any {
		return &struct {
			E1
			E2
		}{}
	}},
	{`{"x":1,"E":{"A":2}}`, func() any {
		return &struct {
			X int
			E Inner2 `json:",inline"`
		}{}
	}},
	{`{"x":1,"a":{"A":2}}`, func() any {
		return &struct {
			X int
			A Inner2 `json:"a,inline"`
		}{}
	}},
	{`{"x":1,"a":{"A":2}}`, func() any {
		return &struct {
			X int
			A map[string]any `json:"a,unknown"`
		}{}
	}},
	{`{"a b":1,"A":2}`, func() any {
		return &struct {
			A int `json:"a b"`
		}{}
	}},
	{`{"-":1,"A":2}`, func() any {
		return &struct {
			A int `json:"-,"`
		}{}
	}},
	{`{"-":1,"A":2}`, func() any {
		return &struct {
			A int `json:"-"`
		}{}
	}},
	{`{"'a'":1,"A":2,"a":3}`, func() any {
		return &struct {
			A int `json:"'a'"`
		}{}
	}},
	{`{"a":1,"A":2}`, func() any {
		return &struct {
			A int `json:"a,omitempty,,x"`
		}{}
	}},
	{`{"a":1,"A":2}`, func() any {
		return &struct {
			A int `json:"a,format:2006"`
		}{}
	}},
	{`{"a":"2020-01-02T03:04:05Z"}`, func() any {
		return &struct {
			A time.Time `json:"a,format:DateOnly"`
		}{}
	}},
	{`{"a":1,"A":2}`, func() any {
		return &struct {
			A int `json:"a,case:ignore"`
		}{}
	}},
	{`{"a":1,"A":2}|{"A":1,"a":2}`, func() any {
		return &struct {
			A int `json:"a"`
			B int `json:"A"`
		}{}
	}},
	{`{"a":"2020-01-02T03:04:05Z"}|{"a":"x"}|{"a":null}|{"a":1}`, func() any { return &struct{ A time.Time }{} }},
	{`{"a":"2020-01-02T3:04:05Z"}|{"a":"2020-01-02T03:04:05,5Z"}|{"a":"2020-01-02T03:04:05+24:00"}`, func() any { return &struct{ A time.Time }{} }},
	{`{"a":1}|{"a":"1s"}|{"a":null}`, func() any { return &struct{ A time.Duration }{} }},
	{`{"a":12345678901234567890123}|{"a":"1"}`, func() any { return &struct{ A big.Int }{} }},
	{`{"a":"1.2.3.4"}|{"a":""}|{"a":"x"}`, func() any { return &struct{ A netip.Addr }{} }},
	{`{"a":"x"}|{"a":null}|{"a":1}|{"a":[]}`, func() any { return &struct{ A textual }{} }},
	{`{"a":"x"}|{"a":null}|{"a":1}|{"a":[1, 2 ]}`, func() any { return &struct{ A own }{} }},
	{`{"a":"x"}|{"a":null}|{"a":1}|{"a":[1, 2 ]}`, func() any { return &struct{ A *own }{} }},
	{`{"a":{"x":1,"y":2}}|{"a":null}|{"a":{"x":1,"x":2}}`, func() any { return &struct{ A map[key]int }{} }},
	{`{"a":{"1":1,"2":2}}|{"a":{"x":1}}|{"a":{"1.0":1}}|{"a":{"300":1}}|{"a":{"01":1}}|{"a":{" 1":1}}`, func() any { return &struct{ A map[uint8]int }{} }},
	{`{"a":"AAEC"}|{"a":"A"}|{"a":[1,2]}|{"a":"AA\nEC"}|{"a":""}|{"a":null}|{"a":"AA=="}`, func() any { return &struct{ A []byte }{} }},
	{`{"a":[1,2]}|{"a":"AAE="}|{"a":[1]}|{"a":[1,2,3]}|{"a":null}`, func() any { return &struct{ A [2]byte }{[2]byte{7, 7}} }},
	{`{"a":[1,2,3]}|{"a":[1]}|{"a":[]}|{"a":null}`, func() any { return &struct{ A []int }{[]int{9, 8, 7, 6}} }},
	{`{"a":[{"A":1},{"B":"x"}]}`, func() any { return &struct{ A []inner }{[]inner{{9, "z"}, {8, "y"}}} }},
	{`{"a":{"x":{"A":1}}}|{"a":{"y":{}}}`, func() any { return &struct{ A map[string]inner }{map[string]inner{"x": {9, "z"}}} }},
	{`{"a":{"x":1}}|{"a":[1]}|{"a":null}|{"a":1}`, func() any { var x any = &inner{1, "q"}; return &struct{ A any }{x} }},
	{`{"a":{"x":1}}|{"a":null}`, func() any { return &struct{ A fmt.Stringer }{} }},
	{`{"a":256}|{"a":-1}|{"a":1.0}|{"a":1e2}|{"a":1e400}`, func() any { return &struct{ A uint8 }{} }},
	{`{"a":1e400}|{"a":1e-400}|{"a":-0}|{"a":1e39}`, func() any { return &struct{ A float32 }{} }},
	{`{"a":1e400}|{"a":-0}`, func() any { return new(any) }},
	{`{"a":1}|{"a":null}`, func() any { return &struct{ A func() }{} }},
	{`{"a":1}|{"a":null}|{"b":1}`, func() any { return &struct{ A chan int }{} }},
	{`{"b":1}|{"a":{"1":1}}`, func() any { return &struct{ A map[float64]int }{} }},
	{`{"n":1,"r":{"n":2,"l":[{"n":3}]}}`, func() any { return &nestling{} }},
	{`{"a":[1,"x",3],"b":"y"}|{"b":1,"a":[1]}|{"a":{},"b":"z"}`, func() any {
		return &struct {
			A []int
			B string
		}{}
	}},
	{"{\"a\":\"\xff\"}|{\"a\":\"\\ud800\"}|{\"a\":\"\\ud800\\ud800\"}|{\"a\":\"\\udc00x\"}|{\"\xff\":1}|{\"a\":\"\u2028\"}", func() any { return new(any) }},
	{"{\"\u017f\":1}|{\"\u212a\":1}|{\"S\":1}", func() any {
		return &struct {
			S int
			K int
		}{}
	}},
	{"{\"foo_bar\":1}|{\"foobar\":1}|{\"foo-bar\":1}|{\"FOOBAR\":2}", func() any { return &struct{ FooBar int }{} }},
	{"{\"foo_bar\":1}|{\"foobar\":1}|{\"foo-bar\":1}|{\"FOO_BAR\":2}", func() any {
		return &struct {
			FooBar int `json:"foo_bar"`
		}{}
	}},
	{"null|1|\"x\"|[]|{}| |[1|{\"a\":1}x|nul|{\"a\" 1}|{\"a\":01}|[1,]|\"\t\"|\"\\x\"|-|+1|.5|1.|1e|\ufeff1|\x00|1\x00", func() any { return new(any) }},
	{strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + "|" + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + "|" + strings.Repeat("[", 10001) + strings.Repeat("]", 10001), func() any { return new(any) }},
	{`null|[]|1`, func() any { return new(stdjson.RawMessage) }},
	{`{"a": [ 1 ] }|{}|{"a":null}`, func() any {
		return &struct {
			A stdjson.RawMessage
			B *stdjson.RawMessage
		}{}
	}},
	{`{"A":1}|null`, func() any { return inner{} }},
	{`{"A":1}|null`, func() any { return nil }},
	{`{"A":1}|null`, func() any { return (*inner)(nil) }},
	{`{"a":1}`, func() any {
		return &struct {
			a int
			B int
		}{}
	}},
}

// TestCodecsAgree compares each package with encoding/json and logs the differences. It fails if package rest
// differs. The default codec was chosen with its help.
func TestCodecsAgree(t *testing.T) {
	differences, cases := map[string]int{}, 0
	for _, row := range agreements {
		for text := range strings.SplitSeq(row.texts, "|") {
			cases++
			want := row.into()
			wantErr := stdjson.Unmarshal([]byte(text), want)
			for _, c := range codecs[1:] {
				got := row.into()
				err := decodeWith(c, text, got)
				if c.name == "rest" && wantErr != nil && err == nil && isTrailing(wantErr) {
					continue // with JSON.IgnoreTrailing, bytes after a value are ignored
				}
				if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
					differences[c.name]++
					t.Logf("%s: %.40q into %T: %+v, %v; encoding/json: %+v, %v", c.name, text, got, got, err, want, wantErr)
				}
			}
		}
	}
	for _, c := range codecs[1:] {
		t.Logf("%s: %d of %d", c.name, differences[c.name], cases)
	}
	if differences["rest"] > 0 {
		t.Error("package rest differs")
	}
}

func isTrailing(err error) bool { return strings.Contains(err.Error(), "after top-level value") }

// decodeWith converts a panic to an error.
func decodeWith(c codec, text string, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("PANIC: %v", p)
		}
	}()
	return c.decode([]byte(text), v)
}
